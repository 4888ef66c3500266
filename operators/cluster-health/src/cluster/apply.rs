//! The writes of the controller, each in one place. What is stored already is not written.

use crds::cluster::{Cluster, ClusterStatus};
use crds::work::Work;
use crds::{Taint, conditions, events, finalizers, labels, namespaces, taints};
use engine::trace::ConditionFact;
use k8s_openapi::api::core::v1::{Namespace, ObjectReference};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kit::events::{Recorder, Severity};
use kit::writer::{Deletion, Writer};
use kit::{Failure, RequestError};
use kube::api::{Api, Resource};
use kube::{Client, ResourceExt as _};
use serde_json::json;

use super::patch::merge_patch;

/// The types of conditions that this operator writes; all others belong to somebody else.
const OWN_CONDITIONS: [&str; 3] = [
    conditions::READY,
    conditions::COMPLETE_API_ENABLEMENTS,
    conditions::REMOVAL_BLOCKED,
];

/// Writes what was decided, and tells about it in Events.
pub(crate) struct Applier {
    writer: Writer,
    events: Recorder,
    clusters: Api<Cluster>,
}

impl Applier {
    pub(crate) fn new(writer: Writer, events: Recorder) -> Self {
        Self {
            clusters: Api::all(writer.client().clone()),
            writer,
            events,
        }
    }

    /// The client of the control plane, to read with.
    pub(super) fn client(&self) -> Client {
        self.writer.client().clone()
    }

    /// Sees to it that the Cluster does not go before what belongs to it.
    ///
    /// Returns the Cluster as it is then, if it changed; so do the others.
    pub(super) async fn finalizer(
        &self,
        cluster: &Cluster,
    ) -> Result<Option<Cluster>, RequestError> {
        if has_finalizer(&cluster.metadata) {
            return Ok(None);
        }
        let mut finalizers = cluster.finalizers().to_vec();
        finalizers.push(finalizers::CLUSTER.to_owned());
        let patch = json!({"metadata": {
            "finalizers": finalizers,
            // Somebody else's finalizer must not get lost.
            "resourceVersion": cluster.metadata.resource_version,
        }});
        self.writer
            .merge_patch(&self.clusters, &cluster.name_any(), &patch)
            .await
            .map(Some)
    }

    /// Creates the namespace of the Cluster's Works.
    pub(super) async fn execution_namespace(&self, cluster: &Cluster) -> Result<(), RequestError> {
        let name = namespaces::execution(&cluster.name_any());
        let namespace = Namespace {
            metadata: ObjectMeta {
                name: Some(name.clone()),
                labels: Some([(labels::SYSTEM.to_owned(), labels::TRUE.to_owned())].into()),
                ..ObjectMeta::default()
            },
            ..Namespace::default()
        };
        match self.writer.create(&self.namespaces(), &namespace).await {
            Ok(_) => {
                let note = format!("created namespace {name} for the Works of the cluster");
                self.tell(cluster, false, events::CREATE_EXECUTION_SPACE_SUCCEED, note)
                    .await;
                Ok(())
            }
            Err(error) if error.failure() == Failure::AlreadyExists => Ok(()),
            Err(error) => {
                let note = format!("could not create namespace {name}: {}", error.message());
                self.tell(cluster, true, events::CREATE_EXECUTION_SPACE_FAILED, note)
                    .await;
                Err(error)
            }
        }
    }

    /// Writes what differs between the two.
    pub(super) async fn status(
        &self,
        cluster: &Cluster,
        stored: &ClusterStatus,
        wanted: &ClusterStatus,
    ) -> Result<Option<Cluster>, RequestError> {
        let value = |status: &ClusterStatus| json!({"status": status});
        let Some(mut patch) = merge_patch(&value(stored), &value(wanted)) else {
            return Ok(None);
        };
        // A merge patch replaces the list of conditions as a whole: where others have theirs in it, it must be the list
        // that we have seen.
        let shared = stored
            .conditions
            .iter()
            .any(|one| !OWN_CONDITIONS.contains(&one.type_.as_str()));
        if shared {
            patch["metadata"] = json!({"resourceVersion": cluster.metadata.resource_version});
        }
        self.writer
            .merge_patch_status(&self.clusters, &cluster.name_any(), &patch)
            .await
            .map(Some)
    }

