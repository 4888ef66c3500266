//! The clusters, and whether anybody looks at them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crds::cluster::Cluster;
use crds::{names, taints};
use engine::snapshot::{ClusterView, Fleet, Name, Readiness};
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use kit::watch::{self, Scope};
use kit::{Runtime, Store};

use crate::index::Entry;

/// What is known of the clusters.
#[derive(Default)]
pub(crate) struct World(Mutex<Known>);

#[derive(Default)]
struct Known {
    fleet: Arc<Fleet>,
    evidence: Option<Timestamp>,
}

/// What is news for bindings.
#[derive(Clone, Copy, Debug)]
pub(crate) enum News<'a> {
    /// This cluster is not what it was.
    Cluster(&'a str),
    /// Somebody has looked at the clusters.
    Evidence,
}

impl World {
    /// Begins to watch; `tell` is told of what may concern bindings.
    pub(crate) fn watch(
        self: &Arc<Self>,
        runtime: &Runtime,
        lease_namespace: &str,
        tell: impl Fn(News<'_>) + Clone + Send + 'static,
    ) {
        let (world, news) = (Arc::clone(self), tell.clone());
        runtime.spawn(watch::run(
            runtime.client.clone(),
            Scope::host(),
            Arc::<Store<ClusterView>>::default(),
            Some(runtime.readiness.handle("clusters")),
            runtime.shutdown.clone(),
            |cluster: Cluster| {
                Some(ClusterView {
                    // It changes all the time and moves nobody.
                    room: None,
                    ..ClusterView::from(&cluster)
                })
            },
            move |change| {
                world.put(&change.key.name, change.new);
                news(News::Cluster(&change.key.name));
            },
        ));
        let (world, client) = (Arc::clone(self), runtime.client.clone());
        let ready = runtime
            .readiness
            .handle("the sign of life of cluster-health");
        let (namespace, shutdown) = (lease_namespace.to_owned(), runtime.shutdown.clone());
        runtime.spawn(async move {
            let scope = Scope::host().fields(format!("metadata.name={}", names::OBSERVATION_LEASE));
            let renewed = |lease: Lease| Some(lease.spec?.renew_time?.0);
            let store = Arc::<Store<Timestamp>>::default();
            watch::run_in(
                client,
                &namespace,
                scope,
                store,
                Some(ready),
                shutdown,
                renewed,
                move |change| {
                    world.known().evidence = change.new.as_deref().copied();
                    tell(News::Evidence);
                },
            )
            .await;
        });
    }

    fn put(&self, name: &str, view: Option<Arc<ClusterView>>) {
        let mut known = self.known();
        let fleet: &mut BTreeMap<_, _> = Arc::make_mut(&mut known.fleet);
        match view {
            Some(view) => fleet.insert(Name::from(name), view),
            None => fleet.remove(name),
        };
    }

    /// The clusters, and when somebody looked at them last.
    pub(crate) fn look(&self) -> (Arc<Fleet>, Option<Timestamp>) {
        let known = self.known();
        (Arc::clone(&known.fleet), known.evidence)
    }

    /// Whether there may be anything to decide about a binding.
    pub(crate) fn concerns(&self, entry: &Entry) -> bool {
        if !entry.leaving.is_empty() {
            return true;
        }
        let known = self.known();
        entry
            .clusters
            .iter()
            .filter_map(|name| known.fleet.get(name))
            .any(|cluster| is_troubled(cluster))
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        // Each change is one assignment, so nothing half-done is left by a panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a copy might have to leave the cluster, sooner or later.
fn is_troubled(cluster: &ClusterView) -> bool {
    cluster.ready != Readiness::Ready
        || cluster
            .taints
            .iter()
            .any(|taint| taint.effect == taints::NO_EXECUTE)
}
