//! What users and members get wrong is told where users look, holds up nobody else, and heals when its cause goes away.

use std::time::Duration;

use crds::cluster::Cluster;
use crds::conditions::{
    FALSE, FULLY_APPLIED, FULLY_APPLIED_FAILED, FULLY_APPLIED_SUCCESS, NO_CLUSTER_FIT, READY,
    SCHEDULED, SUCCESS, TRUE,
};
use crds::{events, namespaces};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Secret, ServiceAccount};
use kube::api::{Api, DeleteParams, PostParams};
use serde_json::json;
use testbed::{Network, wait};

use crate::props::{
    config_map, config_map_to, deployment, deployment_to, override_in, selector, with,
};
use crate::world::{Scene, conditions, says, scene, scene_alone};

const NOTICED: Duration = Duration::from_mins(3);

fn value(map: &ConfigMap) -> Option<&str> {
    map.data.as_ref()?.get("key").map(String::as_str)
}

/// Proves that the operators still serve everybody else.
async fn others_are_served(scene: &Scene, member: &str) {
    scene.apply(config_map("other", "fine")).await;
    scene.apply(config_map_to("other", &[member])).await;
    scene
        .copy::<ConfigMap>(member, "other", "it exists", |_| true)
        .await;
}

#[tokio::test]
async fn template_without_a_policy_goes_nowhere_until_there_is_one() {
    let scene = scene("no-policy").await;
    // Somebody has a policy for this kind, so the kind is looked at.
    scene.apply(deployment_to("other", &["member1"])).await;
    scene.apply(deployment("web", 1)).await;
    scene
        .event(
            "web",
            events::APPLY_POLICY_FAILED,
            &["no policy selects it"],
        )
        .await;
    let copies = scene.copies::<Deployment>("member1");
    assert!(copies.get_opt("web").await.unwrap().is_none());
    others_are_served(&scene, "member1").await;
    scene.apply(deployment_to("web", &["member1"])).await;
    scene
        .copy::<Deployment>("member1", "web", "it exists", |_| true)
        .await;
}

#[tokio::test]
async fn policy_that_selects_nothing_says_so_until_there_is_something() {
    let scene = scene("nothing").await;
    scene.apply(config_map_to("settings", &["member2"])).await;
    scene
        .event(
            "settings",
            events::APPLY_POLICY_FAILED,
            &["selects nothing"],
        )
        .await;
    others_are_served(&scene, "member2").await;
    scene.apply(config_map("settings", "one")).await;
    scene
        .copy::<ConfigMap>("member2", "settings", "it exists", |_| true)
        .await;
}

#[tokio::test]
async fn unknown_cluster_is_named() {
    let scene = scene("unknown").await;
    scene.apply(config_map("settings", "one")).await;
    scene.apply(config_map_to("settings", &["membre1"])).await;
    scene
        .binding("settings-configmap", "it names the cluster", |binding| {
            says(
                conditions(binding),
                SCHEDULED,
                FALSE,
                NO_CLUSTER_FIT,
                &["membre1"],
            )
        })
        .await;
    scene
        .event("settings", events::SCHEDULE_BINDING_FAILED, &["membre1"])
        .await;
    others_are_served(&scene, "member1").await;
    scene.apply(config_map_to("settings", &["member1"])).await;
    scene
        .binding("settings-configmap", "it is scheduled", |binding| {
            says(conditions(binding), SCHEDULED, TRUE, SUCCESS, &[])
        })
        .await;
    scene
        .copy::<ConfigMap>("member1", "settings", "it exists", |_| true)
        .await;
}

#[tokio::test]
async fn override_of_a_path_that_is_not_there_is_named() {
    let scene = scene("no-path").await;
    let selected = selector("v1", "ConfigMap", "settings");
    let put = |path: &str| {
        let patch =
            json!({"plaintext": [{"path": path, "operator": "replace", "value": "changed"}]});
        override_in("member1", "broken", &selected, patch)
    };
    scene.apply(put("/data/no-such-key")).await;
    scene.apply(config_map("settings", "one")).await;
    scene
        .apply(config_map_to("settings", &["member1", "member2"]))
        .await;
    // The other cluster's copy needs no override.
    scene
        .copy::<ConfigMap>("member2", "settings", "it exists", |_| true)
        .await;
    scene
        .event(
            "settings",
            events::APPLY_OVERRIDE_POLICY_FAILED,
            &["broken", "/data/no-such-key", "member1"],
        )
        .await;
    scene
        .binding(
            "settings-configmap",
            "it names policy and path",
            |binding| {
                let words = ["broken", "/data/no-such-key", "member1"];
                says(
                    conditions(binding),
                    FULLY_APPLIED,
                    FALSE,
                    FULLY_APPLIED_FAILED,
                    &words,
                )
            },
        )
        .await;
    others_are_served(&scene, "member1").await;
    scene.apply(put("/data/key")).await;
    scene
        .copy::<ConfigMap>("member1", "settings", "the override is in", |copy| {
            value(copy) == Some("changed")
        })
        .await;
    scene
        .binding("settings-configmap", "all is well", |binding| {
            says(
                conditions(binding),
                FULLY_APPLIED,
                TRUE,
                FULLY_APPLIED_SUCCESS,
                &[],
            )
        })
        .await;
}

