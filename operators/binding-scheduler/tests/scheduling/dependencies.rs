//! What a template refers to goes where the template goes.

use std::collections::BTreeSet;

use crds::work::ResourceBinding;
use crds::{annotations, finalizers, labels as keys, names};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt as _;
use kube::api::{Api, Patch, PatchParams};
use serde_json::{Value, json};
use testbed::wait;

use crate::world::{SOON, Scene, deployment, labels, policy, scene};

/// A policy that takes along what the Deployment refers to.
fn propagating(name: &str, selects: &str, placement: &Value) -> Value {
    let mut policy = policy(name, selects, placement);
    policy["spec"]["propagateDeps"] = json!(true);
    policy
}

/// A Deployment that reads all of these objects of a kind: `configMapRef` or `secretRef`.
fn reading(name: &str, source: &str, objects: &[&str]) -> Value {
    let mut deployment = deployment(name, 1);
    deployment["spec"]["template"]["spec"]["containers"][0]["envFrom"] = objects
        .iter()
        .map(|object| json!({source: {"name": object}}))
        .collect();
    deployment
}

fn settings() -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"a": "b"}})
}

/// Who depends on the object of a binding, and where: `web-deployment: m1 m2`.
fn required_by(scene: &Scene, binding: &ResourceBinding) -> Vec<String> {
    let prefix = scene.cluster("");
    binding
        .spec
        .required_by
        .iter()
        .map(|snapshot| {
            let names: Vec<&str> = snapshot
                .clusters
                .iter()
                .map(|target| target.name.strip_prefix(&prefix).unwrap_or(&target.name))
                .collect();
            format!("{}: {}", snapshot.name, names.join(" "))
        })
        .collect()
}

impl Scene {
    async fn required(&self, binding: &str, expected: &[&str]) -> ResourceBinding {
        self.becomes(
            binding,
            &format!("it is required by {expected:?}"),
            |binding| required_by(self, binding) == expected,
        )
        .await
    }

    /// Waits until a binding is deleted. Nobody executes here, so the test takes the finalizer away when it is.
    async fn let_go(&self, binding: &str) {
        self.becomes::<ResourceBinding>(binding, "it is being deleted", |binding| {
            binding.metadata.deletion_timestamp.is_some()
        })
        .await;
        let bindings: Api<ResourceBinding> = self.api();
        let free = Patch::Merge(json!({"metadata": {"finalizers": null}}));
        bindings
            .patch(binding, &PatchParams::default(), &free)
            .await
            .unwrap();
        wait::gone(&bindings, binding, SOON).await.unwrap();
    }
}

#[tokio::test]
async fn what_a_template_refers_to_is_bound_to_its_clusters_and_follows_them() {
    let scene = scene("deps").await;
    for cluster in ["m1", "m2"] {
        scene.report(cluster, 9).await;
    }
    scene.apply(settings()).await;
    scene
        .apply(propagating("p", "web", &scene.to(&["m1"])))
        .await;
    scene
        .apply(reading("web", "configMapRef", &["settings"]))
        .await;
    let attached = scene
        .required("settings-configmap", &["web-deployment: m1"])
        .await;
    let independent = scene.placed("web-deployment", "m1:1").await;

    let id = &independent.labels()[keys::RESOURCE_BINDING_PERMANENT_ID];
    let label = names::depended_by_label(Some(scene.name()), "web-deployment");
    assert_eq!(&attached.labels()[&label], id);
    assert_ne!(&attached.labels()[keys::RESOURCE_BINDING_PERMANENT_ID], id);
    assert_eq!(attached.finalizers(), [finalizers::BINDING]);
    let template: ConfigMap = scene.api().get("settings").await.unwrap();
    assert_eq!(
        attached.owner_references()[0].uid,
        template.uid().unwrap_or_default()
    );
    assert_eq!(
        labels(&template).keys().collect::<Vec<_>>(),
        Vec::<&String>::new(),
        "no policy claims the dependency"
    );
    assert_eq!(attached.spec.placement, None);
    assert!(attached.spec.clusters.is_empty());
    let record: Value =
        serde_json::from_str(&independent.annotations()[annotations::DEPENDENCIES]).unwrap();
    assert_eq!(
        record,
        json!([{"apiVersion": "v1", "kind": "ConfigMap", "namespace": scene.name(), "name": "settings"}])
    );

    scene
        .apply(propagating("p", "web", &scene.to(&["m2"])))
        .await;
    scene
        .required("settings-configmap", &["web-deployment: m2"])
        .await;
}

