//! The controller of eviction tasks, one for each of the two kinds of bindings.
//!
//! Flow: a cluster in trouble, or a binding that is leaving one → the binding as it is now → [`engine::failover`] → the
//! binding's tasks by merge patch on the version that was read → Events and metrics.
//!
//! Guarantees: nothing but `spec.gracefulEvictionTasks` is written, and never on stale sight. What is counted in time is in
//! the objects, so a restart neither hurries nor delays anybody. In a healthy fleet no binding is read.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crds::events;
use crds::scope::Binding;
use engine::failover::{Bound, Budget, Evictions, Limits, Loss, Situation, decide};
use engine::snapshot::Name;
use engine::trace::reason::FailoverReason;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use kit::events::{Recorder, Severity};
use kit::queue::{Outcome, Queue};
use kit::watch::{self, Change, Scope};
use kit::writer::Writer;
use kit::{CancellationToken, Failure, Key, RequestError, Runtime, Store};
use kube::api::{Api, DynamicObject};
use kube::core::ApiResource;
use kube::{Client, ResourceExt as _};
use serde_json::json;

use crate::index::{Entry, Index};
use crate::metrics::Metrics;
use crate::world::{News, World};

/// Bindings that are looked at once.
const CONCURRENCY: usize = 8;

/// What all controllers share.
pub(crate) struct Shared {
    pub(crate) world: Arc<World>,
    pub(crate) limits: Limits,
    pub(crate) budget: Mutex<Budget>,
    pub(crate) metrics: Metrics,
}

/// The controller for one kind of bindings.
pub(crate) struct Controller {
    kind: &'static str,
    shared: Arc<Shared>,
    client: Client,
    writer: Writer,
    events: Recorder,
    queue: Queue<Key>,
    bindings: Arc<Store<Entry>>,
    index: Mutex<Index>,
    /// What was told last of bindings that are held back.
    held: Mutex<HashMap<Key, BTreeMap<Name, FailoverReason>>>,
}

impl Controller {
    /// Begins to watch the bindings.
    pub(crate) fn watch<B: Binding>(
        runtime: &Runtime,
        shared: &Arc<Shared>,
        kind: &'static str,
    ) -> Arc<Self> {
        let controller = Arc::new(Self {
            kind,
            shared: Arc::clone(shared),
            client: runtime.client.clone(),
            writer: runtime.writer("evictions"),
            events: runtime.recorder(),
            queue: Queue::new(kind, &runtime.metrics),
            bindings: Arc::default(),
            index: Mutex::default(),
            held: Mutex::default(),
        });
        // A queue that was never filled is empty, not unknown.
        shared.metrics.waiting(kind, 0);
        let told = Arc::clone(&controller);
        runtime.spawn(watch::run(
            runtime.client.clone(),
            Scope::host(),
            Arc::clone(&controller.bindings),
            Some(runtime.readiness.handle(kind)),
            runtime.shutdown.clone(),
            |binding: B| Some(Entry::of(&binding)),
            move |change| told.changed(&change),
        ));
        controller
    }

    fn changed(&self, change: &Change<Entry>) {
        let Change { key, old, new } = change;
        self.index().change(key, old.as_deref(), new.as_deref());
        let concerned = new
            .as_ref()
            .is_some_and(|entry| self.shared.world.concerns(entry));
        if concerned || self.held().contains_key(key) {
            self.queue.add(key.clone());
        }
    }

    /// Looks at the bindings that the news may concern.
    pub(crate) fn hear(&self, news: News<'_>) {
        let cluster = match news {
            News::Evidence => {
                self.free(|reason| matches!(reason, FailoverReason::WeakEvidence));
                return;
            }
            News::Cluster(cluster) => cluster,
        };
        // Whoever is held back may be free to go now, or be held by something else.
        self.free(|_| true);
        for key in self.index().of(cluster) {
            let entry = self.bindings.get(key);
            if entry.is_some_and(|entry| self.shared.world.concerns(&entry)) {
                self.queue.add(key.clone());
            }
        }
    }

