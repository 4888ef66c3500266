//! The least merge patch that turns one JSON value into another.

use serde_json::{Map, Value};

/// What to send so that `stored` becomes `wanted`; `None` if they are equal. A key that is gone is named with `null`,
/// or the server would keep it.
pub(super) fn merge_patch(stored: &Value, wanted: &Value) -> Option<Value> {
    match (stored, wanted) {
        (Value::Object(stored), Value::Object(wanted)) => {
            let mut patch = Map::new();
            for (key, value) in wanted {
                match stored.get(key) {
                    None => {
                        patch.insert(key.clone(), value.clone());
                    }
                    Some(before) => {
                        if let Some(change) = merge_patch(before, value) {
                            patch.insert(key.clone(), change);
                        }
                    }
                }
            }
            for key in stored.keys().filter(|key| !wanted.contains_key(*key)) {
                patch.insert(key.clone(), Value::Null);
            }
            (!patch.is_empty()).then_some(Value::Object(patch))
        }
        _ if stored == wanted => None,
        _ => Some(wanted.clone()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_patch_holds_what_differs_and_nulls_what_is_gone() {
        let stored = json!({"a": 1, "b": {"c": "x", "d": [1, 2]}, "e": {"f": 1}});
        for (wanted, patch) in [
            (stored.clone(), None),
            (
                json!({"a": 1, "b": {"c": "y", "d": [1, 2]}, "e": {"f": 1}}),
                Some(json!({"b": {"c": "y"}})),
            ),
            (
                json!({"b": {"c": "x", "d": [2]}, "e": {}, "g": {"h": 1}}),
                Some(json!({"a": null, "b": {"d": [2]}, "e": {"f": null}, "g": {"h": 1}})),
            ),
        ] {
            let made = merge_patch(&stored, &wanted);
            assert_eq!(made, patch);
            let mut patched = stored.clone();
            if let Some(patch) = &made {
                json_patch::merge(&mut patched, patch);
            }
            assert_eq!(patched, wanted);
        }
    }
}
