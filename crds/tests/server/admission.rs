//! Refusals that depend on more than one document: another namespace, the object as it was, a label.

use crate::bed;
use anyhow::{Context as _, Result, bail};
use k8s_openapi::{
    api::core::v1::ConfigMap,
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use testbed::wait;

fn policy(kind: &str, name: &str, spec: &Value) -> Value {
    json!({"apiVersion": "policy.karmada.io/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": spec})
}

fn refusal<T>(outcome: Result<T, kube::Error>) -> Result<String> {
    match outcome {
        Ok(_) => bail!("it was accepted"),
        Err(error) => Ok(error.to_string()),
    }
}

fn says(refusal: &str, texts: &[&str]) -> Result<()> {
    match texts.iter().find(|text| !refusal.contains(**text)) {
        None => Ok(()),
        Some(missing) => bail!("the refusal does not say {missing:?}: {refusal}"),
    }
}

#[tokio::test]
async fn a_namespaced_policy_selects_in_its_own_namespace_only() -> Result<()> {
    let client = bed::installed().await?.control_plane().client();
    let selectors = json!([
        {"apiVersion": "v1", "kind": "ConfigMap"},
        {"apiVersion": "v1", "kind": "Secret", "namespace": "kube-system", "name": "a"},
    ]);
    let overriders = json!([{"overriders": {"plaintext": [{"path": "/a", "operator": "remove"}]}}]);
    for (kind, spec) in [
        ("PropagationPolicy", json!({"resourceSelectors": selectors})),
        (
            "OverridePolicy",
            json!({"resourceSelectors": selectors, "overrideRules": overriders}),
        ),
    ] {
        let refusal = bed::dry_run(&client, &policy(kind, "foreign", &spec))
            .await
            .err()
            .with_context(|| format!("{kind}: it was accepted"))?;
        says(
            &refusal,
            &[
                "spec.resourceSelectors[1].namespace",
                "own namespace, default",
            ],
        )?;
    }
    Ok(())
}

#[tokio::test]
async fn what_examples_of_karmada_say_is_accepted_with_a_warning() -> Result<()> {
    let bed = bed::installed().await?;
    let document = policy(
        "PropagationPolicy",
        "warned",
        &json!({
            "resourceSelectors": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "labelSelector": {}}],
            "placement": {"clusterTolerations": [{"effect": "NoSchedule"}]},
        }),
    );
    let file = bed.directory().join("warned.json");
    std::fs::write(&file, document.to_string())?;
    wait::until("the warnings to be in force", wait::PATIENCE, async || {
        let output = bed
            .control_plane()
            .kubectl_command()
            .args(["create", "--dry-run=server", "--namespace=default", "-f"])
            .arg(&file)
            .output()?;
        let warnings = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() {
            bail!("it was refused: {warnings}");
        }
        says(
            &warnings,
            &[
                "Warning: ",
                "spec.resourceSelectors[0].labelSelector: the selector has a name",
                "spec.placement.clusterTolerations[0].key: without a key",
            ],
        )
    })
    .await
}

#[tokio::test]
async fn the_scheduler_of_a_policy_cannot_be_changed() -> Result<()> {
    let bed = bed::installed().await?;
    let namespace = bed.namespace("scheduler").await?;
    let document = policy(
        "PropagationPolicy",
        "fixed",
        &json!({"resourceSelectors": [{"apiVersion": "v1", "kind": "ConfigMap"}]}),
    );
    let api = bed::api(
        &bed.control_plane().client(),
        &document,
        Some(namespace.name()),
    );
    api.create(&PostParams::default(), &serde_json::from_value(document)?)
        .await?;
    let change = json!({"spec": {"schedulerName": "other"}});
    let refusal = refusal(
        api.patch("fixed", &PatchParams::default(), &Patch::Merge(&change))
            .await,
    )?;
    says(&refusal, &["spec.schedulerName", "cannot be changed"])
}

