//! Copies go when they should, and only then.

use crds::finalizers;
use kube::ResourceExt as _;
use serde_json::json;
use testbed::Network;

use crate::scene::{MEMBERS, complains, config_map, scene, set_ready, value};

#[tokio::test]
async fn deleted_binding_takes_its_copies_along() {
    let scene = scene("delete").await;
    let name = scene.bind_settings(&MEMBERS).await;
    scene.fully_applied(&name).await;
    scene.unbind(&name).await;
    let work = scene.work_name("ConfigMap", "settings");
    for member in MEMBERS {
        scene.gone(member, "v1", "ConfigMap", "settings").await;
        scene.no_work(member, &work).await;
    }
    testbed::wait::gone(&scene.bindings(), &name, crate::scene::SOON)
        .await
        .unwrap();
}

#[tokio::test]
async fn copies_stay_where_the_user_wants_to_keep_them() {
    let scene = scene("keep").await;
    let name = scene.bind_settings(&["member1"]).await;
    scene.fully_applied(&name).await;
    // Said in the last moment.
    scene
        .rebind(
            &name,
            json!({"spec": {"preserveResourcesOnDeletion": true}}),
        )
        .await;
    scene.unbind(&name).await;
    testbed::wait::gone(&scene.bindings(), &name, crate::scene::SOON)
        .await
        .unwrap();
    let copy = scene
        .copies("member1", "v1", "ConfigMap")
        .get("settings")
        .await
        .unwrap();
    assert_eq!(value(&copy), Some("one"));
    assert!(copy.labels().is_empty(), "{:?}", copy.labels());
    assert!(copy.annotations().is_empty(), "{:?}", copy.annotations());
}

#[tokio::test]
async fn binding_that_goes_while_the_operator_is_down_leaves_nothing_behind() {
    let mut scene = scene("down").await;
    let name = scene.bind_settings(&["member1"]).await;
    scene.fully_applied(&name).await;
    scene.stop().await;
    // Even its finalizer is cut.
    scene
        .rebind(&name, json!({"metadata": {"finalizers": null}}))
        .await;
    scene.unbind(&name).await;
    scene.start().await;
    scene.gone("member1", "v1", "ConfigMap", "settings").await;
    let work = scene.work_name("ConfigMap", "settings");
    scene.no_work("member1", &work).await;
}

#[tokio::test]
async fn dead_member_holds_up_only_itself_and_gets_everything_when_it_is_back() {
    let scene = scene("dead").await;
    let kept = scene.create(config_map("kept", "one")).await;
    let kept_binding = scene.bind(&kept, &[("member2", None)], |_| {}).await;
    scene.fully_applied(&kept_binding).await;

    scene.bed.member("member2").set_network(Network::Refusing);
    set_ready(scene.bed, "member2", false).await;
    let name = scene.bind_settings(&MEMBERS).await;
    scene
        .copy(
            "member1",
            "v1",
            "ConfigMap",
            "settings",
            "it exists",
            |_| true,
        )
        .await;
    scene
        .binding(&name, "it names the dead member", |binding| {
            complains(binding, &["member2"])
        })
        .await;
    // A deletion waits for the member.
    scene.unbind(&kept_binding).await;
    let work = scene.work_name("ConfigMap", "kept");
    scene
        .work("member2", &work, "it waits", |work| {
            work.metadata.deletion_timestamp.is_some()
                && work.finalizers().iter().any(|f| f == finalizers::EXECUTION)
        })
        .await;
    scene
        .copies("member2", "v1", "ConfigMap")
        .get("kept")
        .await
        .unwrap();

    scene.bed.member("member2").set_network(Network::Up);
    set_ready(scene.bed, "member2", true).await;
    scene.fully_applied(&name).await;
    scene.gone("member2", "v1", "ConfigMap", "kept").await;
    scene.no_work("member2", &work).await;
}

