//! cluster-health alone, on real API servers, under the permissions it has in production.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails where it notices"
)]

use std::time::Duration;

use anyhow::Result;
use crds::cluster::{Cluster, ClusterSpec, ClusterSyncMode};
use crds::policy::ClusterTaintPolicy;
use crds::work::{
    ObjectReference, ResourceBinding, ResourceBindingSpec, TargetCluster, Work, WorkSpec,
};
use crds::{Condition, conditions, finalizers, namespaces, taints};
use k8s_openapi::api::core::v1::{Event, Namespace, Pod, Secret};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::ResourceExt as _;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use testbed::{Member, Process, Testbed, wait};
use tokio::sync::OnceCell;

/// A busy machine needs its time; no wait is longer than it has to be.
const SOON: Duration = Duration::from_secs(90);

/// Each test has a member of its own, because it breaks it.
const MEMBERS: [&str; 7] = [
    "whole", "killed", "frozen", "failing", "renewed", "leaving", "dead",
];

struct World {
    bed: Testbed,
    operator: Process,
}

/// Everything that takes half a minute or more in production takes seconds here.
const HASTE: [&str; 6] = [
    "--cluster-status-update-frequency=1s",
    "--cluster-probe-timeout=6s",
    "--cluster-failure-threshold=3s",
    "--cluster-success-threshold=2s",
    "--cluster-summary-interval=1s",
    "--cluster-removal-patience=5s",
];

async fn world() -> &'static World {
    static WORLD: OnceCell<Result<World, String>> = OnceCell::const_new();
    let create = async || -> Result<World> {
        let mut builder = Testbed::builder();
        for name in MEMBERS {
            let member = Member::named(name);
            builder = builder.member(match name {
                "whole" => member,
                "failing" => member.bare().storage_can_fail(),
                _ => member.bare(),
            });
        }
        let bed = builder.start().await?;
        bed.install().await?;
        let operator = bed.start_operator("cluster-health", &HASTE).await?;
        Ok(World { bed, operator })
    };
    let world = WORLD
        .get_or_init(|| async { create().await.map_err(|error| format!("{error:?}")) })
        .await;
    match world {
        Ok(world) => world,
        Err(error) => panic!("the world did not come into being: {error}"),
    }
}

impl World {
    fn clusters(&self) -> Api<Cluster> {
        Api::all(self.bed.control_plane().client())
    }

    async fn join(&self, name: &str) -> Cluster {
        self.bed.join_directly(self.bed.member(name)).await.unwrap();
        self.until(name, "ready", |cluster| {
            ready(cluster).is_some_and(|one| one.status == conditions::TRUE)
        })
        .await
    }

    async fn until(&self, name: &str, what: &str, holds: impl FnMut(&Cluster) -> bool) -> Cluster {
        wait::object(&self.clusters(), name, what, SOON, holds)
            .await
            .unwrap()
    }

    /// Waits until the member is reported as not ready with this reason and words, and tainted.
    async fn until_lost(&self, name: &str, reason: &str, words: &str) -> Cluster {
        self.until(
            name,
            &format!("{reason}, {words}, and tainted"),
            |cluster| {
                let told = ready(cluster).is_some_and(|one| {
                    one.status == conditions::FALSE
                        && one.reason == reason
                        && one.message.contains(words)
                });
                told && tainted(cluster)
            },
        )
        .await
    }

    async fn until_back(&self, name: &str) -> Cluster {
        self.until(name, "ready and untainted", |cluster| {
            ready(cluster).is_some_and(|one| one.status == conditions::TRUE)
                && cluster.spec.taints.is_empty()
        })
        .await
    }

    /// How many events of that reason tell of the Cluster.
    async fn events(&self, cluster: &str, reason: &str) -> usize {
        let events: Api<Event> =
            Api::namespaced(self.bed.control_plane().client(), namespaces::DEFAULT);
        let about = |event: &Event| {
            event.involved_object.name.as_deref() == Some(cluster)
                && event.reason.as_deref() == Some(reason)
        };
        events
            .list(&ListParams::default())
            .await
            .unwrap()
            .iter()
            .filter(|event| about(event))
            .count()
    }
}

fn condition<'a>(cluster: &'a Cluster, kind: &str) -> Option<&'a Condition> {
    let status = cluster.status.as_ref()?;
    status
        .conditions
        .iter()
        .find(|condition| condition.type_ == kind)
}

fn ready(cluster: &Cluster) -> Option<&Condition> {
    condition(cluster, conditions::READY)
}

