//! What others need goes where they go, beside where its own placement wants it.

use crds::work::{BindingSnapshot, ResourceBindingSpec};
use kube::ResourceExt as _;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use crate::scene::{Scene, config_map, scene, targets, value};

fn required(scene: &Scene, by: &[(&str, &str)]) -> Vec<BindingSnapshot> {
    by.iter()
        .map(|(name, cluster)| BindingSnapshot {
            namespace: Some(scene.namespace.clone()),
            name: (*name).to_owned(),
            clusters: targets(&[(cluster, None)]),
        })
        .collect()
}

/// Has a binding required by just these.
async fn require(scene: &Scene, binding: &str, by: &[(&str, &str)]) {
    let required: Value = serde_json::to_value(required(scene, by)).unwrap();
    scene
        .rebind(binding, json!({"spec": {"requiredBy": required}}))
        .await;
}

async fn has(scene: &Scene, member: &str) {
    let copy = scene
        .copy(member, "v1", "ConfigMap", "settings", "it exists", |_| true)
        .await;
    assert_eq!(value(&copy), Some("one"));
}

async fn has_not(scene: &Scene, member: &str) {
    scene.gone(member, "v1", "ConfigMap", "settings").await;
}

/// Makes a binding one that no policy has claimed.
async fn unclaim(scene: &Scene, binding: &str) {
    let label = crds::labels::PROPAGATION_POLICY_PERMANENT_ID;
    let patch = json!({"metadata": {"labels": {label: null}}});
    scene
        .bindings()
        .patch(binding, &PatchParams::default(), &Patch::Merge(patch))
        .await
        .unwrap();
}

#[tokio::test]
async fn an_attached_binding_goes_wherever_somebody_needs_it() {
    let scene = scene("attached").await;
    let template = scene.create(config_map("settings", "one")).await;
    let attach = |spec: &mut ResourceBindingSpec| {
        spec.placement = None;
        spec.required_by = required(&scene, &[("web-deployment", "member1")]);
    };
    let name = scene.bind(&template, &[], attach).await;
    unclaim(&scene, &name).await;
    has(&scene, "member1").await;
    scene.fully_applied(&name).await;

    let both = [("api-deployment", "member2"), ("web-deployment", "member1")];
    require(&scene, &name, &both).await;
    has(&scene, "member2").await;
    has(&scene, "member1").await;

    require(&scene, &name, &both[..1]).await;
    has_not(&scene, "member1").await;
    has(&scene, "member2").await;

    scene.unbind(&name).await;
    has_not(&scene, "member2").await;
    assert!(
        scene.api("v1", "ConfigMap").get("settings").await.is_ok(),
        "the template stays"
    );
}

#[tokio::test]
async fn a_placement_of_its_own_and_those_who_need_it_add_up() {
    let scene = scene("union").await;
    let name = scene.bind_settings(&["member1"]).await;
    has(&scene, "member1").await;
    require(&scene, &name, &[("web-deployment", "member2")]).await;
    has(&scene, "member2").await;
    let binding = scene.fully_applied(&name).await;
    assert_eq!(
        binding.spec.clusters.len(),
        1,
        "its own placement is untouched"
    );

    // Both in one cluster are one copy.
    require(&scene, &name, &[("web-deployment", "member1")]).await;
    scene
        .binding(&name, "it speaks of one member", |binding| {
            let status = binding.status.as_ref();
            status.is_some_and(|status| status.aggregated_status.len() == 1)
        })
        .await;
    has(&scene, "member1").await;
    let work = scene.work_name("ConfigMap", "settings");
    let works = scene.works("member1").get(&work).await.unwrap();
    assert_eq!(works.name_any(), work);
}

#[tokio::test]
async fn what_a_copy_needs_stays_as_long_as_the_copy() {
    let scene = scene("needed").await;
    let user = scene.create(config_map("user", "one")).await;
    let user = scene.bind(&user, &[("member1", None)], |_| {}).await;
    let template = scene.create(config_map("settings", "one")).await;
    let attach = |spec: &mut ResourceBindingSpec| {
        spec.placement = None;
        spec.required_by = required(&scene, &[(&user, "member1")]);
    };
    let attached = scene.bind(&template, &[], attach).await;
    has(&scene, "member1").await;

    // The scheduler has moved the user, but its old copy is still there.
    require(&scene, &attached, &[(&user, "member2")]).await;
    has(&scene, "member2").await;
    scene.fully_applied(&attached).await;
    let copies = scene.copies("member1", "v1", "ConfigMap");
    let copy = copies.get("settings").await.unwrap();
    assert_eq!(copy.metadata.deletion_timestamp, None);

    scene
        .rebind(&user, json!({"spec": {"clusters": [{"name": "member2"}]}}))
        .await;
    scene.gone("member1", "v1", "ConfigMap", "user").await;
    has_not(&scene, "member1").await;
    has(&scene, "member2").await;
}
