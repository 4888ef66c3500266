//! What users get wrong, and how they learn of it.

use serde_json::json;

use crate::world::{deployment, policy, scene};

#[tokio::test]
async fn an_unknown_cluster_is_named_and_its_coming_heals() {
    let scene = scene("unknown").await;
    scene.apply(policy("p", "web", &scene.to(&["m1"]))).await;
    scene.apply(deployment("web", 1)).await;
    let name = scene.cluster("m1");
    let words = [name.as_str(), "does not exist"];
    scene
        .scheduled("web-deployment", "NoClusterFit", &words)
        .await;
    scene.told("web", "ScheduleBindingFailed", &words).await;
    scene.report("m1", 9).await;
    scene.placed("web-deployment", "m1:1").await;
    scene.scheduled("web-deployment", "Success", &[]).await;
}

#[tokio::test]
async fn a_policy_that_selects_nothing_is_told() {
    let scene = scene("nothing").await;
    scene.apply(policy("p", "web", &scene.to(&["m1"]))).await;
    scene
        .told(
            "p",
            "ApplyPolicyFailed",
            &["selects nothing", "apps/v1 Deployment web"],
        )
        .await;
}

#[tokio::test]
async fn a_policy_for_a_kind_that_nobody_serves_is_told_and_waits_for_it() {
    let scene = scene("unserved").await;
    scene.report("m1", 9).await;
    let group = format!("{}.example.com", scene.name());
    let api_version = format!("{group}/v1");
    scene
        .apply(json!({
            "apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy",
            "metadata": {"name": "p"},
            "spec": {
                "resourceSelectors": [{"apiVersion": api_version, "kind": "Toy"}],
                "placement": scene.to(&["m1"]),
            },
        }))
        .await;
    scene
        .told(
            "p",
            "ApplyPolicyFailed",
            &["does not serve", &format!("{api_version} Toy")],
        )
        .await;
}

#[tokio::test]
async fn override_policies_that_are_missing_hold_the_template_back() {
    let scene = scene("override").await;
    scene.report("m1", 9).await;
    let mut dependent = policy("p", "web", &scene.to(&["m1"]));
    dependent["spec"]["dependentOverrides"] = json!(["small"]);
    scene.apply(dependent).await;
    scene.apply(deployment("web", 1)).await;
    scene.told("web", "ApplyPolicyFailed", &["small"]).await;
    scene
        .apply(json!({
            "apiVersion": "policy.karmada.io/v1alpha1", "kind": "OverridePolicy",
            "metadata": {"name": "small"},
            "spec": {"overrideRules": [{"overriders": {"labelsOverrider": [{"operator": "add", "value": {"a": "b"}}]}}]},
        }))
        .await;
    scene.placed("web-deployment", "m1:1").await;
}
