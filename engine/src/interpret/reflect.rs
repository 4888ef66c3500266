//! What of a member object's status goes back to the control plane.

use crds::annotations;
use serde_json::{Map, Value};

use super::{Native, items, text};

/// Fields by kind. What is left out changes often and is of no use to anybody above.
fn fields(kind: Native) -> Option<&'static [&'static str]> {
    Some(match kind {
        Native::Deployment => &[
            "availableReplicas",
            "observedGeneration",
            "readyReplicas",
            "replicas",
            "unavailableReplicas",
            "updatedReplicas",
        ],
        Native::ReplicaSet => &[
            "availableReplicas",
            "fullyLabeledReplicas",
            "observedGeneration",
            "readyReplicas",
            "replicas",
        ],
        Native::StatefulSet => &[
            "availableReplicas",
            "currentReplicas",
            "currentRevision",
            "observedGeneration",
            "readyReplicas",
            "replicas",
            "updateRevision",
            "updatedReplicas",
        ],
        Native::DaemonSet => &[
            "currentNumberScheduled",
            "desiredNumberScheduled",
            "numberAvailable",
            "numberMisscheduled",
            "numberReady",
            "numberUnavailable",
            "observedGeneration",
            "updatedNumberScheduled",
        ],
        Native::Job => &[
            "active",
            "completionTime",
            "conditions",
            "failed",
            "startTime",
            "succeeded",
        ],
        Native::Service | Native::Ingress => &["loadBalancer"],
        Native::PodDisruptionBudget => &[
            "currentHealthy",
            "desiredHealthy",
            "disruptedPods",
            "disruptionsAllowed",
            "expectedPods",
            "observedGeneration",
        ],
        Native::HorizontalPodAutoscaler => {
            &["currentReplicas", "desiredReplicas", "observedGeneration"]
        }
        Native::CronJob
        | Native::Pod
        | Native::ServiceAccount
        | Native::Secret
        | Native::PersistentVolume
        | Native::PersistentVolumeClaim
        | Native::Other => return None,
    })
}

/// The part of a member object's status that counts; `None` for an object without status.
///
/// Workloads carry two generations besides: the member's own, and that of the template they were made from, so that an aggregate can
/// tell whether all members have seen the present template.
pub fn reflect(object: &Value) -> Option<Value> {
    let kind = Native::of(object);
    let status = object.get("status").and_then(Value::as_object)?;
    let Some(fields) = fields(kind) else {
        return (!status.is_empty()).then(|| Value::Object(status.clone()));
    };
    let mut chosen: Map<String, Value> = fields
        .iter()
        .filter_map(|field| Some(((*field).to_owned(), status.get(*field)?.clone())))
        .filter(|(_, value)| !is_zero(value))
        .collect();
    let troubles = troubles(kind, items(object, "/status/conditions"));
    if !troubles.is_empty() {
        chosen.insert("conditions".to_owned(), Value::Array(troubles));
    }
    if fields.contains(&"observedGeneration") {
        if let Some(generation) = object.pointer("/metadata/generation") {
            chosen.insert("generation".to_owned(), generation.clone());
        }
        if let Some(generation) = template_generation(object) {
            chosen.insert("resourceTemplateGeneration".to_owned(), generation.into());
        }
    }
    (!chosen.is_empty()).then_some(Value::Object(chosen))
}

/// Conditions of rollouts and autoscalers that say that something is wrong. That all is well shows in the numbers, and the conditions that
/// say so change with each step.
fn troubles(kind: Native, conditions: &[Value]) -> Vec<Value> {
    let is_trouble = |condition: &&Value| {
        let (name, status) = (text(condition, "/type"), text(condition, "/status"));
        match kind {
            Native::Deployment => {
                matches!(
                    (name, status),
                    ("Progressing", "False") | ("ReplicaFailure", "True")
                )
            }
            Native::HorizontalPodAutoscaler => {
                matches!((name, status), ("AbleToScale" | "ScalingActive", "False"))
            }
            _ => false,
        }
    };
    conditions
        .iter()
        .filter(is_trouble)
        .map(|condition| {
            let words = ["type", "status", "reason", "message"];
            let told = words
                .iter()
                .filter_map(|word| Some(((*word).to_owned(), condition.get(word)?.clone())));
            Value::Object(told.collect())
        })
        .collect()
}

/// The API leaves zeros and empty things out; members of different versions do so in different places.
fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Number(number) => number.as_i64() == Some(0),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::String(text) => text.is_empty(),
        Value::Bool(_) => false,
    }
}

/// The generation of the template that a copy was made from.
fn template_generation(object: &Value) -> Option<i64> {
    let annotations = object.pointer("/metadata/annotations")?;
    text(
        annotations,
        &format!("/{}", annotations::TEMPLATE_GENERATION.replace('/', "~1")),
    )
    .parse()
    .ok()
}
