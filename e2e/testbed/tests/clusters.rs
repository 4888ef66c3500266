//! The clusters of a bed behave like clusters.
#![expect(clippy::unwrap_used, reason = "a test fails where it notices")]

use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
use kube::Client;
use kube::api::{Api, DeleteParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use testbed::{Cluster, Member, Network, Shared, Testbed, wait};

static BED: Shared = Shared::new(|| {
    Testbed::builder()
        .member(Member::named("full").capacity("4", "8Gi"))
        .member(Member::named("member2").bare().storage_can_fail())
});

fn object<K: DeserializeOwned>(value: Value) -> K {
    serde_json::from_value(value).unwrap()
}

fn config_map(name: &str) -> ConfigMap {
    object(json!({"metadata": {"name": name}, "data": {"key": "value"}}))
}

async fn namespace_in(cluster: &Cluster, name: &str) -> Api<Namespace> {
    let namespaces: Api<Namespace> = Api::all(cluster.client());
    let namespace = object(json!({"metadata": {"name": name}}));
    namespaces
        .create(&PostParams::default(), &namespace)
        .await
        .unwrap();
    namespaces
}

/// A client for what the system under test would use: the way through the proxy.
async fn through_proxy(cluster: &Cluster) -> Client {
    let kubeconfig = Kubeconfig::read_from(cluster.kubeconfig_through_proxy()).unwrap();
    let mut config =
        kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
            .await
            .unwrap();
    config.read_timeout = Some(Duration::from_secs(1));
    config.connect_timeout = Some(Duration::from_secs(1));
    Client::try_from(config).unwrap()
}

async fn answers(client: &Client) -> Result<(), String> {
    let version = tokio::time::timeout(Duration::from_secs(3), client.apiserver_version());
    match version.await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err("no answer within 3 s".to_owned()),
    }
}

async fn falls_silent(client: &Client) {
    wait::until(
        "the cluster to stop answering",
        wait::PATIENCE,
        async || match answers(client).await {
            Ok(()) => Err("it answers"),
            Err(_) => Ok(()),
        },
    )
    .await
    .unwrap();
}

#[tokio::test]
async fn deployment_becomes_available_and_its_namespace_can_be_deleted() {
    let member = BED.get().await.member("full");
    let namespaces = namespace_in(member, "runs").await;
    let deployments: Api<Deployment> = Api::namespaced(member.client(), "runs");
    let deployment = object(json!({
        "metadata": {"name": "web"},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "web", "image": "nginx", "resources": {"requests": {"cpu": "100m"}}}]},
            },
        },
    }));
    deployments
        .create(&PostParams::default(), &deployment)
        .await
        .unwrap();
    wait::object(
        &deployments,
        "web",
        "both replicas are available",
        wait::PATIENCE,
        |deployment| {
            let status = deployment.status.as_ref();
            status.and_then(|status| status.available_replicas) == Some(2)
        },
    )
    .await
    .unwrap();

    namespaces
        .delete("runs", &DeleteParams::default())
        .await
        .unwrap();
    wait::gone(&namespaces, "runs", wait::PATIENCE)
        .await
        .unwrap();
}

#[tokio::test]
async fn nodes_have_a_heartbeat() {
    let member = BED.get().await.member("full");
    let leases: Api<Lease> = Api::namespaced(member.client(), "kube-node-lease");
    let renewed = |lease: &Lease| lease.spec.as_ref().and_then(|spec| spec.renew_time.clone());
    let first = wait::object(
        &leases,
        "full-node1",
        "it is there",
        wait::PATIENCE,
        |lease| renewed(lease).is_some(),
    )
    .await
    .unwrap();
    wait::object(
        &leases,
        "full-node1",
        "it is renewed",
        wait::PATIENCE,
        |lease| renewed(lease) > renewed(&first),
    )
    .await
    .unwrap();
}

#[tokio::test]
async fn job_completes_and_a_pod_can_be_kept_from_becoming_ready() {
    let member = BED.get().await.member("full");
    namespace_in(member, "ends").await;
    let jobs: Api<Job> = Api::namespaced(member.client(), "ends");
    let job = |name: &str, labels: Value| {
        object(json!({
            "metadata": {"name": name},
            "spec": {"template": {
                "metadata": {"labels": labels},
                "spec": {"restartPolicy": "Never", "containers": [{"name": "work", "image": "busybox"}]},
            }},
        }))
    };
    let stuck = job("stuck", json!({"testbed/never-ready": "true"}));
    jobs.create(&PostParams::default(), &stuck).await.unwrap();
    let fine = job("fine", json!({}));
    jobs.create(&PostParams::default(), &fine).await.unwrap();
    wait::object(&jobs, "fine", "it succeeds", wait::PATIENCE, |job| {
        job.status.as_ref().and_then(|status| status.succeeded) == Some(1)
    })
    .await
    .unwrap();
    let stuck = jobs.get("stuck").await.unwrap().status.unwrap();
    assert_eq!(stuck.succeeded, None);
}

