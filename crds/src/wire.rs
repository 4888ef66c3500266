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

#[cfg(test)]
mod tests {
    use crate::{
        policy::{FederatedResourceQuota, PropagationPolicy, PurgeMode},
        work::{ResourceBinding, Work},
    };
    use serde_json::{Value, json};

    fn policy(spec: &Value) -> PropagationPolicy {
        serde_json::from_value(json!({"metadata": {"name": "a"}, "spec": spec}))
            .expect("it can be read")
    }

    #[test]
    fn empty_strings_are_as_good_as_absent_ones() {
        let policy = policy(
            &json!({"resourceSelectors": [{"apiVersion": "v1", "kind": "Pod", "namespace": "", "name": ""}]}),
        );
        let selector = &policy.spec.resource_selectors[0];
        assert_eq!((&selector.namespace, &selector.name), (&None, &None));
    }

    #[test]
    fn a_null_list_is_an_empty_one() {
        assert_eq!(
            policy(&json!({"resourceSelectors": null}))
                .spec
                .resource_selectors,
            []
        );
    }

    #[test]
    fn unknown_fields_are_ignored() {
        assert_eq!(
            policy(&json!({"resourceSelectors": [], "fromTheFuture": {"a": 1}}))
                .spec
                .priority,
            0
        );
    }

    #[test]
    fn defaults_are_there_without_a_server() {
        let spec = policy(&json!({"resourceSelectors": [], "failover": {"cluster": {}, "application": {"decisionConditions": {}}}})).spec;
        assert_eq!(spec.scheduler_name, "default-scheduler");
        let failover = spec.failover.expect("it was given");
        assert_eq!(
            failover.cluster.expect("it was given").purge_mode,
            PurgeMode::Gracefully
        );
        let application = failover.application.expect("it was given");
        assert_eq!(application.decision_conditions.toleration_seconds, 300);
    }

    #[test]
    fn conditions_need_no_reason_and_no_time() {
        for time in [json!(null), json!("2026-01-01T00:00:00Z")] {
            let work: Work = serde_json::from_value(json!({"metadata": {}, "spec": {}, "status": {
                "conditions": [{"type": "Applied", "status": "True", "lastTransitionTime": time}]}}))
            .expect("it can be read");
            let conditions = work.status.expect("it was given").conditions;
            assert_eq!(
                (conditions[0].type_.as_str(), conditions[0].reason.as_str()),
                ("Applied", "")
            );
        }
    }

    #[test]
    fn quantities_may_be_numbers() {
        let quota: FederatedResourceQuota = serde_json::from_value(
            json!({"metadata": {}, "spec": {"overall": {"cpu": 4, "memory": "1Gi"}}}),
        )
        .expect("it can be read");
        assert_eq!(quota.spec.overall["cpu"].0, "4");
    }

    #[test]
    fn nothing_that_was_absent_is_written() {
        let binding = json!({"apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding", "metadata": {"name": "a"},
            "spec": {"resource": {"apiVersion": "v1", "kind": "ConfigMap", "name": "a"}, "conflictResolution": "Abort"}});
        let typed: ResourceBinding =
            serde_json::from_value(binding.clone()).expect("it can be read");
        assert_eq!(
            serde_json::to_value(typed).expect("it can be written"),
            binding
        );
    }
}
