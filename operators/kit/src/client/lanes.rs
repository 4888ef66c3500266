//! Connections, and which request goes over which.
//!
//! API servers allow about a hundred HTTP/2 streams on a connection. Watches hold theirs for minutes, so a connection gets a bounded
//! number of them; if it did not, the hundred-and-first request would wait for ever. Requests go over the first lane.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex as Lock, PoisonError};

use http::{Request, Response};
use hyper::body::Incoming;
use kube::client::Body;
use tokio::sync::Mutex;
use tower::{BoxError, Service};

/// Watches on one connection; the rest of its streams is for requests.
const WATCHES: usize = 60;

/// The connections to one server. `S` keeps a connection, and makes it when it is needed.
pub(super) struct Lanes<S> {
    make: Box<dyn Fn() -> S + Send + Sync>,
    first: Arc<Lane<S>>,
    more: Lock<Vec<Arc<Lane<S>>>>,
}

/// One connection.
pub(super) struct Lane<S> {
    service: S,
    watches: Arc<AtomicUsize>,
    reached: AtomicBool,
    gate: Mutex<()>,
}

/// A watch's place on a connection.
pub(super) struct Slot(Arc<AtomicUsize>);

impl Drop for Slot {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl<S> Lanes<S> {
    pub(super) fn new(make: impl Fn() -> S + Send + Sync + 'static) -> Self {
        Self {
            first: Arc::new(Lane::new(make())),
            make: Box::new(make),
            more: Lock::default(),
        }
    }

    pub(super) fn for_request(&self) -> Arc<Lane<S>> {
        Arc::clone(&self.first)
    }

    pub(super) fn for_watch(&self) -> (Arc<Lane<S>>, Arc<Slot>) {
        let mut more = self.more.lock().unwrap_or_else(PoisonError::into_inner);
        for lane in std::iter::once(&self.first).chain(more.iter()) {
            if let Some(slot) = lane.slot() {
                return (Arc::clone(lane), Arc::new(slot));
            }
        }
        let lane = Arc::new(Lane::new((self.make)()));
        more.push(Arc::clone(&lane));
        let slot = lane
            .slot()
            .expect("a lane without watches has room for one");
        (lane, Arc::new(slot))
    }
}

impl<S> Lane<S> {
    fn new(service: S) -> Self {
        Self {
            service,
            watches: Arc::default(),
            reached: AtomicBool::new(false),
            gate: Mutex::default(),
        }
    }

    fn slot(&self) -> Option<Slot> {
        self.watches
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |open| {
                (open < WATCHES).then_some(open + 1)
            })
            .ok()
            .map(|_| Slot(Arc::clone(&self.watches)))
    }
}

impl<S> Lane<S>
where
    S: Service<Request<Body>, Response = Response<Incoming>> + Clone,
    S::Error: Into<BoxError>,
{
    /// Sends a request. While the server has not answered on this lane, requests go one at a time: many at once would each make a
    /// connection, of which all but one are thrown away.
    pub(super) async fn send(
        &self,
        request: Request<Body>,
    ) -> Result<Response<Incoming>, BoxError> {
        let alone = if self.reached.load(Ordering::Acquire) {
            None
        } else {
            Some(self.gate.lock().await)
        };
        // Somebody before us has reached the server meanwhile.
        let _alone = alone.filter(|_| !self.reached.load(Ordering::Acquire));
        let mut service = self.service.clone();
        std::future::poll_fn(|context| service.poll_ready(context))
            .await
            .map_err(Into::into)?;
        let answer = service.call(request).await.map_err(Into::into);
        self.reached.store(answer.is_ok(), Ordering::Release);
        answer
    }
}