#[tokio::test]
async fn a_shared_dependency_stays_until_the_last_that_needs_it_is_gone() {
    let scene = scene("shared").await;
    for cluster in ["m1", "m2"] {
        scene.report(cluster, 9).await;
    }
    scene.apply(settings()).await;
    scene
        .apply(propagating("p", "web", &scene.to(&["m1"])))
        .await;
    scene
        .apply(propagating("q", "api", &scene.to(&["m2"])))
        .await;
    scene
        .apply(reading("web", "configMapRef", &["settings"]))
        .await;
    scene
        .apply(reading("api", "configMapRef", &["settings"]))
        .await;
    scene
        .required(
            "settings-configmap",
            &["api-deployment: m2", "web-deployment: m1"],
        )
        .await;

    // One no longer refers to it.
    scene.apply(deployment("api", 1)).await;
    let left = scene
        .required("settings-configmap", &["web-deployment: m1"])
        .await;
    let leading_back: Vec<&String> = left
        .labels()
        .keys()
        .filter(|key| key.starts_with(keys::DEPENDED_BY_PREFIX))
        .collect();
    assert_eq!(
        leading_back,
        [&names::depended_by_label(
            Some(scene.name()),
            "web-deployment"
        )]
    );

    // The other one goes.
    scene
        .delete::<k8s_openapi::api::apps::v1::Deployment>("web")
        .await;
    scene.let_go("web-deployment").await;
    scene.let_go("settings-configmap").await;
    let map: ConfigMap = scene.api().get("settings").await.unwrap();
    assert_eq!(map.metadata.deletion_timestamp, None, "the template stays");
}

#[tokio::test]
async fn a_dependency_that_is_created_later_goes_along() {
    let scene = scene("later").await;
    scene.report("m1", 9).await;
    scene
        .apply(propagating("p", "web", &scene.to(&["m1"])))
        .await;
    scene
        .apply(reading("web", "configMapRef", &["settings"]))
        .await;
    scene.placed("web-deployment", "m1:1").await;
    scene.apply(settings()).await;
    scene
        .required("settings-configmap", &["web-deployment: m1"])
        .await;
}

#[tokio::test]
async fn switching_propagation_off_takes_dependencies_back() {
    let scene = scene("off").await;
    scene.report("m1", 9).await;
    scene.apply(settings()).await;
    scene
        .apply(propagating("p", "web", &scene.to(&["m1"])))
        .await;
    scene
        .apply(reading("web", "configMapRef", &["settings"]))
        .await;
    scene
        .required("settings-configmap", &["web-deployment: m1"])
        .await;
    let mut off = propagating("p", "web", &scene.to(&["m1"]));
    off["spec"]["propagateDeps"] = json!(false);
    scene.apply(off).await;
    scene.let_go("settings-configmap").await;
    let independent = scene.placed("web-deployment", "m1:1").await;
    assert!(
        !independent
            .annotations()
            .contains_key(annotations::DEPENDENCIES)
    );
}