#[tokio::test]
async fn old_copy_stays_until_the_new_one_is_there() {
    let scene = scene("move").await;
    let name = scene.bind_settings(&["member1"]).await;
    scene.fully_applied(&name).await;
    scene.bed.member("member2").set_network(Network::Refusing);
    scene
        .rebind(&name, json!({"spec": {"clusters": [{"name": "member2"}]}}))
        .await;
    let work = scene.work_name("ConfigMap", "settings");
    scene
        .work("member2", &work, "it failed", |work| {
            work.status
                .as_ref()
                .is_some_and(|status| !status.conditions.is_empty())
        })
        .await;
    let old = scene.works("member1").get(&work).await.unwrap();
    assert!(old.metadata.deletion_timestamp.is_none());
    scene
        .copies("member1", "v1", "ConfigMap")
        .get("settings")
        .await
        .unwrap();
    scene.bed.member("member2").set_network(Network::Up);
    set_ready(scene.bed, "member2", false).await;
    set_ready(scene.bed, "member2", true).await;
    scene.gone("member1", "v1", "ConfigMap", "settings").await;
    scene
        .copy(
            "member2",
            "v1",
            "ConfigMap",
            "settings",
            "it is there",
            |_| true,
        )
        .await;
}

#[tokio::test]
async fn binding_without_owner_sends_nothing_more_and_keeps_what_is_there() {
    let scene = scene("frozen").await;
    let name = scene.bind_settings(&["member1"]).await;
    scene.fully_applied(&name).await;
    let before = scene
        .works("member1")
        .get(&scene.work_name("ConfigMap", "settings"))
        .await
        .unwrap();
    scene
        .rebind(
            &name,
            json!({"metadata": {"labels": {crds::labels::PROPAGATION_POLICY_PERMANENT_ID: null}}}),
        )
        .await;
    scene
        .api("v1", "ConfigMap")
        .patch(
            "settings",
            &kube::api::PatchParams::default(),
            &kube::api::Patch::Merge(json!({"data": {"key": "two"}})),
        )
        .await
        .unwrap();
    // Something that is sent shows that the change above was seen.
    let other = scene.create(config_map("other", "one")).await;
    let other = scene.bind(&other, &[("member1", None)], |_| {}).await;
    scene.fully_applied(&other).await;
    let after = scene
        .works("member1")
        .get(&scene.work_name("ConfigMap", "settings"))
        .await
        .unwrap();
    assert_eq!(after.metadata.generation, before.metadata.generation);
    let copy = scene
        .copies("member1", "v1", "ConfigMap")
        .get("settings")
        .await
        .unwrap();
    assert_eq!(value(&copy), Some("one"));
}

#[tokio::test]
async fn cluster_that_ends_lets_its_works_go() {
    let scene = scene("ghost").await;
    let space = crds::namespaces::execution("ghost");
    crate::scene::create(&scene.plane(), "", crate::scene::namespace(&space)).await;
    let cluster = json!({
        "apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": "ghost"},
        "spec": {"syncMode": "Push", "apiEndpoint": "https://127.0.0.1:1"},
    });
    crate::scene::create(&scene.plane(), "", cluster).await;
    let template = scene.create(config_map("settings", "one")).await;
    let name = scene.bind(&template, &[("ghost", None)], |_| {}).await;
    scene
        .binding(&name, "it says what is missing", |binding| {
            complains(binding, &["ghost", "secretRef"])
        })
        .await;
    scene.unbind(&name).await;
    let work = scene.work_name("ConfigMap", "settings");
    scene
        .work("ghost", &work, "it waits", |work| {
            work.metadata.deletion_timestamp.is_some()
        })
        .await;
    let clusters: kube::Api<crds::cluster::Cluster> = kube::Api::all(scene.plane());
    clusters
        .delete("ghost", &kube::api::DeleteParams::default())
        .await
        .unwrap();
    scene.no_work("ghost", &work).await;
    testbed::wait::gone(&scene.bindings(), &name, crate::scene::SOON)
        .await
        .unwrap();
}

#[tokio::test]
async fn namespace_that_opts_out_is_not_copied() {
    let scene = scene("spaces").await;
    let name = format!("{}-private", scene.namespace);
    let mut private = crate::scene::namespace(&name);
    private["metadata"]["labels"] = json!({crds::labels::SKIP_AUTO_PROPAGATION: "true"});
    crate::scene::create(&scene.plane(), "", private).await;
    // One that came later is there already.
    let later = format!("{}-later", scene.namespace);
    crate::scene::create(&scene.plane(), "", crate::scene::namespace(&later)).await;
    scene
        .present("member1", "v1", "Namespace", "", &later)
        .await;
    let spaces: kube::Api<k8s_openapi::api::core::v1::Namespace> =
        kube::Api::all(scene.member("member1"));
    assert!(spaces.get_opt(&name).await.unwrap().is_none());
}
