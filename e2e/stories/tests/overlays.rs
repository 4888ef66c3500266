//! Each overlay of `config/` installs on a real cluster that enforces the restricted Pod Security standard, and runs.

#![expect(clippy::unwrap_used, reason = "a test fails where it notices")]

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Namespace, Pod};
use kube::api::{Api, ListParams, PostParams};
use kube::{Error, ResourceExt as _};
use serde_json::json;
use testbed::{Cluster, Member, Shared, Testbed, repository};

const OPERATORS: &str = "app.kubernetes.io/component=operator";
const SYSTEM: &str = "karmada-system";

// The high-availability component wants two nodes.
static BED: Shared = Shared::new(|| {
    Testbed::builder()
        .without_controllers()
        .member(Member::named("dev"))
        .member(Member::named("staging"))
        .member(Member::named("production").nodes(2))
});

/// Installs the overlay of the cluster's name as its comment tells users to, and returns the operators' Deployments once all
/// their pods run.
async fn install(host: &Cluster) -> Vec<Deployment> {
    let overlay = repository().join("config/overlays").join(host.name());
    let overlay = overlay.to_str().unwrap();
    host.kubectl(&["apply", "--server-side", "-k", overlay])
        .await
        .unwrap();
    host.kubectl(&[
        "rollout",
        "status",
        "deployment",
        "-n",
        SYSTEM,
        "-l",
        OPERATORS,
        "--timeout=120s",
    ])
    .await
    .unwrap();
    let deployments: Api<Deployment> = Api::namespaced(host.client(), SYSTEM);
    let list = ListParams::default().labels(OPERATORS);
    deployments.list(&list).await.unwrap().items
}

async fn privileged_pods_are_refused(host: &Cluster) {
    let namespaces: Api<Namespace> = Api::all(host.client());
    let system = namespaces.get(SYSTEM).await.unwrap();
    let enforced = system.labels().get("pod-security.kubernetes.io/enforce");
    assert_eq!(enforced.map(String::as_str), Some("restricted"));
    let pods: Api<Pod> = Api::namespaced(host.client(), SYSTEM);
    let pod = serde_json::from_value(json!({
        "metadata": {"name": "root"},
        "spec": {"containers": [{"name": "root", "image": "busybox", "securityContext": {"privileged": true}}]},
    }))
    .unwrap();
    let refused = pods.create(&PostParams::default(), &pod).await.unwrap_err();
    assert!(
        matches!(&refused, Error::Api(status) if status.message.contains("restricted")),
        "{refused}"
    );
}

fn available(deployments: &[Deployment]) -> Vec<(String, i32)> {
    deployments
        .iter()
        .map(|deployment| {
            let status = deployment.status.as_ref();
            let available = status.and_then(|status| status.available_replicas);
            (deployment.name_any(), available.unwrap_or(0))
        })
        .collect()
}

fn each(count: i32) -> Vec<(String, i32)> {
    [
        "binding-scheduler",
        "cluster-health",
        "failover",
        "work-executor",
    ]
    .map(|name| (name.to_owned(), count))
    .into()
}

#[tokio::test]
async fn dev() {
    let host = BED.get().await.member("dev");
    assert_eq!(available(&install(host).await), each(1));
    privileged_pods_are_refused(host).await;
}

#[tokio::test]
async fn staging() {
    let host = BED.get().await.member("staging");
    assert_eq!(available(&install(host).await), each(1));
    privileged_pods_are_refused(host).await;
}

#[tokio::test]
async fn production_runs_two_of_each_on_different_nodes() {
    let host = BED.get().await.member("production");
    let deployments = install(host).await;
    assert_eq!(available(&deployments), each(2));
    privileged_pods_are_refused(host).await;
    let pods: Api<Pod> = Api::namespaced(host.client(), SYSTEM);
    for (name, _) in each(2) {
        let of_one = ListParams::default().labels(&format!("app.kubernetes.io/name={name}"));
        let pods = pods.list(&of_one).await.unwrap();
        let mut nodes: Vec<_> = pods
            .iter()
            .filter_map(|pod| pod.spec.as_ref()?.node_name.as_deref())
            .collect();
        nodes.sort_unstable();
        nodes.dedup();
        assert_eq!(nodes.len(), 2, "{name} runs on {nodes:?}");
    }
}
