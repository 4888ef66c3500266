//! One change at a JSON pointer.

use crds::policy::OverriderOperator;
use json_patch::{AddOperation, PatchOperation, RemoveOperation, ReplaceOperation};
use jsonptr::PointerBuf;
use serde_json::Value;

/// Changes `document` at `path`, as JSON patch does: `replace` and `remove` need something to be there, `add` needs its parent.
pub(super) fn patch(
    document: &mut Value,
    path: &str,
    operator: OverriderOperator,
    value: Option<&Value>,
) -> Result<(), String> {
    let pointer = PointerBuf::parse(path).map_err(|_| "is no JSON pointer".to_owned())?;
    let given = || value.cloned().ok_or_else(|| "no value is given".to_owned());
    let operation = match operator {
        OverriderOperator::Add => PatchOperation::Add(AddOperation {
            path: pointer,
            value: given()?,
        }),
        OverriderOperator::Replace => PatchOperation::Replace(ReplaceOperation {
            path: pointer,
            value: given()?,
        }),
        OverriderOperator::Remove => PatchOperation::Remove(RemoveOperation { path: pointer }),
    };
    json_patch::patch(document, &[operation]).map_err(|_| {
        match operator {
            OverriderOperator::Add => "there is nothing to add it to",
            OverriderOperator::Replace => "there is nothing to replace",
            OverriderOperator::Remove => "there is nothing to remove",
        }
        .to_owned()
    })
}

/// A key as one part of a JSON pointer.
pub(super) fn part(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}