fn tainted(cluster: &Cluster) -> bool {
    cluster.spec.taints.iter().any(|taint| {
        taint.key == taints::NOT_READY
            && taint.effect == taints::NO_SCHEDULE
            && taint.time_added.is_some()
    })
}

fn serves(cluster: &Cluster, group_version: &str, kind: &str) -> bool {
    let apis = cluster
        .status
        .iter()
        .flat_map(|status| &status.api_enablements);
    apis.filter(|api| api.group_version == group_version)
        .any(|api| api.resources.iter().any(|resource| resource.kind == kind))
}

fn amount<'a>(cluster: &'a Cluster, sum: &str, resource: &str) -> Option<&'a str> {
    let summary = cluster.status.as_ref()?.resource_summary.as_ref()?;
    let sum = match sum {
        "allocatable" => &summary.allocatable,
        "allocated" => &summary.allocated,
        _ => &summary.allocating,
    };
    sum.get(resource).map(|quantity| quantity.0.as_str())
}

#[tokio::test]
async fn a_member_is_described_by_what_it_has_and_serves() {
    let world = world().await;
    let cluster = world.join("whole").await;
    assert_eq!(ready(&cluster).unwrap().reason, conditions::CLUSTER_READY);
    assert!(
        cluster
            .finalizers()
            .iter()
            .any(|finalizer| finalizer == finalizers::CLUSTER)
    );
    let spaces: Api<Namespace> = Api::all(world.bed.control_plane().client());
    let space = spaces.get("karmada-es-whole").await.unwrap();
    assert_eq!(space.labels()["karmada.io/system"], "true");

    let cluster = world
        .until("whole", "described", |cluster| {
            let status = cluster.status.as_ref().unwrap();
            let nodes = status.node_summary.as_ref();
            status
                .kubernetes_version
                .as_deref()
                .is_some_and(|version| version.starts_with("v1."))
                && nodes
                    .is_some_and(|nodes| nodes.total_num == Some(1) && nodes.ready_num == Some(1))
                && amount(cluster, "allocatable", "cpu") == Some("8")
                && amount(cluster, "allocatable", "memory") == Some("32Gi")
                && serves(cluster, "apps/v1", "Deployment")
                && serves(cluster, "v1", "ConfigMap")
        })
        .await;
    let complete = condition(&cluster, conditions::COMPLETE_API_ENABLEMENTS).unwrap();
    assert_eq!(
        (complete.status.as_str(), complete.reason.as_str()),
        ("True", "Complete")
    );
    assert_eq!(cluster.spec.taints, []);
    assert_eq!(
        world.events("whole", "CreateExecutionSpaceSucceed").await,
        1
    );

    let member = world.bed.member("whole").client();
    let definitions: Api<CustomResourceDefinition> = Api::all(member.clone());
    definitions
        .create(&PostParams::default(), &definition())
        .await
        .unwrap();
    world
        .until("whole", "serving the new kind", |cluster| {
            serves(cluster, "example.com/v1", "Gadget")
        })
        .await;

    let pods: Api<Pod> = Api::namespaced(member, "default");
    pods.create(&PostParams::default(), &pod()).await.unwrap();
    world
        .until("whole", "counting the pod", |cluster| {
            amount(cluster, "allocated", "cpu") == Some("1500m")
                && amount(cluster, "allocated", "pods") == Some("1")
        })
        .await;
    pods.delete("eater", &DeleteParams::default())
        .await
        .unwrap();
    world
        .until("whole", "the pod is gone", |cluster| {
            amount(cluster, "allocated", "cpu").is_none()
        })
        .await;

    let metrics = world.operator.metrics().await.unwrap();
    for line in [
        r#"cluster_ready_state{member_cluster="whole"} 1"#,
        r#"cluster_node_number{member_cluster="whole"} 1"#,
        r#"cluster_cpu_allocatable_number{member_cluster="whole"} 8"#,
        r#"cluster_probes_total{member_cluster="whole",result="healthy"}"#,
    ] {
        assert!(metrics.contains(line), "{line} is not in {metrics}");
    }
    world.operator.check_metrics().await.unwrap();
}

fn definition() -> CustomResourceDefinition {
    serde_json::from_value(json!({
        "metadata": {"name": "gadgets.example.com"},
        "spec": {
            "group": "example.com",
            "names": {"kind": "Gadget", "plural": "gadgets"},
            "scope": "Namespaced",
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
            }],
        },
    }))
    .unwrap()
}

