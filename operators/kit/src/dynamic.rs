//! Watches of kinds that become known while the process runs: started when first needed, stopped when nobody needs them.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind};
use kube::discovery::{self, Scope as KindScope};
use tokio::sync::watch as channel;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::failure::{Failure, RequestError};
use crate::store::Store;
use crate::watch::{Change, Read, Scope, Source, follow};

/// Pause of a watch whose callback panicked.
const AFTER_PANIC: Duration = Duration::from_secs(5);

/// A kind as an API server serves it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kind {
    /// Names and path.
    pub resource: ApiResource,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
}

impl Kind {
    /// The API for objects of a namespace; an empty namespace, or a kind of cluster scope, means all.
    pub fn api(&self, client: &Client, namespace: &str) -> Api<DynamicObject> {
        if self.namespaced && !namespace.is_empty() {
            Api::namespaced_with(client.clone(), namespace, &self.resource)
        } else {
            Api::all_with(client.clone(), &self.resource)
        }
    }
}

/// The kinds that one API server serves, asked for once each.
#[derive(Clone)]
pub struct Kinds {
    client: Client,
    known: Arc<Mutex<HashMap<GroupVersionKind, Kind>>>,
}

impl Kinds {
    /// Kinds of the API server behind `client`.
    pub fn new(client: Client) -> Self {
        Self {
            client,
            known: Arc::default(),
        }
    }

    /// How the server serves a kind; `None` if it does not.
    ///
    /// # Errors
    ///
    /// If the server cannot be asked.
    pub async fn find(&self, gvk: &GroupVersionKind) -> Result<Option<Kind>, RequestError> {
        if let Some(kind) = self.known(gvk) {
            return Ok(Some(kind));
        }
        match discovery::pinned_kind(&self.client, gvk).await {
            Ok((resource, capabilities)) => {
                let kind = Kind {
                    resource,
                    namespaced: capabilities.scope == KindScope::Namespaced,
                };
                self.locked().insert(gvk.clone(), kind.clone());
                Ok(Some(kind))
            }
            Err(kube::Error::Discovery(_)) => Ok(None),
            Err(error) if Failure::of(&error) == Failure::NotFound => Ok(None),
            Err(error) => Err(RequestError::new(
                "discover",
                format!("kind {}/{} {}", gvk.group, gvk.version, gvk.kind),
                error,
            )),
        }
    }

    /// What has been found before.
    pub fn known(&self, gvk: &GroupVersionKind) -> Option<Kind> {
        self.locked().get(gvk).cloned()
    }

    /// Forgets a kind, for example because its definition went or changed.
    pub fn forget(&self, gvk: &GroupVersionKind) {
        self.locked().remove(gvk);
    }

    fn locked(&self) -> std::sync::MutexGuard<'_, HashMap<GroupVersionKind, Kind>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

type Compact<V> = Arc<dyn Fn(&GroupVersionKind, DynamicObject) -> Option<V> + Send + Sync>;
type Changed<V> = Arc<dyn Fn(&GroupVersionKind, Change<V>) + Send + Sync>;

/// Watches by kind, each with a store of its own.
pub struct DynamicWatches<V> {
    kinds: Kinds,
    scope: Scope,
    compact: Compact<V>,
    changed: Changed<V>,
    shutdown: CancellationToken,
    running: Mutex<BTreeMap<GroupVersionKindKey, Running<V>>>,
}

struct Running<V> {
    store: Arc<Store<V>>,
    synced: channel::Receiver<bool>,
    failure: channel::Receiver<Option<Failure>>,
    _stop: DropGuard,
}

type GroupVersionKindKey = (String, String, String);

fn key(gvk: &GroupVersionKind) -> GroupVersionKindKey {
    (gvk.group.clone(), gvk.version.clone(), gvk.kind.clone())
}

impl<V: PartialEq + Send + Sync + 'static> DynamicWatches<V> {
    /// No watch yet. `compact` makes the stored value, `None` leaves an object out; `changed` is told of changes.
    pub fn new(
        kinds: Kinds,
        scope: Scope,
        shutdown: CancellationToken,
        compact: impl Fn(&GroupVersionKind, DynamicObject) -> Option<V> + Send + Sync + 'static,
        changed: impl Fn(&GroupVersionKind, Change<V>) + Send + Sync + 'static,
    ) -> Self {
        Self {
            kinds,
            scope,
            compact: Arc::new(compact),
            changed: Arc::new(changed),
            shutdown,
            running: Mutex::default(),
        }
    }

    /// The kinds of the server that is watched.
    pub fn kinds(&self) -> &Kinds {
        &self.kinds
    }

    /// Watches a kind from now on, if it does not already. A kind that the server does not serve yet is looked for again, with backoff up to
    /// some seconds.
    pub fn ensure(&self, gvk: &GroupVersionKind) {
        let mut running = self.locked();
        if running.contains_key(&key(gvk)) {
            return;
        }
        let stop = self.shutdown.child_token();
        let (synced, is_synced) = channel::channel(false);
        let (fails, failure) = channel::channel(None);
        let store = Arc::new(Store::default());
        let task = Watch {
            gvk: gvk.clone(),
            kinds: self.kinds.clone(),
            scope: self.scope.clone(),
            store: Arc::clone(&store),
            compact: Arc::clone(&self.compact),
            changed: Arc::clone(&self.changed),
            fails: Arc::new(fails),
            stop: stop.clone(),
        };
        tokio::spawn(task.supervised(Arc::new(synced)));
        running.insert(
            key(gvk),
            Running {
                store,
                synced: is_synced,
                failure,
                _stop: stop.drop_guard(),
            },
        );
    }