    /// Writes the taints, and tells when the Cluster was or is no longer tainted for its health.
    pub(super) async fn taints(
        &self,
        cluster: &Cluster,
        wanted: &[Taint],
        ready: &ConditionFact,
    ) -> Result<Option<Cluster>, RequestError> {
        let present = &cluster.spec.taints;
        if present == wanted {
            return Ok(None);
        }
        let patch = json!({
            "metadata": {"resourceVersion": cluster.metadata.resource_version},
            "spec": {"taints": wanted},
        });
        let written = self
            .writer
            .merge_patch(&self.clusters, &cluster.name_any(), &patch)
            .await;
        let (before, after) = (health_taints(present), health_taints(wanted));
        if before == after {
            return written.map(Some);
        }
        let what = match after.first() {
            Some(key) => format!("tainted {key} ({}): {}", taints::NO_SCHEDULE, ready.message),
            None => format!("no longer tainted {}: {}", before.join(", "), ready.message),
        };
        match &written {
            Ok(_) => {
                self.tell(cluster, false, events::TAINT_CLUSTER_SUCCEED, what)
                    .await;
            }
            // Somebody else was faster; the next run looks at the result.
            Err(error) if error.failure() == Failure::Conflict => {}
            Err(error) => {
                let note = format!("could not be {what}: {}", error.message());
                self.tell(cluster, true, events::TAINT_CLUSTER_FAILED, note)
                    .await;
            }
        }
        written.map(Some)
    }

    /// Deletes the namespace of the Cluster's Works, and so the Works.
    pub(super) async fn delete_execution_namespace(
        &self,
        cluster: &Cluster,
    ) -> Result<(), RequestError> {
        let name = namespaces::execution(&cluster.name_any());
        gone_is_fine(
            self.writer
                .delete(&self.namespaces(), &name, &Deletion::default())
                .await,
        )
    }

    /// Lets go of a Work whose objects nobody will remove from the member any more.
    pub(super) async fn release(
        &self,
        namespace: &str,
        work: &ObjectMeta,
    ) -> Result<(), RequestError> {
        let works: Api<Work> = Api::namespaced(self.client(), namespace);
        self.remove_finalizer(&works, work, finalizers::EXECUTION)
            .await
    }

    /// Lets the Cluster go.
    pub(super) async fn finish(&self, cluster: &Cluster) -> Result<(), RequestError> {
        self.remove_finalizer(&self.clusters, &cluster.metadata, finalizers::CLUSTER)
            .await?;
        let note = format!(
            "namespace {} is removed",
            namespaces::execution(&cluster.name_any())
        );
        self.tell(cluster, false, events::REMOVE_EXECUTION_SPACE_SUCCEED, note)
            .await;
        Ok(())
    }

    /// Removes one finalizer, and only if it is where it was seen, so that nobody else's is hit.
    async fn remove_finalizer<K>(
        &self,
        api: &Api<K>,
        seen: &ObjectMeta,
        finalizer: &str,
    ) -> Result<(), RequestError>
    where
        K: Resource + Clone + std::fmt::Debug + serde::de::DeserializeOwned,
    {
        let place = seen
            .finalizers
            .iter()
            .flatten()
            .position(|one| one == finalizer);
        let (Some(place), Some(name)) = (place, &seen.name) else {
            return Ok(());
        };
        let pointer = format!("/metadata/finalizers/{place}");
        let patch = serde_json::from_value(json!([
            {"op": "test", "path": pointer, "value": finalizer},
            {"op": "remove", "path": pointer},
        ]))
        .expect("a test and a removal are a JSON patch");
        gone_is_fine(self.writer.json_patch(api, name, patch).await.map(|_| ()))
    }

    fn namespaces(&self) -> Api<Namespace> {
        Api::all(self.client())
    }

    /// Tells that the Cluster cannot go yet.
    pub(super) async fn removal_is_blocked(&self, cluster: &Cluster, blocked: &ConditionFact) {
        let note = format!("cannot be removed yet: {}", blocked.message);
        self.tell(cluster, true, events::REMOVE_EXECUTION_SPACE_FAILED, note)
            .await;
    }

    async fn tell(&self, cluster: &Cluster, warning: bool, reason: &str, note: String) {
        let severity = if warning {
            Severity::Warning
        } else {
            Severity::Normal
        };
        let about = ObjectReference {
            api_version: Some(Cluster::api_version(&()).into_owned()),
            kind: Some(Cluster::kind(&()).into_owned()),
            name: cluster.metadata.name.clone(),
            uid: cluster.metadata.uid.clone(),
            ..ObjectReference::default()
        };
        self.events.tell(&about, severity, reason, &note).await;
    }
}

/// What should go is as good as gone if it does not exist.
fn gone_is_fine(result: Result<(), RequestError>) -> Result<(), RequestError> {
    match result {
        Err(error) if error.failure() == Failure::NotFound => Ok(()),
        result => result,
    }
}

pub(super) fn has_finalizer(meta: &ObjectMeta) -> bool {
    meta.finalizers
        .iter()
        .flatten()
        .any(|one| one == finalizers::CLUSTER)
}

/// The keys of the taints that tell of the Cluster's health.
fn health_taints(all: &[Taint]) -> Vec<&str> {
    all.iter()
        .filter(|taint| taint.effect == taints::NO_SCHEDULE)
        .map(|taint| taint.key.as_str())
        .filter(|key| [taints::NOT_READY, taints::UNREACHABLE].contains(key))
        .collect()
}