#[tokio::test]
async fn the_permanent_id_of_a_policy_outlives_a_replace_and_cannot_be_changed() -> Result<()> {
    const LABEL: &str = crds::labels::PROPAGATION_POLICY_PERMANENT_ID;
    let bed = bed::installed().await?;
    let namespace = bed.namespace("permanent-id").await?;
    let document = policy(
        "PropagationPolicy",
        "known",
        &json!({"resourceSelectors": [{"apiVersion": "v1", "kind": "ConfigMap"}]}),
    );
    let api = bed::api(
        &bed.control_plane().client(),
        &document,
        Some(namespace.name()),
    );
    api.create(&PostParams::default(), &serde_json::from_value(document)?)
        .await?;
    let stamp = json!({"metadata": {"labels": {LABEL: "one"}}});
    api.patch("known", &PatchParams::default(), &Patch::Merge(&stamp))
        .await?;

    let other = json!({"metadata": {"labels": {LABEL: "two"}}});
    wait::until("the policy to be in force", wait::PATIENCE, async || {
        let outcome = api
            .patch(
                "known",
                &PatchParams::default().dry_run(),
                &Patch::Merge(&other),
            )
            .await;
        let refusal = refusal(outcome)?;
        says(&refusal, &["metadata.labels", "cannot be changed"])
    })
    .await?;

    let mut object = api.get("known").await?;
    object.metadata.labels = None;
    object.metadata.managed_fields = None;
    let replaced = api
        .replace("known", &PostParams::default(), &object)
        .await?;
    let labels = replaced
        .metadata
        .labels
        .context("the replaced policy has labels")?;
    assert_eq!(labels.get(LABEL).map(String::as_str), Some("one"));
    Ok(())
}

#[tokio::test]
async fn a_protected_object_of_any_kind_cannot_be_deleted() -> Result<()> {
    let bed = bed::installed().await?;
    let namespace = bed.namespace("protected").await?;
    let api: Api<ConfigMap> = Api::namespaced(bed.control_plane().client(), namespace.name());
    let protected = json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "kept", "labels": {crds::labels::DELETION_PROTECTED: crds::labels::DELETION_PROTECTION_ALWAYS}}});
    api.create(&PostParams::default(), &serde_json::from_value(protected)?)
        .await?;
    let attempt = DeleteParams {
        dry_run: true,
        ..DeleteParams::default()
    };
    wait::until(
        "the protection to be in force",
        wait::PATIENCE,
        async || {
            let refusal = refusal(api.delete("kept", &attempt).await)?;
            says(
                &refusal,
                &[
                    "denied request: This resource is protected",
                    crds::labels::DELETION_PROTECTED,
                ],
            )
        },
    )
    .await?;
    refusal(api.delete("kept", &DeleteParams::default()).await)?;

    let off = json!({"metadata": {"labels": {crds::labels::DELETION_PROTECTED: null}}});
    api.patch("kept", &PatchParams::default(), &Patch::Merge(&off))
        .await?;
    api.delete("kept", &DeleteParams::default()).await?;
    wait::gone(&api, "kept", wait::PATIENCE).await
}

/// A stored object that a newer rule would refuse can still be changed elsewhere.
#[tokio::test]
async fn what_was_stored_before_a_rule_can_still_be_changed_elsewhere() -> Result<()> {
    let client = bed::installed().await?.control_plane().client();
    let strict = renamed("workloadrebalancers.apps.karmada.io", "ratchet.example.io")?;
    let mut lax = serde_json::to_value(&strict)?;
    lax.pointer_mut("/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/ttlSecondsAfterFinished")
        .and_then(Value::as_object_mut)
        .and_then(|field| field.remove("minimum"))
        .context("the strict definition has the rule")?;
    bed::define(&client, &serde_json::from_value(lax)?).await?;

    let mut document = json!({"apiVersion": "ratchet.example.io/v1alpha1", "kind": "WorkloadRebalancer", "metadata": {"name": "old"},
        "spec": {"ttlSecondsAfterFinished": -1, "workloads": [{"apiVersion": "v1", "kind": "Pod", "name": "a"}]}});
    let api = bed::api(&client, &document, None);
    api.create(
        &PostParams::default(),
        &serde_json::from_value(document.clone())?,
    )
    .await?;
    bed::define(&client, &strict).await?;
    document["metadata"]["name"] = "new".into();
    wait::until("the rule to be served", wait::PATIENCE, async || {
        bed::dry_run(&client, &document)
            .await
            .err()
            .ok_or("it was accepted")
    })
    .await?;

    let change = json!({"spec": {"workloads": [{"apiVersion": "v1", "kind": "Pod", "name": "b"}]}});
    let changed = api
        .patch("old", &PatchParams::default(), &Patch::Merge(&change))
        .await?;
    assert_eq!(changed.data["spec"]["workloads"][0]["name"], "b");
    Ok(())
}

