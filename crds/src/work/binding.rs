//! Bindings: a template, the policy's wishes, and the clusters chosen for it.

use super::{Component, GracefulEvictionTask, ReplicaRequirements, TargetComponent};
use crate::policy::{ConflictResolution, FailoverBehavior, Placement, SuspendClusters};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

kind! {
    /// Binds a namespaced template to the member clusters chosen for it.
    ResourceBinding = "work.karmada.io" / "v1alpha2", "resourcebindings", short &["rb"], NamespaceResourceScope, categorised true,
    spec: ResourceBindingSpec, status: ResourceBindingStatus
}

kind! {
    /// Binds a cluster-scoped template to the member clusters chosen for it.
    ClusterResourceBinding = "work.karmada.io" / "v1alpha2", "clusterresourcebindings", short &["crb"], ClusterResourceScope, categorised true,
    spec: ResourceBindingSpec, status: ResourceBindingStatus
}

/// The template, what its policy wants, and the clusters chosen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResourceBindingSpec {
    /// The template.
    pub resource: ObjectReference,
    /// Whether what the template refers to is propagated with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub propagate_deps: Option<bool>,
    /// What one replica needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replica_requirements: Option<ReplicaRequirements>,
    /// How many replicas the template wants; absent for kinds without replicas.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    /// The parts of a template that has several pod templates.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub components: Vec<Component>,
    /// The clusters chosen, with their replicas. Written by the scheduler alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clusters: Vec<TargetCluster>,
    /// Copies that are on their way out of a cluster. Written by failover.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub graceful_eviction_tasks: Vec<GracefulEvictionTask>,
    /// The bindings that depend on this one, with the clusters chosen for them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub required_by: Vec<BindingSnapshot>,
    /// The placement of the policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement: Option<Placement>,
    /// The scheduler in charge.
    #[serde(
        default,
        deserialize_with = "crate::wire::non_empty",
        skip_serializing_if = "Option::is_none"
    )]
    pub scheduler_name: Option<String>,
    /// The failover behaviour of the policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failover: Option<FailoverBehavior>,
    /// What happens when the object already exists in a member.
    #[serde(default)]
    pub conflict_resolution: ConflictResolution,
    /// When someone asked for a fresh schedule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reschedule_triggered_at: Option<Time>,
    /// Pauses scheduling or propagation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspension: Option<BindingSuspension>,
    /// Whether the copies in members stay when the template is deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preserve_resources_on_deletion: Option<bool>,
    /// The order in which the scheduler takes bindings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule_priority: Option<SchedulePriority>,
    /// The groups the workload belongs to for affinity between workloads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload_affinity_groups: Option<WorkloadAffinityGroups>,
}

/// A reference to a template.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ObjectReference {
    /// Group and version, such as `apps/v1`.
    pub api_version: String,
    /// The kind, such as `Deployment`.
    pub kind: String,
    /// The namespace; absent for cluster-scoped kinds.
    #[serde(
        default,
        deserialize_with = "crate::wire::non_empty",
        skip_serializing_if = "Option::is_none"
    )]
    pub namespace: Option<String>,
    /// The name.
    pub name: String,
    /// The uid.
    #[serde(
        default,
        deserialize_with = "crate::wire::non_empty",
        skip_serializing_if = "Option::is_none"
    )]
    pub uid: Option<String>,
    /// The resource version the binding was made from.
    #[serde(
        default,
        deserialize_with = "crate::wire::non_empty",
        skip_serializing_if = "Option::is_none"
    )]
    pub resource_version: Option<String>,
}

/// A cluster chosen, with its replicas.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TargetCluster {
    /// The cluster.
    pub name: String,
    /// Its replicas; absent for kinds without replicas.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    /// Its replicas part by part, for templates that have several pod templates.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub components: Vec<TargetComponent>,
}

/// Another binding and the clusters chosen for it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BindingSnapshot {
    /// The binding's namespace; absent for a cluster-scoped one.
    #[serde(
        default,
        deserialize_with = "crate::wire::non_empty",
        skip_serializing_if = "Option::is_none"
    )]
    pub namespace: Option<String>,
    /// The binding's name.
    pub name: String,
    /// The clusters chosen for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clusters: Vec<TargetCluster>,
}

/// Pauses scheduling or propagation of a binding.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BindingSuspension {
    /// Whether nothing is sent to any cluster. Not together with `dispatchingOnClusters`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dispatching: Option<bool>,
    /// Clusters to which nothing is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dispatching_on_clusters: Option<SuspendClusters>,
    /// Whether the scheduler leaves the binding alone, as external queueing controllers ask for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduling: Option<bool>,
}

/// The order in which the scheduler takes bindings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SchedulePriority {
    /// The higher goes first.
    #[serde(default)]
    pub priority: i32,
}

/// The groups a workload belongs to, each as `label=value`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkloadAffinityGroups {
    /// The group that goes to the same clusters.
    #[serde(
        default,
        deserialize_with = "crate::wire::non_empty",
        skip_serializing_if = "Option::is_none"
    )]
    pub affinity_group: Option<String>,
    /// The group that goes to different clusters.
    #[serde(
        default,
        deserialize_with = "crate::wire::non_empty",
        skip_serializing_if = "Option::is_none"
    )]
    pub anti_affinity_group: Option<String>,
}

/// How far scheduling and propagation are.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResourceBindingStatus {
    /// The generation of the binding that the scheduler has placed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduler_observed_generation: Option<i64>,
    /// The affinity term in use, where the placement has several.
    #[serde(
        default,
        deserialize_with = "crate::wire::non_empty",
        skip_serializing_if = "Option::is_none"
    )]
    pub scheduler_observing_affinity_name: Option<String>,
    /// When the scheduler last placed the binding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_scheduled_time: Option<Time>,
    /// `Scheduled` and `FullyApplied`.
    #[serde(
        default,
        deserialize_with = "crate::wire::conditions",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub conditions: Vec<Condition>,
    /// What the members report, cluster by cluster.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aggregated_status: Vec<AggregatedStatusItem>,
}

/// What one member reports.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AggregatedStatusItem {
    /// The cluster.
    pub cluster_name: String,
    /// The copy's status, as its kind defines it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<Value>,
    /// Whether the copy was applied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub applied: Option<bool>,
    /// Why it was not.
    #[serde(
        default,
        deserialize_with = "crate::wire::non_empty",
        skip_serializing_if = "Option::is_none"
    )]
    pub applied_message: Option<String>,
    /// Whether the copy is healthy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health: Option<ResourceHealth>,
}

/// Whether a copy is healthy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ResourceHealth {
    /// It is.
    Healthy,
    /// It is not.
    Unhealthy,
    /// Nobody can tell.
    #[default]
    Unknown,
}

impl ResourceHealth {
    /// The value on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Healthy => "Healthy",
            Self::Unhealthy => "Unhealthy",
            Self::Unknown => "Unknown",
        }
    }
}
