//! Replicas are divided, and spill over where room lacks.

use crds::conditions::{FALSE, SCHEDULED, SUCCESS, TRUE, UNSCHEDULABLE};
use crds::events;
use k8s_openapi::api::apps::v1::Deployment;
use serde_json::{Value, json};

use crate::props::{deployment, policy, selector, with};
use crate::world::{conditions, placement, says, scene};

const ALL: [&str; 3] = ["member1", "member2", "member3"];

fn divided(preference: Value) -> Value {
    let placement = json!({
        "clusterAffinity": {"clusterNames": ALL},
        "replicaScheduling": preference,
    });
    policy(
        "web",
        &[selector("apps/v1", "Deployment", "web")],
        placement,
    )
}

/// Replicas that want 2 of the 8 CPUs each member has: no more than 4 fit into one.
fn big(replicas: i32) -> Value {
    with(
        deployment("web", replicas),
        "/spec/template/spec/containers/0/resources",
        json!({"requests": {"cpu": "2"}}),
    )
}

fn ready(deployment: &Deployment) -> Option<i32> {
    deployment.status.as_ref()?.ready_replicas
}

#[tokio::test]
async fn static_weights_divide_and_a_change_of_replicas_keeps_the_ratio() {
    let scene = scene("weights").await;
    scene.apply(deployment("web", 6)).await;
    let weight = |cluster: &str, weight: i32| json!({"targetCluster": {"clusterNames": [cluster]}, "weight": weight});
    scene
        .apply(divided(json!({
            "replicaSchedulingType": "Divided",
            "replicaDivisionPreference": "Weighted",
            "weightPreference": {"staticWeightList": [weight("member1", 1), weight("member2", 2)]},
        })))
        .await;
    scene
        .binding("web-deployment", "it is divided 1 : 2", |binding| {
            placement(binding) == [("member1", 2), ("member2", 4)]
        })
        .await;
    scene
        .template::<Deployment>("web", "all 6 are ready", |template| {
            ready(template) == Some(6)
        })
        .await;
    scene.apply(deployment("web", 9)).await;
    scene
        .binding("web-deployment", "it is divided 1 : 2 again", |binding| {
            placement(binding) == [("member1", 3), ("member2", 6)]
        })
        .await;
    for (member, count) in [("member1", 3), ("member2", 6)] {
        scene
            .copy::<Deployment>(member, "web", "its part is ready", |copy| {
                ready(copy) == Some(count)
            })
            .await;
    }
}

#[tokio::test]
async fn replicas_that_do_not_fit_into_one_cluster_spill_over() {
    let scene = scene("spill").await;
    scene.apply(big(5)).await;
    scene
        .apply(divided(json!({
            "replicaSchedulingType": "Divided",
            "replicaDivisionPreference": "Aggregated",
        })))
        .await;
    let binding = scene
        .binding("web-deployment", "5 replicas are placed", |binding| {
            placement(binding)
                .iter()
                .map(|(_, replicas)| replicas)
                .sum::<i32>()
                == 5
        })
        .await;
    let clusters = placement(&binding);
    assert!(
        clusters.len() >= 2,
        "one cluster cannot hold 5: {clusters:?}"
    );
    assert!(
        clusters.iter().all(|(_, replicas)| *replicas <= 4),
        "{clusters:?}"
    );
    scene
        .template::<Deployment>("web", "all 5 are ready", |template| {
            ready(template) == Some(5)
        })
        .await;
}

#[tokio::test]
async fn more_replicas_than_all_clusters_hold_are_explained_and_heal() {
    let scene = scene("full").await;
    scene.apply(big(40)).await;
    scene
        .apply(divided(json!({
            "replicaSchedulingType": "Divided",
            "replicaDivisionPreference": "Weighted",
            "weightPreference": {"dynamicWeight": "AvailableReplicas"},
        })))
        .await;
    scene
        .binding("web-deployment", "it says that room lacks", |binding| {
            says(
                conditions(binding),
                SCHEDULED,
                FALSE,
                UNSCHEDULABLE,
                &["40"],
            )
        })
        .await;
    scene
        .event("web", events::SCHEDULE_BINDING_FAILED, &["40"])
        .await;
    scene.apply(big(2)).await;
    scene
        .binding("web-deployment", "2 replicas are placed", |binding| {
            says(conditions(binding), SCHEDULED, TRUE, SUCCESS, &[])
                && placement(binding)
                    .iter()
                    .map(|(_, replicas)| replicas)
                    .sum::<i32>()
                    == 2
        })
        .await;
}