fn pod() -> Pod {
    serde_json::from_value(json!({
        "metadata": {"name": "eater"},
        "spec": {
            "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "c", "image": "x", "resources": {"requests": {"cpu": "1500m"}}}],
        },
    }))
    .unwrap()
}

#[tokio::test]
async fn a_member_that_is_killed_is_lost_and_comes_back() {
    let world = world().await;
    world.join("killed").await;
    let member = world.bed.member("killed");
    member.kill();
    let lost = world
        .until_lost(
            "killed",
            conditions::CLUSTER_NOT_REACHABLE,
            "does not answer",
        )
        .await;
    let since = &ready(&lost).unwrap().last_transition_time;
    assert!(
        lost.status.as_ref().unwrap().kubernetes_version.is_some(),
        "what was known stays"
    );
    member.restart().await.unwrap();
    let back = world.until_back("killed").await;
    assert!(ready(&back).unwrap().last_transition_time.0 > since.0);
    let told = async || world.events("killed", "TaintClusterSucceed").await;
    wait::until("two events", SOON, async || match told().await {
        2 => Ok(()),
        count => Err(format!("{count} events")),
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn a_member_that_hangs_is_lost_and_delays_nobody() {
    let world = world().await;
    world.join("frozen").await;
    let member = world.bed.member("frozen");
    member.freeze().unwrap();
    world
        .until_lost(
            "frozen",
            conditions::CLUSTER_NOT_REACHABLE,
            "no answer within 6s",
        )
        .await;
    // Ten looks at another member take ten seconds; if each had to wait for this one, they would take a minute.
    world
        .bed
        .join_directly(world.bed.control_plane())
        .await
        .unwrap();
    let looks = async || -> Result<f64, String> {
        let metrics = world
            .operator
            .metrics()
            .await
            .map_err(|error| format!("{error:#}"))?;
        let line = r#"cluster_probes_total{member_cluster="control-plane",result="healthy"} "#;
        let number = metrics.lines().find_map(|text| text.strip_prefix(line));
        Ok(number
            .and_then(|number| number.parse().ok())
            .unwrap_or_default())
    };
    wait::until(
        "ten looks at another member",
        Duration::from_secs(40),
        async || match looks().await? {
            count if count >= 10.0 => Ok(()),
            count => Err(format!("{count} looks")),
        },
    )
    .await
    .unwrap();
    member.resume().await.unwrap();
    world.until_back("frozen").await;
}

#[tokio::test]
async fn a_member_that_answers_500_is_not_ready() {
    let world = world().await;
    world.join("failing").await;
    let policies: Api<ClusterTaintPolicy> = Api::all(world.bed.control_plane().client());
    policies
        .create(&PostParams::default(), &taint_policy("failing"))
        .await
        .unwrap();
    let member = world.bed.member("failing");
    member
        .set_storage_network(testbed::Network::Refusing)
        .unwrap();
    world
        .until_lost("failing", conditions::CLUSTER_NOT_READY, "HTTP 500")
        .await;
    world
        .until("failing", "tainted by the policy", |cluster| {
            cluster
                .spec
                .taints
                .iter()
                .any(|taint| taint.key == "example.com/broken")
        })
        .await;
    member.set_storage_network(testbed::Network::Up).unwrap();
    world.until_back("failing").await;
}

fn taint_policy(cluster: &str) -> ClusterTaintPolicy {
    let when = |status: &str| json!([{"conditionType": "Ready", "operator": "In", "statusValues": [status]}]);
    serde_json::from_value(json!({
        "apiVersion": "policy.karmada.io/v1alpha1", "kind": "ClusterTaintPolicy", "metadata": {"name": "broken"},
        "spec": {
            "targetClusters": {"clusterNames": [cluster]},
            "addOnConditions": when("False"),
            "removeOnConditions": when("True"),
            "taints": [{"key": "example.com/broken", "effect": "NoSchedule"}],
        },
    }))
    .unwrap()
}

#[tokio::test]
async fn a_member_with_an_agent_of_its_own_gets_a_namespace_and_is_left_alone() {
    let world = world().await;
    let spec = ClusterSpec {
        sync_mode: ClusterSyncMode::Pull,
        ..ClusterSpec::default()
    };
    world
        .clusters()
        .create(&PostParams::default(), &Cluster::new("pulled", spec))
        .await
        .unwrap();
    let spaces: Api<Namespace> = Api::all(world.bed.control_plane().client());
    wait::object(&spaces, "karmada-es-pulled", "it exists", SOON, |_| true)
        .await
        .unwrap();
    let cluster = world.clusters().get("pulled").await.unwrap();
    assert_eq!((cluster.spec.taints.len(), cluster.status), (0, None));
    world
        .clusters()
        .delete("pulled", &DeleteParams::default())
        .await
        .unwrap();
    wait::gone(&world.clusters(), "pulled", SOON).await.unwrap();
}

#[tokio::test]
async fn a_renewed_token_heals_what_a_bad_one_broke() {
    let world = world().await;
    world.join("renewed").await;
    let secrets: Api<Secret> = Api::namespaced(
        world.bed.control_plane().client(),
        namespaces::KARMADA_CLUSTER,
    );
    let good = secrets.get("renewed").await.unwrap().data.unwrap()["token"].clone();
    let set = async |data: Value| {
        secrets
            .patch(
                "renewed",
                &PatchParams::default(),
                &Patch::Merge(json!({"data": data})),
            )
            .await
            .unwrap();
    };
    set(json!({"token": "YmFk"})).await;
    world
        .until_lost("renewed", conditions::STATUS_COLLECTION_FAILED, "HTTP 401")
        .await;
    set(json!({"token": good})).await;
    world.until_back("renewed").await;
    set(json!({"token": null})).await;
    world
        .until_lost("renewed", conditions::STATUS_COLLECTION_FAILED, "token")
        .await;
    set(json!({"token": good})).await;
    world.until_back("renewed").await;
    secrets
        .delete("renewed", &DeleteParams::default())
        .await
        .unwrap();
    world
        .until_lost(
            "renewed",
            conditions::STATUS_COLLECTION_FAILED,
            "karmada-cluster/renewed",
        )
        .await;
}

#[tokio::test]
async fn a_cluster_leaves_after_its_bindings() {
    let world = world().await;
    world.join("leaving").await;
    let plane = world.bed.control_plane().client();
    let bindings: Api<ResourceBinding> = Api::namespaced(plane.clone(), "default");
    let spec = ResourceBindingSpec {
        resource: ObjectReference {
            api_version: "apps/v1".to_owned(),
            kind: "Deployment".to_owned(),
            name: "web".to_owned(),
            ..ObjectReference::default()
        },
        clusters: vec![TargetCluster {
            name: "leaving".to_owned(),
            ..TargetCluster::default()
        }],
        ..ResourceBindingSpec::default()
    };
    bindings
        .create(
            &PostParams::default(),
            &ResourceBinding::new("web-deployment", spec),
        )
        .await
        .unwrap();

    world
        .clusters()
        .delete("leaving", &DeleteParams::default())
        .await
        .unwrap();
    world
        .until("leaving", "kept by the binding", |cluster| {
            condition(cluster, conditions::REMOVAL_BLOCKED).is_some_and(|blocked| {
                blocked.reason == "BindingsRemain"
                    && blocked.message.contains("default/web-deployment")
            })
        })
        .await;
    assert_eq!(
        world.events("leaving", "RemoveExecutionSpaceFailed").await,
        1
    );
    bindings
        .delete("web-deployment", &DeleteParams::default())
        .await
        .unwrap();
    wait::gone(&world.clusters(), "leaving", SOON)
        .await
        .unwrap();
    wait::gone(&Api::<Namespace>::all(plane), "karmada-es-leaving", SOON)
        .await
        .unwrap();
    assert_eq!(
        world.events("leaving", "RemoveExecutionSpaceSucceed").await,
        1
    );
    let metrics = world.operator.metrics().await.unwrap();
    assert!(
        !metrics.contains(r#"member_cluster="leaving""#),
        "{metrics}"
    );
}

#[tokio::test]
async fn a_cluster_whose_member_is_dead_leaves_its_works_behind() {
    let world = world().await;
    world.join("dead").await;
    world.bed.member("dead").kill();
    world
        .until_lost("dead", conditions::CLUSTER_NOT_REACHABLE, "")
        .await;
    let works: Api<Work> = Api::namespaced(world.bed.control_plane().client(), "karmada-es-dead");
    let mut work = Work::new("web", WorkSpec::default());
    work.metadata.finalizers = Some(vec![finalizers::EXECUTION.to_owned()]);
    works.create(&PostParams::default(), &work).await.unwrap();
    world
        .clusters()
        .delete("dead", &DeleteParams::default())
        .await
        .unwrap();
    wait::gone(&world.clusters(), "dead", SOON).await.unwrap();
    wait::gone(&works, "web", SOON).await.unwrap();
}
