//! The smallest merge patch between two values.

use serde::Serialize;
use serde_json::{Map, Value};

/// The JSON merge patch (RFC 7386) that turns one value into the other; `None` if they are equal.
pub(super) fn merge_patch<T: Serialize>(from: &T, to: &T) -> Option<Value> {
    let json = |value: &T| {
        serde_json::to_value(value).expect("an API object has string keys only, so it is JSON")
    };
    between(&json(from), &json(to))
}

fn between(from: &Value, to: &Value) -> Option<Value> {
    match (from, to) {
        (Value::Object(from), Value::Object(to)) => {
            let mut patch = Map::new();
            for key in from.keys().filter(|key| !to.contains_key(*key)) {
                patch.insert(key.clone(), Value::Null);
            }
            for (key, value) in to {
                let change = match from.get(key) {
                    Some(old) => between(old, value),
                    None => Some(value.clone()),
                };
                if let Some(change) = change {
                    patch.insert(key.clone(), change);
                }
            }
            (!patch.is_empty()).then_some(Value::Object(patch))
        }
        (from, to) => (from != to).then(|| to.clone()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(from: Value, to: &Value, expected: Option<&Value>) {
        let patch = merge_patch(&from, to);
        assert_eq!(patch.as_ref(), expected);
        let mut patched = from;
        if let Some(patch) = patch {
            json_patch::merge(&mut patched, &patch);
        }
        assert_eq!(patched, *to);
    }

    #[test]
    fn only_what_differs_is_in_the_patch() {
        check(
            json!({"a": 1, "b": {"c": 2, "d": [1]}}),
            &json!({"a": 1, "b": {"c": 3, "d": [1]}}),
            Some(&json!({"b": {"c": 3}})),
        );
        check(json!({"a": 1}), &json!({"a": 1}), None);
    }

    #[test]
    fn what_is_gone_is_null_and_lists_are_replaced() {
        check(
            json!({"a": {"x": 1}, "l": [1, 2]}),
            &json!({"l": [2]}),
            Some(&json!({"a": null, "l": [2]})),
        );
        check(
            json!({"a": {"x": 1}}),
            &json!({"a": {}}),
            Some(&json!({"a": {"x": null}})),
        );
    }
}