#[tokio::test]
async fn a_policy_of_its_own_keeps_its_placement_beside_those_who_need_it() {
    let scene = scene("both").await;
    for cluster in ["m1", "m2"] {
        scene.report(cluster, 9).await;
    }
    scene.apply(settings()).await;
    let mut own = policy("own", "settings", &scene.to(&["m2"]));
    own["spec"]["resourceSelectors"] =
        json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "settings"}]);
    scene.apply(own).await;
    scene
        .apply(propagating("p", "web", &scene.to(&["m1"])))
        .await;
    scene
        .apply(reading("web", "configMapRef", &["settings"]))
        .await;
    let both = scene
        .required("settings-configmap", &["web-deployment: m1"])
        .await;
    assert_eq!(scene.placement(&both), "m2");
    scene.apply(deployment("web", 1)).await;
    let alone = scene.required("settings-configmap", &[]).await;
    assert_eq!(scene.placement(&alone), "m2");
    assert_eq!(alone.metadata.deletion_timestamp, None);
}

#[tokio::test]
async fn policies_that_disagree_about_a_shared_dependency_are_told() {
    let scene = scene("disagree").await;
    scene.report("m1", 9).await;
    scene.apply(settings()).await;
    let mut overwriting = propagating("p", "web", &scene.to(&["m1"]));
    overwriting["spec"]["conflictResolution"] = json!("Overwrite");
    scene.apply(overwriting).await;
    scene
        .apply(propagating("q", "api", &scene.to(&["m1"])))
        .await;
    scene
        .apply(reading("web", "configMapRef", &["settings"]))
        .await;
    scene
        .apply(reading("api", "configMapRef", &["settings"]))
        .await;
    let attached = scene
        .required(
            "settings-configmap",
            &["api-deployment: m1", "web-deployment: m1"],
        )
        .await;
    assert_eq!(
        attached.spec.conflict_resolution,
        crds::policy::ConflictResolution::Overwrite
    );
    scene
        .told(
            "settings",
            "DependencyPolicyConflict",
            &["web-deployment", "api-deployment", "Overwrite"],
        )
        .await;
}

#[tokio::test]
async fn secrets_that_the_scheduler_may_not_see_are_told_and_hold_nothing_up() {
    let scene = scene("secret").await;
    scene.report("m1", 9).await;
    scene.apply(settings()).await;
    scene
        .apply(propagating("p", "web", &scene.to(&["m1"])))
        .await;
    let mut web = reading("web", "configMapRef", &["settings"]);
    web["spec"]["template"]["spec"]["imagePullSecrets"] = json!([{"name": "registry"}]);
    scene.apply(web).await;
    scene.placed("web-deployment", "m1:1").await;
    scene
        .required("settings-configmap", &["web-deployment: m1"])
        .await;
    scene
        .told(
            "web",
            "SyncScheduleResultToDependenciesFailed",
            &["Secret registry", "propagate-secrets"],
        )
        .await;
}

#[tokio::test]
async fn a_restart_takes_nothing_away() {
    let scene = crate::world::scene_alone("restart").await;
    scene.report("m1", 9).await;
    scene.apply(settings()).await;
    scene
        .apply(propagating("p", "web", &scene.to(&["m1"])))
        .await;
    scene
        .apply(reading("web", "configMapRef", &["settings"]))
        .await;
    let before = scene
        .required("settings-configmap", &["web-deployment: m1"])
        .await;
    let operator = &scene.world.operator;
    operator.stop(SOON).await.unwrap();
    operator.restart().await.unwrap();
    operator.ready(SOON).await.unwrap();
    // Something that comes later shows that what came before has been looked at.
    scene
        .apply(reading("web", "configMapRef", &["settings", "more"]))
        .await;
    let mut more = settings();
    more["metadata"]["name"] = json!("more");
    scene.apply(more).await;
    scene
        .required("more-configmap", &["web-deployment: m1"])
        .await;
    let after: ResourceBinding = scene.api().get("settings-configmap").await.unwrap();
    let generations: BTreeSet<_> = [&before, &after]
        .map(|binding| (binding.uid(), binding.metadata.resource_version.clone()))
        .into();
    assert_eq!(generations.len(), 1, "it was not touched");
}
