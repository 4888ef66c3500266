//! Takes away what belongs to the control plane's copy only, so that a member gets what the user wrote.

use crds::{annotations, labels};
use serde_json::{Map, Value};

use super::{Native, forget_allocations, text};

/// Metadata that the API server writes, or that means something on the control plane only.
const METADATA: [&str; 11] = [
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "finalizers",
    "generateName",
    "generation",
    "managedFields",
    "ownerReferences",
    "resourceVersion",
    "selfLink",
    "uid",
];

/// Claims of policies, which are about the template, and what `kubectl apply` keeps for its own use: it repeats an object that is not the one
/// that members get.
const ANNOTATIONS: [&str; 4] = [
    "kubectl.kubernetes.io/last-applied-configuration",
    annotations::PROPAGATION_POLICY_NAMESPACE,
    annotations::PROPAGATION_POLICY_NAME,
    annotations::CLUSTER_PROPAGATION_POLICY_NAME,
];

const LABELS: [&str; 2] = [
    labels::PROPAGATION_POLICY_PERMANENT_ID,
    labels::CLUSTER_PROPAGATION_POLICY_PERMANENT_ID,
];

/// Annotations by which the controllers and the API server of one cluster keep their own books. A member would answer with its own.
fn books(kind: Native) -> &'static [&'static str] {
    match kind {
        Native::Deployment | Native::ReplicaSet => &[
            "deployment.kubernetes.io/desired-replicas",
            "deployment.kubernetes.io/max-replicas",
            "deployment.kubernetes.io/revision",
            "deployment.kubernetes.io/revision-history",
        ],
        Native::DaemonSet => &["deprecated.daemonset.template.generation"],
        Native::Job => &["batch.kubernetes.io/job-tracking"],
        Native::Secret => &["kubernetes.io/service-account.uid"],
        Native::PersistentVolume => &["pv.kubernetes.io/bound-by-controller"],
        Native::PersistentVolumeClaim => &[
            "pv.kubernetes.io/bind-completed",
            "pv.kubernetes.io/bound-by-controller",
            "volume.beta.kubernetes.io/storage-provisioner",
            "volume.kubernetes.io/selected-node",
            "volume.kubernetes.io/storage-provisioner",
        ],
        Native::StatefulSet
        | Native::CronJob
        | Native::Pod
        | Native::Service
        | Native::ServiceAccount
        | Native::Ingress
        | Native::PodDisruptionBudget
        | Native::HorizontalPodAutoscaler
        | Native::Other => &[],
    }
}

/// Removes status, server-made metadata and what the control plane's API server generated for its own copy.
pub fn prune(manifest: &mut Value) {
    forget_allocations(manifest);
    let kind = Native::of(manifest);
    let Some(object) = manifest.as_object_mut() else {
        return;
    };
    object.remove("status");
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        for field in METADATA {
            metadata.remove(field);
        }
        remove_keys(metadata, "labels", &LABELS);
        remove_keys(metadata, "annotations", &ANNOTATIONS);
        remove_keys(metadata, "annotations", books(kind));
    }
    match kind {
        Native::Job => job(manifest),
        Native::Service => service(manifest),
        Native::ServiceAccount => service_account(manifest),
        Native::Secret => secret(manifest),
        Native::Pod => pod(manifest),
        Native::Deployment
        | Native::ReplicaSet
        | Native::StatefulSet
        | Native::DaemonSet
        | Native::CronJob
        | Native::Ingress
        | Native::PersistentVolume
        | Native::PersistentVolumeClaim
        | Native::PodDisruptionBudget
        | Native::HorizontalPodAutoscaler
        | Native::Other => {}
    }
}

/// Removes keys from the map in a field, and the map when nothing is left in it.
fn remove_keys(object: &mut Map<String, Value>, field: &str, keys: &[&str]) {
    let Some(map) = object.get_mut(field).and_then(Value::as_object_mut) else {
        return;
    };
    let before = map.len();
    for key in keys {
        map.remove(*key);
    }
    if map.is_empty() && before > 0 {
        object.remove(field);
    }
}

/// Without `manualSelector` the API server generates the selector and the labels it selects, from the uid of its own copy: whatever the selector
/// names is generated, in every version of Kubernetes.
fn job(manifest: &mut Value) {
    let Some(spec) = manifest.get_mut("spec").and_then(Value::as_object_mut) else {
        return;
    };
    // The control plane's own clean-up would otherwise be repeated in each member, and the copy be made again.
    spec.remove("ttlSecondsAfterFinished");
    if spec.get("manualSelector").and_then(Value::as_bool) == Some(true) {
        return;
    }
    let selector = spec.remove("selector");
    let generated = selector
        .as_ref()
        .and_then(|selector| selector.pointer("/matchLabels"))
        .and_then(Value::as_object);
    let Some(labels) = spec
        .get_mut("template")
        .and_then(|template| template.pointer_mut("/metadata/labels"))
        .and_then(Value::as_object_mut)
    else {
        return;
    };
    labels.retain(|key, _| {
        let by_selector = generated.is_some_and(|generated| generated.contains_key(key));
        let by_name = matches!(key.as_str(), "controller-uid" | "job-name")
            || key.starts_with("batch.kubernetes.io/");
        !by_selector && !by_name
    });
}

/// Each member allocates its own addresses; `None` is the user's word for a headless service.
fn service(manifest: &mut Value) {
    let Some(spec) = manifest.get_mut("spec").and_then(Value::as_object_mut) else {
        return;
    };
    if spec.get("clusterIP").and_then(Value::as_str) != Some("None") {
        spec.remove("clusterIP");
        spec.remove("clusterIPs");
    }
    spec.remove("healthCheckNodePort");
}

/// The secrets of a service account are made in each member for itself.
fn service_account(manifest: &mut Value) {
    let generated = format!("{}-token-", text(manifest, "/metadata/name"));
    let Some(object) = manifest.as_object_mut() else {
        return;
    };
    if let Some(secrets) = object.get_mut("secrets").and_then(Value::as_array_mut) {
        secrets.retain(|secret| !text(secret, "/name").starts_with(&generated));
        if secrets.is_empty() {
            object.remove("secrets");
        }
    }
}

/// The token of a service account is good on the control plane only.
fn secret(manifest: &mut Value) {
    if text(manifest, "/type") != "kubernetes.io/service-account-token" {
        return;
    }
    let Some(object) = manifest.as_object_mut() else {
        return;
    };
    object.remove("data");
}

/// The volume with the service account's token that the control plane's admission put in.
fn pod(manifest: &mut Value) {
    let Some(spec) = manifest.get_mut("spec").and_then(Value::as_object_mut) else {
        return;
    };
    let injected = |item: &Value| text(item, "/name").starts_with("kube-api-access-");
    retain(spec, "volumes", |volume| !injected(volume));
    for list in ["containers", "initContainers", "ephemeralContainers"] {
        for container in spec
            .get_mut(list)
            .and_then(Value::as_array_mut)
            .into_iter()
            .flatten()
        {
            if let Some(container) = container.as_object_mut() {
                retain(container, "volumeMounts", |mount| !injected(mount));
            }
        }
    }
}

fn retain(object: &mut Map<String, Value>, list: &str, keep: impl Fn(&Value) -> bool) {
    if let Some(items) = object.get_mut(list).and_then(Value::as_array_mut) {
        items.retain(keep);
        if items.is_empty() {
            object.remove(list);
        }
    }
}
