//! What the controller looks at: Clusters, their namespaces, taint policies, and the ways to members.

use std::sync::Arc;

use crds::cluster::Cluster;
use crds::namespaces;
use crds::policy::ClusterTaintPolicy;
use k8s_openapi::api::core::v1::Namespace;
use kit::members::{Access, MemberError, Pool};
use kit::watch::{self, Scope};
use kit::{Key, Runtime, Store};
use kube::core::PartialObjectMeta;
use kube::{Client, ResourceExt as _};

/// What is known, kept by watches.
pub(crate) struct Stores {
    clusters: Arc<Store<Cluster>>,
    spaces: Arc<Store<Space>>,
    policies: Arc<Store<ClusterTaintPolicy>>,
    members: Arc<Pool>,
}

/// An execution namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Space {
    /// Whether it is on its way out.
    pub(super) deleting: bool,
}

/// The way to a member; another way leads to another member, as far as anybody knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// This state of address and credentials.
    Open(u64),
    /// There is none.
    Closed(MemberError),
}

impl Stores {
    /// Begins to watch; `changed` is told the names of Clusters to look at.
    pub(crate) fn watch(
        runtime: &Runtime,
        changed: impl Fn(&str) + Clone + Send + Sync + 'static,
    ) -> Self {
        let stores = Self {
            clusters: Arc::default(),
            spaces: Arc::default(),
            policies: Arc::default(),
            members: Pool::start(runtime, changed.clone()),
        };
        let tell = changed.clone();
        runtime.spawn(watch::run(
            runtime.client.clone(),
            Scope::host(),
            Arc::clone(&stores.clusters),
            Some(runtime.readiness.handle("clusters")),
            runtime.shutdown.clone(),
            |mut cluster: Cluster| {
                cluster.metadata.managed_fields = None;
                Some(cluster)
            },
            move |change| tell(&change.key.name),
        ));
        let tell = changed.clone();
        runtime.spawn(watch::run(
            runtime.client.clone(),
            Scope::host().metadata_only().labels(format!(
                "{}={}",
                crds::labels::SYSTEM,
                crds::labels::TRUE
            )),
            Arc::clone(&stores.spaces),
            Some(runtime.readiness.handle("execution namespaces")),
            runtime.shutdown.clone(),
            |namespace: PartialObjectMeta<Namespace>| {
                namespaces::cluster_of_execution(&namespace.name_any())?;
                let deleting = namespace.metadata.deletion_timestamp.is_some();
                Some(Space { deleting })
            },
            move |change| {
                if let Some(cluster) = namespaces::cluster_of_execution(&change.key.name) {
                    tell(cluster);
                }
            },
        ));
        let all = Arc::clone(&stores.clusters);
        runtime.spawn(watch::run(
            runtime.client.clone(),
            Scope::host(),
            Arc::clone(&stores.policies),
            Some(runtime.readiness.handle("cluster taint policies")),
            runtime.shutdown.clone(),
            |mut policy: ClusterTaintPolicy| {
                policy.metadata.managed_fields = None;
                Some(policy)
            },
            // A policy may mean any cluster, and policies change rarely.
            move |_| all.keys().iter().for_each(|key| changed(&key.name)),
        ));
        stores
    }

    /// The Cluster of that name.
    pub(super) fn cluster(&self, name: &str) -> Option<Arc<Cluster>> {
        self.clusters.find("", name)
    }

    /// The Cluster after a write, so that the next decision does not rest on what was there before; unchanged if nothing was
    /// written.
    pub(super) fn updated(&self, seen: Arc<Cluster>, written: Option<Cluster>) -> Arc<Cluster> {
        let Some(mut written) = written else {
            return seen;
        };
        written.metadata.managed_fields = None;
        let written = Arc::new(written);
        self.clusters.put(Key::of(&*written), Arc::clone(&written));
        written
    }

    /// The execution namespace of a cluster.
    pub(super) fn space(&self, cluster: &str) -> Option<Arc<Space>> {
        self.spaces.find("", &namespaces::execution(cluster))
    }

    /// The execution namespace of a cluster was created.
    pub(super) fn has_space(&self, cluster: &str) {
        let key = Key::new(None, &namespaces::execution(cluster));
        self.spaces.put(key, Arc::new(Space { deleting: false }));
    }

    /// All taint policies.
    pub(super) fn taint_policies(&self) -> Vec<ClusterTaintPolicy> {
        self.policies
            .all()
            .into_iter()
            .map(|(_, policy)| (*policy).clone())
            .collect()
    }

    /// The way to a member as its Cluster and Secret describe it now, and a client for it if there is one.
    pub(super) fn way(&self, cluster: &Cluster) -> (Way, Option<Client>) {
        let name = cluster.name_any();
        self.members.set(&name, Access::of(cluster));
        match self.members.member(&name) {
            Ok(member) => (Way::Open(member.revision), Some(member.client)),
            Err(error) => (Way::Closed(error), None),
        }
    }

    /// A Cluster is gone.
    pub(super) fn forget(&self, cluster: &str) {
        self.members.remove(cluster);
    }
}