/// Lists of bindings are merged by key here, and were not in Karmada: what it stored may have a key twice.
#[tokio::test]
async fn a_stored_list_with_a_key_twice_can_be_read_written_around_and_healed() -> Result<()> {
    let bed = bed::installed().await?;
    let client = bed.control_plane().client();
    let namespace = bed.namespace("twice").await?;
    let keyed = renamed("resourcebindings.work.karmada.io", "twice.example.io")?;
    let mut atomic = serde_json::to_value(&keyed)?;
    let clusters = atomic
        .pointer_mut("/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/clusters")
        .and_then(Value::as_object_mut)
        .context("bindings have clusters")?;
    for keyword in ["x-kubernetes-list-type", "x-kubernetes-list-map-keys"] {
        clusters
            .remove(keyword)
            .with_context(|| format!("the list has {keyword}"))?;
    }
    bed::define(&client, &serde_json::from_value(atomic)?).await?;

    let mut document = json!({"apiVersion": "twice.example.io/v1alpha2", "kind": "ResourceBinding", "metadata": {"name": "old"},
        "spec": {"resource": {"apiVersion": "v1", "kind": "ConfigMap", "name": "a"},
            "clusters": [{"name": "member1", "replicas": 1}, {"name": "member1", "replicas": 2}]}});
    let api = bed::api(&client, &document, Some(namespace.name()));
    api.create(
        &PostParams::default(),
        &serde_json::from_value(document.clone())?,
    )
    .await?;
    bed::define(&client, &keyed).await?;
    document["metadata"]["name"] = "new".into();
    wait::until("the keys to be served", wait::PATIENCE, async || {
        bed::dry_run(&client, &document)
            .await
            .err()
            .ok_or("it was accepted")
    })
    .await?;

    let found = api.get("old").await?;
    assert_eq!(
        found.data["spec"]["clusters"].as_array().map(Vec::len),
        Some(2)
    );
    let around = json!({"spec": {"replicas": 3}});
    api.patch("old", &PatchParams::default(), &Patch::Merge(&around))
        .await?;
    let status = json!({"apiVersion": "twice.example.io/v1alpha2", "kind": "ResourceBinding", "status": {"schedulerObservedGeneration": 1}});
    api.patch_status(
        "old",
        &PatchParams::apply("crds-tests"),
        &Patch::Apply(&status),
    )
    .await?;
    let healed = json!({"spec": {"clusters": [{"name": "member1", "replicas": 3}]}});
    api.patch("old", &PatchParams::default(), &Patch::Merge(&healed))
        .await?;
    Ok(())
}

/// The definition of a kind, under another group.
fn renamed(name: &str, group: &str) -> Result<CustomResourceDefinition> {
    let mut definition = crds::all()
        .into_iter()
        .find(|definition| definition.metadata.name.as_deref() == Some(name))
        .with_context(|| format!("{name} is not defined"))?;
    // kubectl would find two kinds under one short name or category.
    definition.spec.names.short_names = None;
    definition.spec.names.categories = None;
    definition.metadata.name = Some(format!("{}.{group}", definition.spec.names.plural));
    group.clone_into(&mut definition.spec.group);
    Ok(definition)
}
