//! One control plane and one scheduler for all tests; each has a namespace and clusters of its own.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::time::Duration;

use anyhow::Result;
use crds::cluster::Cluster;
use crds::work::ResourceBinding;
use k8s_openapi::api::core::v1::Event;
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams};
use kube::core::{GroupVersionKind, NamespaceResourceScope, TypeMeta};
use kube::{Client, Resource, ResourceExt as _};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use testbed::{Namespace, Process, Testbed, wait};
use tokio::sync::{OnceCell, RwLock, RwLockReadGuard, RwLockWriteGuard};

pub(crate) const SOON: Duration = Duration::from_secs(60);

pub(crate) struct World {
    pub(crate) bed: Testbed,
    pub(crate) operator: Process,
    turns: RwLock<()>,
}

/// One test's part of the world.
pub(crate) struct Scene {
    pub(crate) world: &'static World,
    pub(crate) namespace: Namespace<'static>,
    _turn: Turn,
}

#[expect(dead_code, reason = "the guards are held, not looked at")]
enum Turn {
    Beside(RwLockReadGuard<'static, ()>),
    Alone(RwLockWriteGuard<'static, ()>),
}

async fn create() -> Result<World> {
    let bed = Testbed::builder().start().await?;
    bed.install().await?;
    let operator = bed.start_operator("binding-scheduler", &[]).await?;
    Ok(World {
        bed,
        operator,
        turns: RwLock::new(()),
    })
}

async fn world() -> &'static World {
    static WORLD: OnceCell<Result<World, String>> = OnceCell::const_new();
    let world = WORLD
        .get_or_init(|| async { create().await.map_err(|error| format!("{error:?}")) })
        .await;
    match world {
        Ok(world) => world,
        Err(error) => panic!("the world did not come into being: {error}"),
    }
}

/// A scene beside others.
pub(crate) async fn scene(prefix: &str) -> Scene {
    let world = world().await;
    let turn = Turn::Beside(world.turns.read().await);
    open(world, prefix, turn).await
}

/// A scene that has the world for itself.
pub(crate) async fn scene_alone(prefix: &str) -> Scene {
    let world = world().await;
    let turn = Turn::Alone(world.turns.write().await);
    open(world, prefix, turn).await
}

async fn open(world: &'static World, prefix: &str, turn: Turn) -> Scene {
    Scene {
        world,
        namespace: world.bed.namespace(prefix).await.unwrap(),
        _turn: turn,
    }
}

impl Scene {
    pub(crate) fn name(&self) -> &str {
        self.namespace.name()
    }

    pub(crate) fn client(&self) -> Client {
        self.world.bed.control_plane().client()
    }

    pub(crate) fn api<K>(&self) -> Api<K>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    {
        Api::namespaced(self.client(), self.name())
    }

    /// The name of a cluster of this scene, so that scenes do not see each other's.
    pub(crate) fn cluster(&self, name: &str) -> String {
        format!("{}-{name}", self.name())
    }

    /// Reports a ready cluster of this scene with so many cores free.
    pub(crate) async fn report(&self, name: &str, cores: u32) {
        self.report_with(name, cores, json!({}), &[]).await;
    }

    /// Reports a ready cluster of this scene, with labels and the keys of `NoSchedule` taints.
    pub(crate) async fn report_with(&self, name: &str, cores: u32, labels: Value, taints: &[&str]) {
        let name = self.cluster(name);
        let clusters: Api<Cluster> = Api::all(self.client());
        let taints: Vec<Value> = taints
            .iter()
            .map(|key| json!({"key": key, "effect": "NoSchedule"}))
            .collect();
        let mut labels = labels;
        labels["scene"] = json!(self.name());
        let object = json!({
            "apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster",
            "metadata": {"name": name, "labels": labels},
            "spec": {"syncMode": "Push", "taints": taints},
        });
        let apply = PatchParams::apply("test").force();
        clusters
            .patch(&name, &apply, &Patch::Apply(object))
            .await
            .unwrap();
        let kinds = |kinds: &[&str]| -> Vec<Value> {
            kinds
                .iter()
                .map(|kind| json!({"name": format!("{}s", kind.to_lowercase()), "kind": kind}))
                .collect()
        };
        let condition = |kind: &str| {
            json!({
                "type": kind, "status": "True", "reason": "Test", "message": "",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            })
        };
        let status = json!({"status": {
            "conditions": [condition("Ready"), condition("CompleteAPIEnablements")],
            "apiEnablements": [
                {"groupVersion": "apps/v1", "resources": kinds(&["Deployment"])},
                {"groupVersion": "v1", "resources": kinds(&["ConfigMap"])},
                {"groupVersion": "example.io/v1", "resources": kinds(&["Widget"])},
                {"groupVersion": "rbac.authorization.k8s.io/v1", "resources": kinds(&["ClusterRole"])},
            ],
            "resourceSummary": {"allocatable": {"cpu": cores.to_string(), "pods": "110"}},
        }});
        clusters
            .patch_status(&name, &PatchParams::default(), &Patch::Merge(status))
            .await
            .unwrap();
    }

    pub(crate) async fn remove_cluster(&self, name: &str) {
        let clusters: Api<Cluster> = Api::all(self.client());
        clusters
            .delete(&self.cluster(name), &DeleteParams::default())
            .await
            .unwrap();
    }

