//! Joining, well and badly.

use std::path::{Path, PathBuf};

use crds::cluster::{Cluster as Member, ClusterSyncMode};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Node, Secret};
use k8s_openapi::api::rbac::v1::ClusterRole;
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, ResourceExt as _};
use serde_json::{Value, json};
use testbed::{Cluster, Network, Testbed, wait};

use crate::bed::{bed, join, karmadactl, made_in};

fn members(bed: &Testbed) -> Api<Member> {
    Api::all(bed.control_plane().client())
}

fn credentials(bed: &Testbed) -> Api<Secret> {
    Api::namespaced(bed.control_plane().client(), "karmada-cluster")
}

fn text(secret: &Secret, key: &str) -> String {
    let data = secret.data.as_ref().unwrap();
    String::from_utf8(data[key].0.clone()).unwrap()
}

/// A kubeconfig of the cluster, changed.
fn changed(cluster: &Cluster, name: &str, change: impl FnOnce(&mut Value)) -> PathBuf {
    let text = std::fs::read_to_string(cluster.kubeconfig_through_proxy()).unwrap();
    let mut kubeconfig: Value = serde_json::from_str(&text).unwrap();
    change(&mut kubeconfig);
    let path = cluster.directory().join(name);
    std::fs::write(&path, kubeconfig.to_string()).unwrap();
    path
}

async fn client_with(cluster: &Cluster, token: &str) -> Client {
    let path = changed(cluster, "kubeconfig-joined", |kubeconfig| {
        kubeconfig["users"][0]["user"] = json!({"token": token});
    });
    let kubeconfig = Kubeconfig::read_from(path).unwrap();
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
        .await
        .unwrap();
    Client::try_from(config).unwrap()
}

#[tokio::test]
async fn member_joins_twice_works_and_leaves() {
    let bed = bed().await;
    let member = bed.member("joins");
    let kubeconfig = member.kubeconfig_through_proxy();
    let location = [
        "--cluster-provider=acme",
        "--cluster-region=north",
        "--cluster-zones=a,b",
    ];

    let rehearsed = join(bed, "joins", kubeconfig, &["--dry-run"])
        .await
        .succeeds();
    assert_eq!(rehearsed.out, "");
    assert!(rehearsed.words().contains("Nothing was changed."));
    assert_eq!(made_in(member).await, "");

    let said = join(bed, "joins", kubeconfig, &location).await.succeeds();
    assert_eq!(said.out, "cluster.cluster.karmada.io/joins joined\n");
    let object = members(bed).get("joins").await.unwrap();
    assert_eq!(object.spec.sync_mode, ClusterSyncMode::Push);
    assert_eq!(
        object.spec.api_endpoint.as_deref(),
        Some(member.url_through_proxy().as_str())
    );
    assert_eq!(object.spec.zones, ["a", "b"]);
    for name in ["joins", "joins-impersonator"] {
        let secret = credentials(bed).get(name).await.unwrap();
        assert!(!text(&secret, "token").is_empty());
        assert_eq!(
            text(&secret, "caBundle").replace(['\n', '\r'], ""),
            member.certificate_authority().replace(['\n', '\r'], "")
        );
        let owner = &secret.owner_references()[0];
        assert_eq!(
            (owner.kind.as_str(), &owner.uid),
            ("Cluster", &object.uid().unwrap())
        );
    }

    account_may_do_its_work_and_no_more(bed, member).await;

    let again = join(bed, "joins", kubeconfig, &[]).await.succeeds();
    assert_eq!(
        again.out,
        "cluster.cluster.karmada.io/joins had joined already, and is up to date\n"
    );
    let same = members(bed).get("joins").await.unwrap();
    assert_eq!(same.uid(), object.uid());
    assert_eq!(same.spec, object.spec, "what was said the first time stays");

    join(bed, "alias", kubeconfig, &[]).await.fails_with(&[
        "this cluster is a member already, under the name joins",
        "karmadactl unjoin joins",
    ]);
    assert_eq!(members(bed).get_opt("alias").await.unwrap(), None);

    let other = bed.control_plane();
    join(bed, "joins", other.kubeconfig(), &[])
        .await
        .fails_with(&["another cluster is a member under the name joins"]);

    let left = karmadactl(
        bed,
        &[
            "unjoin",
            "joins",
            "--cluster-kubeconfig",
            kubeconfig.to_str().unwrap(),
        ],
    )
    .await
    .succeeds();
    assert_eq!(left.out, "cluster.cluster.karmada.io/joins unjoined\n");
    assert_eq!(members(bed).get_opt("joins").await.unwrap(), None);
    assert_eq!(credentials(bed).get_opt("joins").await.unwrap(), None);
    wait::until(
        "the account to be gone",
        wait::PATIENCE,
        async || match made_in(member).await {
            left if left.is_empty() => Ok(()),
            left => Err(left),
        },
    )
    .await
    .unwrap();
}

