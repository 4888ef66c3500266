//! What a control plane's API server has chosen for a Service and no member can be bound to: node ports and address families.
//!
//! The server notes in `metadata.managedFields` which fields a user wrote. What it allocates itself, it notes for nobody: a node port
//! that nobody manages was allocated, and one that somebody manages was asked for.

use serde_json::{Map, Value};

use super::Native;

/// Fields of a Service's spec that the server fills in when nobody has set them, beside the node ports.
const FIELDS: [&str; 2] = ["ipFamilies", "ipFamilyPolicy"];

/// Takes away what the control plane's API server allocated, then the record by which that can be told.
///
/// Works on an object as it was read. Without `managedFields` nothing can be told, and everything stays as if a user had set it.
pub fn forget_allocations(object: &mut Value) {
    if Native::of(object) != Native::Service {
        drop_record(object);
        return;
    }
    let Some(record) = drop_record(object) else {
        return;
    };
    let managed: Vec<&Value> = record
        .as_array()
        .into_iter()
        .flatten()
        // The status has other writers.
        .filter(|entry| entry.get("subresource").is_none_or(|sub| sub == ""))
        .filter_map(|entry| entry.pointer("/fieldsV1/f:spec"))
        .collect();
    if managed.is_empty() {
        return;
    }
    let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) else {
        return;
    };
    for field in FIELDS {
        let key = format!("f:{field}");
        if managed.iter().all(|entry| entry.get(&key).is_none()) {
            spec.remove(field);
        }
    }
    for port in spec
        .get_mut("ports")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
        .filter_map(Value::as_object_mut)
    {
        if !managed.iter().any(|entry| manages_node_port(entry, port)) {
            port.remove("nodePort");
        }
    }
}

fn drop_record(object: &mut Value) -> Option<Value> {
    object
        .get_mut("metadata")?
        .as_object_mut()?
        .remove("managedFields")
}

/// Whether a record of managed fields names the node port of this port. Ports are recorded by number and protocol.
fn manages_node_port(spec: &Value, port: &Map<String, Value>) -> bool {
    let protocol =
        |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or("TCP").to_owned();
    spec.get("f:ports")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .any(|(key, fields)| {
            key.strip_prefix("k:")
                .and_then(|key| serde_json::from_str::<Value>(key).ok())
                .is_some_and(|key| {
                    key.get("port") == port.get("port")
                        && protocol(key.get("protocol")) == protocol(port.get("protocol"))
                })
                && fields.get("f:nodePort").is_some()
        })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn service(managed: &Value) -> Value {
        json!({
            "apiVersion": "v1", "kind": "Service",
            "metadata": {"name": "web", "managedFields": [
                {"manager": "kubectl", "operation": "Update", "fieldsV1": {"f:spec": managed}},
                {"manager": "status", "subresource": "status", "fieldsV1": {"f:status": {}}},
            ]},
            "spec": {
                "type": "NodePort", "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack",
                "ports": [
                    {"port": 80, "protocol": "TCP", "nodePort": 31111},
                    {"port": 80, "protocol": "UDP", "nodePort": 31112},
                ],
            },
        })
    }

    #[test]
    fn a_port_the_user_set_goes_to_members_and_an_allocated_one_does_not() {
        let mut object = service(&json!({
            "f:type": {},
            "f:ports": {
                ".": {},
                "k:{\"port\":80,\"protocol\":\"TCP\"}": {".": {}, "f:port": {}, "f:protocol": {}},
                "k:{\"port\":80,\"protocol\":\"UDP\"}": {".": {}, "f:port": {}, "f:nodePort": {}},
            },
        }));
        forget_allocations(&mut object);
        assert_eq!(
            object,
            json!({
                "apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"},
                "spec": {"type": "NodePort", "ports": [
                    {"port": 80, "protocol": "TCP"},
                    {"port": 80, "protocol": "UDP", "nodePort": 31112},
                ]},
            })
        );
    }

    #[test]
    fn address_families_the_user_chose_stay() {
        let mut object = service(&json!({"f:ipFamilyPolicy": {}, "f:ipFamilies": {}}));
        forget_allocations(&mut object);
        assert_eq!(object["spec"]["ipFamilies"], json!(["IPv4"]));
        assert_eq!(object["spec"]["ipFamilyPolicy"], "SingleStack");
    }

    #[test]
    fn without_a_record_everything_counts_as_the_users_and_once_is_as_good_as_twice() {
        let mut object = service(&json!({"f:type": {}}));
        object["metadata"]
            .as_object_mut()
            .unwrap()
            .remove("managedFields");
        let before = object.clone();
        forget_allocations(&mut object);
        assert_eq!(object, before);

        let mut once = service(&json!({"f:type": {}}));
        forget_allocations(&mut once);
        let mut twice = once.clone();
        forget_allocations(&mut twice);
        assert_eq!(once, twice);
    }
}
