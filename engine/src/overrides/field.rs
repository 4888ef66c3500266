//! Changes inside a string that holds a JSON or YAML document.

use crds::policy::{FieldOverrider, FieldPatch};
use serde_json::Value;

use super::patch::patch;

/// Changes the document in the string; the error names the path within it.
pub(super) fn change(text: &str, overrider: &FieldOverrider) -> Result<String, String> {
    let FieldOverrider {
        field_path: _,
        json,
        yaml,
    } = overrider;
    if yaml.is_empty() {
        let mut document: Value = serde_json::from_str(text)
            .map_err(|error| format!("holds no JSON document: {error}"))?;
        all(&mut document, json)?;
        return Ok(document.to_string());
    }
    let mut document: Value =
        serde_saphyr::from_str(text).map_err(|error| format!("holds no YAML document: {error}"))?;
    all(&mut document, yaml)?;
    serde_saphyr::to_string(&document)
        .map_err(|error| format!("cannot be written as YAML: {error}"))
}

fn all(document: &mut Value, patches: &[FieldPatch]) -> Result<(), String> {
    for FieldPatch {
        sub_path,
        operator,
        value,
    } in patches
    {
        patch(document, sub_path, *operator, value.as_ref())
            .map_err(|why| format!("in the document, {sub_path}: {why}"))?;
    }
    Ok(())
}
