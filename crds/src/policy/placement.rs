//! Where copies go and how replicas are divided.

use super::{ClusterAffinity, ClusterAffinityTerm};
use k8s_openapi::api::core::v1::Toleration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How to choose clusters for a template, and how to divide its replicas among them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Placement {
    /// The clusters that may be chosen; absent means all. Not together with `clusterAffinities`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_affinity: Option<ClusterAffinity>,
    /// Groups of clusters tried in their order; the first that fits is taken. Not together with `clusterAffinity`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cluster_affinities: Vec<ClusterAffinityTerm>,
    /// Cluster taints that do not keep copies away.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cluster_tolerations: Vec<Toleration>,
    /// How to spread copies over clusters, regions, zones or providers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spread_constraints: Vec<SpreadConstraint>,
    /// How to divide replicas; absent means that every cluster gets all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replica_scheduling: Option<ReplicaSchedulingStrategy>,
    /// How to place workloads relative to each other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload_affinity: Option<WorkloadAffinity>,
}

/// Bounds how many groups of clusters are chosen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SpreadConstraint {
    /// The cluster property that makes groups. Not together with `spreadByLabel`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread_by_field: Option<SpreadFieldValue>,
    /// The cluster label whose values make groups. Not together with `spreadByField`.
    #[serde(
        default,
        deserialize_with = "crate::wire::non_empty",
        skip_serializing_if = "Option::is_none"
    )]
    pub spread_by_label: Option<String>,
    /// At most this many groups; absent or 0 means no bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_groups: Option<i64>,
    /// At least this many groups; absent or 0 means 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_groups: Option<i64>,
}

/// The cluster property by which copies are spread.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "camelCase")]
pub enum SpreadFieldValue {
    /// Each cluster is a group.
    Cluster,
    /// Clusters of one region are a group.
    Region,
    /// Clusters of one zone are a group.
    Zone,
    /// Clusters of one provider are a group.
    Provider,
}

impl SpreadFieldValue {
    /// The value on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Cluster => "cluster",
            Self::Region => "region",
            Self::Zone => "zone",
            Self::Provider => "provider",
        }
    }
}

/// How replicas are divided.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReplicaSchedulingStrategy {
    /// Whether every cluster gets all replicas, or they are divided.
    #[serde(default)]
    pub replica_scheduling_type: ReplicaSchedulingType,
    /// How to divide: packed into few clusters, or by weight.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replica_division_preference: Option<ReplicaDivisionPreference>,
    /// The weights; absent means every cluster weighs the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight_preference: Option<ClusterPreferences>,
}

/// Whether every cluster gets all replicas, or they are divided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ReplicaSchedulingType {
    /// Every cluster gets all replicas.
    Duplicated,
    /// The replicas are divided among the clusters.
    #[default]
    Divided,
}

/// How replicas are divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ReplicaDivisionPreference {
    /// Into as few clusters as have room.
    Aggregated,
    /// By weight.
    Weighted,
}

/// The weights of clusters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterPreferences {
    /// Fixed weights; the highest that matches a cluster counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub static_weight_list: Vec<StaticClusterWeight>,
    /// A weight that is computed at scheduling time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dynamic_weight: Option<DynamicWeightFactor>,
}

/// A fixed weight for some clusters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StaticClusterWeight {
    /// The clusters.
    pub target_cluster: ClusterAffinity,
    /// Their weight, at least 1.
    #[schemars(range(min = 1))]
    pub weight: i64,
}

/// What a dynamic weight is computed from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum DynamicWeightFactor {
    /// How many replicas a cluster has room for.
    AvailableReplicas,
}

/// How workloads are placed relative to each other.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkloadAffinity {
    /// Workloads of one group go to the same clusters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub affinity: Option<WorkloadAffinityTerm>,
    /// Workloads of one group go to different clusters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anti_affinity: Option<WorkloadAffinityTerm>,
}

/// How workloads are grouped.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkloadAffinityTerm {
    /// The label of the templates whose values make groups.
    pub group_by_label_key: String,
}
