//! Watches that fill a [`Store`] with compact values and tell what changed.
//!
//! # Guarantees
//!
//! - Every change that lasts is told at least once; intermediate states may be skipped. A value equal to the former is not told.
//! - After an interruption the watch lists again: what vanished meanwhile is told as gone.
//! - An object that cannot be understood is left as it was known and logged; the watch goes on.
//! - The callback runs on the watch's task, in order; it must be quick (put a key into a queue).

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt as _, TryStreamExt as _};
use kube::api::{Api, ApiResource, DynamicObject, ObjectMeta, PartialObjectMeta, TypeMeta};
use kube::runtime::WatchStreamExt as _;
use kube::runtime::utils::Backoff;
use kube::runtime::watcher::{self, Event};
use kube::{Client, Resource};
use serde::de::DeserializeOwned;
use tokio_util::sync::CancellationToken;

use crate::failure::Failure;
use crate::readiness::Handle;
use crate::store::{Key, Store};

/// A change of one object.
#[derive(Clone, Debug)]
pub struct Change<V> {
    /// Whose.
    pub key: Key,
    /// What was known before; `None` if nothing.
    pub old: Option<Arc<V>>,
    /// What is known now; `None` if it is gone.
    pub new: Option<Arc<V>>,
}

/// What is watched, and how.
#[derive(Clone, Debug)]
pub struct Scope {
    labels: Option<String>,
    fields: Option<String>,
    streaming: bool,
    metadata_only: bool,
    owners: bool,
}

impl Scope {
    /// Everything of a kind on our own API server, which can stream lists.
    pub fn host() -> Self {
        Self {
            labels: None,
            fields: None,
            streaming: true,
            metadata_only: false,
            owners: false,
        }
    }

    /// Everything of a kind in a member, whose API server may be old.
    pub fn member() -> Self {
        Self {
            streaming: false,
            ..Self::host()
        }
    }

    /// Only what has these labels.
    pub fn labels(self, selector: impl Into<String>) -> Self {
        Self {
            labels: Some(selector.into()),
            ..self
        }
    }

    /// Only what has these fields.
    pub fn fields(self, selector: impl Into<String>) -> Self {
        Self {
            fields: Some(selector.into()),
            ..self
        }
    }

    /// Only metadata: spec and status are not sent.
    pub fn metadata_only(self) -> Self {
        Self {
            metadata_only: true,
            ..self
        }
    }

    /// With the record of who owns which field, which is dropped otherwise: it can be larger than all the rest.
    pub fn with_owners(self) -> Self {
        Self {
            owners: true,
            ..self
        }
    }

    fn config(&self, streaming: bool) -> watcher::Config {
        // Watches are renewed after this time; a spread keeps them from all doing so at once.
        let seconds = 220 + rand::random_range(0..70);
        let mut config = watcher::Config::default().timeout(seconds);
        if let Some(labels) = &self.labels {
            config = config.labels(labels);
        }
        if let Some(fields) = &self.fields {
            config = config.fields(fields);
        }
        if streaming {
            config.streaming_lists()
        } else {
            config
        }
    }
}

/// Watches a kind known at build time, in all namespaces, until `shutdown`. `ready` is dropped when the first list is complete.
pub async fn run<K, V>(
    client: Client,
    scope: Scope,
    store: Arc<Store<V>>,
    ready: Option<Handle>,
    shutdown: CancellationToken,
    compact: impl Fn(K) -> Option<V> + Send + 'static,
    changed: impl FnMut(Change<V>) + Send + 'static,
) where
    K: Resource<DynamicType = ()> + DeserializeOwned + Send + 'static,
    V: PartialEq + Send + Sync + 'static,
{
    run_in(client, "", scope, store, ready, shutdown, compact, changed).await;
}

