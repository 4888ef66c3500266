//! What happens to a copy when somebody else touches it.

use crds::conditions::{FALSE, FULLY_APPLIED, FULLY_APPLIED_FAILED, FULLY_APPLIED_SUCCESS, TRUE};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt as _;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use serde_json::json;

use crate::props::{config_map, config_map_to, deployment, deployment_to, with};
use crate::world::{conditions, says, scene};

fn value(map: &ConfigMap) -> Option<&str> {
    map.data.as_ref()?.get("key").map(String::as_str)
}

#[tokio::test]
async fn fields_of_ours_are_restored_and_fields_of_others_are_left() {
    let scene = scene("drift").await;
    scene.apply(deployment("web", 2)).await;
    scene.apply(deployment_to("web", &["member1"])).await;
    let before = scene
        .copy::<Deployment>("member1", "web", "it exists", |_| true)
        .await;
    let copies = scene.copies::<Deployment>("member1");
    copies
        .patch(
            "web",
            &PatchParams::default(),
            &Patch::Merge(json!({
                "metadata": {"annotations": {"example.com/theirs": "stays"}},
                "spec": {"replicas": 5, "template": {"metadata": {"labels": {"app": "web"}}}},
            })),
        )
        .await
        .unwrap();
    let after = scene
        .copy::<Deployment>("member1", "web", "it has 2 replicas again", |copy| {
            copy.spec.replicas == Some(2) && copy.metadata.generation > before.metadata.generation
        })
        .await;
    assert_eq!(
        after
            .annotations()
            .get("example.com/theirs")
            .map(String::as_str),
        Some("stays")
    );
}

#[tokio::test]
async fn deleted_copy_is_made_again() {
    let scene = scene("again").await;
    scene.apply(config_map("settings", "one")).await;
    scene.apply(config_map_to("settings", &["member1"])).await;
    let before = scene
        .copy::<ConfigMap>("member1", "settings", "it exists", |_| true)
        .await;
    scene
        .copies::<ConfigMap>("member1")
        .delete("settings", &DeleteParams::default())
        .await
        .unwrap();
    scene
        .copy::<ConfigMap>("member1", "settings", "it exists anew", |copy| {
            copy.metadata.uid != before.metadata.uid && value(copy) == Some("one")
        })
        .await;
}

#[tokio::test]
async fn object_of_somebody_else_is_left_alone_until_the_user_says_overwrite() {
    let scene = scene("theirs").await;
    scene.namespace_in("member1").await;
    let theirs: ConfigMap = serde_json::from_value(config_map("settings", "theirs")).unwrap();
    scene
        .copies::<ConfigMap>("member1")
        .create(&PostParams::default(), &theirs)
        .await
        .unwrap();
    scene.apply(config_map("settings", "ours")).await;
    scene
        .apply(config_map_to("settings", &["member1", "member2"]))
        .await;

    // The other member is not held up.
    scene
        .copy::<ConfigMap>("member2", "settings", "it is ours", |copy| {
            value(copy) == Some("ours")
        })
        .await;
    scene
        .binding(
            "settings-configmap",
            "it says what is in the way",
            |binding| {
                let told = binding.status.as_ref().is_some_and(|status| {
                    status.aggregated_status.iter().any(|item| {
                        item.cluster_name == "member1"
                            && item.applied != Some(true)
                            && item
                                .applied_message
                                .as_deref()
                                .is_some_and(|message| message.contains("settings"))
                    })
                });
                told && says(
                    conditions(binding),
                    FULLY_APPLIED,
                    FALSE,
                    FULLY_APPLIED_FAILED,
                    &[],
                )
            },
        )
        .await;
    let copy = scene.copies::<ConfigMap>("member1").get("settings").await;
    assert_eq!(value(&copy.unwrap()), Some("theirs"));

    let overwrite = with(
        config_map_to("settings", &["member1", "member2"]),
        "/spec/conflictResolution",
        json!("Overwrite"),
    );
    scene.apply(overwrite).await;
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