#[tokio::test]
async fn test_namespaces_differ_and_are_deleted_at_the_end() {
    let bed = BED.get().await;
    let namespaces: Api<Namespace> = Api::all(bed.control_plane().client());
    let (one, other) = (
        bed.namespace("same").await.unwrap(),
        bed.namespace("same").await.unwrap(),
    );
    assert_ne!(one.name(), other.name());
    let maps: Api<ConfigMap> = Api::namespaced(bed.control_plane().client(), one.name());
    maps.create(&PostParams::default(), &config_map("settings"))
        .await
        .unwrap();
    let name = one.name().to_owned();
    drop(one);
    wait::gone(&namespaces, &name, wait::PATIENCE)
        .await
        .unwrap();
    assert!(namespaces.get(other.name()).await.is_ok());
}

#[tokio::test]
async fn service_account_may_do_what_it_was_given_and_nothing_else() {
    let bed = BED.get().await;
    let namespace = bed.namespace("account").await.unwrap();
    let account = bed
        .control_plane()
        .service_account(namespace.name(), "reader")
        .await
        .unwrap();
    account.bind("view").await.unwrap();
    let client = account.client().await.unwrap();
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), namespace.name());
    wait::until("the role to take effect", wait::PATIENCE, async || {
        maps.list(&kube::api::ListParams::default()).await
    })
    .await
    .unwrap();
    let secrets: Api<Secret> = Api::namespaced(client, namespace.name());
    let refused = secrets
        .list(&kube::api::ListParams::default())
        .await
        .unwrap_err();
    assert!(
        matches!(&refused, kube::Error::Api(status) if status.code == 403),
        "{refused}"
    );

    let path = account.kubeconfig().await.unwrap();
    let who = bed
        .control_plane()
        .kubectl(&["--kubeconfig", path.to_str().unwrap(), "auth", "whoami"])
        .await
        .unwrap();
    let user = format!("system:serviceaccount:{}:reader", namespace.name());
    assert!(who.contains(&user), "{who}");
}

#[tokio::test]
async fn expired_certificate_is_refused() {
    let member = BED.get().await.member("member2");
    let path = member.expired_kubeconfig().unwrap();
    let refused = member
        .kubectl(&["--kubeconfig", path.to_str().unwrap(), "get", "namespaces"])
        .await
        .unwrap_err();
    assert!(refused.to_string().contains("logged in"), "{refused}");
}

#[tokio::test]
async fn writes_are_counted() {
    let bed = BED.get().await;
    let plane = bed.control_plane();
    let namespace = bed.namespace("counted").await.unwrap();
    let maps: Api<ConfigMap> = Api::namespaced(plane.client(), namespace.name());
    // Other tests work on the same server, and controllers react to namespaces with config maps of their own: count what
    // only this test does.
    let deleted = |requests: testbed::Requests| {
        requests.filter(|request| request.verb == "DELETE" && request.resource == "configmaps")
    };
    let before = plane.requests().await.unwrap();
    for name in ["one", "two"] {
        maps.create(&PostParams::default(), &config_map(name))
            .await
            .unwrap();
        maps.get(name).await.unwrap();
        maps.delete(name, &DeleteParams::default()).await.unwrap();
    }
    let made = plane.requests().await.unwrap().since(&before);
    assert_eq!(deleted(made.writes()).total(), 2, "{made}");
    assert!(made.total() > made.writes().total(), "{made}");
}

#[tokio::test]
async fn network_of_a_member_fails_and_heals() {
    let member = BED.get().await.member("full");
    let client = through_proxy(member).await;
    answers(&client).await.unwrap();

    member.set_network(Network::Blackhole);
    falls_silent(&client).await;
    member.set_network(Network::Refusing);
    falls_silent(&client).await;
    assert!(
        member.client().apiserver_version().await.is_ok(),
        "the test itself still sees it"
    );

    member.set_network(Network::Slow(Duration::from_millis(200)));
    let start = std::time::Instant::now();
    wait::until("slow answers", wait::PATIENCE, async || {
        answers(&client).await
    })
    .await
    .unwrap();
    assert!(start.elapsed() >= Duration::from_millis(400));

    member.set_network(Network::Up);
    wait::until("answers", wait::PATIENCE, async || answers(&client).await)
        .await
        .unwrap();
}

// The ways a server fails share one member, so they are one test.
#[tokio::test]
async fn member_is_frozen_killed_and_comes_back_with_its_objects() {
    let member = BED.get().await.member("member2");
    let maps: Api<ConfigMap> = Api::namespaced(member.client(), "default");
    maps.create(&PostParams::default(), &config_map("survivor"))
        .await
        .unwrap();
    let client = through_proxy(member).await;
    answers(&client).await.unwrap();

    member.freeze().unwrap();
    falls_silent(&client).await;
    member.resume().await.unwrap();
    wait::until("answers", wait::PATIENCE, async || answers(&client).await)
        .await
        .unwrap();

    member.kill();
    falls_silent(&client).await;
    member.restart().await.unwrap();
    let maps: Api<ConfigMap> = Api::namespaced(member.client(), "default");
    maps.get("survivor").await.unwrap();

    member.set_storage_network(Network::Refusing).unwrap();
    let error = wait::until(
        "an error of the server",
        wait::PATIENCE,
        async || match member.raw("/readyz").await {
            Ok(answer) => Err(answer),
            Err(error) => Ok(format!("{error:#}")),
        },
    )
    .await
    .unwrap();
    assert!(error.contains("500"), "{error}");
    member.set_storage_network(Network::Up).unwrap();
    member.ready(wait::PATIENCE).await.unwrap();
}
