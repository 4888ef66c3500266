//! Whether a copy is healthy: whether what it wants is there, of its present generation.

use crds::work::ResourceHealth;
use serde_json::Value;

use super::Native;

/// Whether an object in a member is healthy. A kind without a rule is, as in Karmada.
pub fn health(object: &Value) -> ResourceHealth {
    let live = Live(object);
    let healthy = match Native::of(object) {
        Native::Deployment => live.is_observed() && deployment(&live),
        Native::ReplicaSet => {
            live.is_observed() && live.count("availableReplicas") >= live.wanted()
        }
        Native::StatefulSet => live.is_observed() && stateful_set(&live),
        Native::DaemonSet => live.is_observed() && daemon_set(&live),
        Native::Job => !live.condition("Failed"),
        Native::Pod => pod(&live),
        Native::Service => live.text("/spec/type") != Some("LoadBalancer") || has_address(&live),
        Native::Ingress => has_address(&live),
        Native::PersistentVolumeClaim => live.text("/status/phase") == Some("Bound"),
        Native::PersistentVolume => live.text("/status/phase") != Some("Failed"),
        Native::PodDisruptionBudget => {
            live.is_observed() && live.count("currentHealthy") >= live.count("desiredHealthy")
        }
        Native::CronJob
        | Native::ServiceAccount
        | Native::Secret
        | Native::HorizontalPodAutoscaler
        | Native::Other => true,
    };
    if healthy {
        ResourceHealth::Healthy
    } else {
        ResourceHealth::Unhealthy
    }
}

/// Every pod is of the present template and can serve; none of a former one is left.
fn deployment(live: &Live<'_>) -> bool {
    let (wanted, updated) = (live.wanted(), live.count("updatedReplicas"));
    updated >= wanted
        && live.count("replicas") <= updated
        && live.count("availableReplicas") >= wanted
}

/// Every pod is ready, and those are updated that the update strategy asks for.
fn stateful_set(live: &Live<'_>) -> bool {
    let wanted = live.wanted();
    let on_delete = live.text("/spec/updateStrategy/type") == Some("OnDelete");
    let to_update = if on_delete {
        0
    } else {
        let partition = live.number("/spec/updateStrategy/rollingUpdate/partition");
        wanted.saturating_sub(partition.unwrap_or(0))
    };
    live.count("readyReplicas") >= wanted && live.count("updatedReplicas") >= to_update
}

fn daemon_set(live: &Live<'_>) -> bool {
    let wanted = live.count("desiredNumberScheduled");
    let on_delete = live.text("/spec/updateStrategy/type") == Some("OnDelete");
    (on_delete || live.count("updatedNumberScheduled") >= wanted)
        && live.count("numberAvailable") >= wanted
}

fn pod(live: &Live<'_>) -> bool {
    match live.text("/status/phase") {
        Some("Succeeded") => true,
        Some("Running") => live.condition("Ready"),
        _ => false,
    }
}

fn has_address(live: &Live<'_>) -> bool {
    let given = |entry: &Value, field: &str| {
        entry
            .get(field)
            .and_then(Value::as_str)
            .is_some_and(|text| !text.is_empty())
    };
    live.0
        .pointer("/status/loadBalancer/ingress")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .any(|entry| given(entry, "ip") || given(entry, "hostname"))
}

struct Live<'a>(&'a Value);

impl Live<'_> {
    fn number(&self, pointer: &str) -> Option<i64> {
        self.0.pointer(pointer).and_then(Value::as_i64)
    }

    fn text(&self, pointer: &str) -> Option<&str> {
        self.0.pointer(pointer).and_then(Value::as_str)
    }

    /// A number in the status; servers leave out zeros.
    fn count(&self, field: &str) -> i64 {
        self.0
            .get("status")
            .and_then(|status| status.get(field))
            .and_then(Value::as_i64)
            .unwrap_or(0)
    }

    fn wanted(&self) -> i64 {
        self.number("/spec/replicas").unwrap_or(1)
    }

    /// Whether the status is about the present spec.
    fn is_observed(&self) -> bool {
        self.count("observedGeneration") >= self.number("/metadata/generation").unwrap_or(0)
    }

    fn condition(&self, kind: &str) -> bool {
        self.0
            .pointer("/status/conditions")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .any(|condition| {
                condition.get("type").and_then(Value::as_str) == Some(kind)
                    && condition.get("status").and_then(Value::as_str) == Some("True")
            })
    }
}

