//! Kinds that users explain with scripts.

use crds::work::ResourceBinding;
use kube::api::{Api, ApiResource, DynamicObject, Patch, PatchParams};
use kube::core::GroupVersionKind;
use serde_json::{Value, json};
use testbed::wait;

use crate::world::{SOON, Scene, scene};

fn definition() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.io"},
        "spec": {
            "group": "example.io", "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {
                "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}],
        },
    })
}

/// Lets the scheduler see and claim widgets, as an administrator does for kinds of users.
fn permission() -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {"name": "widgets", "labels": {"rbac.karmada.io/aggregate-to-template-claims": "true"}},
        "rules": [{
            "apiGroups": ["example.io"], "resources": ["widgets"], "verbs": ["get", "list", "watch", "patch"],
        }],
    })
}

fn customization(rules: &Value) -> Value {
    json!({
        "apiVersion": "config.karmada.io/v1alpha1", "kind": "ResourceInterpreterCustomization",
        "metadata": {"name": "widgets"},
        "spec": {"target": {"apiVersion": "example.io/v1", "kind": "Widget"}, "customizations": rules},
    })
}

fn replicas(script: &str) -> Value {
    customization(&json!({"replicaResource": {"luaScript": script}}))
}

async fn widget(scene: &Scene, name: &str, size: u32) {
    let gvk = GroupVersionKind::gvk("example.io", "v1", "Widget");
    let api: Api<DynamicObject> =
        Api::namespaced_with(scene.client(), scene.name(), &ApiResource::from_gvk(&gvk));
    let object = json!({
        "apiVersion": "example.io/v1", "kind": "Widget", "metadata": {"name": name}, "spec": {"size": size},
    });
    let params = PatchParams::apply("user").force();
    wait::until("the kind to be served", SOON, async || {
        api.patch(name, &params, &Patch::Apply(&object)).await
    })
    .await
    .unwrap();
}

const BY_SIZE: &str =
    "function GetReplicas(widget) return widget.spec.size, {resourceRequest = {cpu = '1'}} end";

#[tokio::test]
async fn a_script_says_how_many_replicas_a_kind_has() {
    let scene = scene("custom").await;
    scene.report("m1", 3).await;
    scene.report("m2", 3).await;
    scene.apply(permission()).await;
    scene.apply(definition()).await;
    scene.apply(replicas(BY_SIZE)).await;
    let mut policy = crate::world::policy("p", "unused", &scene.divided_over(&["m1", "m2"]));
    policy["spec"]["resourceSelectors"] =
        json!([{"apiVersion": "example.io/v1", "kind": "Widget"}]);
    scene.apply(policy).await;
    widget(&scene, "web", 4).await;
    scene.placed("web-widget", "m1:2 m2:2").await;

    // Another script: templates are read again, and placed by what it says.
    scene
        .apply(replicas(
            "function GetReplicas(widget) return widget.spec.size + 2, {resourceRequest = {cpu = '1'}} end",
        ))
        .await;
    scene.placed("web-widget", "m1:3 m2:3").await;

    // A script that fails is told to whoever looks at the object, and moves nothing; what is not bound yet is not bound by a guess.
    scene
        .apply(replicas(
            "function GetReplicas(widget)\n  return widget.spec.no.size\nend",
        ))
        .await;
    scene
        .told(
            "web",
            "GetReplicasFailed",
            &["widgets", "replicaResource", "line 2"],
        )
        .await;
    widget(&scene, "late", 1).await;
    scene.told("late", "GetReplicasFailed", &["widgets"]).await;
    let bindings: Api<ResourceBinding> = scene.api();
    assert!(bindings.get_opt("late-widget").await.unwrap().is_none());
    scene.placed("web-widget", "m1:3 m2:3").await;

    // One that cannot be read is no different.
    scene.apply(replicas("function GetReplicas(widget")).await;
    scene.told("web", "GetReplicasFailed", &["near"]).await;
    scene.placed("web-widget", "m1:3 m2:3").await;

    // Mended, and all goes on.
    scene.apply(replicas(BY_SIZE)).await;
    let web = scene.placed("web-widget", "m1:2 m2:2").await;
    assert_eq!(web.spec.replicas, Some(4));
    scene
        .becomes("late-widget", "it is bound", |late: &ResourceBinding| {
            late.spec.replicas == Some(1) && !late.spec.clusters.is_empty()
        })
        .await;
}
