//! Whether a member's copy is well.

use crds::work::ResourceHealth;
use serde_json::Value;

use super::{Native, items, number, text};

/// The health of an object in a member. A kind without a rule counts as healthy, as in Karmada: it exists, and nothing more can be told.
pub fn health(object: &Value) -> ResourceHealth {
    let well = match Native::of(object) {
        Native::Deployment => {
            let wanted = replicas(object);
            observed(object)
                && number(object, "/status/updatedReplicas") >= wanted
                && number(object, "/status/availableReplicas")
                    >= number(object, "/status/updatedReplicas")
        }
        Native::ReplicaSet => {
            observed(object) && number(object, "/status/availableReplicas") >= replicas(object)
        }
        Native::StatefulSet => {
            observed(object)
                && number(object, "/status/updatedReplicas") >= replicas(object)
                && number(object, "/status/availableReplicas")
                    >= number(object, "/status/updatedReplicas")
        }
        Native::DaemonSet => {
            let wanted = number(object, "/status/desiredNumberScheduled");
            observed(object)
                && number(object, "/status/updatedNumberScheduled") >= wanted
                && number(object, "/status/numberAvailable")
                    >= number(object, "/status/updatedNumberScheduled")
        }
        Native::Job => !has_condition(object, "Failed"),
        Native::Pod => match text(object, "/status/phase") {
            "Succeeded" => true,
            "Running" => has_condition(object, "Ready"),
            _ => false,
        },
        Native::Service => text(object, "/spec/type") != "LoadBalancer" || has_address(object),
        Native::Ingress => has_address(object),
        Native::PersistentVolumeClaim => text(object, "/status/phase") == "Bound",
        Native::PodDisruptionBudget => {
            number(object, "/status/currentHealthy") >= number(object, "/status/desiredHealthy")
        }
        Native::CronJob
        | Native::ServiceAccount
        | Native::Secret
        | Native::PersistentVolume
        | Native::HorizontalPodAutoscaler
        | Native::Other => true,
    };
    if well {
        ResourceHealth::Healthy
    } else {
        ResourceHealth::Unhealthy
    }
}

/// What is not given is one, as the API server fills it in.
fn replicas(object: &Value) -> i64 {
    object
        .pointer("/spec/replicas")
        .and_then(Value::as_i64)
        .unwrap_or(1)
}

/// Whether the member's controller has seen the object as it is.
fn observed(object: &Value) -> bool {
    number(object, "/status/observedGeneration") >= number(object, "/metadata/generation")
}

fn has_condition(object: &Value, kind: &str) -> bool {
    items(object, "/status/conditions")
        .iter()
        .any(|c| text(c, "/type") == kind && text(c, "/status") == "True")
}

fn has_address(object: &Value) -> bool {
    items(object, "/status/loadBalancer/ingress")
        .iter()
        .any(|address| !text(address, "/ip").is_empty() || !text(address, "/hostname").is_empty())
}
