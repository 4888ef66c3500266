//! Taints that clusters get and lose by their conditions.

use super::ClusterAffinity;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

kind! {
    /// Adds taints to clusters, and removes them, by the clusters' conditions.
    ClusterTaintPolicy = "policy.karmada.io" / "v1alpha1", "clustertaintpolicies", short &[], ClusterResourceScope, categorised false,
    spec: ClusterTaintPolicySpec
}

/// Which taints, on which clusters, under which conditions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterTaintPolicySpec {
    /// The clusters; absent means all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_clusters: Option<ClusterAffinity>,
    /// The taints are added when all of these hold; none means never.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub add_on_conditions: Vec<MatchCondition>,
    /// The taints are removed when all of these hold; none means never.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remove_on_conditions: Vec<MatchCondition>,
    /// The taints.
    #[schemars(length(min = 1))]
    #[serde(deserialize_with = "crate::wire::list")]
    pub taints: Vec<PolicyTaint>,
}

/// A test of a cluster's condition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MatchCondition {
    /// The condition's type.
    pub condition_type: String,
    /// Whether its status must be one of the values, or none of them.
    pub operator: MatchConditionOperator,
    /// The values: `True`, `False`, `Unknown`.
    #[serde(deserialize_with = "crate::wire::list")]
    pub status_values: Vec<String>,
}

/// How a condition's status is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum MatchConditionOperator {
    /// It is one of the values.
    In,
    /// It is none of the values.
    NotIn,
}

/// A taint that a policy sets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PolicyTaint {
    /// The taint's key.
    pub key: String,
    /// What the taint does: `NoSchedule` keeps new copies away, `NoExecute` drives copies out too.
    pub effect: String,
    /// The taint's value.
    #[serde(
        default,
        deserialize_with = "crate::wire::non_empty",
        skip_serializing_if = "Option::is_none"
    )]
    pub value: Option<String>,
}