    /// Stops watching every kind that is not wanted. Their stores are gone; nothing is told of their objects.
    pub fn retain(&self, wanted: impl Fn(&GroupVersionKind) -> bool) {
        self.locked().retain(|(group, version, kind), _| {
            wanted(&GroupVersionKind::gvk(group, version, kind))
        });
    }

    /// The store of a kind that is watched.
    pub fn store(&self, gvk: &GroupVersionKind) -> Option<Arc<Store<V>>> {
        self.locked()
            .get(&key(gvk))
            .map(|running| Arc::clone(&running.store))
    }

    /// Whether the first list of a kind is complete: only then does absence from its store mean anything.
    pub fn is_synced(&self, gvk: &GroupVersionKind) -> bool {
        self.locked()
            .get(&key(gvk))
            .is_some_and(|running| *running.synced.borrow())
    }

    /// Waits until the first list of a kind is complete; at once if the kind is not watched.
    pub async fn synced(&self, gvk: &GroupVersionKind) {
        let receiver = self
            .locked()
            .get(&key(gvk))
            .map(|running| running.synced.clone());
        if let Some(mut receiver) = receiver {
            // An error means that the watch was stopped.
            let _ = receiver.wait_for(|synced| *synced).await;
        }
    }

    /// Waits until the server says that a kind may not be watched; for ever if it never does. It is tried again all the same.
    pub async fn forbidden(&self, gvk: &GroupVersionKind) {
        let receiver = self
            .locked()
            .get(&key(gvk))
            .map(|running| running.failure.clone());
        let is_forbidden = |failure: &Option<Failure>| *failure == Some(Failure::Forbidden);
        if let Some(mut receiver) = receiver
            && receiver.wait_for(is_forbidden).await.is_ok()
        {
            return;
        }
        std::future::pending::<()>().await;
    }

    /// Every kind that is watched.
    pub fn watched(&self) -> Vec<GroupVersionKind> {
        self.locked()
            .keys()
            .map(|(group, version, kind)| GroupVersionKind::gvk(group, version, kind))
            .collect()
    }

    fn locked(&self) -> std::sync::MutexGuard<'_, BTreeMap<GroupVersionKindKey, Running<V>>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Watch<V> {
    gvk: GroupVersionKind,
    kinds: Kinds,
    scope: Scope,
    store: Arc<Store<V>>,
    compact: Compact<V>,
    changed: Changed<V>,
    /// What the last attempt failed with, if it did.
    fails: Arc<channel::Sender<Option<Failure>>>,
    stop: CancellationToken,
}

impl<V> Clone for Watch<V> {
    fn clone(&self) -> Self {
        Self {
            gvk: self.gvk.clone(),
            kinds: self.kinds.clone(),
            scope: self.scope.clone(),
            store: Arc::clone(&self.store),
            compact: Arc::clone(&self.compact),
            changed: Arc::clone(&self.changed),
            fails: Arc::clone(&self.fails),
            stop: self.stop.clone(),
        }
    }
}

impl<V: PartialEq + Send + Sync + 'static> Watch<V> {
    /// A mistake in a callback, met with one object, must not leave everybody blind for the kind.
    async fn supervised(self, synced: Arc<channel::Sender<bool>>) {
        while let Err(error) = tokio::spawn(self.clone().run(Arc::clone(&synced))).await {
            if !error.is_panic() {
                return;
            }
            tracing::error!(kind = %self.gvk.kind, group = %self.gvk.group, "a watch panicked; it starts again");
            tokio::select! {
                () = self.stop.cancelled() => return,
                () = tokio::time::sleep(AFTER_PANIC) => {}
            }
        }
    }

    async fn run(self, synced: Arc<channel::Sender<bool>>) {
        let Some(kind) = self.kind().await else {
            return;
        };
        let readiness = crate::readiness::Readiness::default();
        let handle = readiness.handle(self.gvk.kind.clone());
        let Self {
            gvk,
            kinds,
            scope,
            store,
            compact,
            changed,
            fails,
            stop,
        } = self;
        let announce = async {
            readiness.ready().await;
            synced.send_replace(true);
            std::future::pending::<()>().await;
        };
        let read = |object| Read::Value(compact(&gvk, object));
        let tell = |change| changed(&gvk, change);
        let source = Source {
            client: kinds.client,
            namespace: String::new(),
            resource: kind.resource,
            fails: Some(fails),
        };
        let watch = follow(source, scope, store, Some(handle), stop, read, tell);
        tokio::select! {
            () = watch => {}
            () = announce => {}
        }
    }

    /// Waits for the kind to be served; `None` when stopped before.
    async fn kind(&self) -> Option<Kind> {
        let mut pause = Duration::from_millis(250);
        loop {
            match self.kinds.find(&self.gvk).await {
                Ok(Some(kind)) => return Some(kind),
                Ok(None) => {
                    tracing::debug!(kind = %self.gvk.kind, group = %self.gvk.group, "kind not served yet");
                }
                Err(error) => {
                    tracing::debug!(kind = %self.gvk.kind, error = %crate::failure::root_cause(&error), "kind not discovered yet");
                }
            }
            tokio::select! {
                () = self.stop.cancelled() => return None,
                () = tokio::time::sleep(pause) => {}
            }
            pause = (pause * 2).min(Duration::from_secs(5));
        }
    }
}
