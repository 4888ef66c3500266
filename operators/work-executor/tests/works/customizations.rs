//! Kinds that users explain with scripts: the object in the member, its health and what comes back of its status.

use crds::work::ResourceHealth;
use kube::api::{Api, ApiResource, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use serde_json::{Value, json};
use testbed::wait;

use crate::scene::{MEMBERS, SOON, Scene, create, scene};

const VERSION: &str = "example.io/v1";
const KIND: &str = "Widget";

fn definition() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.io"},
        "spec": {
            "group": "example.io", "scope": "Namespaced", "names": {"plural": "widgets", "kind": KIND},
            "versions": [{"name": "v1", "served": true, "storage": true, "subresources": {"status": {}}, "schema": {
                "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}],
        },
    })
}

const HEALTH: &str = "function InterpretHealth(live) return live.status ~= nil and live.status.ready == live.spec.size end";

/// A widget's pods are counted in `size`, its node is assigned in the member, and `noise` of its status is nobody's business.
fn rules(health: &str) -> Value {
    json!({
        "replicaResource": "function GetReplicas(widget) return widget.spec.size end",
        "replicaRevision": "function ReviseReplica(widget, replicas) widget.spec.size = replicas return widget end",
        "retention": "function Retain(wanted, live) wanted.spec.node = live.spec.node return wanted end",
        "statusReflection": "function ReflectStatus(live) return {ready = live.status.ready} end",
        "statusAggregation": "
            function AggregateStatus(widget, items)
              local ready = 0
              for _, item in ipairs(items) do
                if item.status ~= nil then ready = ready + item.status.ready end
              end
              widget.status = {ready = ready}
              return widget
            end",
        "healthInterpretation": health,
    })
}

async fn customize(scene: &Scene, health: &str) {
    let rules: serde_json::Map<String, Value> = rules(health)
        .as_object()
        .unwrap()
        .iter()
        .map(|(field, script)| (field.clone(), json!({ "luaScript": script })))
        .collect();
    let gvk = GroupVersionKind::gvk(
        "config.karmada.io",
        "v1alpha1",
        "ResourceInterpreterCustomization",
    );
    let object = json!({
        "apiVersion": gvk.api_version(), "kind": gvk.kind, "metadata": {"name": "widgets"},
        "spec": {"target": {"apiVersion": VERSION, "kind": KIND}, "customizations": rules},
    });
    let api: Api<DynamicObject> = Api::all_with(scene.plane(), &ApiResource::from_gvk(&gvk));
    let params = PatchParams::apply("user").force();
    api.patch("widgets", &params, &Patch::Apply(&object))
        .await
        .unwrap();
}

async fn report(scene: &Scene, member: &str, status: Value) {
    scene
        .copies(member, VERSION, KIND)
        .patch_status(
            "web",
            &PatchParams::default(),
            &Patch::Merge(json!({ "status": status })),
        )
        .await
        .unwrap();
}

fn has_health(binding: &crds::work::ResourceBinding, expected: &[ResourceHealth]) -> bool {
    let items = binding.status.iter().flat_map(|s| &s.aggregated_status);
    items
        .map(|item| item.health.unwrap_or_default())
        .eq(expected.iter().copied())
}

#[tokio::test]
async fn scripts_say_what_a_copy_is_and_how_it_fares() {
    let scene = scene("custom").await;
    for client in MEMBERS
        .map(|member| scene.member(member))
        .into_iter()
        .chain([scene.plane()])
    {
        create(&client, "", definition()).await;
    }
    customize(&scene, HEALTH).await;
    let widget: DynamicObject = serde_json::from_value(json!({
        "apiVersion": VERSION, "kind": KIND, "metadata": {"name": "web"}, "spec": {"size": 5, "node": "", "color": "red"},
    }))
    .unwrap();
    let templates = scene.api(VERSION, KIND);
    let template = wait::until("the kind to be served", SOON, async || {
        templates.create(&PostParams::default(), &widget).await
    })
    .await
    .unwrap();

    // Each copy has its share.
    let [one, two] = MEMBERS;
    let name = scene
        .bind(&template, &[(one, Some(3)), (two, Some(2))], |spec| {
            spec.replicas = Some(5);
        })
        .await;
    for (member, size) in [(one, 3), (two, 2)] {
        scene
            .copy(member, VERSION, KIND, "web", "it has its share", |copy| {
                copy.data["spec"]["size"] == json!(size)
            })
            .await;
    }

    // What the copies show, counted; what does not count, left out.
    report(&scene, one, json!({"ready": 3, "noise": 17})).await;
    report(&scene, two, json!({"ready": 1, "noise": 4})).await;
    let binding = scene
        .binding(&name, "one copy is healthy", |binding| {
            has_health(
                binding,
                &[ResourceHealth::Healthy, ResourceHealth::Unhealthy],
            )
        })
        .await;
    let shown = &binding.status.unwrap().aggregated_status[0].status;
    assert_eq!(json!(shown), json!({"ready": 3}));
    wait::object(&templates, "web", "it shows the sum", SOON, |template| {
        template.data["status"] == json!({"ready": 4})
    })
    .await
    .unwrap();

    // A member's own controllers keep what is theirs, while the rest follows the template.
    let (merge, params) = (|patch: Value| Patch::Merge(patch), PatchParams::default());
    scene
        .copies(one, VERSION, KIND)
        .patch("web", &params, &merge(json!({"spec": {"node": "n7"}})))
        .await
        .unwrap();
    templates
        .patch("web", &params, &merge(json!({"spec": {"color": "blue"}})))
        .await
        .unwrap();
    let copy = scene
        .copy(one, VERSION, KIND, "web", "it follows", |copy| {
            copy.data["spec"]["color"] == "blue"
        })
        .await;
    assert_eq!(
        copy.data["spec"],
        json!({"size": 3, "node": "n7", "color": "blue"})
    );

    // A script that fails: nobody knows whether the copies are well, and that is said with the line to mend; the copies stay.
    customize(
        &scene,
        "function InterpretHealth(live)\n  return live.status.no.ready\nend",
    )
    .await;
    scene
        .binding(&name, "health is unknown", |binding| {
            has_health(binding, &[ResourceHealth::Unknown, ResourceHealth::Unknown])
        })
        .await;
    let events: Api<DynamicObject> = Api::namespaced_with(
        scene.plane(),
        &crds::namespaces::execution(one),
        &ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "Event")),
    );
    wait::until("an event about the script", SOON, async || {
        let events = events.list(&ListParams::default()).await.unwrap().items;
        events
            .iter()
            .any(|event| {
                let message = event.data["message"].as_str().unwrap_or_default();
                message.contains("widgets") && message.contains("line 2")
            })
            .then_some(())
            .ok_or(events.len())
    })
    .await
    .unwrap();
    customize(&scene, HEALTH).await;
    scene
        .binding(&name, "health is known again", |binding| {
            has_health(
                binding,
                &[ResourceHealth::Healthy, ResourceHealth::Unhealthy],
            )
        })
        .await;
    scene.unbind(&name).await;
    for member in MEMBERS {
        scene.gone(member, VERSION, KIND, "web").await;
    }
}
