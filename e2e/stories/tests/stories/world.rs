//! The one world all stories happen in: three members joined by `karmadactl`, four operators under their own permissions.

use std::fmt::Debug;
use std::time::Duration;

use anyhow::Result;
use crds::work::{ResourceBinding, Work};
use crds::{Condition, namespaces};
use k8s_openapi::api::core::v1::{Event, Namespace};
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind, NamespaceResourceScope, TypeMeta};
use kube::{Client, Resource, ResourceExt as _};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use testbed::{Cluster, Member, OPERATORS, System, Testbed, binary, wait};
use tokio::sync::{OnceCell, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// A busy machine needs long for a Deployment to become ready; no story waits longer than it has to.
pub(crate) const SOON: Duration = Duration::from_mins(2);

/// By default a member has to be silent, and then well, for half a minute. The stories of loss need not wait so long.
const HASTE: [&str; 3] = [
    "--cluster-status-update-frequency=2s",
    "--cluster-failure-threshold=10s",
    "--cluster-success-threshold=5s",
];

pub(crate) struct World {
    pub(crate) bed: Testbed,
    pub(crate) system: System,
    turns: RwLock<()>,
}

/// One test's part of the world. Its namespace is deleted at the end, after a dump if the test failed.
pub(crate) struct Scene {
    pub(crate) world: &'static World,
    pub(crate) namespace: testbed::Namespace<'static>,
    _turn: Turn,
}

/// A kind whose objects live in namespaces.
pub(crate) trait Namespaced:
    Resource<DynamicType = (), Scope = NamespaceResourceScope>
    + Clone
    + Debug
    + DeserializeOwned
    + Serialize
{
}

impl<K> Namespaced for K where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Clone
        + Debug
        + DeserializeOwned
        + Serialize
{
}

/// Most stories happen side by side. One that breaks a member or counts requests has the world for itself.
#[expect(dead_code, reason = "the guards are held, not looked at")]
enum Turn {
    Beside(RwLockReadGuard<'static, ()>),
    Alone(RwLockWriteGuard<'static, ()>),
}

async fn create() -> Result<World> {
    // Known at once, rather than when everything else has started.
    for program in OPERATORS.into_iter().chain(["karmadactl"]) {
        binary(program)?;
    }
    let bed = Testbed::builder()
        .member(Member::named("member1"))
        .member(Member::named("member2"))
        .member(Member::named("member3").storage_can_fail())
        .start()
        .await?;
    bed.install().await?;
    let system = bed
        .start_system_with(|name| match name {
            "cluster-health" => &HASTE,
            _ => &[],
        })
        .await?;
    for member in bed.members() {
        bed.join(member, &[]).await?;
    }
    bed.control_plane()
        .kubectl(&[
            "wait",
            "clusters",
            "--all",
            "--for=condition=Ready",
            "--timeout=120s",
        ])
        .await?;
    Ok(World {
        bed,
        system,
        turns: RwLock::new(()),
    })
}

pub(crate) async fn world() -> &'static World {
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
    Scene::open(world, prefix, turn).await
}

/// A scene that has the world for itself.
pub(crate) async fn scene_alone(prefix: &str) -> Scene {
    let world = world().await;
    let turn = Turn::Alone(world.turns.write().await);
    Scene::open(world, prefix, turn).await
}

impl Scene {
    async fn open(world: &'static World, prefix: &str, turn: Turn) -> Self {
        let namespace = world.bed.namespace(prefix).await.unwrap();
        Self {
            world,
            namespace,
            _turn: turn,
        }
    }

    pub(crate) fn name(&self) -> &str {
        self.namespace.name()
    }

    pub(crate) fn member(&self, name: &str) -> &'static Cluster {
        self.world.bed.member(name)
    }

    pub(crate) fn plane(&self) -> Client {
        self.world.bed.control_plane().client()
    }

    /// The scene's namespace on the control plane.
    pub(crate) fn api<K: Namespaced>(&self) -> Api<K> {
        Api::namespaced(self.plane(), self.name())
    }

    /// The scene's namespace in a member.
    pub(crate) fn copies<K: Namespaced>(&self, member: &str) -> Api<K> {
        Api::namespaced(self.member(member).client(), self.name())
    }

    /// Applies a document on the control plane, as a user does; in the scene's namespace unless its kind has none.
    pub(crate) async fn apply(&self, document: Value) -> DynamicObject {
        apply(&self.plane(), self.name(), document).await.unwrap()
    }

    pub(crate) async fn delete<K: Namespaced>(&self, name: &str) {
        self.api::<K>()
            .delete(name, &DeleteParams::default())
            .await
            .unwrap();
    }

    /// Waits until a member has a copy for which `holds`.
    pub(crate) async fn copy<K: Namespaced>(
        &self,
        member: &str,
        name: &str,
        what: &str,
        holds: impl FnMut(&K) -> bool,
    ) -> K {
        let what = format!("in {member}, {what}");
        wait::object(&self.copies(member), name, what, SOON, holds)
            .await
            .unwrap()
    }

    /// Waits until a member has no such object.
    pub(crate) async fn no_copy<K: Namespaced>(&self, member: &str, name: &str) {
        wait::gone(&self.copies::<K>(member), name, SOON)
            .await
            .unwrap();
    }

    /// Waits until the object on the control plane is so.
    pub(crate) async fn template<K: Namespaced>(
        &self,
        name: &str,
        what: &str,
        holds: impl FnMut(&K) -> bool,
    ) -> K {
        wait::object(&self.api(), name, what, SOON, holds)
            .await
            .unwrap()
    }

    /// Waits until the binding is so.
    pub(crate) async fn binding(
        &self,
        name: &str,
        what: &str,
        holds: impl FnMut(&ResourceBinding) -> bool,
    ) -> ResourceBinding {
        self.template(name, what, holds).await
    }

    /// The Works of this scene's bindings for one member.
    pub(crate) async fn works(&self, member: &str) -> Vec<Work> {
        let works: Api<Work> = Api::namespaced(self.plane(), &namespaces::execution(member));
        let mut works = works.list(&ListParams::default()).await.unwrap().items;
        let key = crds::annotations::RESOURCE_BINDING_NAMESPACE;
        works.retain(|work| work.annotations().get(key).map(String::as_str) == Some(self.name()));
        works
    }

    /// Waits until an event about that object has the reason and names all of `words`.
    pub(crate) async fn event(&self, about: &str, reason: &str, words: &[&str]) {
        let events: Api<Event> = self.api();
        let what = format!("an event {reason} about {about} that names {words:?}");
        wait::until(what, SOON, async || {
            let events = events
                .list(&ListParams::default())
                .await
                .map_err(|error| error.to_string())?;
            let lines: Vec<_> = events
                .items
                .iter()
                .filter(|event| event.involved_object.name.as_deref() == Some(about))
                .map(|event| {
                    let note = event.message.as_deref().unwrap_or_default();
                    (event.reason.as_deref().unwrap_or_default(), note)
                })
                .collect();
            if lines
                .iter()
                .any(|(why, note)| *why == reason && words.iter().all(|word| note.contains(word)))
            {
                Ok(())
            } else {
                Err(format!("{lines:#?}"))
            }
        })
        .await
        .unwrap();
    }

    /// Waits until the member has the scene's namespace, for stories that put something of their own into it.
    pub(crate) async fn namespace_in(&self, member: &str) {
        let namespaces: Api<Namespace> = Api::all(self.member(member).client());
        wait::object(&namespaces, self.name(), "it exists", SOON, |_| true)
            .await
            .unwrap();
    }
}

/// The kinds without a namespace that stories apply.
const CLUSTER_SCOPED: [&str; 5] = [
    "ClusterPropagationPolicy",
    "ClusterOverridePolicy",
    "ClusterRole",
    "CustomResourceDefinition",
    "Cluster",
];

/// Server-side apply of a document whose kind is found by its own words.
pub(crate) async fn apply(
    client: &Client,
    namespace: &str,
    document: Value,
) -> Result<DynamicObject> {
    let types: TypeMeta = serde_json::from_value(document.clone())?;
    let kind = GroupVersionKind::try_from(&types)?;
    let resource = ApiResource::from_gvk(&kind);
    let object: DynamicObject = serde_json::from_value(document)?;
    let api: Api<DynamicObject> = if CLUSTER_SCOPED.contains(&types.kind.as_str()) {
        Api::all_with(client.clone(), &resource)
    } else {
        Api::namespaced_with(client.clone(), namespace, &resource)
    };
    let params = PatchParams::apply("story").force();
    Ok(api
        .patch(&object.name_any(), &params, &Patch::Apply(&object))
        .await?)
}

/// Whether a condition has that status and reason, and its message names all of `words`.
pub(crate) fn says(
    conditions: &[Condition],
    kind: &str,
    status: &str,
    reason: &str,
    words: &[&str],
) -> bool {
    conditions.iter().any(|condition| {
        condition.type_ == kind
            && condition.status == status
            && condition.reason == reason
            && words.iter().all(|word| condition.message.contains(word))
    })
}

/// The conditions of a binding.
pub(crate) fn conditions(binding: &ResourceBinding) -> &[Condition] {
    binding
        .status
        .as_ref()
        .map_or(&[], |status| &status.conditions)
}

/// The clusters of a binding with their replicas, by name; what has no replicas counts 0.
pub(crate) fn placement(binding: &ResourceBinding) -> Vec<(&str, i32)> {
    let mut clusters: Vec<_> = binding
        .spec
        .clusters
        .iter()
        .map(|target| (target.name.as_str(), target.replicas.unwrap_or(0)))
        .collect();
    clusters.sort_unstable();
    clusters
}

/// The clusters of a binding, by name.
pub(crate) fn names(binding: &ResourceBinding) -> Vec<&str> {
    placement(binding)
        .into_iter()
        .map(|(name, _)| name)
        .collect()
}
