//! Reading what other clients write: lenient where the API server lets things through.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// Leaves out a structure that says nothing.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Keeps the difference between an absent field and an explicit `null`.
pub(crate) fn present<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// Reads an empty string as an absent field: Go clients send either.
pub(crate) fn non_empty<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<String>, D::Error> {
    Ok(Option::<String>::deserialize(deserializer)?.filter(|s| !s.is_empty()))
}

/// Reads `null` as an empty list: Go clients send it for a required list that they left empty.
pub(crate) fn list<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// Reads conditions whose transition time is missing or `null`, which the Kubernetes type refuses, as of the epoch.
pub(crate) fn conditions<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<Condition>, D::Error> {
    let lenient: Option<Vec<LenientCondition>> = Option::deserialize(deserializer)?;
    Ok(lenient
        .unwrap_or_default()
        .into_iter()
        .map(Condition::from)
        .collect())
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LenientCondition {
    #[serde(default)]
    last_transition_time: Option<Time>,
    #[serde(default)]
    message: String,
    #[serde(default)]
    observed_generation: Option<i64>,
    #[serde(default)]
    reason: String,
    #[serde(default)]
    status: String,
    #[serde(default)]
    r#type: String,
}

impl From<LenientCondition> for Condition {
    fn from(lenient: LenientCondition) -> Self {
        Self {
            last_transition_time: lenient
                .last_transition_time
                .unwrap_or(Time(Timestamp::UNIX_EPOCH)),
            message: lenient.message,
            observed_generation: lenient.observed_generation,
            reason: lenient.reason,
            status: lenient.status,
            type_: lenient.r#type,
        }
    }
}
