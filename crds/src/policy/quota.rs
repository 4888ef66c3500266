//! Quota over all member clusters.

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

kind! {
    /// Limits what a namespace may use over all member clusters together.
    FederatedResourceQuota = "policy.karmada.io" / "v1alpha1", "federatedresourcequotas", short &[], NamespaceResourceScope, categorised true,
    spec: FederatedResourceQuotaSpec, status: FederatedResourceQuotaStatus
}

/// The limits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FederatedResourceQuotaSpec {
    /// The limit over all clusters, by resource.
    pub overall: BTreeMap<String, Quantity>,
    /// Fixed shares of clusters; together at most `overall`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub static_assignments: Vec<StaticClusterAssignment>,
}

/// The share of one cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StaticClusterAssignment {
    /// The cluster.
    pub cluster_name: String,
    /// Its limit, by resource.
    pub hard: BTreeMap<String, Quantity>,
}

/// What is used.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FederatedResourceQuotaStatus {
    /// The limit over all clusters that is in force.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub overall: BTreeMap<String, Quantity>,
    /// What is used in all clusters together.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub overall_used: BTreeMap<String, Quantity>,
    /// What is used cluster by cluster.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aggregated_status: Vec<ClusterQuotaStatus>,
}

/// What is used in one cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterQuotaStatus {
    /// The cluster.
    pub cluster_name: String,
    /// The limit in force there.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub hard: BTreeMap<String, Quantity>,
    /// What is used there.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub used: BTreeMap<String, Quantity>,
}
