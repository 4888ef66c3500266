//! What a member's copy keeps although the manifest says otherwise.
//!
//! Server-side apply leaves alone what the manifest does not mention. Two things are left for rules: a number of replicas that an
//! autoscaler of the member owns, and lists that apply replaces as a whole.

use crds::labels;
use serde_json::{Value, json};

use super::Native;

/// Whether [`retain`] may have something to say, so that the live object has to be read before it is changed.
pub fn retains(manifest: &Value) -> bool {
    match Native::of(manifest) {
        Native::ServiceAccount => manifest.get("imagePullSecrets").is_some(),
        Native::Deployment => retained(manifest).is_some(),
        _ => false,
    }
}

/// JSON pointer of the field that is the member's own while the copy exists, so that a change of it is no drift.
pub fn retained(manifest: &Value) -> Option<&'static str> {
    (asks_to_retain(manifest) && Native::of(manifest) == Native::Deployment)
        .then_some("/spec/replicas")
}

/// Adapts what is about to be sent to what is there.
///
/// `live` is the copy as it is in the member, with its `managedFields`.
pub fn retain(manifest: &mut Value, live: &Value) {
    match Native::of(manifest) {
        // An override may have set the label in one cluster only, and somebody in the member may have set it there.
        Native::Deployment if asks_to_retain(manifest) || asks_to_retain(live) => {
            retain_replicas(manifest, live);
        }
        Native::ServiceAccount => merge_pull_secrets(manifest, live),
        _ => {}
    }
}

fn asks_to_retain(object: &Value) -> bool {
    object
        .pointer("/metadata/labels")
        .and_then(|all| all.get(labels::RETAIN_REPLICAS))
        .and_then(Value::as_str)
        == Some(labels::TRUE)
}

/// Where somebody else manages the number, it is left out: whoever scales next does not have to win against us. As long as nobody
/// does, leaving it out would make the server fall back to one replica, so the present number is sent.
fn retain_replicas(manifest: &mut Value, live: &Value) {
    let Some(spec) = manifest.get_mut("spec").and_then(Value::as_object_mut) else {
        return;
    };
    let ours = |manager: Option<&Value>| {
        manager
            .and_then(Value::as_str)
            .is_some_and(|manager| manager.starts_with("karmada-"))
    };
    let managed_by_others = live
        .pointer("/metadata/managedFields")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .any(|entry| {
            !ours(entry.get("manager")) && entry.pointer("/fieldsV1/f:spec/f:replicas").is_some()
        });
    if managed_by_others {
        spec.remove("replicas");
    } else if let Some(replicas) = live
        .pointer("/spec/replicas")
        .filter(|value| value.is_number())
    {
        spec.insert("replicas".to_owned(), replicas.clone());
    }
}

/// Apply replaces this list as a whole; what the member has added stays, after what the template has.
fn merge_pull_secrets(manifest: &mut Value, live: &Value) {
    let Some(wanted) = manifest
        .get_mut("imagePullSecrets")
        .and_then(Value::as_array_mut)
    else {
        return;
    };
    for secret in live
        .get("imagePullSecrets")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        let Some(name) = secret.get("name") else {
            continue;
        };
        if wanted.iter().all(|other| other.get("name") != Some(name)) {
            wanted.push(json!({"name": name}));
        }
    }
}

#[cfg(test)]
#[allow(
    clippy::needless_pass_by_value,
    reason = "fixtures read better by value"
)]
mod tests {
    use super::*;

    fn deployment(replicas: i32, retained: bool, manager: &str) -> Value {
        let mut object = json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "web", "managedFields": [
                {"manager": manager, "fieldsV1": {"f:spec": {"f:replicas": {}}}},
            ]},
            "spec": {"replicas": replicas},
        });
        if retained {
            object["metadata"]["labels"] = json!({labels::RETAIN_REPLICAS: "true"});
        }
        object
    }

    fn sent(mut manifest: Value, live: &Value) -> Option<i64> {
        retain(&mut manifest, live);
        manifest.pointer("/spec/replicas").and_then(Value::as_i64)
    }

    const OURS: &str = "karmada-work-executor/execution";

    #[test]
    fn replicas_that_an_autoscaler_owns_are_not_sent() {
        let live = deployment(9, false, "kube-controller-manager");
        assert_eq!(sent(deployment(2, true, ""), &live), None);
    }

    #[test]
    fn replicas_that_nobody_else_owns_yet_stay_as_they_are() {
        assert_eq!(
            sent(deployment(2, true, ""), &deployment(9, false, OURS)),
            Some(9)
        );
    }

    #[test]
    fn the_marker_counts_in_the_member_too() {
        assert_eq!(
            sent(deployment(2, false, ""), &deployment(9, true, OURS)),
            Some(9)
        );
    }

    #[test]
    fn without_the_marker_the_manifest_decides() {
        let live = deployment(9, false, "kube-controller-manager");
        assert_eq!(sent(deployment(2, false, ""), &live), Some(2));
        assert!(!retains(&deployment(2, false, "")));
        assert!(retains(&deployment(2, true, "")));
    }

    #[test]
    fn pull_secrets_of_the_member_stay_beside_those_of_the_template() {
        let account = |secrets: Value| {
            json!({
                "apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "bot"},
                "imagePullSecrets": secrets,
            })
        };
        let mut manifest = account(json!([{"name": "a"}]));
        retain(
            &mut manifest,
            &account(json!([{"name": "a"}, {"name": "local"}])),
        );
        assert_eq!(manifest, account(json!([{"name": "a"}, {"name": "local"}])));
    }
}
