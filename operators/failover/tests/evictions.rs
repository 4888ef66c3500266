//! failover alone, on a real API server, under the permissions it has in production. The test plays the others: it reports
//! on clusters as cluster-health does, and places copies as the scheduler does.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails where it notices"
)]

use std::time::Duration;

use anyhow::Result;
use crds::cluster::Cluster;
use crds::policy::{
    ClusterFailoverBehavior, FailoverBehavior, Placement, ReplicaSchedulingStrategy,
    ReplicaSchedulingType,
};
use crds::scope::Binding;
use crds::work::{
    ClusterResourceBinding, ObjectReference, ResourceBinding, ResourceBindingSpec, TargetCluster,
};
use crds::{Toleration, names, namespaces, taints};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Event, ObjectReference as About};
use kube::ResourceExt as _;
use kube::api::{Api, ListParams, Patch, PatchParams, PostParams};
use serde_json::json;
use testbed::{Process, Testbed, wait};
use tokio::sync::{OnceCell, RwLock};

const SOON: Duration = Duration::from_secs(60);

/// Enough clusters that a few may be lost at once.
const CLUSTERS: [&str; 10] = ["c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8", "c9"];

struct World {
    bed: Testbed,
    operator: Process,
    /// Most tests rely on fresh evidence; one takes it away.
    evidence: RwLock<()>,
}

async fn world() -> &'static World {
    static WORLD: OnceCell<Result<World, String>> = OnceCell::const_new();
    let create = async || -> Result<World> {
        let bed = Testbed::builder().start().await?;
        bed.install().await?;
        let plane = bed.control_plane().client();
        for name in CLUSTERS {
            report(&plane, name, true, None).await?;
        }
        show_life(&plane, SignedDuration::ZERO).await?;
        let operator = bed
            .start_operator("failover", &["--evidence-age=30m"])
            .await?;
        Ok(World {
            bed,
            operator,
            evidence: RwLock::new(()),
        })
    };
    let world = WORLD
        .get_or_init(|| async { create().await.map_err(|error| format!("{error:?}")) })
        .await;
    match world {
        Ok(world) => world,
        Err(error) => panic!("the world did not come into being: {error}"),
    }
}

/// Reports on a cluster as cluster-health does: the condition, then the taint.
async fn report(
    plane: &kube::Client,
    name: &str,
    ready: bool,
    lost_since: Option<Timestamp>,
) -> Result<()> {
    let clusters: Api<Cluster> = Api::all(plane.clone());
    let apply = PatchParams::apply("test").force();
    let taints = lost_since.map(|since| {
        json!([{"key": taints::NOT_READY, "effect": taints::NO_SCHEDULE, "timeAdded": since.strftime("%FT%TZ").to_string()}])
    });
    let spec = json!({
        "apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": name},
        "spec": {"syncMode": "Push", "taints": taints.unwrap_or(json!([]))},
    });
    let status = json!({"status": {
        "conditions": [{
            "type": "Ready", "status": if ready { "True" } else { "False" }, "reason": "Test", "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }],
        "apiEnablements": [{"groupVersion": "apps/v1", "resources": [{"name": "deployments", "kind": "Deployment"}]}],
    }});
    if clusters.get_opt(name).await?.is_none() {
        clusters.patch(name, &apply, &Patch::Apply(&spec)).await?;
    }
    clusters
        .patch_status(name, &PatchParams::default(), &Patch::Merge(status))
        .await?;
    clusters.patch(name, &apply, &Patch::Apply(&spec)).await?;
    Ok(())
}

/// Shows that clusters are observed, so long ago.
async fn show_life(plane: &kube::Client, ago: SignedDuration) -> Result<()> {
    let leases: Api<Lease> = Api::namespaced(plane.clone(), namespaces::KARMADA_SYSTEM);
    let seen = (Timestamp::now() - ago).strftime("%FT%T.%6fZ").to_string();
    let lease = json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": names::OBSERVATION_LEASE},
        "spec": {"holderIdentity": "test", "renewTime": seen},
    });
    leases
        .patch(
            names::OBSERVATION_LEASE,
            &PatchParams::apply("test").force(),
            &Patch::Apply(lease),
        )
        .await?;
    Ok(())
}

fn deployment(name: &str, targets: &[&str], opted_in: bool) -> ResourceBindingSpec {
    ResourceBindingSpec {
        resource: ObjectReference {
            api_version: "apps/v1".to_owned(),
            kind: "Deployment".to_owned(),
            namespace: Some("default".to_owned()),
            name: name.to_owned(),
            uid: Some(format!("uid-of-{name}")),
            ..ObjectReference::default()
        },
        replicas: Some(2),
        clusters: targets
            .iter()
            .map(|&target| TargetCluster {
                name: target.to_owned(),
                replicas: Some(2),
                ..TargetCluster::default()
            })
            .collect(),
        placement: Some(Placement {
            cluster_tolerations: vec![Toleration {
                key: Some(taints::NOT_READY.to_owned()),
                operator: Some("Exists".to_owned()),
                effect: Some("NoExecute".to_owned()),
                toleration_seconds: Some(3),
                value: None,
            }],
            replica_scheduling: Some(ReplicaSchedulingStrategy {
                replica_scheduling_type: ReplicaSchedulingType::Divided,
                ..ReplicaSchedulingStrategy::default()
            }),
            ..Placement::default()
        }),
        failover: opted_in.then(|| FailoverBehavior {
            cluster: Some(ClusterFailoverBehavior::default()),
            ..FailoverBehavior::default()
        }),
        ..ResourceBindingSpec::default()
    }
}