/// With the stored token: what operators do works, and what an intruder would do does not.
async fn account_may_do_its_work_and_no_more(bed: &Testbed, member: &Cluster) {
    let token = text(&credentials(bed).get("joins").await.unwrap(), "token");
    let client = client_with(member, &token).await;
    let nodes: Api<Node> = Api::all(client.clone());
    assert_eq!(
        nodes
            .list(&ListParams::default())
            .await
            .unwrap()
            .items
            .len(),
        1
    );
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), "default");
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "propagated"},
        "spec": {
            "selector": {"matchLabels": {"a": "b"}},
            "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
        },
    });
    deployments
        .patch(
            "propagated",
            &PatchParams::apply("test").force(),
            &Patch::Apply(&deployment),
        )
        .await
        .unwrap();
    deployments
        .delete("propagated", &DeleteParams::default())
        .await
        .unwrap();

    for (verb, what) in [
        ("create", "pods/exec"),
        ("impersonate", "users"),
        ("get", "nodes/proxy"),
        ("create", "serviceaccounts/token"),
        ("delete", "nodes"),
        ("get", "leases.coordination.k8s.io"),
    ] {
        assert_eq!(can(member, verb, what).await, "no", "{verb} {what}");
    }
    more_power_than_its_own_is_refused(&client).await;
    extension_is_added_to_the_account(member).await;
}