/// As [`run`], in one namespace; empty means all.
#[expect(
    clippy::too_many_arguments,
    reason = "each is one independent thing, named at the call"
)]
pub async fn run_in<K, V>(
    client: Client,
    namespace: &str,
    scope: Scope,
    store: Arc<Store<V>>,
    ready: Option<Handle>,
    shutdown: CancellationToken,
    compact: impl Fn(K) -> Option<V> + Send + 'static,
    changed: impl FnMut(Change<V>) + Send + 'static,
) where
    K: Resource<DynamicType = ()> + DeserializeOwned + Send + 'static,
    V: PartialEq + Send + Sync + 'static,
{
    let resource = kube::api::ApiResource::erase::<K>(&());
    let kind = resource.kind.clone();
    let compact = move |object: DynamicObject| {
        let name = object.metadata.name.clone().unwrap_or_default();
        match object.try_parse::<K>() {
            Ok(object) => Read::Value(compact(object)),
            Err(error) => {
                tracing::warn!(kind, name, %error, "an object cannot be understood and is ignored until it changes");
                Read::Unreadable
            }
        }
    };
    let source = Source {
        client,
        namespace: namespace.to_owned(),
        resource,
        fails: None,
    };
    follow(source, scope, store, ready, shutdown, compact, changed).await;
}

/// What became of an object that was read.
pub(crate) enum Read<V> {
    /// Keep this; `None`: it is none of our business.
    Value(Option<V>),
    /// Not understood: leave things as they were.
    Unreadable,
}

/// Where objects are watched: one kind, in one namespace or (empty) in all.
pub(crate) struct Source {
    pub(crate) client: Client,
    pub(crate) namespace: String,
    pub(crate) resource: ApiResource,
    /// Told what the last attempt failed with, if it did.
    pub(crate) fails: Option<Arc<tokio::sync::watch::Sender<Option<Failure>>>>,
}

impl Source {
    fn tell(&self, failure: Option<Failure>) {
        if let Some(fails) = &self.fails {
            fails.send_replace(failure);
        }
    }

    /// Asking for [`PartialObjectMeta`] makes the requests metadata-only.
    fn api<K>(&self) -> Api<K>
    where
        K: Resource<DynamicType = ApiResource, Scope = kube::core::DynamicResourceScope>,
    {
        if self.namespace.is_empty() {
            Api::all_with(self.client.clone(), &self.resource)
        } else {
            Api::namespaced_with(self.client.clone(), &self.namespace, &self.resource)
        }
    }
}

pub(crate) async fn follow<V>(
    source: Source,
    scope: Scope,
    store: Arc<Store<V>>,
    ready: Option<Handle>,
    shutdown: CancellationToken,
    read: impl Fn(DynamicObject) -> Read<V>,
    changed: impl FnMut(Change<V>),
) where
    V: PartialEq,
{
    let mut sink = Sink {
        store,
        ready,
        listed: None,
        owners: scope.owners,
        read,
        changed,
    };
    let mut streaming = scope.streaming;
    let mut failures = 0_u32;
    loop {
        let config = scope.config(streaming);
        let mut events = if scope.metadata_only {
            watcher::watcher(source.api::<PartialObjectMeta<DynamicObject>>(), config)
                .map_ok(|event| without_body(event, &source.resource))
                .backoff(Pauses::default())
                .boxed()
        } else {
            watcher::watcher(source.api::<DynamicObject>(), config)
                .backoff(Pauses::default())
                .boxed()
        };
        loop {
            let event = tokio::select! {
                biased;
                () = shutdown.cancelled() => return,
                event = events.next() => event,
            };
            match event {
                Some(Ok(event)) => {
                    if failures >= LOUD {
                        tracing::info!(kind = source.resource.kind, "watch goes on");
                    }
                    if failures > 0 {
                        source.tell(None);
                    }
                    failures = 0;
                    sink.take(event);
                }
                Some(Err(error)) if streaming && refuses_streaming(&error) => {
                    tracing::info!(%error, kind = source.resource.kind, "the server cannot stream lists; listing instead");
                    streaming = false;
                    break;
                }
                // The stream goes on by itself, after a pause.
                Some(Err(error)) => {
                    failures += 1;
                    source.tell(Some(failure_of(&error)));
                    let cause = crate::failure::root_cause(&error);
                    if failures == LOUD {
                        tracing::warn!(
                            kind = source.resource.kind,
                            cause,
                            "watch keeps failing; trying on"
                        );
                    } else {
                        tracing::debug!(kind = source.resource.kind, cause, "watch interrupted");
                    }
                }
                None => break,
            }
        }
    }
}

/// A watch that failed so often in a row, after some seconds, is worth a warning: somebody may have to act.
const LOUD: u32 = 5;

/// How long a watch waits before it asks again: short at first, so that a server that was restarted is followed again at once.
struct Pauses(Duration);

impl Pauses {
    const FIRST: Duration = Duration::from_millis(200);
    const LONGEST: Duration = Duration::from_secs(15);
}

