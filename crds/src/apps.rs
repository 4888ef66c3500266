//! `apps.karmada.io/v1alpha1`: asking for a fresh schedule.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

kind! {
    /// Asks the scheduler to place workloads afresh, whatever clusters they are in now.
    WorkloadRebalancer = "apps.karmada.io" / "v1alpha1", "workloadrebalancers", short &[], ClusterResourceScope, categorised false,
    spec: WorkloadRebalancerSpec, status: WorkloadRebalancerStatus
}

/// The workloads to place afresh.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkloadRebalancerSpec {
    /// The templates.
    #[schemars(length(min = 1))]
    #[serde(deserialize_with = "crate::wire::list")]
    pub workloads: Vec<ObjectReference>,
    /// For how long the rebalancer is kept after it has finished; absent means for ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_seconds_after_finished: Option<i32>,
}

/// A reference to a template.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "camelCase")]
pub struct ObjectReference {
    /// Group and version, such as `apps/v1`.
    pub api_version: String,
    /// The kind, such as `Deployment`.
    pub kind: String,
    /// The name.
    pub name: String,
    /// The namespace; absent for cluster-scoped kinds.
    #[serde(
        default,
        deserialize_with = "crate::wire::non_empty",
        skip_serializing_if = "Option::is_none"
    )]
    pub namespace: Option<String>,
}

/// How far the rebalancer is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkloadRebalancerStatus {
    /// The outcome, workload by workload.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub observed_workloads: Vec<ObservedWorkload>,
    /// The generation of the spec that the outcome is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// When the last workload was done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish_time: Option<Time>,
}

/// The outcome for one workload.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ObservedWorkload {
    /// The template.
    pub workload: ObjectReference,
    /// `Successful` or `Failed`; absent while it is not done.
    #[serde(
        default,
        deserialize_with = "crate::wire::non_empty",
        skip_serializing_if = "Option::is_none"
    )]
    pub result: Option<String>,
    /// Why it failed, such as `ReferencedBindingNotFound`.
    #[serde(
        default,
        deserialize_with = "crate::wire::non_empty",
        skip_serializing_if = "Option::is_none"
    )]
    pub reason: Option<String>,
}

/// The outcome of a workload that was placed afresh.
pub const REBALANCE_SUCCESSFUL: &str = "Successful";
/// The outcome of a workload that could not be placed afresh.
pub const REBALANCE_FAILED: &str = "Failed";
/// Why a workload failed that has no binding.
pub const REFERENCED_BINDING_NOT_FOUND: &str = "ReferencedBindingNotFound";