#[tokio::test]
async fn manifest_that_a_member_refuses_is_reported_with_the_members_words() {
    let scene = scene("refused").await;
    scene.namespace_in("member1").await;
    // What may not be changed in the member refuses every other content.
    let frozen = with(config_map("settings", "theirs"), "/immutable", json!(true));
    let frozen: ConfigMap = serde_json::from_value(frozen).unwrap();
    let copies = scene.copies::<ConfigMap>("member1");
    copies
        .create(&PostParams::default(), &frozen)
        .await
        .unwrap();
    scene.apply(config_map("settings", "ours")).await;
    scene
        .apply(with(
            config_map_to("settings", &["member1", "member2"]),
            "/spec/conflictResolution",
            json!("Overwrite"),
        ))
        .await;
    scene
        .copy::<ConfigMap>("member2", "settings", "it exists", |_| true)
        .await;
    scene
        .binding(
            "settings-configmap",
            "it has the member's words",
            |binding| {
                says(
                    conditions(binding),
                    FULLY_APPLIED,
                    FALSE,
                    FULLY_APPLIED_FAILED,
                    &["member1"],
                ) && binding.status.as_ref().is_some_and(|status| {
                    status.aggregated_status.iter().any(|item| {
                        item.cluster_name == "member1"
                            && item
                                .applied_message
                                .as_deref()
                                .is_some_and(|message| message.contains("immutable"))
                    })
                })
            },
        )
        .await;
    scene
        .event(
            "settings",
            events::SYNC_WORK_FAILED,
            &["member1", "immutable"],
        )
        .await;
    others_are_served(&scene, "member1").await;
    copies
        .delete("settings", &DeleteParams::default())
        .await
        .unwrap();
    scene
        .copy::<ConfigMap>("member1", "settings", "it is ours", |copy| {
            value(copy) == Some("ours")
        })
        .await;
    scene
        .binding("settings-configmap", "all is well", |binding| {
            says(
                conditions(binding),
                FULLY_APPLIED,
                TRUE,
                FULLY_APPLIED_SUCCESS,
                &[],
            )
        })
        .await;
}

#[tokio::test]
async fn kubeconfig_that_expired_joins_nothing_and_leaves_nothing() {
    let scene = scene("expired").await;
    let member = scene.member("member1");
    let kubeconfig = member.expired_kubeconfig().unwrap();
    let told = scene
        .world
        .bed
        .karmadactl(&[
            "join",
            "expired",
            "--cluster-kubeconfig",
            kubeconfig.to_str().unwrap(),
        ])
        .await
        .unwrap_err()
        .to_string();
    assert!(told.contains("expired") || told.contains("401"), "{told}");
    let clusters: Api<Cluster> = Api::all(scene.plane());
    assert!(clusters.get_opt("expired").await.unwrap().is_none());
    let secrets: Api<Secret> = Api::namespaced(scene.plane(), namespaces::KARMADA_CLUSTER);
    assert!(secrets.get_opt("expired").await.unwrap().is_none());
}

async fn cluster_says(scene: &Scene, name: &str, ready: bool, words: &[&str]) {
    let clusters: Api<Cluster> = Api::all(scene.plane());
    let what = format!("Ready is {ready} and the message names {words:?}");
    wait::object(&clusters, name, what, NOTICED, |cluster| {
        cluster.status.as_ref().is_some_and(|status| {
            status.conditions.iter().any(|condition| {
                condition.type_ == READY
                    && (condition.status == TRUE) == ready
                    && words.iter().all(|word| condition.message.contains(word))
            })
        })
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn credentials_that_were_revoked_are_reported_and_joining_again_heals() {
    let scene = scene_alone("revoked").await;
    let member = scene.member("member3");
    let accounts: Api<ServiceAccount> =
        Api::namespaced(member.client(), namespaces::KARMADA_CLUSTER);
    accounts
        .delete("karmada-member3", &DeleteParams::default())
        .await
        .unwrap();
    cluster_says(&scene, "member3", false, &["401"]).await;
    others_are_served(&scene, "member1").await;
    scene.world.bed.join(member, &[]).await.unwrap();
    cluster_says(&scene, "member3", true, &[]).await;
}

#[tokio::test]
async fn member_that_answers_500_is_reported_and_holds_up_nobody() {
    let scene = scene_alone("broken").await;
    let member = scene.member("member3");
    member.set_storage_network(Network::Refusing).unwrap();
    cluster_says(&scene, "member3", false, &["500"]).await;
    scene.apply(config_map("settings", "one")).await;
    scene
        .apply(config_map_to("settings", &["member1", "member3"]))
        .await;
    scene
        .copy::<ConfigMap>("member1", "settings", "it exists", |_| true)
        .await;
    member.set_storage_network(Network::Up).unwrap();
    cluster_says(&scene, "member3", true, &[]).await;
    others_are_served(&scene, "member3").await;
}

#[tokio::test]
async fn member_that_answers_nothing_is_reported_and_gets_its_copy_when_it_is_back() {
    let scene = scene_alone("silent").await;
    scene.apply(config_map("settings", "one")).await;
    scene
        .apply(config_map_to("settings", &["member1", "member3"]))
        .await;
    scene
        .copy::<ConfigMap>("member3", "settings", "it exists", |_| true)
        .await;
    scene.member("member3").set_network(Network::Blackhole);
    scene.apply(config_map("settings", "two")).await;
    scene
        .copy::<ConfigMap>("member1", "settings", "it changed", |copy| {
            value(copy) == Some("two")
        })
        .await;
    cluster_says(&scene, "member3", false, &[]).await;
    others_are_served(&scene, "member2").await;
    scene.member("member3").set_network(Network::Up);
    scene
        .copy::<ConfigMap>("member3", "settings", "it changed", |copy| {
            value(copy) == Some("two")
        })
        .await;
    cluster_says(&scene, "member3", true, &[]).await;
}