    /// Looks at the bindings that are held back for such a reason.
    fn free(&self, by: impl Fn(&FailoverReason) -> bool) {
        for (key, reasons) in self.held().iter() {
            if reasons.values().any(&by) {
                self.queue.add(key.clone());
            }
        }
    }

    /// Works until `shutdown`.
    pub(crate) async fn run<B: Binding>(self: Arc<Self>, shutdown: CancellationToken) {
        let queue = self.queue.clone();
        queue
            .run(CONCURRENCY, shutdown, move |key: Key| {
                let controller = Arc::clone(&self);
                async move { controller.work::<B>(&key).await }
            })
            .await;
    }

    async fn work<B: Binding>(&self, key: &Key) -> Outcome {
        let start = Instant::now();
        let metrics = &self.shared.metrics;
        metrics.waiting(self.kind, self.queue.len());
        match self.reconcile::<B>(key).await {
            Ok(Looked { written, wake_at }) => {
                if written {
                    metrics.processed(self.kind, true, start.elapsed());
                }
                match wake_at {
                    None => Outcome::Done,
                    Some(time) => Outcome::After(
                        Duration::try_from(time.duration_since(Timestamp::now()))
                            .unwrap_or_default(),
                    ),
                }
            }
            // Somebody changed the binding meanwhile; what is right now may be something else.
            Err(error) if error.failure() == Failure::Conflict => Outcome::Retry,
            Err(error) => {
                metrics.processed(self.kind, false, start.elapsed());
                tracing::warn!(
                    binding = %key,
                    error = error.message(),
                    doing = %error,
                    "the evictions of a binding could not be brought up to date"
                );
                Outcome::Retry
            }
        }
    }

    async fn reconcile<B: Binding>(&self, key: &Key) -> Result<Looked, RequestError> {
        let entry = self.bindings.get(key);
        if !entry.is_some_and(|entry| self.shared.world.concerns(&entry)) {
            self.note_held(key, Vec::new());
            return Ok(Looked::default());
        }
        let bindings = self.api::<B>(key);
        let read = bindings.get_opt(&key.name).await;
        let read =
            read.map_err(|error| RequestError::new("get", format!("{} {key}", self.kind), error))?;
        let binding = match read.map(DynamicObject::try_parse::<B>) {
            Some(Ok(binding)) if binding.meta().deletion_timestamp.is_none() => binding,
            Some(Err(error)) => {
                tracing::warn!(binding = %key, %error, "a binding cannot be understood and is left alone");
                return Ok(Looked::default());
            }
            Some(Ok(_)) | None => {
                self.note_held(key, Vec::new());
                return Ok(Looked::default());
            }
        };

        let now = Timestamp::now();
        let (fleet, evidence) = self.shared.world.look();
        let bound = Bound {
            generation: binding.meta().generation,
            spec: binding.spec(),
            status: binding.status(),
        };
        let situation = Situation {
            fleet: &fleet,
            loss: Loss::of(&fleet),
            evidence,
            limits: &self.shared.limits,
            now,
        };
        let Evictions {
            tasks,
            started,
            ended,
            held,
            wake_at,
        } = decide(&bound, &situation).want;

        if !started.is_empty()
            && let Err(later) = self.budget().take(now)
        {
            return Ok(Looked {
                written: false,
                wake_at: Some(later),
            });
        }
        let written = tasks != binding.spec().graceful_eviction_tasks;
        if written {
            let patch = json!({
                "metadata": {"resourceVersion": binding.meta().resource_version},
                "spec": {"gracefulEvictionTasks": if tasks.is_empty() { None } else { Some(tasks) }},
            });
            self.writer
                .merge_patch(&bindings, &key.name, &patch)
                .await?;
            self.tell(&binding, &started, &ended).await;
        }
        for (cluster, reason) in self.note_held(key, held) {
            let note = format!("cluster {cluster} {reason}");
            let about = [about_binding(&binding), about_template(&binding)];
            self.tell_all(
                &about,
                Severity::Warning,
                events::EVICT_WORKLOAD_FROM_CLUSTER_FAILED,
                &note,
            )
            .await;
        }
        Ok(Looked { written, wake_at })
    }

