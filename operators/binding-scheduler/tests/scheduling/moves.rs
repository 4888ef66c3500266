//! Where bindings go when the world changes.

use crds::cluster::Cluster;
use crds::work::ResourceBinding;
use kube::api::{Api, Patch, PatchParams};
use serde_json::{Value, json};

use crate::world::{deployment, policy, scene};

#[tokio::test]
async fn replicas_follow_the_template_in_one_patch() {
    let scene = scene("scale").await;
    scene.report("m1", 20).await;
    scene.report("m2", 20).await;
    scene
        .apply(policy("p", "web", &scene.divided_over(&["m1", "m2"])))
        .await;
    scene.apply(deployment("web", 4)).await;
    let before = scene.placed("web-deployment", "m1:2 m2:2").await;
    scene.apply(deployment("web", 6)).await;
    let after = scene.placed("web-deployment", "m1:3 m2:3").await;
    assert_eq!(after.spec.replicas, Some(6));
    assert_eq!(
        after.metadata.generation,
        before.metadata.generation.map(|n| n + 1)
    );
    scene.scheduled("web-deployment", "Success", &[]).await;
}

#[tokio::test]
async fn a_changed_policy_moves_the_binding() {
    let scene = scene("switch").await;
    scene.report("m1", 9).await;
    scene.report("m2", 9).await;
    scene.apply(policy("p", "web", &scene.to(&["m1"]))).await;
    scene.apply(deployment("web", 1)).await;
    scene.placed("web-deployment", "m1:1").await;
    scene.apply(policy("p", "web", &scene.to(&["m2"]))).await;
    scene.placed("web-deployment", "m2:1").await;
}

fn labelled(scene: &crate::world::Scene) -> Value {
    json!({"clusterAffinity": {"labelSelector": {"matchLabels": {
        "phase": "ready", "scene": scene.name(),
    }}}})
}

#[tokio::test]
async fn a_cluster_that_gets_or_loses_the_label_gets_or_loses_the_copy() {
    let scene = scene("label").await;
    scene
        .report_with("m1", 9, json!({"phase": "ready"}), &[])
        .await;
    scene
        .report_with("m2", 9, json!({"phase": "setup"}), &[])
        .await;
    scene.apply(policy("p", "web", &labelled(&scene))).await;
    scene.apply(deployment("web", 1)).await;
    scene.placed("web-deployment", "m1:1").await;
    scene
        .report_with("m2", 9, json!({"phase": "ready"}), &[])
        .await;
    scene.placed("web-deployment", "m1:1 m2:1").await;
    scene
        .report_with("m1", 9, json!({"phase": "retired"}), &[])
        .await;
    scene.placed("web-deployment", "m2:1").await;
}

#[tokio::test]
async fn a_cluster_that_leaves_loses_the_copy() {
    let scene = scene("leave").await;
    scene.report("m1", 9).await;
    scene.report("m2", 9).await;
    scene
        .apply(policy("p", "web", &scene.divided_over(&["m1", "m2"])))
        .await;
    scene.apply(deployment("web", 2)).await;
    scene.placed("web-deployment", "m1:1 m2:1").await;
    scene.remove_cluster("m1").await;
    scene.placed("web-deployment", "m2:2").await;
}

#[tokio::test]
async fn a_cordon_keeps_new_copies_away_until_it_is_lifted() {
    let scene = scene("cordon").await;
    scene.report("m1", 9).await;
    scene
        .report_with("m2", 9, json!({}), &["cluster.karmada.io/unschedulable"])
        .await;
    scene
        .apply(policy("p", "web", &scene.to(&["m1", "m2"])))
        .await;
    scene.apply(deployment("web", 1)).await;
    scene.placed("web-deployment", "m1:1").await;
    scene.report("m2", 9).await;
    scene.placed("web-deployment", "m1:1 m2:1").await;
}

