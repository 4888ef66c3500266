//! How many replicas a template of a native workload kind wants, and what one of them needs.

use std::collections::BTreeMap;
use std::sync::Arc;

use crds::Quantity as ApiQuantity;
use crds::work::{NodeClaim, ReplicaRequirements};
use serde_json::Value;

use crate::quantity::Quantity;

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
            .map(|pod| Arc::new(requirements(pod, namespace))),
    }
}

fn requirements(pod: &Value, namespace: &str) -> ReplicaRequirements {
    let claim = NodeClaim {
        hard_node_affinity: pod
            .pointer("/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution")
            .and_then(|affinity| serde_json::from_value(affinity.clone()).ok()),
        node_selector: pod
            .get("nodeSelector")
            .and_then(|selector| serde_json::from_value(selector.clone()).ok())
            .unwrap_or_default(),
        tolerations: pod
            .get("tolerations")
            .and_then(|tolerations| serde_json::from_value(tolerations.clone()).ok())
            .unwrap_or_default(),
    };
    ReplicaRequirements {
        node_claim: Some(claim).filter(|claim| *claim != NodeClaim::default()),
        resource_request: requests(pod),
        namespace: Some(namespace.to_owned()).filter(|ns| !ns.is_empty()),
        priority_class_name: pod
            .get("priorityClassName")
            .and_then(Value::as_str)
            .map(str::to_owned),
    }
}

/// All containers together, or the largest of the containers that run before them if that is more, and what the pod itself costs.
fn requests(pod: &Value) -> BTreeMap<String, ApiQuantity> {
    let of = |container: &Value| -> BTreeMap<String, Quantity> {
        container
            .pointer("/resources/requests")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
            .filter_map(|(resource, amount)| {
                let text = amount
                    .as_str()
                    .map_or_else(|| amount.to_string(), str::to_owned);
                Some((resource.clone(), Quantity::parse(&text).ok()?))
            })
            .collect()
    };
    let containers = |field: &str| {
        pod.get(field)
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .map(of)
            .collect::<Vec<_>>()
    };
    let mut sum: BTreeMap<String, Quantity> = BTreeMap::new();
    for (resource, amount) in containers("containers").into_iter().flatten() {
        *sum.entry(resource).or_insert(Quantity::ZERO) += amount;
    }
    for (resource, amount) in containers("initContainers").into_iter().flatten() {
        let most = sum.entry(resource).or_insert(Quantity::ZERO);
        *most = amount.max(*most);
    }
    for (resource, amount) in pod
        .get("overhead")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
    {
        if let Some(amount) = amount.as_str().and_then(|text| Quantity::parse(text).ok()) {
            *sum.entry(resource.clone()).or_insert(Quantity::ZERO) += amount;
        }
    }
    sum.into_iter()
        .map(|(resource, amount)| (resource, ApiQuantity(amount.to_string())))
        .collect()
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
}