#[cfg(test)]
#[allow(
    clippy::needless_pass_by_value,
    reason = "fixtures read better by value"
)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(api_version: &str, kind: &str, spec: Value, status: Value, healthy: bool) {
        let object = json!({
            "apiVersion": api_version, "kind": kind,
            "metadata": {"name": "web", "generation": 2}, "spec": spec, "status": status,
        });
        let expected = if healthy {
            ResourceHealth::Healthy
        } else {
            ResourceHealth::Unhealthy
        };
        assert_eq!(health(&object), expected, "{object:#}");
    }

    fn counts(observed: i64, replicas: i64, updated: i64, available: i64) -> Value {
        json!({
            "observedGeneration": observed, "replicas": replicas, "updatedReplicas": updated,
            "readyReplicas": available, "availableReplicas": available,
        })
    }

    #[test]
    fn a_deployment_is_healthy_when_all_its_pods_are_new_and_available() {
        let check = |status, healthy| {
            check(
                "apps/v1",
                "Deployment",
                json!({"replicas": 2}),
                status,
                healthy,
            );
        };
        check(counts(2, 2, 2, 2), true);
        check(counts(2, 2, 2, 0), false);
        check(counts(2, 3, 2, 2), false);
        check(counts(2, 2, 1, 2), false);
        check(counts(1, 2, 2, 2), false);
        check(json!({}), false);
    }

    #[test]
    fn a_deployment_without_replicas_is_healthy_once_that_is_observed() {
        let none = json!({"replicas": 0});
        check(
            "apps/v1",
            "Deployment",
            none.clone(),
            json!({"observedGeneration": 2}),
            true,
        );
        check("apps/v1", "Deployment", none, json!({}), false);
    }

    #[test]
    fn a_stateful_set_needs_as_many_updated_pods_as_its_strategy_updates() {
        let check = |spec, status, healthy| check("apps/v1", "StatefulSet", spec, status, healthy);
        check(json!({"replicas": 3}), counts(2, 3, 3, 3), true);
        check(json!({"replicas": 3}), counts(2, 3, 2, 3), false);
        check(json!({"replicas": 3}), counts(2, 3, 3, 2), false);
        let partition = json!({"replicas": 3, "updateStrategy": {
            "type": "RollingUpdate", "rollingUpdate": {"partition": 2},
        }});
        check(partition, counts(2, 3, 1, 3), true);
        let on_delete = json!({"replicas": 3, "updateStrategy": {"type": "OnDelete"}});
        check(on_delete, counts(2, 3, 0, 3), true);
    }

    #[test]
    fn a_daemon_set_runs_on_every_node_it_wants() {
        let status = |updated: i64, available: i64| {
            json!({
                "observedGeneration": 2, "desiredNumberScheduled": 3,
                "updatedNumberScheduled": updated, "numberAvailable": available,
            })
        };
        let rolling = json!({"updateStrategy": {"type": "RollingUpdate"}});
        check("apps/v1", "DaemonSet", rolling.clone(), status(3, 3), true);
        check("apps/v1", "DaemonSet", rolling.clone(), status(2, 3), false);
        check("apps/v1", "DaemonSet", rolling, status(3, 2), false);
        let on_delete = json!({"updateStrategy": {"type": "OnDelete"}});
        check("apps/v1", "DaemonSet", on_delete, status(0, 3), true);
    }

    #[test]
    fn a_job_is_unhealthy_when_it_has_failed() {
        let failed = json!({"conditions": [{"type": "Failed", "status": "True"}]});
        check("batch/v1", "Job", json!({}), failed, false);
        check("batch/v1", "Job", json!({}), json!({"active": 1}), true);
    }

    #[test]
    fn a_pod_runs_and_is_ready_or_has_succeeded() {
        let ready = |phase: &str, status: &str| json!({"phase": phase, "conditions": [{"type": "Ready", "status": status}]});
        check("v1", "Pod", json!({}), ready("Running", "True"), true);
        check("v1", "Pod", json!({}), ready("Running", "False"), false);
        check("v1", "Pod", json!({}), ready("Succeeded", "False"), true);
        check("v1", "Pod", json!({}), ready("Pending", "False"), false);
    }

    #[test]
    fn who_waits_for_an_address_is_healthy_when_it_has_one() {
        let address = json!({"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}});
        let balanced = json!({"type": "LoadBalancer"});
        check(
            "v1",
            "Service",
            json!({"type": "ClusterIP"}),
            json!({}),
            true,
        );
        check(
            "v1",
            "Service",
            balanced.clone(),
            json!({"loadBalancer": {}}),
            false,
        );
        check("v1", "Service", balanced, address.clone(), true);
        check(
            "networking.k8s.io/v1",
            "Ingress",
            json!({}),
            json!({}),
            false,
        );
        check("networking.k8s.io/v1", "Ingress", json!({}), address, true);
    }

    #[test]
    fn storage_is_healthy_when_bound() {
        check(
            "v1",
            "PersistentVolumeClaim",
            json!({}),
            json!({"phase": "Bound"}),
            true,
        );
        check(
            "v1",
            "PersistentVolumeClaim",
            json!({}),
            json!({"phase": "Pending"}),
            false,
        );
        check(
            "v1",
            "PersistentVolume",
            json!({}),
            json!({"phase": "Failed"}),
            false,
        );
        check(
            "v1",
            "PersistentVolume",
            json!({}),
            json!({"phase": "Available"}),
            true,
        );
    }

    #[test]
    fn a_disruption_budget_has_as_many_healthy_pods_as_it_desires() {
        let status = |current: i64| json!({"observedGeneration": 2, "currentHealthy": current, "desiredHealthy": 2});
        check(
            "policy/v1",
            "PodDisruptionBudget",
            json!({}),
            status(2),
            true,
        );
        check(
            "policy/v1",
            "PodDisruptionBudget",
            json!({}),
            status(1),
            false,
        );
    }

    #[test]
    fn a_kind_without_a_rule_is_healthy() {
        check(
            "example.io/v1",
            "Thing",
            json!({}),
            json!({"phase": "Failed"}),
            true,
        );
        check("v1", "ConfigMap", json!({}), json!(null), true);
    }
}
