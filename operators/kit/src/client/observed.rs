//! The innermost layer: every request that is really sent passes here, once for each try.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use http::{Request, Response};
use hyper::body::Incoming;
use kube::client::Body;
use tokio::sync::{AcquireError, Semaphore, SemaphorePermit};
use tower::{BoxError, Service};

use super::answer::{Answer, TimedOut};
use super::lanes::Lanes;
use super::target::Target;
use super::{Limits, Server};
use crate::metrics::{AnswerLabels, RequestLabels, RequestMetrics};

/// Keeps to the budget and the time limits, and counts.
pub(super) struct Observed<S>(Arc<Shared<S>>);

struct Shared<S> {
    lanes: Lanes<S>,
    server: Server,
    limits: Limits,
    all: Semaphore,
    /// Taken first by what may wait: statuses and events.
    patient: Semaphore,
    metrics: RequestMetrics,
}

impl<S> Clone for Observed<S> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<S> Observed<S> {
    pub(super) fn new(
        lanes: Lanes<S>,
        server: Server,
        limits: Limits,
        metrics: RequestMetrics,
    ) -> Self {
        Self(Arc::new(Shared {
            lanes,
            server,
            limits,
            all: Semaphore::new(limits.in_flight),
            patient: Semaphore::new(limits.in_flight.div_ceil(2)),
            metrics,
        }))
    }
}

impl<S> Service<Request<Body>> for Observed<S>
where
    S: Service<Request<Body>, Response = Response<Incoming>> + Clone + Send + Sync + 'static,
    S::Future: Send + 'static,
    S::Error: Into<BoxError> + Send,
{
    type Response = Response<Answer>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Answer>, BoxError>> + Send>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let shared = Arc::clone(&self.0);
        Box::pin(async move { shared.send(request).await })
    }
}

impl<S> Shared<S>
where
    S: Service<Request<Body>, Response = Response<Incoming>> + Clone,
    S::Error: Into<BoxError>,
{
    async fn send(&self, request: Request<Body>) -> Result<Response<Answer>, BoxError> {
        let target = Target::of(request.method(), request.uri());
        let _patient = permit(target.patient, &self.patient).await?;
        let _permit = permit(!target.watch, &self.all).await?;
        let (lane, slot) = if target.watch {
            let (lane, slot) = self.lanes.for_watch();
            (lane, Some(slot))
        } else {
            (self.lanes.for_request(), None)
        };
        let limit = self.limits.answer;
        let start = Instant::now();
        let answer = match tokio::time::timeout(limit, lane.send(request)).await {
            Ok(answer) => answer,
            Err(_) => Err(TimedOut(limit).into()),
        };
        let code = answer.as_ref().map_or(0, |answer| answer.status().as_u16());
        self.record(target, code, start.elapsed());
        Ok(answer?.map(|body| match slot {
            Some(slot) => Answer::of_watch(body, slot),
            None => Answer::of_request(body, limit),
        }))
    }
}

/// `None` for what needs none.
async fn permit(
    needed: bool,
    budget: &Semaphore,
) -> Result<Option<SemaphorePermit<'_>>, AcquireError> {
    if needed {
        budget.acquire().await.map(Some)
    } else {
        Ok(None)
    }
}

impl<S> Shared<S> {
    fn record(&self, target: Target, code: u16, took: Duration) {
        let Target { verb, resource, .. } = target;
        let server = self.server.label();
        let labels = RequestLabels {
            server,
            verb,
            resource: resource.clone(),
        };
        self.metrics
            .seconds
            .get_or_create(&labels)
            .observe(took.as_secs_f64());
        let labels = AnswerLabels {
            server,
            verb,
            resource,
            code,
        };
        self.metrics.answers.get_or_create(&labels).inc();
    }
}