    /// Applies a document as a user does.
    pub(crate) async fn apply(&self, document: Value) -> DynamicObject {
        let types: TypeMeta = serde_json::from_value(document.clone()).unwrap();
        let resource = ApiResource::from_gvk(&GroupVersionKind::try_from(&types).unwrap());
        let object: DynamicObject = serde_json::from_value(document).unwrap();
        let scoped = [
            "ClusterPropagationPolicy",
            "ClusterRole",
            "CustomResourceDefinition",
            "ResourceInterpreterCustomization",
        ];
        let api: Api<DynamicObject> = if scoped.contains(&types.kind.as_str()) {
            Api::all_with(self.client(), &resource)
        } else {
            Api::namespaced_with(self.client(), self.name(), &resource)
        };
        let params = PatchParams::apply("user").force();
        api.patch(&object.name_any(), &params, &Patch::Apply(&object))
            .await
            .unwrap()
    }

    pub(crate) async fn delete<K>(&self, name: &str)
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + Clone
            + Debug
            + DeserializeOwned,
    {
        self.api::<K>()
            .delete(name, &DeleteParams::default())
            .await
            .unwrap();
    }

    /// Waits until an object is so.
    pub(crate) async fn becomes<K>(
        &self,
        name: &str,
        what: &str,
        holds: impl FnMut(&K) -> bool,
    ) -> K
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + Clone
            + Debug
            + DeserializeOwned
            + Serialize,
    {
        wait::object(&self.api(), name, what, SOON, holds)
            .await
            .unwrap()
    }

    /// Waits until a binding is placed in just these clusters, as `m1:2 m2:1`.
    pub(crate) async fn placed(&self, binding: &str, expected: &str) -> ResourceBinding {
        self.becomes(
            binding,
            &format!("it is placed as `{expected}`"),
            |binding| self.placement(binding) == expected,
        )
        .await
    }

    pub(crate) fn placement(&self, binding: &ResourceBinding) -> String {
        let prefix = self.cluster("");
        let mut words: Vec<String> = binding
            .spec
            .clusters
            .iter()
            .map(|target| {
                let name = target.name.strip_prefix(&prefix).unwrap_or(&target.name);
                match target.replicas {
                    Some(replicas) => format!("{name}:{replicas}"),
                    None => name.to_owned(),
                }
            })
            .collect();
        words.sort();
        words.join(" ")
    }

    /// Waits until the binding's `Scheduled` condition has that reason and names all of `words`.
    pub(crate) async fn scheduled(
        &self,
        binding: &str,
        reason: &str,
        words: &[&str],
    ) -> ResourceBinding {
        self.becomes(
            binding,
            &format!("Scheduled says {reason}, {words:?}"),
            |b: &ResourceBinding| {
                let generation = b.metadata.generation;
                b.status
                    .iter()
                    .flat_map(|s| &s.conditions)
                    .any(|condition| {
                        condition.type_ == "Scheduled"
                            && condition.reason == reason
                            && condition.observed_generation == generation
                            && words.iter().all(|word| condition.message.contains(word))
                    })
            },
        )
        .await
    }

    /// Events about an object: reason and note.
    pub(crate) async fn events(&self, about: &str) -> Vec<(String, String)> {
        let events: Api<Event> = self.api();
        let events = events.list(&ListParams::default()).await.unwrap();
        events
            .items
            .into_iter()
            .filter(|event| event.involved_object.name.as_deref() == Some(about))
            .map(|event| {
                let reason = event.reason.unwrap_or_default();
                (reason, event.message.unwrap_or_default())
            })
            .collect()
    }

    /// Waits until there is an event with that reason that names all of `words`.
    pub(crate) async fn told(&self, about: &str, reason: &str, words: &[&str]) {
        wait::until(
            format!("{reason} about {about} with {words:?}"),
            SOON,
            async || {
                let events = self.events(about).await;
                let found = events.iter().any(|(why, note)| {
                    why == reason && words.iter().all(|word| note.contains(word))
                });
                if found {
                    Ok(())
                } else {
                    Err(format!("{events:#?}"))
                }
            },
        )
        .await
        .unwrap();
    }

    /// A placement in the clusters of this scene, by name.
    pub(crate) fn to(&self, clusters: &[&str]) -> Value {
        let names: Vec<String> = clusters.iter().map(|name| self.cluster(name)).collect();
        json!({"clusterAffinity": {"clusterNames": names}})
    }

    /// The same, with replicas divided by the room in the clusters.
    pub(crate) fn divided_over(&self, clusters: &[&str]) -> Value {
        let mut placement = self.to(clusters);
        placement["replicaScheduling"] = json!({
            "replicaSchedulingType": "Divided",
            "replicaDivisionPreference": "Weighted",
            "weightPreference": {"dynamicWeight": "AvailableReplicas"},
        });
        placement
    }
}

/// A policy for Deployments of that name.
pub(crate) fn policy(name: &str, selects: &str, placement: &Value) -> Value {
    json!({
        "apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy",
        "metadata": {"name": name},
        "spec": {
            "resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": selects}],
            "placement": placement,
        },
    })
}

/// A Deployment whose replicas each want one core.
pub(crate) fn deployment(name: &str, replicas: u32) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{
                    "name": "main", "image": "example.com/app:1",
                    "resources": {"requests": {"cpu": "1"}},
                }]},
            },
        },
    })
}

pub(crate) fn labels<K: Resource>(object: &K) -> BTreeMap<String, String> {
    object.meta().labels.clone().unwrap_or_default()
}