impl Default for Pauses {
    fn default() -> Self {
        Self(Self::FIRST)
    }
}

impl Iterator for Pauses {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        let pause = self.0;
        self.0 = (pause * 2).min(Self::LONGEST);
        // Many watches lose the same server at the same moment.
        Some(pause.mul_f64(rand::random_range(0.7..1.3)))
    }
}

impl Backoff for Pauses {
    fn reset(&mut self) {
        *self = Self::default();
    }
}

fn failure_of(error: &watcher::Error) -> Failure {
    match error {
        watcher::Error::InitialListFailed(error)
        | watcher::Error::WatchStartFailed(error)
        | watcher::Error::WatchFailed(error) => Failure::of(error),
        watcher::Error::WatchError(status) => Failure::of(&kube::Error::Api(status.clone())),
        watcher::Error::NoResourceVersion => Failure::Unreadable,
    }
}

fn refuses_streaming(error: &watcher::Error) -> bool {
    let (watcher::Error::InitialListFailed(kube::Error::Api(status))
    | watcher::Error::WatchStartFailed(kube::Error::Api(status))
    | watcher::Error::WatchError(status)) = error
    else {
        return false;
    };
    matches!(status.code, 400 | 405 | 422)
}

/// The answer to a metadata-only request calls every kind `PartialObjectMetadata`; the object gets its own name back.
fn without_body(
    event: Event<PartialObjectMeta<DynamicObject>>,
    kind: &ApiResource,
) -> Event<DynamicObject> {
    let bare = |object: PartialObjectMeta<DynamicObject>| DynamicObject {
        types: Some(TypeMeta {
            api_version: kind.api_version.clone(),
            kind: kind.kind.clone(),
        }),
        metadata: object.metadata,
        data: serde_json::Value::Null,
    };
    match event {
        Event::Apply(object) => Event::Apply(bare(object)),
        Event::Delete(object) => Event::Delete(bare(object)),
        Event::InitApply(object) => Event::InitApply(bare(object)),
        Event::Init => Event::Init,
        Event::InitDone => Event::InitDone,
    }
}

struct Sink<V, R, C> {
    store: Arc<Store<V>>,
    ready: Option<Handle>,
    /// Keys of the list that is being received.
    listed: Option<HashSet<Key>>,
    owners: bool,
    read: R,
    changed: C,
}

impl<V, R, C> Sink<V, R, C>
where
    V: PartialEq,
    R: Fn(DynamicObject) -> Read<V>,
    C: FnMut(Change<V>),
{
    fn take(&mut self, event: Event<DynamicObject>) {
        match event {
            Event::Init => self.listed = Some(HashSet::new()),
            Event::InitApply(object) => {
                let key = Key::of(&object);
                if let Some(listed) = &mut self.listed {
                    listed.insert(key.clone());
                }
                self.upsert(key, object);
            }
            Event::InitDone => {
                let listed = self.listed.take().unwrap_or_default();
                for key in self.store.keys() {
                    if !listed.contains(&key) {
                        self.gone(key);
                    }
                }
                self.ready = None;
            }
            Event::Apply(object) => {
                let key = Key::of(&object);
                self.upsert(key, object);
            }
            Event::Delete(object) => self.gone(Key::of(&object)),
        }
    }

    fn upsert(&mut self, key: Key, mut object: DynamicObject) {
        slim(&mut object.metadata, self.owners);
        match (self.read)(object) {
            Read::Unreadable => {}
            Read::Value(None) => self.gone(key),
            Read::Value(Some(value)) => {
                let new = Arc::new(value);
                let old = self.store.put(key.clone(), Arc::clone(&new));
                if old.as_deref() != Some(&*new) {
                    (self.changed)(Change {
                        key,
                        old,
                        new: Some(new),
                    });
                }
            }
        }
    }

    fn gone(&mut self, key: Key) {
        if let Some(old) = self.store.remove(&key) {
            (self.changed)(Change {
                key,
                old: Some(old),
                new: None,
            });
        }
    }
}

/// Drops what nobody here reads and what can be larger than all the rest.
fn slim(metadata: &mut ObjectMeta, owners: bool) {
    if !owners {
        metadata.managed_fields = None;
    }
    if let Some(annotations) = &mut metadata.annotations {
        annotations.remove("kubectl.kubernetes.io/last-applied-configuration");
    }
}
