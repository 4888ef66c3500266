//! What is filled in, by the schemas and by the admission policies.

use crate::bed;
use anyhow::{Result, anyhow, ensure};
use serde_json::{Value, json};

/// Creates a policy of either kind with this spec and compares some fields of what would be stored.
async fn fills(spec: Value, expected: &[(&str, Value)]) -> Result<()> {
    let client = bed::installed().await?.control_plane().client();
    for kind in ["PropagationPolicy", "ClusterPropagationPolicy"] {
        let mut document = json!({"apiVersion": "policy.karmada.io/v1alpha1", "kind": kind, "metadata": {"name": "filled"},
            "spec": {"resourceSelectors": [{"apiVersion": "v1", "kind": "ConfigMap"}]}});
        json_patch::merge(&mut document["spec"], &spec);
        let stored = bed::dry_run(&client, &document)
            .await
            .map_err(|refusal| anyhow!("{kind}: {refusal}"))?;
        for (pointer, value) in expected {
            let found = stored.pointer(pointer).unwrap_or(&Value::Null);
            ensure!(
                found == value,
                "{kind}: {pointer} is {found}, not {value}: {stored}"
            );
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_policy_that_says_little() -> Result<()> {
    fills(
        json!({}),
        &[
            ("/spec/conflictResolution", json!("Abort")),
            ("/spec/preemption", json!("Never")),
            ("/spec/priority", json!(0)),
            ("/spec/schedulerName", json!("default-scheduler")),
            ("/spec/placement", Value::Null),
            ("/spec/failover", Value::Null),
            ("/spec/propagateDeps", Value::Null),
        ],
    )
    .await
}

#[tokio::test]
async fn replicas_that_are_scheduled_are_divided_by_weight() -> Result<()> {
    let scheduling = "/spec/placement/replicaScheduling";
    fills(
        json!({"placement": {"replicaScheduling": {}}}),
        &[
            (
                &format!("{scheduling}/replicaSchedulingType"),
                json!("Divided"),
            ),
            (
                &format!("{scheduling}/replicaDivisionPreference"),
                json!("Weighted"),
            ),
        ],
    )
    .await?;
    fills(
        json!({"placement": {"replicaScheduling": {"replicaSchedulingType": "Duplicated"}}}),
        &[(
            &format!("{scheduling}/replicaDivisionPreference"),
            Value::Null,
        )],
    )
    .await?;
    fills(
        json!({"placement": {"replicaScheduling": {"replicaDivisionPreference": "Aggregated"}}}),
        &[(
            &format!("{scheduling}/replicaDivisionPreference"),
            json!("Aggregated"),
        )],
    )
    .await
}

#[tokio::test]
async fn a_spread_constraint_that_says_little() -> Result<()> {
    fills(
        json!({"placement": {"spreadConstraints": [{"maxGroups": 2}]}}),
        &[(
            "/spec/placement/spreadConstraints/0",
            json!({"maxGroups": 2, "minGroups": 1, "spreadByField": "cluster"}),
        )],
    )
    .await?;
    fills(
        json!({"placement": {"spreadConstraints": [{"spreadByLabel": "a", "minGroups": 0}]}}),
        &[(
            "/spec/placement/spreadConstraints/0",
            json!({"spreadByLabel": "a", "minGroups": 1}),
        )],
    )
    .await
}

#[tokio::test]
async fn failover_that_says_little() -> Result<()> {
    fills(
        json!({"propagateDeps": true, "failover": {"cluster": {}, "application": {"decisionConditions": {}}}}),
        &[
            ("/spec/failover/cluster", json!({"purgeMode": "Gracefully"})),
            (
                "/spec/failover/application",
                json!({"decisionConditions": {"tolerationSeconds": 300}, "purgeMode": "Gracefully", "gracePeriodSeconds": 600}),
            ),
        ],
    )
    .await?;
    fills(
        json!({"propagateDeps": true, "failover": {"application": {"decisionConditions": {}, "purgeMode": "Directly"}}}),
        &[("/spec/failover/application/gracePeriodSeconds", Value::Null)],
    )
    .await
}

#[tokio::test]
async fn a_service_import_takes_its_service_along() -> Result<()> {
    let selectors = json!([{"apiVersion": "multicluster.x-k8s.io/v1alpha1", "kind": "ServiceImport", "name": "a"}]);
    fills(
        json!({"resourceSelectors": selectors}),
        &[("/spec/propagateDeps", json!(true))],
    )
    .await
}

#[tokio::test]
async fn selectors_of_namespaced_policies_get_the_namespace() -> Result<()> {
    let client = bed::installed().await?.control_plane().client();
    let selectors = json!([{"apiVersion": "v1", "kind": "ConfigMap"}, {"apiVersion": "v1", "kind": "Secret", "namespace": ""}]);
    let overriders = json!([{"overriders": {"plaintext": [{"path": "/a", "operator": "remove"}]}}]);
    for (kind, namespaces, rest) in [
        (
            "PropagationPolicy",
            [json!("default"), json!("default")],
            json!({}),
        ),
        (
            "ClusterPropagationPolicy",
            [Value::Null, json!("")],
            json!({}),
        ),
        (
            "OverridePolicy",
            [json!("default"), json!("default")],
            json!({"overrideRules": overriders}),
        ),
        (
            "ClusterOverridePolicy",
            [Value::Null, json!("")],
            json!({"overrideRules": overriders}),
        ),
    ] {
        let mut spec = json!({"resourceSelectors": selectors});
        json_patch::merge(&mut spec, &rest);
        let document = json!({"apiVersion": "policy.karmada.io/v1alpha1", "kind": kind, "metadata": {"name": "filled"}, "spec": spec});
        let stored = bed::dry_run(&client, &document)
            .await
            .map_err(|refusal| anyhow!("{kind}: {refusal}"))?;
        let found = [0, 1].map(|i| stored["spec"]["resourceSelectors"][i]["namespace"].clone());
        ensure!(found == namespaces, "{kind}: {stored}");
    }
    Ok(())
}

#[tokio::test]
async fn a_binding_that_says_little() -> Result<()> {
    let client = bed::installed().await?.control_plane().client();
    let document = json!({"apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding", "metadata": {"name": "filled"},
        "spec": {"resource": {"apiVersion": "v1", "kind": "ConfigMap", "name": "a"}, "schedulePriority": {}}});
    let stored = bed::dry_run(&client, &document)
        .await
        .map_err(|refusal| anyhow!(refusal))?;
    ensure!(stored["spec"]["conflictResolution"] == "Abort", "{stored}");
    ensure!(
        stored["spec"]["schedulePriority"]["priority"] == 0,
        "{stored}"
    );
    Ok(())
}