impl World {
    fn plane(&self) -> kube::Client {
        self.bed.control_plane().client()
    }

    fn bindings(&self) -> Api<ResourceBinding> {
        Api::namespaced(self.plane(), "default")
    }

    async fn create(&self, name: &str, targets: &[&str], opted_in: bool) {
        let binding = ResourceBinding::new(name, deployment(name, targets, opted_in));
        self.bindings()
            .create(&PostParams::default(), &binding)
            .await
            .unwrap();
    }

    async fn lose(&self, cluster: &str) -> Timestamp {
        let since = Timestamp::from_second(Timestamp::now().as_second()).unwrap();
        report(&self.plane(), cluster, false, Some(since))
            .await
            .unwrap();
        since
    }

    async fn until(
        &self,
        name: &str,
        what: &str,
        holds: impl FnMut(&ResourceBinding) -> bool,
    ) -> ResourceBinding {
        wait::object(&self.bindings(), name, what, SOON, holds)
            .await
            .unwrap()
    }

    async fn until_leaving(&self, name: &str, cluster: &str) -> ResourceBinding {
        self.until(name, &format!("leaving {cluster}"), |binding| {
            leaves(binding, cluster)
        })
        .await
    }

    /// Moves the copy as the scheduler does, and reports it as ready as the executor does.
    async fn replace(&self, name: &str, target: &str) {
        let spec = json!({"spec": {"clusters": [{"name": target, "replicas": 2}]}});
        let bound = self
            .bindings()
            .patch(name, &PatchParams::default(), &Patch::Merge(spec))
            .await
            .unwrap();
        let status = json!({"status": {
            "schedulerObservedGeneration": bound.metadata.generation,
            "aggregatedStatus": [
                {"clusterName": target, "applied": true, "health": "Healthy", "status": {"readyReplicas": 2}},
            ],
        }});
        self.bindings()
            .patch_status(name, &PatchParams::default(), &Patch::Merge(status))
            .await
            .unwrap();
    }

    async fn events(&self, reason: &str, about: impl Fn(&About) -> bool) -> Vec<String> {
        let events: Api<Event> = Api::namespaced(self.plane(), "default");
        let events = events.list(&ListParams::default()).await.unwrap();
        let chosen = events.into_iter().filter(|event| {
            event.reason.as_deref() == Some(reason) && about(&event.involved_object)
        });
        chosen.filter_map(|event| event.message).collect()
    }

    async fn until_told(&self, reason: &str, kind: &str, name: &str, words: &str) {
        wait::until(
            format!("{reason} about {kind} {name}: {words}"),
            SOON,
            async || {
                let told = self
                    .events(reason, |about| {
                        about.kind.as_deref() == Some(kind) && about.name.as_deref() == Some(name)
                    })
                    .await;
                if told.iter().any(|note| note.contains(words)) {
                    Ok(())
                } else {
                    Err(format!("{told:?}"))
                }
            },
        )
        .await
        .unwrap();
    }
}

fn leaves<B: Binding>(binding: &B, cluster: &str) -> bool {
    binding
        .spec()
        .graceful_eviction_tasks
        .iter()
        .any(|task| task.from_cluster == cluster)
}

#[tokio::test]
async fn a_copy_leaves_a_lost_cluster_if_its_policy_says_so_and_the_task_ends_when_it_is_replaced()
{
    let world = world().await;
    let _evidence = world.evidence.read().await;
    world.create("moves", &["c0"], true).await;
    world.create("stays", &["c0"], false).await;
    let lost = world.lose("c0").await;
    let bound = world.until_leaving("moves", "c0").await;
    let task = &bound.spec.graceful_eviction_tasks[0];
    let created = task.creation_timestamp.as_ref().unwrap().0;
    assert!(
        created.duration_since(lost) >= SignedDuration::from_secs(3),
        "not before it was no longer tolerated"
    );
    assert_eq!(
        (task.producer.as_str(), task.reason.as_str()),
        ("TaintManager", "TaintUntolerated")
    );
    assert_eq!(task.replicas, Some(2));
    assert_eq!(
        bound.spec.clusters[0].name, "c0",
        "the scheduler alone takes clusters away"
    );
    let reason = "EvictWorkloadFromClusterSucceed";
    world
        .until_told(reason, "ResourceBinding", "moves", "cluster c0")
        .await;
    world
        .until_told(reason, "Deployment", "moves", "cluster c0")
        .await;

    world.replace("moves", "c5").await;
    world
        .until("moves", "the task is over", |binding| {
            binding.spec.graceful_eviction_tasks.is_empty()
        })
        .await;
    let stays = world.bindings().get("stays").await.unwrap();
    assert_eq!(stays.spec.graceful_eviction_tasks, []);
    report(&world.plane(), "c0", true, None).await.unwrap();

    let metrics = world.operator.metrics().await.unwrap();
    for line in [
        r#"eviction_kind_total{member_cluster="c0",resource_kind="Deployment"} 1"#,
        r#"eviction_processing_total{name="ResourceBinding",result="success"}"#,
    ] {
        assert!(metrics.contains(line), "{line} is not in {metrics}");
    }
    world.operator.check_metrics().await.unwrap();
}

