//! What `kubectl` prints of our kinds: the columns users of Karmada know, short names, the category and the documentation.

use crate::bed;
use anyhow::Result;
use kube::api::{Patch, PatchParams, PostParams};
use serde_json::{Value, json};

/// Creates an object in a namespace of its own and prints it with these arguments.
async fn printed(document: Value, status: Option<Value>, arguments: &[&str]) -> Result<String> {
    let bed = bed::installed().await?;
    let namespace = bed.namespace("printing").await?;
    let api = bed::api(&bed.control_plane().client(), &document, None);
    let namespaced = bed::namespaced(document["kind"].as_str().expect("a document has a kind"));
    let api = if namespaced {
        bed::api(
            &bed.control_plane().client(),
            &document,
            Some(namespace.name()),
        )
    } else {
        api
    };
    let name = document["metadata"]["name"]
        .as_str()
        .expect("a document has a name")
        .to_owned();
    api.create(&PostParams::default(), &serde_json::from_value(document)?)
        .await?;
    if let Some(status) = status {
        api.patch_status(
            &name,
            &PatchParams::default(),
            &Patch::Merge(&json!({"status": status})),
        )
        .await?;
    }
    let output = bed
        .control_plane()
        .kubectl(&[&["get", "-n", namespace.name()], arguments].concat())
        .await?;
    // Two blanks part columns, and the age of an object is not what is tested.
    Ok(output
        .lines()
        .map(|line| {
            line.split("  ")
                .map(str::trim)
                .filter(|cell| !cell.is_empty())
                .collect::<Vec<_>>()
                .join(" | ")
        })
        .collect::<Vec<_>>()
        .join("\n"))
}

fn condition(kind: &str, status: &str) -> Value {
    json!({"type": kind, "status": status, "lastTransitionTime": "2026-01-01T00:00:00Z"})
}

/// Compares all but the last column's value, which is the age.
fn assert_table(output: &str, header: &str, row: &str) {
    let mut lines = output.lines();
    assert_eq!(lines.next(), Some(header), "{output}");
    let found = lines.next().unwrap_or_default();
    assert!(
        found.starts_with(row),
        "{found:?} does not begin with {row:?}"
    );
    assert_eq!(lines.next(), None, "{output}");
}

#[tokio::test]
async fn propagation_policies() -> Result<()> {
    let document = json!({"apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy", "metadata": {"name": "nginx"},
        "spec": {"priority": 5, "resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment"}]}});
    let output = printed(document, None, &["pp"]).await?;
    assert_table(
        &output,
        "NAME | CONFLICT-RESOLUTION | PRIORITY | AGE",
        "nginx | Abort | 5 | ",
    );
    Ok(())
}

#[tokio::test]
async fn bindings() -> Result<()> {
    let document = json!({"apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding", "metadata": {"name": "nginx-deployment"},
        "spec": {"resource": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "nginx"}}});
    let status =
        json!({"conditions": [condition("FullyApplied", "False"), condition("Scheduled", "True")]});
    let output = printed(document, Some(status), &["rb"]).await?;
    assert_table(
        &output,
        "NAME | SCHEDULED | FULLYAPPLIED | AGE",
        "nginx-deployment | True | False | ",
    );
    Ok(())
}

#[tokio::test]
async fn works() -> Result<()> {
    let document = json!({"apiVersion": "work.karmada.io/v1alpha1", "kind": "Work", "metadata": {"name": "nginx-687f7fb96f"},
        "spec": {"workload": {"manifests": [{"apiVersion": "apps/v1", "kind": "Deployment"}]}}});
    let output = printed(
        document,
        Some(json!({"conditions": [condition("Applied", "True")]})),
        &["wk"],
    )
    .await?;
    assert_table(
        &output,
        "NAME | WORKLOAD-KIND | APPLIED | AGE",
        "nginx-687f7fb96f | Deployment | True | ",
    );
    Ok(())
}

#[tokio::test]
async fn clusters() -> Result<()> {
    let document = json!({"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": "printed"},
        "spec": {"syncMode": "Push", "apiEndpoint": "https://10.0.0.1:6443", "region": "eu", "provider": "aws"}});
    let status =
        json!({"kubernetesVersion": "v1.37.2", "conditions": [condition("Ready", "True")]});
    let output = printed(document, Some(status), &["clusters", "-o", "wide"]).await?;
    let mut lines = output.lines();
    assert_eq!(
        lines.next(),
        Some(
            "NAME | VERSION | MODE | READY | AGE | ZONES | REGION | PROVIDER | API-ENDPOINT | PROXY-URL"
        )
    );
    let cells: Vec<_> = lines.next().unwrap_or_default().split(" | ").collect();
    assert_eq!(
        cells[..4],
        ["printed", "v1.37.2", "Push", "True"],
        "{output}"
    );
    assert!(
        cells.ends_with(&["eu", "aws", "https://10.0.0.1:6443"]),
        "{output}"
    );
    Ok(())
}

#[tokio::test]
async fn quotas() -> Result<()> {
    let document = json!({"apiVersion": "policy.karmada.io/v1alpha1", "kind": "FederatedResourceQuota", "metadata": {"name": "limits"},
        "spec": {"overall": {"cpu": 10}}});
    let status = json!({"overall": {"cpu": "10"}, "overallUsed": {"cpu": "3"}});
    let output = printed(document, Some(status), &["federatedresourcequotas"]).await?;
    assert_table(
        &output,
        "NAME | OVERALL | OVERALL_USED",
        r#"limits | {"cpu":"10"} | {"cpu":"3"}"#,
    );
    Ok(())
}

#[tokio::test]
async fn the_category_and_the_short_names() -> Result<()> {
    let bed = bed::installed().await?;
    let resources = bed
        .control_plane()
        .kubectl(&["api-resources", "--categories=karmada-io", "--no-headers"])
        .await?;
    let mut found: Vec<_> = resources
        .lines()
        .map(|line| {
            let words: Vec<_> = line.split_whitespace().collect();
            // Without a short name the second column is the version.
            let short = words
                .get(1)
                .filter(|word| !word.contains('/'))
                .copied()
                .unwrap_or("-");
            format!("{} {short}", words.first().copied().unwrap_or_default())
        })
        .collect();
    found.sort();
    assert_eq!(
        found,
        [
            "clusteroverridepolicies cop",
            "clusterpropagationpolicies cpp",
            "clusterresourcebindings crb",
            "federatedresourcequotas -",
            "overridepolicies op",
            "propagationpolicies pp",
            "resourcebindings rb",
            "resourceinterpretercustomizations ric",
            "works wk",
        ]
    );
    Ok(())
}

#[tokio::test]
async fn the_documentation_of_a_field() -> Result<()> {
    let bed = bed::installed().await?;
    let text = bed
        .control_plane()
        .kubectl(&["explain", "pp.spec.placement.replicaScheduling"])
        .await?;
    for part in [
        "How to divide replicas",
        "replicaDivisionPreference",
        "weightPreference",
        "enum: Duplicated, Divided",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    Ok(())
}