async fn can(member: &Cluster, verb: &str, what: &str) -> String {
    let (resource, subresource) = what.split_once('/').unwrap_or((what, ""));
    let mut command = member.kubectl_command();
    command.args(["auth", "can-i", verb, resource, "--all-namespaces"]);
    command.arg(format!("--subresource={subresource}"));
    command.arg("--as=system:serviceaccount:karmada-cluster:karmada-joins");
    let output = tokio::process::Command::from(command)
        .output()
        .await
        .unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

async fn more_power_than_its_own_is_refused(client: &Client) {
    let roles: Api<ClusterRole> = Api::all(client.clone());
    let role: ClusterRole = serde_json::from_value(json!({
        "metadata": {"name": "all-powers"},
        "rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}],
    }))
    .unwrap();
    let refused = roles
        .create(&PostParams::default(), &role)
        .await
        .unwrap_err();
    assert!(
        matches!(&refused, kube::Error::Api(status) if status.is_forbidden()),
        "{refused}"
    );
}

async fn extension_is_added_to_the_account(member: &Cluster) {
    let roles: Api<ClusterRole> = Api::all(member.client());
    let role: ClusterRole = serde_json::from_value(json!({
        "metadata": {
            "name": "leases-for-the-account",
            "labels": {"rbac.karmada.io/aggregate-to-member": "true"},
        },
        "rules": [{"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["get"]}],
    }))
    .unwrap();
    roles.create(&PostParams::default(), &role).await.unwrap();
    wait::until(
        "the extension to take effect",
        wait::PATIENCE,
        async || match can(member, "get", "leases.coordination.k8s.io")
            .await
            .as_str()
        {
            "yes" => Ok(()),
            other => Err(other.to_owned()),
        },
    )
    .await
    .unwrap();
    roles
        .delete("leases-for-the-account", &DeleteParams::default())
        .await
        .unwrap();
}

async fn nothing_is_left(bed: &Testbed, name: &str, member: &Cluster) {
    assert_eq!(members(bed).get_opt(name).await.unwrap(), None);
    assert_eq!(credentials(bed).get_opt(name).await.unwrap(), None);
    assert_eq!(made_in(member).await, "");
}

#[tokio::test]
async fn bad_kubeconfigs_are_diagnosed_and_nothing_is_left() {
    let bed = bed().await;
    let member = bed.member("fails");
    let joined =
        async |kubeconfig: &Path| join(bed, "bad", kubeconfig, &["--request-timeout=3s"]).await;

    joined(&member.expired_kubeconfig().unwrap())
        .await
        .fails_with(&["HTTP 401", "get a fresh kubeconfig"]);

    let wrong_token = changed(member, "wrong-token", |kubeconfig| {
        kubeconfig["users"][0]["user"] = json!({"token": "stale"});
    });
    joined(&wrong_token).await.fails_with(&["HTTP 401"]);

    let nobody = changed(member, "nobody", |kubeconfig| {
        kubeconfig["users"][0]["user"] = json!({});
    });
    joined(&nobody).await.fails_with(&["no credentials"]);

    let wrong_authority = changed(member, "wrong-authority", |kubeconfig| {
        let text = std::fs::read_to_string(bed.member("joins").kubeconfig()).unwrap();
        let other: Value = serde_json::from_str(&text).unwrap();
        let key = "certificate-authority-data";
        kubeconfig["clusters"][0]["cluster"][key] = other["clusters"][0]["cluster"][key].clone();
    });
    joined(&wrong_authority).await.fails_with(&[
        "✓ address",
        "✗ TLS",
        "authority that is not trusted",
        "certificate-authority-data",
    ]);

    let wrong_port = changed(member, "wrong-port", |kubeconfig| {
        let port = std::net::TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap();
        kubeconfig["clusters"][0]["cluster"]["server"] = json!(format!("https://{port}"));
    });
    joined(&wrong_port)
        .await
        .fails_with(&["✗ address", "the connection is refused"]);

    let version_1 = changed(member, "version-1", |kubeconfig| {
        let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data");
        kubeconfig["users"][0]["user"] = json!({
            "client-certificate": format!("{directory}/version-1.crt"),
            "client-key": format!("{directory}/version-1.key"),
        });
    });
    joined(&version_1)
        .await
        .fails_with(&["X.509 version 1", "extendedKeyUsage=clientAuth"]);

    let account = member.service_account("default", "weak").await.unwrap();
    account.bind("view").await.unwrap();
    joined(&account.kubeconfig().await.unwrap())
        .await
        .fails_with(&[
            "✓ identity system:serviceaccount:default:weak",
            "HTTP 403 Forbidden: create clusterroles.rbac.authorization.k8s.io",
            "HTTP 403 Forbidden: create secrets in namespace karmada-cluster",
            "nothing was changed",
        ]);

    let context = ["--cluster-context=nowhere"];
    join(bed, "bad", member.kubeconfig(), &context)
        .await
        .fails_with(&["has no context \"nowhere\"; it has fails"]);

    join(bed, "Not_A_Name", member.kubeconfig(), &[])
        .await
        .fails_with(&["would not take the member Not_A_Name"]);

    member.set_network(Network::Blackhole);
    joined(member.kubeconfig_through_proxy())
        .await
        .fails_with(&["no answer in time"]);
    member.set_network(Network::Refusing);
    joined(member.kubeconfig_through_proxy())
        .await
        .fails_with(&[]);
    member.set_network(Network::Up);

    nothing_is_left(bed, "bad", member).await;

    half_way_is_undone(bed, member).await;
}

/// The control plane refuses the second Secret: by then the account in the member and the first Secret exist.
async fn half_way_is_undone(bed: &Testbed, member: &Cluster) {
    let control = bed.control_plane().client();
    let policies = api(&control, "ValidatingAdmissionPolicy");
    let bindings = api(&control, "ValidatingAdmissionPolicyBinding");
    let policy = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "no-impersonator"},
        "spec": {
            "matchConstraints": {"resourceRules": [{
                "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["secrets"],
            }]},
            "validations": [{"expression": "object.metadata.name != 'half-impersonator'", "message": "not this one"}],
        },
    });
    let binding = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": "no-impersonator"},
        "spec": {"policyName": "no-impersonator", "validationActions": ["Deny"]},
    });
    for (api, object) in [(&policies, policy), (&bindings, binding)] {
        let object: DynamicObject = serde_json::from_value(object).unwrap();
        api.create(&PostParams::default(), &object).await.unwrap();
    }
    let secrets: Api<Secret> = Api::namespaced(control, "default");
    let probe: Secret =
        serde_json::from_value(json!({"metadata": {"name": "half-impersonator"}})).unwrap();
    let dry_run = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    wait::until(
        "the policy to be in force",
        wait::PATIENCE,
        async || match secrets.create(&dry_run, &probe).await {
            Err(_) => Ok(()),
            Ok(_) => Err("secrets are still accepted"),
        },
    )
    .await
    .unwrap();

    join(bed, "half", member.kubeconfig_through_proxy(), &[])
        .await
        .fails_with(&[
            "cannot create secret/half-impersonator",
            "not this one",
            "✓ removed secret/half -n karmada-cluster",
            "✓ removed clusterrole/karmada-controller-manager:karmada-half",
            "✓ removed namespace/karmada-cluster in half",
        ]);
    wait::until(
        "everything to be gone",
        wait::PATIENCE,
        async || match made_in(member).await {
            left if left.is_empty() => Ok(()),
            left => Err(left),
        },
    )
    .await
    .unwrap();
    nothing_is_left(bed, "half", member).await;
    policies
        .delete("no-impersonator", &DeleteParams::default())
        .await
        .unwrap();
    bindings
        .delete("no-impersonator", &DeleteParams::default())
        .await
        .unwrap();
}

fn api(client: &Client, kind: &str) -> Api<DynamicObject> {
    let kind = kube::api::GroupVersionKind::gvk("admissionregistration.k8s.io", "v1", kind);
    Api::all_with(client.clone(), &kube::api::ApiResource::from_gvk(&kind))
}
