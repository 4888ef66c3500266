//! Members are lost and come back. Each story here has the world for itself.

use std::time::Duration;

use crds::cluster::Cluster;
use crds::conditions::{READY, TRUE};
use crds::events;
use crds::work::ResourceBinding;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt as _;
use kube::api::{Api, Patch, PatchParams};
use serde_json::{Value, json};
use testbed::{Network, wait};

use crate::props::{config_map, config_map_to, deployment, policy, selector, with};
use crate::world::{Scene, names, scene_alone};

/// Silence is noticed after half a minute, and it has to last.
const NOTICED: Duration = Duration::from_mins(3);

fn ready(deployment: &Deployment) -> Option<i32> {
    deployment.status.as_ref()?.ready_replicas
}

/// Two of three clusters, all replicas in each.
fn two_of_three(name: &str) -> Value {
    let placement = json!({
        "clusterAffinity": {"clusterNames": ["member1", "member2", "member3"]},
        "spreadConstraints": [{"spreadByField": "cluster", "minGroups": 2, "maxGroups": 2}],
        "clusterTolerations": [
            {"key": "cluster.karmada.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 2},
            {"key": "cluster.karmada.io/unreachable", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 2},
        ],
    });
    policy(name, &[selector("apps/v1", "Deployment", name)], placement)
}

fn with_failover(policy: Value) -> Value {
    with(
        policy,
        "/spec/failover",
        json!({"cluster": {"purgeMode": "Gracefully"}}),
    )
}

async fn cluster_is_ready(scene: &Scene, name: &str, status: &str) {
    let clusters: Api<Cluster> = Api::all(scene.plane());
    let is = |cluster: &Cluster| {
        cluster.status.as_ref().is_some_and(|status_of| {
            status_of.conditions.iter().any(|condition| {
                condition.type_ == READY && (condition.status == TRUE) == (status == TRUE)
            })
        })
    };
    wait::object(
        &clusters,
        name,
        format!("Ready is like {status}"),
        NOTICED,
        is,
    )
    .await
    .unwrap();
}

#[tokio::test]
async fn lost_cluster_is_replaced_where_the_user_asked_for_it_and_comes_back_without_damage() {
    let scene = scene_alone("lost").await;
    for name in ["moves", "stays"] {
        scene.apply(deployment(name, 2)).await;
    }
    scene.apply(with_failover(two_of_three("moves"))).await;
    scene.apply(two_of_three("stays")).await;
    let mut victim = String::new();
    for name in ["moves", "stays"] {
        let binding = scene
            .binding(&format!("{name}-deployment"), "two clusters", |binding| {
                names(binding).len() == 2
            })
            .await;
        victim = names(&binding)[0].to_owned();
        scene
            .template::<Deployment>(name, "4 replicas are ready", |template| {
                ready(template) == Some(4)
            })
            .await;
    }
    let kept = scene
        .copies::<Deployment>(&victim)
        .get("stays")
        .await
        .unwrap();

    scene.member(&victim).freeze().unwrap();
    cluster_is_ready(&scene, &victim, "False").await;
    scene
        .binding(
            "moves-deployment",
            "the lost cluster is replaced",
            |binding| names(binding).len() == 2 && !names(binding).contains(&victim.as_str()),
        )
        .await;
    scene
        .template::<Deployment>("moves", "the total is as before", |template| {
            ready(template) == Some(4)
        })
        .await;
    scene
        .event(
            "moves",
            events::EVICT_WORKLOAD_FROM_CLUSTER_SUCCEED,
            &[&victim],
        )
        .await;
    // Nobody asked for the other to move.
    let stays = scene
        .api::<ResourceBinding>()
        .get("stays-deployment")
        .await
        .unwrap();
    assert!(names(&stays).contains(&victim.as_str()));
    assert!(stays.spec.graceful_eviction_tasks.is_empty());

    scene.member(&victim).resume().await.unwrap();
    cluster_is_ready(&scene, &victim, TRUE).await;
    scene.no_copy::<Deployment>(&victim, "moves").await;
    scene
        .binding("moves-deployment", "the eviction is over", |binding| {
            binding.spec.graceful_eviction_tasks.is_empty() && names(binding).len() == 2
        })
        .await;
    for name in ["moves", "stays"] {
        scene
            .template::<Deployment>(name, "4 replicas are ready", |template| {
                ready(template) == Some(4)
            })
            .await;
    }
    let after = scene
        .copies::<Deployment>(&victim)
        .get("stays")
        .await
        .unwrap();
    assert_eq!(after.metadata.uid, kept.metadata.uid);
    assert_eq!(after.metadata.generation, kept.metadata.generation);
}

#[tokio::test]
async fn deletion_waits_for_a_member_that_cannot_be_reached() {
    let scene = scene_alone("patient").await;
    scene.apply(config_map("settings", "one")).await;
    scene
        .apply(config_map_to("settings", &["member1", "member3"]))
        .await;
    for member in ["member1", "member3"] {
        scene
            .copy::<ConfigMap>(member, "settings", "it exists", |_| true)
            .await;
    }
    scene.member("member3").set_network(Network::Blackhole);
    scene.delete::<ConfigMap>("settings").await;
    scene.no_copy::<ConfigMap>("member1", "settings").await;
    cluster_is_ready(&scene, "member3", "False").await;
    // The copy is still there, and so is the Work that knows of it.
    let copies = scene.copies::<ConfigMap>("member3");
    assert!(copies.get("settings").await.is_ok());
    let works = scene.works("member3").await;
    assert_eq!(works.len(), 1);
    assert!(works[0].metadata.deletion_timestamp.is_some());

    scene.member("member3").set_network(Network::Up);
    scene.no_copy::<ConfigMap>("member3", "settings").await;
    wait::until("the Work to go", NOTICED, async || {
        let works = scene.works("member3").await;
        if works.is_empty() {
            Ok(())
        } else {
            Err(format!("{works:?}"))
        }
    })
    .await
    .unwrap();
    cluster_is_ready(&scene, "member3", TRUE).await;
}

#[tokio::test]
async fn taint_of_a_user_evicts_what_does_not_tolerate_it() {
    let scene = scene_alone("taint").await;
    scene.apply(deployment("web", 1)).await;
    scene.apply(with_failover(two_of_three("web"))).await;
    let binding = scene
        .binding("web-deployment", "two clusters", |binding| {
            names(binding).len() == 2
        })
        .await;
    let victim = names(&binding)[1].to_owned();
    scene
        .template::<Deployment>("web", "it runs in both", |template| {
            ready(template) == Some(2)
        })
        .await;
    let clusters: Api<Cluster> = Api::all(scene.plane());
    let taints = |taints: Value| Patch::Merge(json!({"spec": {"taints": taints}}));
    let maintenance =
        json!([{"key": "example.com/maintenance", "value": "yes", "effect": "NoExecute"}]);
    clusters
        .patch(&victim, &PatchParams::default(), &taints(maintenance))
        .await
        .unwrap();
    scene
        .binding("web-deployment", "the tainted cluster is left", |binding| {
            names(binding).len() == 2 && !names(binding).contains(&victim.as_str())
        })
        .await;
    scene.no_copy::<Deployment>(&victim, "web").await;
    scene
        .template::<Deployment>("web", "it runs in two others", |template| {
            ready(template) == Some(2)
        })
        .await;
    clusters
        .patch(&victim, &PatchParams::default(), &taints(json!(null)))
        .await
        .unwrap();
    let cluster = clusters.get(&victim).await.unwrap();
    assert!(cluster.spec.taints.is_empty(), "{}", cluster.name_any());
}