#[tokio::test]
async fn a_task_is_cancelled_when_the_cluster_comes_back_before_a_replacement_was_found() {
    let world = world().await;
    let _evidence = world.evidence.read().await;
    world.create("returns", &["c1"], true).await;
    world.lose("c1").await;
    world.until_leaving("returns", "c1").await;
    report(&world.plane(), "c1", true, None).await.unwrap();
    world
        .until("returns", "no task", |binding| {
            binding.spec.graceful_eviction_tasks.is_empty()
        })
        .await;
    world
        .until_told(
            "EvictWorkloadFromClusterSucceed",
            "ResourceBinding",
            "returns",
            "healthy again",
        )
        .await;
}

#[tokio::test]
async fn an_eviction_taint_moves_what_has_no_namespace_too() {
    let world = world().await;
    let _evidence = world.evidence.read().await;
    let mut spec = deployment("role", &["c2"], false);
    spec.resource.kind = "ClusterRole".to_owned();
    spec.resource.api_version = "rbac.authorization.k8s.io/v1".to_owned();
    spec.resource.namespace = None;
    spec.replicas = None;
    let bindings: Api<ClusterResourceBinding> = Api::all(world.plane());
    bindings
        .create(
            &PostParams::default(),
            &ClusterResourceBinding::new("role", spec),
        )
        .await
        .unwrap();
    let clusters: Api<Cluster> = Api::all(world.plane());
    for name in CLUSTERS {
        let apis = json!({"status": {"apiEnablements": [
            {"groupVersion": "apps/v1", "resources": [{"name": "deployments", "kind": "Deployment"}]},
            {"groupVersion": "rbac.authorization.k8s.io/v1", "resources": [{"name": "clusterroles", "kind": "ClusterRole"}]},
        ]}});
        clusters
            .patch_status(name, &PatchParams::default(), &Patch::Merge(apis))
            .await
            .unwrap();
    }
    let drain = json!({"spec": {"taints": [{"key": "maintenance", "effect": "NoExecute"}]}});
    clusters
        .patch("c2", &PatchParams::default(), &Patch::Merge(drain))
        .await
        .unwrap();
    wait::object(&bindings, "role", "leaving c2", SOON, |binding| {
        leaves(binding, "c2")
    })
    .await
    .unwrap();
    world
        .until_told(
            "EvictWorkloadFromClusterSucceed",
            "ClusterResourceBinding",
            "role",
            "cluster c2",
        )
        .await;
}

#[tokio::test]
async fn without_evidence_a_copy_stays_and_the_user_is_told_why() {
    let world = world().await;
    let evidence = world.evidence.write().await;
    show_life(&world.plane(), SignedDuration::from_hours(1))
        .await
        .unwrap();
    world.create("waits", &["c3"], true).await;
    world.lose("c3").await;
    world
        .until_told(
            "EvictWorkloadFromClusterFailed",
            "ResourceBinding",
            "waits",
            "cluster-health",
        )
        .await;
    let waits = world.bindings().get("waits").await.unwrap();
    assert_eq!(waits.spec.graceful_eviction_tasks, []);
    show_life(&world.plane(), SignedDuration::ZERO)
        .await
        .unwrap();
    drop(evidence);
    world.until_leaving("waits", "c3").await;
    report(&world.plane(), "c3", true, None).await.unwrap();
}

#[tokio::test]
async fn the_clock_of_a_toleration_outlives_the_operator() {
    let world = world().await;
    let evidence = world.evidence.write().await;
    world.operator.kill();
    world.create("patient", &["c4"], true).await;
    // Lost for longer than it is tolerated, while nobody was there to count.
    let since = Timestamp::from_second(Timestamp::now().as_second() - 100).unwrap();
    report(&world.plane(), "c4", false, Some(since))
        .await
        .unwrap();
    world.operator.restart().await.unwrap();
    let bound = world.until_leaving("patient", "c4").await;
    drop(evidence);
    assert_eq!(bound.name_any(), "patient");
    report(&world.plane(), "c4", true, None).await.unwrap();
}
