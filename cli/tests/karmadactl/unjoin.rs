//! Members that leave, and dead ones that are let go.

use crds::cluster::Cluster as Member;
use crds::work::Work;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{Api, PostParams};
use serde_json::json;
use testbed::wait;

use crate::bed::{bed, karmadactl};

#[tokio::test]
async fn dead_member_is_let_go_by_force_and_what_stays_is_said() {
    let bed = bed().await;
    let control = bed.control_plane().client();
    let member = bed.member("dies");
    bed.join_directly(member).await.unwrap();
    member.kill();

    let clusters: Api<Member> = Api::all(control.clone());
    let patch = json!({"metadata": {"finalizers": ["karmada.io/cluster-controller"]}});
    clusters
        .patch(
            "dies",
            &kube::api::PatchParams::default(),
            &kube::api::Patch::Merge(patch),
        )
        .await
        .unwrap();
    let namespaces: Api<Namespace> = Api::all(control.clone());
    let namespace =
        serde_json::from_value(json!({"metadata": {"name": "karmada-es-dies"}})).unwrap();
    namespaces
        .create(&PostParams::default(), &namespace)
        .await
        .unwrap();
    let works: Api<Work> = Api::namespaced(control, "karmada-es-dies");
    let work: Work = serde_json::from_value(json!({
        "metadata": {"name": "demo", "finalizers": ["karmada.io/execution-controller"]},
        "spec": {"workload": {"manifests": [
            {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "demo", "namespace": "shop"}},
        ]}},
    }))
    .unwrap();
    works.create(&PostParams::default(), &work).await.unwrap();

    let rehearsed = karmadactl(bed, &["unjoin", "dies", "--dry-run"])
        .await
        .succeeds();
    assert!(
        rehearsed.words().contains("deployment/demo -n shop"),
        "{}",
        rehearsed.err
    );
    assert_eq!(
        clusters
            .get("dies")
            .await
            .unwrap()
            .metadata
            .deletion_timestamp,
        None
    );

    karmadactl(bed, &["unjoin", "dies", "--wait=1s"])
        .await
        .fails_with(&[
            "dies is not gone after 1 s",
            "1 works are still there, the first for deployment/demo -n shop",
            "karmada.io/cluster-controller",
            "--force",
        ]);

    let said = karmadactl(bed, &["unjoin", "dies", "--force"])
        .await
        .succeeds();
    assert_eq!(said.out, "cluster.cluster.karmada.io/dies unjoined\n");
    for words in [
        "these objects stay in dies",
        "deployment/demo -n shop",
        "kubectl delete clusterrolebinding/karmada-controller-manager:karmada-dies",
    ] {
        assert!(
            said.words().contains(words),
            "{words:?} is not in {}",
            said.err
        );
    }
    assert_eq!(clusters.get_opt("dies").await.unwrap(), None);
    wait::gone(&namespaces, "karmada-es-dies", wait::PATIENCE)
        .await
        .unwrap();

    karmadactl(bed, &["unjoin", "dies"])
        .await
        .fails_with(&["no member is called dies"]);
}

#[tokio::test]
async fn versions_and_completions_are_printed() {
    let bed = bed().await;
    let version = karmadactl(bed, &["version"]).await.succeeds().out;
    assert!(
        version.contains("control plane: Kubernetes v1."),
        "{version}"
    );
    for shell in ["bash", "zsh", "fish"] {
        let script = karmadactl(bed, &["completion", shell]).await.succeeds().out;
        assert!(script.contains("karmadactl"), "{shell}");
    }
}
