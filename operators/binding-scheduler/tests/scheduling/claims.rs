//! Who owns a template, and how that shows.

use crds::policy::PropagationPolicy;
use crds::work::{ClusterResourceBinding, ResourceBinding};
use crds::{annotations, finalizers, labels as keys};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::api::rbac::v1::ClusterRole;
use kube::ResourceExt as _;
use kube::api::{Api, DeleteParams, PostParams};
use serde_json::json;
use testbed::wait;

use crate::world::{SOON, deployment, labels, policy, scene};

#[tokio::test]
async fn a_template_is_claimed_and_its_binding_says_whose_it_is() {
    let scene = scene("claim").await;
    scene.report("m1", 9).await;
    scene.apply(policy("p", "web", &scene.to(&["m1"]))).await;
    scene.apply(deployment("web", 2)).await;
    let binding = scene.placed("web-deployment", "m1:2").await;
    let template: Deployment = scene
        .becomes("web", "it is claimed", |template| {
            labels(template).contains_key(keys::PROPAGATION_POLICY_PERMANENT_ID)
        })
        .await;
    let policy: PropagationPolicy = scene.api().get("p").await.unwrap();
    let id = &policy.labels()[keys::PROPAGATION_POLICY_PERMANENT_ID];
    assert_eq!(policy.finalizers(), [finalizers::PROPAGATION_POLICY]);
    assert_eq!(
        &labels(&template)[keys::PROPAGATION_POLICY_PERMANENT_ID],
        id
    );
    assert_eq!(&labels(&binding)[keys::PROPAGATION_POLICY_PERMANENT_ID], id);
    assert_eq!(
        template.annotations()[annotations::PROPAGATION_POLICY_NAME],
        "p"
    );
    assert_eq!(
        binding.annotations()[annotations::PROPAGATION_POLICY_NAMESPACE],
        scene.name()
    );
    assert!(labels(&binding).contains_key(keys::RESOURCE_BINDING_PERMANENT_ID));
    assert_eq!(binding.finalizers(), [finalizers::BINDING]);
    let owner = &binding.owner_references()[0];
    assert_eq!(Some(&owner.uid), template.metadata.uid.as_ref());
    assert_eq!(
        binding
            .spec
            .replica_requirements
            .as_ref()
            .unwrap()
            .resource_request["cpu"]
            .0,
        "1"
    );
    scene.scheduled("web-deployment", "Success", &[]).await;
    scene.told("web", "ScheduleBindingSucceed", &["m1:2"]).await;
}

#[tokio::test]
async fn a_template_without_policy_goes_nowhere_until_there_is_one() {
    let scene = scene("wait").await;
    scene.report("m1", 9).await;
    scene.apply(deployment("other", 1)).await;
    scene.apply(deployment("web", 1)).await;
    scene
        .apply(policy("first", "other", &scene.to(&["m1"])))
        .await;
    scene.placed("other-deployment", "m1:1").await;
    let bindings: Api<ResourceBinding> = scene.api();
    assert!(bindings.get_opt("web-deployment").await.unwrap().is_none());
    scene
        .told("web", "ApplyPolicyFailed", &["no policy selects it"])
        .await;
    scene
        .apply(policy("second", "web", &scene.to(&["m1"])))
        .await;
    scene.placed("web-deployment", "m1:1").await;
}

#[tokio::test]
async fn a_deleted_policy_lets_go_and_the_next_one_takes_over() {
    let scene = scene("release").await;
    scene.report("m1", 9).await;
    scene.report("m2", 9).await;
    scene.apply(policy("a", "web", &scene.to(&["m1"]))).await;
    scene.apply(deployment("web", 1)).await;
    scene.placed("web-deployment", "m1:1").await;
    scene.scheduled("web-deployment", "Success", &[]).await;

    scene.delete::<PropagationPolicy>("a").await;
    wait::gone(&scene.api::<PropagationPolicy>(), "a", SOON)
        .await
        .unwrap();
    let template: Deployment = scene
        .becomes("web", "nobody claims it", |template| {
            !labels(template).contains_key(keys::PROPAGATION_POLICY_PERMANENT_ID)
        })
        .await;
    assert!(
        !template
            .annotations()
            .contains_key(annotations::PROPAGATION_POLICY_NAME)
    );
    let binding = scene.placed("web-deployment", "m1:1").await;
    assert!(!labels(&binding).contains_key(keys::PROPAGATION_POLICY_PERMANENT_ID));

    scene.apply(policy("b", "web", &scene.to(&["m2"]))).await;
    let binding = scene.placed("web-deployment", "m2:1").await;
    assert_eq!(
        binding.annotations()[annotations::PROPAGATION_POLICY_NAME],
        "b"
    );
}

