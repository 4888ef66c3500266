//! What the system costs the control plane, counted by the API server itself. Each story has the world for itself.

use std::time::Duration;

use crds::conditions::{FULLY_APPLIED, FULLY_APPLIED_SUCCESS, TRUE};
use crds::work::ResourceHealth;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::Value;
use testbed::Requests;

use crate::props::{config_map, config_map_to, deployment, deployment_to};
use crate::world::{Scene, conditions, says, scene_alone};

const ALL: [&str; 3] = ["member1", "member2", "member3"];
/// How long nothing may be written before the system counts as settled. Longer than any debounce.
const CALM: Duration = Duration::from_secs(5);

/// What was written so far: leases and the regular status of the members aside, which go on for ever, and a controller's
/// config maps in namespaces that other stories have just deleted, which the server refuses.
async fn written(scene: &Scene) -> Requests {
    let requests = scene.world.bed.control_plane().requests().await.unwrap();
    requests.writes().filter(|request| {
        request.resource != "leases"
            && !(request.resource == "clusters" && request.subresource == "status")
            && !(request.resource == "configmaps" && request.code == "403")
    })
}

/// Waits until nothing has been written for a while.
async fn settled(scene: &Scene) -> Requests {
    let mut before = written(scene).await;
    loop {
        tokio::time::sleep(CALM).await;
        let now = written(scene).await;
        if now == before {
            return now;
        }
        before = now;
    }
}

/// A scene whose namespace has reached all members, with a policy that waits for its template.
async fn prepared(prefix: &str, policy: Value) -> Scene {
    let scene = scene_alone(prefix).await;
    for member in ALL {
        scene.namespace_in(member).await;
    }
    scene.apply(policy).await;
    scene
}

async fn everything_is_applied(scene: &Scene, binding: &str) {
    scene
        .binding(
            binding,
            "it is applied and healthy in all three",
            |binding| {
                says(
                    conditions(binding),
                    FULLY_APPLIED,
                    TRUE,
                    FULLY_APPLIED_SUCCESS,
                    &[],
                ) && binding.status.as_ref().is_some_and(|status| {
                    status.aggregated_status.len() == 3
                        && status
                            .aggregated_status
                            .iter()
                            .all(|item| item.health == Some(ResourceHealth::Healthy))
                })
            },
        )
        .await;
}

#[tokio::test]
async fn deployment_in_three_members_costs_at_most_20_writes() {
    let scene = prepared("cost-deployment", deployment_to("web", &ALL)).await;
    let before = settled(&scene).await;
    scene.apply(deployment("web", 2)).await;
    scene
        .template::<Deployment>("web", "6 replicas are ready", |template| {
            template
                .status
                .as_ref()
                .and_then(|status| status.ready_replicas)
                == Some(6)
        })
        .await;
    everything_is_applied(&scene, "web-deployment").await;
    let cost = settled(&scene).await.since(&before);
    println!("{cost}");
    // One of them is the user's own.
    assert!(cost.total() <= 21, "{cost}");
}

#[tokio::test]
async fn config_map_in_three_members_costs_at_most_12_writes() {
    let scene = prepared("cost-configmap", config_map_to("settings", &ALL)).await;
    let before = settled(&scene).await;
    scene.apply(config_map("settings", "one")).await;
    for member in ALL {
        scene
            .copy::<ConfigMap>(member, "settings", "it exists", |_| true)
            .await;
    }
    everything_is_applied(&scene, "settings-configmap").await;
    let cost = settled(&scene).await.since(&before);
    println!("{cost}");
    // One of them is the user's own.
    assert!(cost.total() <= 13, "{cost}");
}

#[tokio::test]
async fn quiet_minute_costs_leases_and_one_status_a_member() {
    let scene = prepared("quiet", deployment_to("web", &ALL)).await;
    scene.apply(deployment("web", 1)).await;
    everything_is_applied(&scene, "web-deployment").await;
    settled(&scene).await;
    let plane = scene.world.bed.control_plane();
    let before = plane.requests().await.unwrap();
    tokio::time::sleep(Duration::from_mins(1)).await;
    let cost = plane
        .requests()
        .await
        .unwrap()
        .since(&before)
        .writes()
        .without("leases");
    let other = cost.without("clusters");
    assert_eq!(other.total(), 0, "{cost}");
    assert!(cost.total() <= 3, "{cost}");
}

#[tokio::test]
async fn restart_with_nothing_changed_writes_nothing() {
    let scene = prepared("restart", deployment_to("web", &ALL)).await;
    scene.apply(deployment("web", 1)).await;
    everything_is_applied(&scene, "web-deployment").await;
    let before = settled(&scene).await;
    scene.world.system.stop().await.unwrap();
    scene.world.system.restart().await.unwrap();
    let cost = settled(&scene).await.since(&before);
    assert_eq!(cost.total(), 0, "{cost}");
}
