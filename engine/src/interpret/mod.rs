//! What a kind means: where its replicas are, what of it is the control plane's own, what of its status counts, and whether it is well.
//!
//! Objects are untyped from end to end, so that fields unknown to this version survive. The built-in rules do not fail: an object of a shape
//! that its kind does not have is left as it is. Users' customizations do, and [`Interpreter`] hands their errors on.

mod allocation;
pub mod custom;
mod dependencies;
mod health;
mod interpreter;
pub mod lua;
mod pod;
mod prune;
mod reflect;
mod replicas;
mod retain;
mod revise;

pub use allocation::forget_allocations;
pub use dependencies::{Dependency, dependencies, has_dependencies};
pub use health::health;
pub use interpreter::{Interpreter, Library};
pub use prune::prune;
pub use reflect::reflect;
pub use replicas::{Replicas, has_replicas, replicas};
pub use retain::{retain, retained, retains};
pub use revise::{revise, share};

use serde_json::Value;

/// A kind with rules of its own; every other kind is [`Native::Other`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Native {
    /// apps/v1 Deployment
    Deployment,
    /// apps/v1 `ReplicaSet`
    ReplicaSet,
    /// apps/v1 `StatefulSet`
    StatefulSet,
    /// apps/v1 `DaemonSet`
    DaemonSet,
    /// batch/v1 Job
    Job,
    /// batch/v1 `CronJob`
    CronJob,
    /// v1 Pod
    Pod,
    /// v1 Service
    Service,
    /// v1 `ServiceAccount`
    ServiceAccount,
    /// v1 Secret
    Secret,
    /// networking.k8s.io/v1 Ingress
    Ingress,
    /// v1 `PersistentVolume`
    PersistentVolume,
    /// v1 `PersistentVolumeClaim`
    PersistentVolumeClaim,
    /// policy/v1 `PodDisruptionBudget`
    PodDisruptionBudget,
    /// autoscaling/v2 `HorizontalPodAutoscaler`
    HorizontalPodAutoscaler,
    /// Anything else, custom kinds included.
    Other,
}

impl Native {
    /// The kind of an object, by its own words.
    pub fn of(object: &Value) -> Self {
        let word = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
        Self::named(word("apiVersion"), word("kind"))
    }

    /// The kind of that name.
    pub fn named(api_version: &str, kind: &str) -> Self {
        match (api_version, kind) {
            ("apps/v1", "Deployment") => Self::Deployment,
            ("apps/v1", "ReplicaSet") => Self::ReplicaSet,
            ("apps/v1", "StatefulSet") => Self::StatefulSet,
            ("apps/v1", "DaemonSet") => Self::DaemonSet,
            ("batch/v1", "Job") => Self::Job,
            ("batch/v1", "CronJob") => Self::CronJob,
            ("v1", "Pod") => Self::Pod,
            ("v1", "Service") => Self::Service,
            ("v1", "ServiceAccount") => Self::ServiceAccount,
            ("v1", "Secret") => Self::Secret,
            ("networking.k8s.io/v1", "Ingress") => Self::Ingress,
            ("v1", "PersistentVolume") => Self::PersistentVolume,
            ("v1", "PersistentVolumeClaim") => Self::PersistentVolumeClaim,
            ("policy/v1", "PodDisruptionBudget") => Self::PodDisruptionBudget,
            ("autoscaling/v2", "HorizontalPodAutoscaler") => Self::HorizontalPodAutoscaler,
            _ => Self::Other,
        }
    }
}

/// A whole number at a JSON pointer; absent means 0, as in the API.
pub(crate) fn number(object: &Value, pointer: &str) -> i64 {
    object.pointer(pointer).and_then(Value::as_i64).unwrap_or(0)
}

/// A string at a JSON pointer; absent means empty, as in the API.
pub(crate) fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// The items of a list at a JSON pointer.
pub(crate) fn items<'a>(object: &'a Value, pointer: &str) -> &'a [Value] {
    object
        .pointer(pointer)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests;
