//! What users put into raw JSON comes back whole, through the server and through the Rust types.

use crate::bed;
use anyhow::{Context as _, Result};
use crds::{
    config::ResourceInterpreterCustomization,
    policy::OverridePolicy,
    work::{ResourceBinding, Work},
};
use kube::{
    Resource,
    api::{Api, Patch, PatchParams, PostParams},
    core::NamespaceResourceScope,
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use std::fmt::Debug;
use testbed::Namespace;

/// Creates the object and returns it as it is stored, untyped.
async fn stored<K>(namespace: &Namespace<'_>, object: &K) -> Result<Value>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Clone
        + Debug
        + Serialize
        + DeserializeOwned,
{
    let api: Api<K> = Api::namespaced(namespace.bed().control_plane().client(), namespace.name());
    let name = object
        .meta()
        .name
        .clone()
        .context("the object has a name")?;
    api.create(&PostParams::default(), object).await?;
    read(namespace, &serde_json::to_value(object)?, &name).await
}

async fn read(namespace: &Namespace<'_>, like: &Value, name: &str) -> Result<Value> {
    let api = bed::api(
        &namespace.bed().control_plane().client(),
        like,
        Some(namespace.name()),
    );
    Ok(serde_json::to_value(api.get(name).await?)?)
}

/// Every JSON type, nested, with fields that no schema knows.
fn everything() -> Value {
    json!({
        "text": "a \u{1F680} and \"quotes\"", "empty": "", "number": 3, "negative": -1, "fraction": 0.25, "large": 9_007_199_254_740_993_i64,
        "true": true, "false": false, "none": null, "list": [1, "two", [3], {"four": null}], "emptyList": [], "emptyMap": {},
    })
}

#[tokio::test]
async fn manifests_in_a_work() -> Result<()> {
    let bed = bed::installed().await?;
    let namespace = bed.namespace("work").await?;
    let manifest = json!({
        "apiVersion": "example.io/v1", "kind": "Anything",
        "metadata": {"name": "a", "namespace": "b", "labels": {"c": "d"}, "annotations": {"e": "f"}, "fromTheFuture": 1},
        "spec": everything(), "data": everything(), "status": {"phase": "Running"},
    });
    let mut work = Work::new("whole", crds::work::WorkSpec::default());
    work.spec.workload.manifests = vec![
        manifest.clone(),
        json!({"apiVersion": "v1", "kind": "Namespace"}),
    ];
    let found = stored(&namespace, &work).await?;
    assert_eq!(found["spec"]["workload"]["manifests"][0], manifest);
    let typed: Work = serde_json::from_value(found)?;
    assert_eq!(typed.spec, work.spec);

    let status = json!({"status": {
        "conditions": [{"type": "Applied", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z", "reason": "", "message": ""}],
        "manifestStatuses": [{"identifier": {"ordinal": 0, "group": "example.io", "version": "v1", "kind": "Anything", "resource": "", "name": "a"},
            "status": everything(), "health": "Healthy"}]}});
    let api: Api<Work> = Api::namespaced(bed.control_plane().client(), namespace.name());
    api.patch_status("whole", &PatchParams::default(), &Patch::Merge(&status))
        .await?;
    let found = read(&namespace, &serde_json::to_value(&work)?, "whole").await?;
    assert_eq!(
        found["status"]["manifestStatuses"][0]["status"],
        without_nulls(everything())
    );
    Ok(())
}

/// A merge patch takes nulls in maps for removals, so they never arrive.
fn without_nulls(mut value: Value) -> Value {
    match &mut value {
        Value::Object(map) => {
            map.retain(|_, value| !value.is_null());
            map.values_mut()
                .for_each(|value| *value = without_nulls(value.take()));
        }
        Value::Array(list) => list
            .iter_mut()
            .for_each(|value| *value = without_nulls(value.take())),
        _ => {}
    }
    value
}

#[tokio::test]
async fn values_of_overrides() -> Result<()> {
    let bed = bed::installed().await?;
    let namespace = bed.namespace("override").await?;
    let values = everything();
    let values = values.as_object().context("it is a map")?;
    let overriders: Vec<Value> = values
        .iter()
        .map(|(name, value)| json!({"path": format!("/spec/{name}"), "operator": "add", "value": value}))
        .chain([json!({"path": "/spec/whole", "operator": "add", "value": values})])
        .collect();
    let patches: Vec<Value> = values
        .iter()
        .map(|(name, value)| json!({"subPath": format!("/{name}"), "operator": "replace", "value": value}))
        .collect();
    let document = json!({"apiVersion": "policy.karmada.io/v1alpha1", "kind": "OverridePolicy", "metadata": {"name": "whole"},
        "spec": {"overrideRules": [{"overriders": {"plaintext": overriders, "fieldOverrider": [
            {"fieldPath": "/data/a", "json": patches}, {"fieldPath": "/data/b", "yaml": patches}]}}]}});
    let policy: OverridePolicy = serde_json::from_value(document.clone())?;
    assert_eq!(
        serde_json::to_value(&policy)?,
        document,
        "the types keep every value"
    );
    let found = stored(&namespace, &policy).await?;
    assert_eq!(
        found["spec"]["overrideRules"],
        document["spec"]["overrideRules"]
    );
    let typed: OverridePolicy = serde_json::from_value(found)?;
    assert_eq!(typed.spec, policy.spec);
    Ok(())
}

#[tokio::test]
async fn statuses_in_a_binding() -> Result<()> {
    let bed = bed::installed().await?;
    let namespace = bed.namespace("binding").await?;
    let document = json!({"apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding", "metadata": {"name": "whole"},
    "spec": {
        "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "a", "name": "b", "uid": "c", "resourceVersion": "1"},
        "conflictResolution": "Abort", "replicas": 3,
        "replicaRequirements": {"resourceRequest": {"cpu": "100m", "memory": "1Gi"}, "nodeClaim": {
            "nodeSelector": {"a": "b"}, "tolerations": [{"key": "a", "operator": "Exists"}],
            "hardNodeAffinity": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["1"]}]}]}}},
        "clusters": [{"name": "member1", "replicas": 1}, {"name": "member2", "replicas": 2}],
        "placement": {"clusterAffinities": [{"affinityName": "a", "clusterNames": ["member1"],
            "overflowAffinities": [{"affinityName": "b", "exclude": ["member3"]}]}]},
        "gracefulEvictionTasks": [{"fromCluster": "member3", "purgeMode": "Never", "replicas": 1, "reason": "TaintUntolerated",
            "producer": "TaintManager", "suppressDeletion": true, "preservedLabelState": {"a": "b"},
            "creationTimestamp": "2026-01-01T00:00:00Z", "clustersBeforeFailover": ["member3"]}],
        "rescheduleTriggeredAt": "2026-01-01T00:00:00Z",
    }});
    let binding: ResourceBinding = serde_json::from_value(document.clone())?;
    assert_eq!(
        serde_json::to_value(&binding)?,
        document,
        "the types keep every field"
    );
    let found = stored(&namespace, &binding).await?;
    assert_eq!(found["spec"], document["spec"]);

    let status = json!({"apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding", "metadata": {"name": "whole"}, "status": {
        "schedulerObservedGeneration": 1,
        "conditions": [{"type": "Scheduled", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z", "reason": "Success", "message": ""}],
        "aggregatedStatus": [{"clusterName": "member1", "applied": true, "health": "Healthy", "status": everything()}]}});
    let api: Api<ResourceBinding> = Api::namespaced(bed.control_plane().client(), namespace.name());
    api.patch_status(
        "whole",
        &PatchParams::apply(bed::MANAGER),
        &Patch::Apply(&status),
    )
    .await?;
    let found = read(&namespace, &document, "whole").await?;
    assert_eq!(
        found["status"]["aggregatedStatus"],
        status["status"]["aggregatedStatus"]
    );
    Ok(())
}

/// Two controllers write conditions and the status of different clusters by server-side apply, and neither loses.
#[tokio::test]
async fn two_writers_of_one_status() -> Result<()> {
    let bed = bed::installed().await?;
    let namespace = bed.namespace("writers").await?;
    let mut binding = ResourceBinding::new("shared", crds::work::ResourceBindingSpec::default());
    binding.spec.resource.name = "a".to_owned();
    let api: Api<ResourceBinding> = Api::namespaced(bed.control_plane().client(), namespace.name());
    api.create(&PostParams::default(), &binding).await?;
    for (manager, condition, cluster) in [
        ("one", "Scheduled", "member1"),
        ("two", "FullyApplied", "member2"),
    ] {
        let status = json!({"apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding", "status": {
            "conditions": [{"type": condition, "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}],
            "aggregatedStatus": [{"clusterName": cluster, "applied": true}]}});
        api.patch_status(
            "shared",
            &PatchParams::apply(manager),
            &Patch::Apply(&status),
        )
        .await?;
    }
    let status = api.get("shared").await?.status.context("it has a status")?;
    let types: Vec<_> = status.conditions.iter().map(|c| c.type_.as_str()).collect();
    assert_eq!(types, ["Scheduled", "FullyApplied"]);
    let clusters: Vec<_> = status
        .aggregated_status
        .iter()
        .map(|item| item.cluster_name.as_str())
        .collect();
    assert_eq!(clusters, ["member1", "member2"]);
    Ok(())
}

#[tokio::test]
async fn scripts_of_interpreters() -> Result<()> {
    let bed = bed::installed().await?;
    let script = "-- keeps 'quotes', \"double quotes\",\ttabs\nfunction InterpretHealth(o)\n  return o.status ~= nil and o.status.n >= 1\nend\n\n";
    let long = format!(
        "{}function Retain(a, b) return a end\n",
        "-- a comment\n".repeat(8000)
    );
    let document = json!({"apiVersion": "config.karmada.io/v1alpha1", "kind": "ResourceInterpreterCustomization", "metadata": {"name": "whole"},
        "spec": {"target": {"apiVersion": "example.io/v1", "kind": "Foo"}, "customizations": {
            "healthInterpretation": {"luaScript": script}, "retention": {"luaScript": long}}}});
    let api: Api<ResourceInterpreterCustomization> = Api::all(bed.control_plane().client());
    api.create(
        &PostParams::default(),
        &serde_json::from_value(document.clone())?,
    )
    .await?;
    let found = api.get("whole").await?;
    assert_eq!(serde_json::to_value(found.spec)?, document["spec"]);
    Ok(())
}
