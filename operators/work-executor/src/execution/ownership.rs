//! Who owns which fields of an object in a member.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;
use serde_json::json;

/// The patch that makes the fields an object was created with ours by apply; `None` if there is nothing to do.
///
/// It tests that the list of owners is as it was read, so it changes nothing else.
pub(crate) fn takeover(fields: &[ManagedFieldsEntry], manager: &str) -> Option<json_patch::Patch> {
    let ours = |entry: &ManagedFieldsEntry, operation: &str| {
        entry.manager.as_deref() == Some(manager)
            && entry.operation.as_deref() == Some(operation)
            && entry.subresource.as_deref().unwrap_or_default().is_empty()
    };
    let at = fields.iter().position(|entry| ours(entry, "Update"))?;
    let path = format!("/metadata/managedFields/{at}");
    let last = if fields.iter().any(|entry| ours(entry, "Apply")) {
        // Both can only be there when a takeover was overtaken by an apply; then the apply says what is ours.
        json!({"op": "remove", "path": path})
    } else {
        json!({"op": "replace", "path": format!("{path}/operation"), "value": "Apply"})
    };
    let operations = json!([
        {"op": "test", "path": format!("{path}/manager"), "value": manager},
        {"op": "test", "path": format!("{path}/operation"), "value": "Update"},
        last,
    ]);
    Some(serde_json::from_value(operations).expect("the operations are well formed"))
}
