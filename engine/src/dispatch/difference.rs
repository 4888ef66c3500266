//! What has to change in a Work that exists.

use std::collections::BTreeMap;

use crds::work::WorkSpec;
use crds::{annotations, labels};
use serde_json::{Map, Value, json};

/// A Work as it should be.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Draft {
    /// Labels that say where it comes from.
    pub labels: BTreeMap<String, String>,
    /// Annotations that say where it comes from.
    pub annotations: BTreeMap<String, String>,
    /// What goes to the member.
    pub spec: WorkSpec,
}

/// A Work as it is.
#[derive(Clone, Copy, Debug)]
pub struct Stored<'a> {
    /// All labels.
    pub labels: &'a BTreeMap<String, String>,
    /// All annotations.
    pub annotations: &'a BTreeMap<String, String>,
    /// What goes to the member.
    pub spec: &'a WorkSpec,
}

/// Labels of a Work that only we write: one that is not wanted any more is taken away.
const LABELS: [&str; 3] = [
    labels::RESOURCE_BINDING_PERMANENT_ID,
    labels::CLUSTER_RESOURCE_BINDING_PERMANENT_ID,
    labels::WORK_PERMANENT_ID,
];

/// Annotations of a Work that only we write.
const ANNOTATIONS: [&str; 6] = [
    annotations::RESOURCE_BINDING_NAMESPACE,
    annotations::RESOURCE_BINDING_NAME,
    annotations::CLUSTER_RESOURCE_BINDING_NAME,
    annotations::CONFLICT_RESOLUTION,
    annotations::APPLIED_OVERRIDES,
    annotations::APPLIED_CLUSTER_OVERRIDES,
];

/// The merge patch that makes a Work what it should be; `None` if it is.
pub fn difference(stored: Stored<'_>, draft: &Draft) -> Option<Value> {
    let Draft {
        labels,
        annotations,
        spec,
    } = draft;
    let mut patch = Map::new();
    let mut metadata = Map::new();
    for (key, changes) in [
        ("labels", changed(stored.labels, labels, &LABELS)),
        (
            "annotations",
            changed(stored.annotations, annotations, &ANNOTATIONS),
        ),
    ] {
        if !changes.is_empty() {
            metadata.insert(key.to_owned(), Value::Object(changes));
        }
    }
    if !metadata.is_empty() {
        patch.insert("metadata".to_owned(), Value::Object(metadata));
    }
    let mut changes = Map::new();
    if stored.spec.workload != spec.workload {
        changes.insert("workload".to_owned(), json!(spec.workload));
    }
    for (key, is, wanted) in [
        (
            "suspendDispatching",
            stored.spec.suspend_dispatching,
            spec.suspend_dispatching,
        ),
        (
            "preserveResourcesOnDeletion",
            stored.spec.preserve_resources_on_deletion,
            spec.preserve_resources_on_deletion,
        ),
    ] {
        // An absent switch is one that is off.
        if is.unwrap_or(false) != wanted.unwrap_or(false) {
            changes.insert(key.to_owned(), json!(wanted));
        }
    }
    if !changes.is_empty() {
        patch.insert("spec".to_owned(), Value::Object(changes));
    }
    (!patch.is_empty()).then_some(Value::Object(patch))
}

fn changed(
    stored: &BTreeMap<String, String>,
    wanted: &BTreeMap<String, String>,
    ours: &[&str],
) -> Map<String, Value> {
    let set = wanted
        .iter()
        .filter(|(key, value)| stored.get(*key) != Some(value))
        .map(|(key, value)| (key.clone(), json!(value)));
    let gone = ours
        .iter()
        .filter(|key| stored.contains_key(**key) && !wanted.contains_key(**key))
        .map(|key| ((*key).to_owned(), Value::Null));
    set.chain(gone).collect()
}