    /// Bindings are read as they are and written in one field, so what this version does not know survives.
    fn api<B: Binding>(&self, key: &Key) -> Api<DynamicObject> {
        let resource = ApiResource::erase::<B>(&());
        match &key.namespace {
            Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, &resource),
            None => Api::all_with(self.client.clone(), &resource),
        }
    }

    async fn tell<B: Binding>(
        &self,
        binding: &B,
        started: &[(Name, FailoverReason)],
        ended: &[(Name, FailoverReason)],
    ) {
        let reason = events::EVICT_WORKLOAD_FROM_CLUSTER_SUCCEED;
        let template = &binding.spec().resource;
        for (cluster, why) in started {
            self.shared.metrics.left(cluster, &template.kind);
            let note = format!("asked to leave: cluster {cluster} {why}");
            let about = [about_binding(binding), about_template(binding)];
            self.tell_all(&about, Severity::Normal, reason, &note).await;
        }
        for (cluster, why) in ended {
            let note = format!("eviction ended: cluster {cluster} {why}");
            self.tell_all(&[about_binding(binding)], Severity::Normal, reason, &note)
                .await;
        }
    }

    async fn tell_all(
        &self,
        about: &[ObjectReference],
        severity: Severity,
        reason: &str,
        note: &str,
    ) {
        for object in about {
            self.events.tell(object, severity, reason, note).await;
        }
    }

    /// Remembers what holds a binding back; returns what is news.
    fn note_held(
        &self,
        key: &Key,
        reasons: Vec<(Name, FailoverReason)>,
    ) -> Vec<(Name, FailoverReason)> {
        let mut all = self.held();
        let before = all.remove(key).unwrap_or_default();
        let metrics = &self.shared.metrics;
        for (cluster, reason) in &before {
            metrics.held(cluster, reason, false);
        }
        for (cluster, reason) in &reasons {
            metrics.held(cluster, reason, true);
        }
        let known = |cluster, reason: &FailoverReason| {
            before
                .get(cluster)
                .is_some_and(|told| told.as_str() == reason.as_str())
        };
        let news = reasons
            .iter()
            .filter(|(cluster, reason)| !known(cluster, reason))
            .cloned()
            .collect();
        if !reasons.is_empty() {
            all.insert(key.clone(), reasons.into_iter().collect());
        }
        news
    }

    fn index(&self) -> MutexGuard<'_, Index> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn held(&self) -> MutexGuard<'_, HashMap<Key, BTreeMap<Name, FailoverReason>>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn budget(&self) -> MutexGuard<'_, Budget> {
        self.shared
            .budget
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a look at a binding led to.
#[derive(Clone, Copy, Debug, Default)]
struct Looked {
    written: bool,
    wake_at: Option<Timestamp>,
}

fn about_binding<B: Binding>(binding: &B) -> ObjectReference {
    ObjectReference {
        api_version: Some(B::api_version(&()).into_owned()),
        kind: Some(B::kind(&()).into_owned()),
        namespace: binding.namespace(),
        name: Some(binding.name_any()),
        uid: binding.uid(),
        ..ObjectReference::default()
    }
}

fn about_template<B: Binding>(binding: &B) -> ObjectReference {
    let template = &binding.spec().resource;
    ObjectReference {
        api_version: Some(template.api_version.clone()),
        kind: Some(template.kind.clone()),
        namespace: template.namespace.clone(),
        name: Some(template.name.clone()),
        uid: template.uid.clone(),
        ..ObjectReference::default()
    }
}
