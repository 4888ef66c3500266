//! How many replicas a template of a native workload kind wants, and what one of them needs.

use std::sync::Arc;

use crds::work::ReplicaRequirements;
use serde_json::Value;

use super::pod;

/// Replicas of a template, and what one of them needs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Replicas {
    /// How many it wants; `None` for a kind without replicas.
    pub count: Option<i32>,
    /// What one replica needs.
    pub requirements: Option<Arc<ReplicaRequirements>>,
}

/// Where the number of replicas and the pod's spec are, in kinds that have replicas.
fn places(api_version: &str, kind: &str) -> Option<(&'static str, &'static str)> {
    match (api_version, kind) {
        ("apps/v1", "Deployment" | "ReplicaSet" | "StatefulSet") => {
            Some(("/spec/replicas", "/spec/template/spec"))
        }
        ("batch/v1", "Job") => Some(("/spec/parallelism", "/spec/template/spec")),
        ("v1", "Pod") => Some(("", "/spec")),
        _ => None,
    }
}

/// Whether templates of a kind have replicas, so that their specs are worth reading.
pub fn has_replicas(api_version: &str, kind: &str) -> bool {
    places(api_version, kind).is_some()
}

/// The replicas of a template, whose kind may be missing in its body.
pub fn replicas(api_version: &str, kind: &str, template: &Value, namespace: &str) -> Replicas {
    let Some((count, pod)) = places(api_version, kind) else {
        return Replicas::default();
    };
    // Absent means one, as the API server fills it in.
    let count = if count.is_empty() {
        1
    } else {
        template
            .pointer(count)
            .and_then(Value::as_i64)
            .and_then(|count| i32::try_from(count).ok())
            .unwrap_or(1)
    };
    Replicas {
        count: Some(count),
        requirements: template
            .pointer(pod)
            .map(|pod| Arc::new(pod::requirements(pod, namespace))),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_deployment_wants_its_replicas_and_the_sum_of_its_containers() {
        let template = json!({"spec": {"replicas": 3, "template": {"spec": {
            "nodeSelector": {"disk": "ssd"},
            "containers": [
                {"resources": {"requests": {"cpu": "500m", "memory": "1Gi"}}},
                {"resources": {"requests": {"cpu": "250m"}}},
            ],
            "initContainers": [{"resources": {"requests": {"cpu": "100m", "memory": "3Gi"}}}],
        }}}});
        let found = replicas("apps/v1", "Deployment", &template, "default");
        assert_eq!(found.count, Some(3));
        let requirements = found.requirements.unwrap();
        assert_eq!(requirements.resource_request["cpu"].0, "750m");
        assert_eq!(requirements.resource_request["memory"].0, "3Gi");
        assert_eq!(
            requirements.node_claim.as_ref().unwrap().node_selector["disk"],
            "ssd"
        );
    }

    #[test]
    fn a_kind_without_replicas_has_none() {
        let found = replicas("v1", "ConfigMap", &json!({"data": {}}), "default");
        assert_eq!(found, Replicas::default());
    }

    #[test]
    fn an_absent_number_means_one() {
        let found = replicas("apps/v1", "Deployment", &json!({"spec": {}}), "default");
        assert_eq!(found.count, Some(1));
    }

    fn request(pod: &Value) -> Vec<(String, String)> {
        let template = json!({"spec": {"template": {"spec": pod}}});
        replicas("apps/v1", "Deployment", &template, "shop")
            .requirements
            .unwrap()
            .resource_request
            .iter()
            .map(|(resource, amount)| (resource.clone(), amount.0.clone()))
            .collect()
    }

    fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
        expected
            .iter()
            .map(|(resource, amount)| ((*resource).to_owned(), (*amount).to_owned()))
            .collect()
    }

    #[test]
    fn each_kind_counts_replicas_in_its_own_field() {
        for (api_version, kind, spec, expected) in [
            ("apps/v1", "ReplicaSet", json!({"replicas": 0}), Some(0)),
            ("apps/v1", "StatefulSet", json!({"replicas": 2}), Some(2)),
            (
                "batch/v1",
                "Job",
                json!({"parallelism": 4, "completions": 9}),
                Some(4),
            ),
            ("batch/v1", "Job", json!({}), Some(1)),
            ("v1", "Pod", json!({"containers": []}), Some(1)),
            ("apps/v1", "DaemonSet", json!({}), None),
            ("example.io/v1", "Deployment", json!({"replicas": 3}), None),
        ] {
            let found = replicas(api_version, kind, &json!({ "spec": spec }), "shop");
            assert_eq!(found.count, expected, "{api_version} {kind}");
            assert_eq!(has_replicas(api_version, kind), expected.is_some());
        }
    }

    #[test]
    fn a_sidecar_runs_beside_the_others() {
        let pod = json!({
            "containers": [{"name": "a", "resources": {"requests": {"cpu": "1"}}}],
            "initContainers": [
                {"name": "proxy", "restartPolicy": "Always", "resources": {"requests": {"cpu": "200m"}}},
                {"name": "i", "resources": {"requests": {"cpu": "900m"}}},
            ],
        });
        assert_eq!(request(&pod), pairs(&[("cpu", "1200m")]));
    }

    #[test]
    fn a_limit_without_request_is_the_request_and_overhead_comes_on_top() {
        let pod = json!({
            "containers": [{"name": "a", "resources": {
                "limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"cpu": 1},
            }}],
            "overhead": {"memory": "100Mi"},
        });
        assert_eq!(request(&pod), pairs(&[("cpu", "1"), ("memory", "1124Mi")]));
    }

    #[test]
    fn what_the_pod_asks_as_a_whole_stands_for_its_containers() {
        let pod = json!({
            "resources": {"requests": {"cpu": "3"}},
            "containers": [{"name": "a", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}],
        });
        assert_eq!(request(&pod), pairs(&[("cpu", "3"), ("memory", "1Gi")]));
    }

    #[test]
    fn the_node_claim_holds_only_what_must_hold() {
        let pod = json!({
            "tolerations": [{"key": "gpu", "operator": "Exists"}],
            "priorityClassName": "high",
            "affinity": {"nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
                    {"matchExpressions": [{"key": "arch", "operator": "In", "values": ["arm64"]}]},
                ]},
                "preferredDuringSchedulingIgnoredDuringExecution": [],
            }},
        });
        let of = |pod: &Value| {
            let template = json!({"spec": {"template": {"spec": pod}}});
            replicas("apps/v1", "StatefulSet", &template, "shop")
                .requirements
                .unwrap()
        };
        let requirements = of(&pod);
        assert_eq!(requirements.namespace.as_deref(), Some("shop"));
        assert_eq!(requirements.priority_class_name.as_deref(), Some("high"));
        let claim = requirements.node_claim.clone().unwrap();
        assert_eq!(claim.tolerations.len(), 1);
        assert_eq!(
            claim.hard_node_affinity.unwrap().node_selector_terms.len(),
            1
        );
        assert_eq!(of(&json!({})).node_claim, None);
    }
}
