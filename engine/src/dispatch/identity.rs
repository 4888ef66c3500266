//! Whose an object in a member is.

use std::collections::BTreeMap;

use crds::{annotations, labels};
use serde_json::{Map, Value, json};

/// Whose an object in a member is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ownership {
    /// It was made for this Work.
    Ours,
    /// It was made for another Work.
    OtherWork {
        /// That Work's namespace.
        namespace: String,
        /// That Work's name.
        name: String,
    },
    /// Somebody else made it.
    Foreign,
}

/// Whose an object with these labels and annotations is, seen from the Work of that namespace and name.
///
/// A copy that carries the label but no Work is taken for ours: it was made by an installation that did not write it down.
pub fn ownership(
    labels: &BTreeMap<String, String>,
    annotations: &BTreeMap<String, String>,
    work_namespace: &str,
    work_name: &str,
) -> Ownership {
    if labels.get(labels::MANAGED).map(String::as_str) != Some(labels::TRUE) {
        return Ownership::Foreign;
    }
    match (
        annotations.get(annotations::WORK_NAMESPACE),
        annotations.get(annotations::WORK_NAME),
    ) {
        (Some(namespace), Some(name)) if namespace != work_namespace || name != work_name => {
            Ownership::OtherWork {
                namespace: namespace.clone(),
                name: name.clone(),
            }
        }
        _ => Ownership::Ours,
    }
}

/// Labels that say where a copy comes from.
const LABELS: [&str; 4] = [
    labels::MANAGED,
    labels::WORK_PERMANENT_ID,
    labels::RESOURCE_BINDING_PERMANENT_ID,
    labels::CLUSTER_RESOURCE_BINDING_PERMANENT_ID,
];

/// Annotations that say where a copy comes from.
const ANNOTATIONS: [&str; 12] = [
    annotations::WORK_NAMESPACE,
    annotations::WORK_NAME,
    annotations::RESOURCE_BINDING_NAMESPACE,
    annotations::RESOURCE_BINDING_NAME,
    annotations::CLUSTER_RESOURCE_BINDING_NAME,
    annotations::CONFLICT_RESOLUTION,
    annotations::TEMPLATE_UID,
    annotations::TEMPLATE_GENERATION,
    annotations::MANAGED_LABELS,
    annotations::MANAGED_ANNOTATIONS,
    annotations::APPLIED_OVERRIDES,
    annotations::APPLIED_CLUSTER_OVERRIDES,
];

/// The merge patch that turns a copy into an object of the member's own.
pub fn release_patch() -> Value {
    let nothing = |keys: &[&str]| -> Map<String, Value> {
        keys.iter()
            .map(|key| ((*key).to_owned(), Value::Null))
            .collect()
    };
    json!({"metadata": {"labels": nothing(&LABELS), "annotations": nothing(&ANNOTATIONS)}})
}
