//! Makes the schemas that the Rust types give into those of the wire contract.

use super::edit::Schema;
use crate::Kind;
use serde_json::{Map, Value, json};

/// Beyond this length a description is taken to be one of the essays of Kubernetes' own types.
const LONG: usize = 400;

/// What Kubernetes accepts as a quantity.
const QUANTITY: &str = r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$";

/// Rewrites every node.
pub(super) fn finish(schema: &mut Schema) {
    schema.each(&mut |node| {
        optional_enum(node);
        not_nullable(node);
        quantity(node);
        raw(node);
        title(node);
        describe(node);
    });
    schema.each(&mut kubernetes_lists);
}

/// An optional enum comes as the enum or `null`; the field's own documentation is kept, not that of the enum.
fn optional_enum(node: &mut Map<String, Value>) {
    let Some(Value::Array(alternatives)) = node.get_mut("anyOf") else {
        return;
    };
    let [Value::Object(some), null] = alternatives.as_mut_slice() else {
        return;
    };
    if null.get("nullable") != Some(&json!(true)) {
        return;
    }
    let some = std::mem::take(some);
    node.remove("anyOf");
    for (keyword, value) in some {
        node.entry(keyword).or_insert(value);
    }
}

/// Absent is the only way to say nothing: the contract has no nullable field.
fn not_nullable(node: &mut Map<String, Value>) {
    node.remove("nullable");
    if let Some(Value::Array(values)) = node.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
}

fn quantity(node: &mut Map<String, Value>) {
    if node.get("x-kubernetes-int-or-string") == Some(&json!(true)) {
        node.insert(
            "anyOf".into(),
            json!([{"type": "integer"}, {"type": "string"}]),
        );
        node.insert("pattern".into(), QUANTITY.into());
    }
}

/// Raw JSON must be kept whole, where a schema without properties would have it pruned.
fn raw(node: &mut Map<String, Value>) {
    let says_nothing = ["type", "properties", "anyOf", "x-kubernetes-int-or-string"]
        .iter()
        .all(|keyword| !node.contains_key(*keyword));
    if says_nothing {
        node.insert("x-kubernetes-preserve-unknown-fields".into(), true.into());
        // The server drops a null that is not allowed, and null is a value like any other here.
        node.insert("nullable".into(), true.into());
    }
}

/// Schemas carry the names of Rust types as titles.
fn title(node: &mut Map<String, Value>) {
    node.remove("title");
}

/// Keeps the first sentence of an essay.
fn describe(node: &mut Map<String, Value>) {
    if let Some(Value::String(text)) = node.get_mut("description")
        && text.len() > LONG
    {
        let first = text.find(". ").map_or(text.as_str(), |end| &text[..=end]);
        *text = first.to_owned();
    }
    // `kubectl explain` prints what a list is and what its items are one after the other; the first says it all.
    for key in ["items", "additionalProperties"] {
        if let Some(inner) = node.get_mut(key).and_then(Value::as_object_mut) {
            inner.remove("description");
        }
    }
}

/// The lists inside Kubernetes' own types are atomic; its schemas for other servers do not say so.
fn kubernetes_lists(node: &mut Map<String, Value>) {
    let Some(properties) = node.get_mut("properties").and_then(Value::as_object_mut) else {
        return;
    };
    for name in [
        "matchExpressions",
        "matchFields",
        "nodeSelectorTerms",
        "values",
    ] {
        let Some(list) = properties.get_mut(name).and_then(Value::as_object_mut) else {
            continue;
        };
        if list.get("type") == Some(&json!("array")) {
            list.insert("x-kubernetes-list-type".into(), "atomic".into());
        }
    }
}

/// Says which lists are merged item by item, and what is raw JSON.
pub(super) fn merge_keys(kind: Kind, schema: &mut Schema) {
    match kind.kind {
        "PropagationPolicy" | "ClusterPropagationPolicy" => cluster_purge_mode(schema),
        "ResourceBinding" | "ClusterResourceBinding" => {
            schema.at("spec.clusters").keyed_by(&["name"]);
            schema.at("spec.components").keyed_by(&["name"]);
            schema
                .at("spec.gracefulEvictionTasks")
                .keyed_by(&["fromCluster"]);
            schema
                .at("status.aggregatedStatus")
                .keyed_by(&["clusterName"]);
            schema.at("status.aggregatedStatus[].status").whole_object();
            cluster_purge_mode(schema);
            conditions(schema);
        }
        "Work" => {
            schema.at("spec.workload.manifests[]").whole_object();
            schema.at("status.manifestStatuses[].status").whole_object();
            conditions(schema);
        }
        "Cluster" => {
            schema.at("spec.taints").keyed_by(&["key", "effect"]);
            schema
                .at("status.apiEnablements")
                .keyed_by(&["groupVersion"]);
            conditions(schema);
        }
        "FederatedResourceQuota" => {
            schema
                .at("spec.staticAssignments")
                .keyed_by(&["clusterName"]);
            schema
                .at("status.aggregatedStatus")
                .keyed_by(&["clusterName"]);
        }
        "ClusterTaintPolicy" => {
            schema.at("spec.taints").keyed_by(&["key", "effect"]);
        }
        _ => {}
    }
}

/// Conditions are merged by type. What clients of the contract send may have no reason and no message.
fn conditions(schema: &mut Schema) {
    schema.at("status.conditions").keyed_by(&["type"]);
    schema
        .at("status.conditions[]")
        .set("required", json!(["lastTransitionTime", "status", "type"]));
    schema
        .at("status.conditions[].type")
        .set("maxLength", 316)
        .describe("What the condition is about.");
    schema
        .at("status.conditions[].status")
        .one_of(&["True", "False", "Unknown"])
        .describe("Whether it holds.");
    schema
        .at("status.conditions[].reason")
        .set("maxLength", 1024)
        .describe("Why, in one word.");
    schema
        .at("status.conditions[].message")
        .set("maxLength", 32768)
        .describe("Why, in a sentence, and what to do about it.");
    schema
        .at("status.conditions[].lastTransitionTime")
        .describe("When the status last changed.");
    schema
        .at("status.conditions[].observedGeneration")
        .set("minimum", 0)
        .describe("The generation of the object that the condition is about.");
}

/// `Never` is for applications only.
fn cluster_purge_mode(schema: &mut Schema) {
    schema
        .at("spec.failover.cluster.purgeMode")
        .one_of(&["Directly", "Gracefully"]);
}
