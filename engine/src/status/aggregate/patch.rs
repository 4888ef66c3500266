//! From the status that a template has to the one it should have.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::interpret::{items, text};

/// The merge patch `{"status": …}` that makes the template's status what it should be; `None` if it is.
///
/// A zero and a field that is not there are the same to the API. Fields of the status that are not wanted are left alone; within a field
/// the patch takes away what is not wanted. Conditions are compared without their times.
pub fn status_patch(template: &Value, wanted: &Value) -> Option<Value> {
    let empty = Value::Object(Map::new());
    let present = template.get("status").unwrap_or(&empty);
    let changes: Map<String, Value> = wanted
        .as_object()?
        .iter()
        .filter_map(|(field, value)| {
            let is = present.get(field.as_str());
            let same = if field == "conditions" {
                same_conditions(is, value)
            } else {
                same(is.unwrap_or(&Value::Null), value)
            };
            (!same).then(|| (field.clone(), difference(is, value)))
        })
        .collect();
    (!changes.is_empty()).then(|| json!({ "status": changes }))
}

/// Gives the conditions of a patch the time of their last change: that of the present condition if it has the same status, else `now`.
pub fn stamp(patch: &mut Value, template: &Value, now: Timestamp) {
    let present = items(template, "/status/conditions");
    // The API keeps whole seconds.
    let now = now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    for condition in patch
        .pointer_mut("/status/conditions")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        let before = present.iter().find(|before| {
            text(before, "/type") == text(condition, "/type")
                && text(before, "/status") == text(condition, "/status")
        });
        let known = before
            .map(|before| text(before, "/lastTransitionTime"))
            .filter(|time| !time.is_empty());
        let time = json!(known.unwrap_or(&now));
        if let Some(condition) = condition.as_object_mut() {
            condition.entry("lastTransitionTime").or_insert(time);
        }
    }
}

/// A value for a merge patch: where both are objects, what is not wanted is named as null, or it would stay.
fn difference(present: Option<&Value>, wanted: &Value) -> Value {
    let (Some(Value::Object(present)), Value::Object(wanted)) = (present, wanted) else {
        return wanted.clone();
    };
    let gone = present
        .keys()
        .filter(|key| !wanted.contains_key(*key))
        .map(|key| (key.clone(), Value::Null));
    let set = wanted
        .iter()
        .map(|(key, value)| (key.clone(), difference(present.get(key), value)));
    Value::Object(gone.chain(set).collect())
}

fn same(present: &Value, wanted: &Value) -> bool {
    match (present, wanted) {
        (Value::Object(present), Value::Object(wanted)) => {
            present.keys().chain(wanted.keys()).all(|key| {
                let (is, should) = (present.get(key), wanted.get(key));
                same(is.unwrap_or(&Value::Null), should.unwrap_or(&Value::Null))
            })
        }
        (Value::Array(present), Value::Array(wanted)) if present.len() == wanted.len() => present
            .iter()
            .zip(wanted)
            .all(|(is, should)| same(is, should)),
        _ => present == wanted || (is_nothing(present) && is_nothing(wanted)),
    }
}

fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(on) => !on,
        Value::Number(number) => number.as_i64() == Some(0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.values().all(is_nothing),
    }
}

fn same_conditions(present: Option<&Value>, wanted: &Value) -> bool {
    let words = |list: Option<&Value>| -> Vec<[String; 4]> {
        let mut words: Vec<_> = list
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .map(|condition| {
                ["/type", "/status", "/reason", "/message"]
                    .map(|word| text(condition, word).to_owned())
            })
            .collect();
        words.sort();
        words
    };
    words(present) == words(Some(wanted))
}
