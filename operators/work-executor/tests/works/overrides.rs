//! Override policies: who has the last word, and what happens to one that cannot be applied.

use kube::api::{Patch, PatchParams};
use serde_json::json;

use crate::scene::{MEMBERS, complains, scene, value};

#[tokio::test]
async fn template_tells_which_of_two_override_policies_has_the_last_word() {
    let scene = scene("last-word").await;
    for (policy, value) in [("first", "a"), ("second", "b")] {
        scene
            .create(json!({
                "apiVersion": "policy.karmada.io/v1alpha1", "kind": "OverridePolicy",
                "metadata": {"name": policy},
                "spec": {
                    "resourceSelectors": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "settings"}],
                    "overrideRules": [{"overriders": {
                        "plaintext": [{"path": "/data/key", "operator": "replace", "value": value}],
                    }}],
                },
            }))
            .await;
    }
    scene.bind_settings(&["member1"]).await;
    scene
        .copy(
            "member1",
            "v1",
            "ConfigMap",
            "settings",
            "the second has won",
            |copy| copy.data["data"]["key"] == json!("b"),
        )
        .await;
    scene
        .events("one tells who wins where", |events| {
            events.iter().any(|event| {
                let note = event.data["message"].as_str().unwrap_or_default();
                [
                    "/data/key",
                    "second, rule 1 wins over",
                    "first, rule 1",
                    "(in member1)",
                ]
                .iter()
                .all(|part| note.contains(part))
            })
        })
        .await;
}

#[tokio::test]
async fn override_that_cannot_be_applied_blocks_its_cluster_alone_until_it_is_put_right() {
    let scene = scene("override").await;
    let policy = json!({
        "apiVersion": "policy.karmada.io/v1alpha1", "kind": "OverridePolicy",
        "metadata": {"name": "differ"},
        "spec": {
            "resourceSelectors": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "settings"}],
            "overrideRules": [{
                "targetCluster": {"clusterNames": ["member1"]},
                "overriders": {"plaintext": [{"path": "/data/absent", "operator": "replace", "value": "x"}]},
            }],
        },
    });
    scene.create(policy).await;
    let name = scene.bind_settings(&MEMBERS).await;
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
    scene
        .binding(
            &name,
            "it names cluster, policy, rule and path",
            |binding| complains(binding, &["member1", "differ", "rule 1", "/data/absent"]),
        )
        .await;
    scene
        .events("one tells it, once", |events| {
            let told = events
                .iter()
                .filter(|event| event.data["reason"] == json!("ApplyOverridePolicyFailed"));
            told.count() == 1
        })
        .await;
    let right = json!({"spec": {"overrideRules": [{
        "targetCluster": {"clusterNames": ["member1"]},
        "overriders": {"plaintext": [{"path": "/data/key", "operator": "replace", "value": "x"}]},
    }]}});
    scene
        .api("policy.karmada.io/v1alpha1", "OverridePolicy")
        .patch("differ", &PatchParams::default(), &Patch::Merge(right))
        .await
        .unwrap();
    scene
        .copy(
            "member1",
            "v1",
            "ConfigMap",
            "settings",
            "it differs",
            |copy| value(copy) == Some("x"),
        )
        .await;
    scene.fully_applied(&name).await;
}
