//! The documents that stories apply.

use serde_json::{Value, json};

/// A Deployment of small containers.
pub(crate) fn deployment(name: &str, replicas: i32) -> Value {
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{
                    "name": "web",
                    "image": "docker.io/library/nginx:1.29",
                    "resources": {"requests": {"cpu": "50m", "memory": "32Mi"}},
                }]},
            },
        },
    })
}

/// A `ConfigMap` with one key.
pub(crate) fn config_map(name: &str, value: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name},
        "data": {"key": value},
    })
}

/// What selects one object.
pub(crate) fn selector(api_version: &str, kind: &str, name: &str) -> Value {
    json!({"apiVersion": api_version, "kind": kind, "name": name})
}

/// A policy with the placement given for the objects selected.
pub(crate) fn policy(name: &str, selectors: &[Value], placement: Value) -> Value {
    json!({
        "apiVersion": "policy.karmada.io/v1alpha1",
        "kind": "PropagationPolicy",
        "metadata": {"name": name},
        "spec": {"resourceSelectors": selectors, "placement": placement},
    })
}

/// A policy that sends one Deployment, whole, to some clusters.
pub(crate) fn deployment_to(name: &str, clusters: &[&str]) -> Value {
    policy(
        name,
        &[selector("apps/v1", "Deployment", name)],
        to(clusters),
    )
}

/// A policy that sends one `ConfigMap` to some clusters.
pub(crate) fn config_map_to(name: &str, clusters: &[&str]) -> Value {
    policy(name, &[selector("v1", "ConfigMap", name)], to(clusters))
}

/// The placement that names clusters.
pub(crate) fn to(clusters: &[&str]) -> Value {
    json!({"clusterAffinity": {"clusterNames": clusters}})
}

/// An override of one object in one cluster.
pub(crate) fn override_in(cluster: &str, name: &str, selector: &Value, overriders: Value) -> Value {
    json!({
        "apiVersion": "policy.karmada.io/v1alpha1",
        "kind": "OverridePolicy",
        "metadata": {"name": name},
        "spec": {
            "resourceSelectors": [selector],
            "overrideRules": [{
                "targetCluster": {"clusterNames": [cluster]},
                "overriders": overriders,
            }],
        },
    })
}

/// `document` with a value put at a JSON pointer whose parent exists.
pub(crate) fn with(mut document: Value, pointer: &str, value: Value) -> Value {
    let (parent, key) = pointer.rsplit_once('/').expect("a pointer has a slash");
    let parent = document.pointer_mut(parent).expect("the parent exists");
    parent[key] = value;
    document
}
