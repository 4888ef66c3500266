//! Whether an object in a member still is what was applied.
//!
//! Only the fields of the manifest count. What the server adds – defaults, status – and what others add is theirs.
//! A server also writes values in another form than it was given (`1000m` becomes `1`), so an object is compared with itself
//! as it was after it was applied: by the [`print`] of the manifest's fields. Where nothing is known about that moment, as after a
//! restart, [`holds`] compares with the manifest and is lenient about forms.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash as _, Hasher as _};

use serde_json::{Map, Value};

use crate::quantity::Quantity;

/// A number that changes when a value changes that the manifest sets.
pub fn print(manifest: &Value, live: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    hash(manifest, Some(live), &mut hasher);
    hasher.finish()
}

fn hash(manifest: &Value, live: Option<&Value>, hasher: &mut DefaultHasher) {
    match (manifest, live) {
        (Value::Object(fields), Some(Value::Object(others))) => {
            for (key, field) in fields {
                key.hash(hasher);
                hash(field, others.get(key), hasher);
            }
        }
        (Value::Array(items), Some(Value::Array(others))) => {
            items.len().hash(hasher);
            for (index, item) in items.iter().enumerate() {
                let other = match name_of(item) {
                    Some(name) => others.iter().find(|other| name_of(other) == Some(name)),
                    None => others.get(index),
                };
                hash(item, other, hasher);
            }
        }
        (_, Some(other)) => other.to_string().hash(hasher),
        (_, None) => 0_u8.hash(hasher),
    }
}

/// Whether an object has everything its manifest says.
pub fn holds(manifest: &Value, live: &Value) -> bool {
    match (manifest, live) {
        (Value::Object(fields), Value::Object(others)) => all_fields(fields, others),
        (Value::Array(items), Value::Array(others)) => all_items(items, others),
        (Value::String(_) | Value::Number(_), Value::String(_) | Value::Number(_)) => {
            manifest == live || same_quantity(manifest, live)
        }
        _ => manifest == live || (is_nothing(manifest) && is_nothing(live)),
    }
}

fn all_fields(fields: &Map<String, Value>, others: &Map<String, Value>) -> bool {
    fields.iter().all(|(key, field)| match others.get(key) {
        Some(other) => holds(field, other),
        None => is_nothing(field),
    })
}

fn all_items(items: &[Value], others: &[Value]) -> bool {
    if items.iter().all(|item| name_of(item).is_some()) {
        return items.iter().all(|item| {
            others
                .iter()
                .any(|other| name_of(other) == name_of(item) && holds(item, other))
        });
    }
    if items.len() == others.len() {
        return items
            .iter()
            .zip(others)
            .all(|(item, other)| holds(item, other));
    }
    // Others may have added items of their own.
    items
        .iter()
        .all(|item| others.iter().any(|other| holds(item, other)))
}

fn name_of(item: &Value) -> Option<&str> {
    item.get("name")?.as_str()
}

/// Servers leave out what is empty.
fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(on) => !on,
        Value::Number(number) => number.as_i64() == Some(0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
    }
}

fn same_quantity(one: &Value, other: &Value) -> bool {
    let quantity = |value: &Value| match value {
        Value::String(text) => Quantity::parse(text).ok(),
        Value::Number(number) => Quantity::parse(&number.to_string()).ok(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    matches!((quantity(one), quantity(other)), (Some(one), Some(other)) if one == other)
}
