//! What a pod asks for.

use crds::work::{NodeClaim, ReplicaRequirements};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::health::{Amounts, PodParts, pod_requests};
use crate::quantity::Quantity;

/// What a pod of this spec asks of its cluster.
pub(super) fn requirements(pod: &Value, namespace: &str) -> ReplicaRequirements {
    let claim = NodeClaim {
        hard_node_affinity: pod
            .pointer("/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution")
            .and_then(|affinity| serde_json::from_value(affinity.clone()).ok()),
        node_selector: read(pod, "nodeSelector"),
        tolerations: read(pod, "tolerations"),
    };
    ReplicaRequirements {
        node_claim: Some(claim).filter(|claim| *claim != NodeClaim::default()),
        resource_request: requests(pod)
            .into_iter()
            .map(|(resource, amount)| (resource, amount.into()))
            .collect(),
        namespace: Some(namespace.to_owned()).filter(|ns| !ns.is_empty()),
        priority_class_name: pod
            .get("priorityClassName")
            .and_then(Value::as_str)
            .filter(|name| !name.is_empty())
            .map(str::to_owned),
    }
}

/// A field of a type; its default if it is absent, or malformed: the API server would have refused it.
fn read<T: DeserializeOwned + Default>(pod: &Value, field: &str) -> T {
    pod.get(field)
        .and_then(|value| serde_json::from_value(value.clone()).ok())
        .unwrap_or_default()
}

fn requests(pod: &Value) -> Amounts {
    let init: Vec<(bool, Amounts)> = containers(pod, "initContainers")
        .map(|container| (is_sidecar(container), wanted(container)))
        .collect();
    let main: Vec<Amounts> = containers(pod, "containers").map(wanted).collect();
    let whole = pod.get("resources").map(|_| wanted(pod));
    let overhead = pod.get("overhead").map(amounts);
    let init: Vec<(bool, &Amounts)> = init.iter().map(|(sidecar, all)| (*sidecar, all)).collect();
    pod_requests(&PodParts {
        init: &init,
        containers: &main.iter().collect::<Vec<_>>(),
        whole: whole.as_ref(),
        overhead: overhead.as_ref(),
    })
}

fn containers<'a>(pod: &'a Value, field: &str) -> impl Iterator<Item = &'a Value> {
    pod.get(field)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}

fn is_sidecar(container: &Value) -> bool {
    container.get("restartPolicy").and_then(Value::as_str) == Some("Always")
}

/// What is requested. Where only a limit is given, the API server takes it for the request when it makes the pod.
fn wanted(of: &Value) -> Amounts {
    let mut wanted = of
        .pointer("/resources/limits")
        .map(amounts)
        .unwrap_or_default();
    wanted.extend(
        of.pointer("/resources/requests")
            .map(amounts)
            .unwrap_or_default(),
    );
    wanted
}

fn amounts(list: &Value) -> Amounts {
    list.as_object()
        .into_iter()
        .flatten()
        .filter_map(|(resource, amount)| {
            let amount = match amount {
                Value::String(text) => Quantity::parse(text),
                Value::Number(number) => Quantity::parse(&number.to_string()),
                Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => return None,
            };
            Some((resource.clone(), amount.ok()?))
        })
        .collect()
}