#[tokio::test]
async fn what_does_not_fit_is_explained_and_placed_when_there_is_room() {
    let scene = scene("room").await;
    scene.report("m1", 1).await;
    scene.report("m2", 2).await;
    scene
        .apply(policy("p", "web", &scene.divided_over(&["m1", "m2"])))
        .await;
    scene.apply(deployment("web", 5)).await;
    let (m1, m2) = (scene.cluster("m1"), scene.cluster("m2"));
    let words = [
        "replicas 3 are not enough to schedule 5".to_owned(),
        format!("{m1} has room for 1"),
        format!("{m2} has room for 2"),
    ];
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let binding = scene
        .scheduled("web-deployment", "Unschedulable", &words)
        .await;
    assert!(binding.spec.clusters.is_empty());
    scene.told("web", "ScheduleBindingFailed", &words).await;
    scene.report("m2", 8).await;
    scene.placed("web-deployment", "m1:1 m2:4").await;
    scene.scheduled("web-deployment", "Success", &[]).await;
}

#[tokio::test]
async fn an_eviction_moves_the_replicas_only_when_there_is_room_elsewhere() {
    let scene = scene("evict").await;
    scene.report("m1", 9).await;
    scene.report("m2", 2).await;
    scene
        .apply(policy("p", "web", &scene.divided_over(&["m1", "m2"])))
        .await;
    scene.apply(deployment("web", 4)).await;
    let binding = scene
        .becomes::<ResourceBinding>("web-deployment", "it is placed", |binding| {
            binding.spec.clusters.len() == 2
        })
        .await;
    let placed = scene.placement(&binding);
    let bindings: Api<ResourceBinding> = scene.api();
    let task = json!({"spec": {"gracefulEvictionTasks": [{
        "fromCluster": scene.cluster("m1"), "reason": "TaintUntolerated", "producer": "TaintManager",
    }]}});
    bindings
        .patch(
            "web-deployment",
            &PatchParams::default(),
            &Patch::Merge(task),
        )
        .await
        .unwrap();
    let kept = scene
        .scheduled(
            "web-deployment",
            "Unschedulable",
            &["is in the process of eviction"],
        )
        .await;
    assert_eq!(scene.placement(&kept), placed, "what runs stays");
    scene.report("m2", 20).await;
    let moved = scene.placed("web-deployment", "m2:4").await;
    assert_eq!(
        moved.spec.graceful_eviction_tasks.len(),
        1,
        "the task is failover's"
    );
}

#[tokio::test]
async fn an_api_that_shows_up_later_makes_the_cluster_fit() {
    let scene = scene("api").await;
    scene.report("m1", 9).await;
    let clusters: Api<Cluster> = Api::all(scene.client());
    let name = scene.cluster("m1");
    let without = json!({"status": {"apiEnablements": [{"groupVersion": "v1", "resources": []}]}});
    clusters
        .patch_status(&name, &PatchParams::default(), &Patch::Merge(without))
        .await
        .unwrap();
    scene.apply(policy("p", "web", &scene.to(&["m1"]))).await;
    scene.apply(deployment("web", 1)).await;
    scene
        .scheduled(
            "web-deployment",
            "NoClusterFit",
            &[&name, "did not have the API resource apps/v1 Deployment"],
        )
        .await;
    scene.report("m1", 9).await;
    scene.placed("web-deployment", "m1:1").await;
}

#[tokio::test]
async fn a_suspended_policy_reaches_the_binding() {
    let scene = scene("suspend").await;
    scene.report("m1", 9).await;
    let mut suspended = policy("p", "web", &scene.to(&["m1"]));
    suspended["spec"]["suspension"] = json!({"dispatching": true});
    scene.apply(suspended).await;
    scene.apply(deployment("web", 1)).await;
    let binding = scene.placed("web-deployment", "m1:1").await;
    assert_eq!(binding.spec.suspension.unwrap().dispatching, Some(true));
    scene.apply(policy("p", "web", &scene.to(&["m1"]))).await;
    scene
        .becomes::<ResourceBinding>("web-deployment", "it is not suspended", |binding| {
            binding.spec.suspension.is_none()
        })
        .await;
}
