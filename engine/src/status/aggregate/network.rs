//! Services and Ingresses: the addresses of all copies.

use serde_json::{Value, json};

use super::Copy;
use crate::interpret::{items, text};

pub(super) fn service(template: &Value, copies: &[Copy<'_>]) -> Option<Value> {
    (text(template, "/spec/type") == "LoadBalancer").then(|| addresses(copies))
}

/// Each address with the name of its cluster as host name where it has none, as Karmada does.
pub(super) fn addresses(copies: &[Copy<'_>]) -> Value {
    let mut all = Vec::new();
    for copy in copies {
        for address in items(copy.status, "/loadBalancer/ingress") {
            let mut address = address.clone();
            if text(&address, "/hostname").is_empty()
                && let Some(fields) = address.as_object_mut()
            {
                fields.insert("hostname".to_owned(), json!(copy.cluster));
            }
            all.push(address);
        }
    }
    json!({"loadBalancer": {"ingress": all}})
}
