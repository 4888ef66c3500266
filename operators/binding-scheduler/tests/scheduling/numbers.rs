//! What scheduling costs the control plane, counted by the API server itself.

use std::time::Duration;

use crds::policy::PropagationPolicy;
use crds::work::ResourceBinding;
use k8s_openapi::api::apps::v1::Deployment;
use kube::api::{Api, ListParams};
use serde_json::json;
use testbed::{Requests, wait};

use crate::world::{SOON, Scene, deployment, labels, policy, scene_alone};

/// How long nothing may be written before the scheduler counts as settled.
const CALM: Duration = Duration::from_secs(3);

async fn settled(scene: &Scene) -> Requests {
    let written = async || {
        let requests = scene.world.bed.control_plane().requests().await.unwrap();
        // Nobody executes here, so namespaces of earlier tests never finish going away, and the control plane goes on trying.
        let others = ["leases", "namespaces", "configmaps", "serviceaccounts"];
        requests.writes().filter(|request| {
            request.verb != "DELETE" && !others.contains(&request.resource.as_str())
        })
    };
    let mut before = written().await;
    loop {
        tokio::time::sleep(CALM).await;
        let now = written().await;
        if now == before {
            return now;
        }
        before = now;
    }
}

async fn prepared(prefix: &str) -> Scene {
    let scene = scene_alone(prefix).await;
    // What earlier scenes leave behind is cleared away by writes, too.
    let policies: Api<PropagationPolicy> = Api::all(scene.client());
    wait::until("earlier policies to be gone", SOON, async || {
        let left = policies
            .list(&ListParams::default())
            .await
            .map_err(|error| error.to_string())?;
        match left.items.len() {
            0 => Ok(()),
            count => Err(format!("{count} are left")),
        }
    })
    .await
    .unwrap();
    for cluster in ["m1", "m2", "m3"] {
        scene.report(cluster, 9).await;
    }
    // The policy is used before, so that it has its id.
    scene
        .apply(policy("p", "", &scene.to(&["m1", "m2", "m3"])))
        .await;
    scene.apply(deployment("first", 1)).await;
    claimed(&scene, "first").await;
    scene
}

async fn claimed(scene: &Scene, name: &str) {
    let bound = format!("{name}-deployment");
    scene.scheduled(&bound, "Success", &[]).await;
    scene
        .becomes::<Deployment>(name, "it is claimed", |template| {
            labels(template).contains_key(crds::labels::PROPAGATION_POLICY_PERMANENT_ID)
        })
        .await;
}

#[tokio::test]
async fn a_template_costs_four_writes_and_an_unchanged_world_none() {
    let scene = prepared("cost").await;
    let before = settled(&scene).await;
    scene.apply(deployment("web", 2)).await;
    claimed(&scene, "web").await;
    let after = settled(&scene).await;
    // The user's own, the binding, its status, the claim, one event.
    assert_eq!(after.since(&before).total(), 5, "{}", after.since(&before));

    // A change that does not concern scheduling costs nothing.
    let mut other = deployment("web", 2);
    other["spec"]["template"]["spec"]["containers"][0]["image"] = json!("example.com/app:2");
    scene.apply(other).await;
    let image = settled(&scene).await;
    assert_eq!(image.since(&after).total(), 1, "{}", image.since(&after));

    // A change of replicas costs the patch of the binding, its status, and an event.
    scene.apply(deployment("web", 3)).await;
    scene
        .becomes::<ResourceBinding>("web-deployment", "it has 3 replicas", |binding| {
            binding.spec.replicas == Some(3)
        })
        .await;
    let scaled = settled(&scene).await;
    let cost = scaled.since(&image);
    assert!(cost.total() <= 5, "{cost}");
}

/// A policy that uses whatever there is, written as people write it: the binding has to come out the same each time.
async fn everything_at_once(scene: &Scene) {
    let names = [
        scene.cluster("m1"),
        scene.cluster("m2"),
        scene.cluster("m3"),
    ];
    let placement = json!({
        "clusterAffinities": [
            {"affinityName": "own", "clusterNames": names, "exclude": [], "labelSelector": {}},
            {"affinityName": "other", "fieldSelector": {"matchExpressions": [
                {"key": "region", "operator": "NotIn", "values": ["nowhere"]},
            ]}},
        ],
        "clusterTolerations": [{"key": "a", "operator": "Exists"}, {"key": "b", "value": "c", "effect": "NoExecute", "tolerationSeconds": 30}],
        "spreadConstraints": [{"spreadByField": "cluster", "minGroups": 2}],
        "replicaScheduling": {
            "replicaSchedulingType": "Divided",
            "replicaDivisionPreference": "Aggregated",
        },
    });
    let mut rich = policy("rich", "rich", &placement);
    rich["spec"]["priority"] = json!(7);
    rich["spec"]["suspension"] = json!({"dispatchingOnClusters": {"clusterNames": ["nobody"]}});
    rich["spec"]["failover"] = json!({"cluster": {}});
    rich["spec"]["preserveResourcesOnDeletion"] = json!(false);
    scene.apply(rich).await;
    let mut template = deployment("rich", 4);
    let pod = &mut template["spec"]["template"]["spec"];
    pod["containers"][0]["resources"]["requests"] = json!({"cpu": "0.5"});
    pod["nodeSelector"] = json!({"disk": "ssd"});
    pod["tolerations"] = json!([{"key": "x", "operator": "Exists"}]);
    scene.apply(template).await;
    claimed(scene, "rich").await;
}

#[tokio::test]
async fn a_restart_with_nothing_changed_writes_nothing() {
    let scene = prepared("restart").await;
    // A policy without effect, of which its author has been told, and a template that fits nowhere are not told anew.
    scene
        .apply(policy("idle", "nobody", &scene.to(&["m1"])))
        .await;
    scene.told("idle", "ApplyPolicyFailed", &[]).await;
    scene
        .apply(policy("lost", "lost", &scene.to(&["m9"])))
        .await;
    everything_at_once(&scene).await;
    let before = settled(&scene).await;
    let operator = &scene.world.operator;
    operator.stop(SOON).await.unwrap();
    operator.restart().await.unwrap();
    operator.ready(SOON).await.unwrap();
    let after = settled(&scene).await;
    let cost = after.since(&before);
    assert_eq!(cost.total(), 0, "{cost}");
}

#[tokio::test]
async fn metrics_tell_attempts_by_result_and_reason() {
    let scene = prepared("metrics").await;
    scene.apply(deployment("web", 1)).await;
    claimed(&scene, "web").await;
    let text = scene.world.operator.metrics().await.unwrap();
    for wanted in [
        r#"karmada_scheduler_schedule_attempts_total{result="scheduled",schedule_type="ReconcileSchedule",reason="Success"}"#,
        "karmada_scheduler_e2e_scheduling_duration_seconds_bucket",
        "karmada_scheduler_scheduling_algorithm_duration_seconds_bucket",
        "resource_match_policy_duration_seconds_bucket",
        r#"policy_apply_attempts_total{result="success"}"#,
        r#"scheduler_pending_bindings{queue="unschedulable"}"#,
        "workqueue_depth",
    ] {
        assert!(text.contains(wanted), "{wanted} is missing in\n{text}");
    }
    scene.world.operator.check_metrics().await.unwrap();
}