#[tokio::test]
async fn only_preemption_takes_a_template_from_its_owner() {
    let scene = scene("preempt").await;
    scene.report("m1", 9).await;
    scene.report("m2", 9).await;
    scene.apply(policy("z", "web", &scene.to(&["m1"]))).await;
    scene.apply(deployment("web", 1)).await;
    scene.placed("web-deployment", "m1:1").await;

    let mut challenger = policy("a", "web", &scene.to(&["m2"]));
    challenger["spec"]["priority"] = json!(5);
    scene.apply(challenger.clone()).await;
    scene
        .told(
            "a",
            "ApplyPolicyFailed",
            &["claimed by PropagationPolicy", "/z", "Never"],
        )
        .await;
    scene.placed("web-deployment", "m1:1").await;

    challenger["spec"]["preemption"] = json!("Always");
    scene.apply(challenger).await;
    scene.placed("web-deployment", "m2:1").await;
    scene
        .told("web", "PreemptPolicySucceed", &["/a", "/z"])
        .await;
}

#[tokio::test]
async fn a_tool_that_replaces_the_template_whole_changes_nothing() {
    let scene = scene("replace").await;
    scene.report("m1", 9).await;
    scene.apply(policy("p", "web", &scene.to(&["m1"]))).await;
    let plain = scene.apply(deployment("web", 1)).await;
    let claimed = |template: &Deployment| {
        labels(template).contains_key(keys::PROPAGATION_POLICY_PERMANENT_ID)
    };
    scene
        .becomes::<Deployment>("web", "it is claimed", claimed)
        .await;
    let mut whole: Deployment =
        serde_json::from_value(serde_json::to_value(&plain).unwrap()).unwrap();
    whole.metadata.resource_version = None;
    whole.metadata.managed_fields = None;
    whole.spec.replicas = Some(3);
    scene
        .api::<Deployment>()
        .replace("web", &PostParams::default(), &whole)
        .await
        .unwrap();
    scene.placed("web-deployment", "m1:3").await;
    scene
        .becomes::<Deployment>("web", "it is claimed again", claimed)
        .await;
}

#[tokio::test]
async fn a_template_made_anew_gets_a_new_binding() {
    let scene = scene("anew").await;
    scene.report("m1", 9).await;
    scene.apply(policy("p", "web", &scene.to(&["m1"]))).await;
    scene.apply(deployment("web", 1)).await;
    let first = scene.placed("web-deployment", "m1:1").await;
    scene.delete::<Deployment>("web").await;
    scene.apply(deployment("web", 2)).await;
    // Nobody executes here, so the test takes the finalizer away when garbage collection has come.
    let bindings: Api<ResourceBinding> = scene.api();
    scene
        .becomes::<ResourceBinding>("web-deployment", "it is being deleted", |binding| {
            binding.metadata.deletion_timestamp.is_some()
        })
        .await;
    let free = kube::api::Patch::Merge(json!({"metadata": {"finalizers": null}}));
    bindings
        .patch("web-deployment", &kube::api::PatchParams::default(), &free)
        .await
        .unwrap();
    let second = scene.placed("web-deployment", "m1:2").await;
    assert_ne!(first.metadata.uid, second.metadata.uid);
}

#[tokio::test]
async fn a_cluster_policy_binds_cluster_scoped_and_namespaced_templates() {
    let scene = scene("scoped").await;
    scene.report("m1", 9).await;
    let name = scene.name().to_owned();
    scene
        .apply(json!({
            "apiVersion": "policy.karmada.io/v1alpha1", "kind": "ClusterPropagationPolicy",
            "metadata": {"name": name},
            "spec": {
                "resourceSelectors": [
                    {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "name": name},
                    {"apiVersion": "v1", "kind": "ConfigMap", "namespace": name},
                ],
                "placement": scene.to(&["m1"]),
            },
        }))
        .await;
    scene
        .apply(json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": name}, "rules": []}))
        .await;
    scene
        .apply(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"a": "b"}}))
        .await;
    let binding = scene.placed("settings-configmap", "m1").await;
    assert_eq!(binding.spec.replicas, None);
    let bindings: Api<ClusterResourceBinding> = Api::all(scene.client());
    let what = "it is placed";
    let bound = wait::object(
        &bindings,
        &format!("{name}-clusterrole"),
        what,
        SOON,
        |binding| binding.spec.clusters.len() == 1,
    )
    .await
    .unwrap();
    assert_eq!(bound.finalizers(), [finalizers::CLUSTER_RESOURCE_BINDING]);
    assert_eq!(
        bound.annotations()[annotations::CLUSTER_PROPAGATION_POLICY_NAME],
        name
    );
    let map: ConfigMap = scene
        .becomes("settings", "it is claimed", |map| {
            labels(map).contains_key(keys::CLUSTER_PROPAGATION_POLICY_PERMANENT_ID)
        })
        .await;
    assert_eq!(
        map.annotations()[annotations::CLUSTER_PROPAGATION_POLICY_NAME],
        name
    );
    let roles: Api<ClusterRole> = Api::all(scene.client());
    roles.delete(&name, &DeleteParams::default()).await.unwrap();
    let policies: Api<crds::policy::ClusterPropagationPolicy> = Api::all(scene.client());
    policies
        .delete(&name, &DeleteParams::default())
        .await
        .unwrap();
}
