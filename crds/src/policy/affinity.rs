//! Which clusters: by name, label, provider, region and zone.

use k8s_openapi::{
    api::core::v1::NodeSelectorRequirement, apimachinery::pkg::apis::meta::v1::LabelSelector,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Selects clusters; every part that is given must match. An empty affinity matches every cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterAffinity {
    /// Clusters whose labels match.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label_selector: Option<LabelSelector>,
    /// Clusters whose provider, region or zone match.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field_selector: Option<FieldSelector>,
    /// Clusters by name; empty means any name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cluster_names: Vec<String>,
    /// Clusters never selected, whatever else matches.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclude: Vec<String>,
}

/// Selects clusters by their `provider`, `region` and `zone`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FieldSelector {
    /// Requirements on `provider`, `region` or `zone`, with operator `In` or `NotIn`; all must hold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub match_expressions: Vec<NodeSelectorRequirement>,
}

/// One of several affinities that are tried in their order; the first that fits is taken.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterAffinityTerm {
    /// The term's name, unique within the placement.
    #[schemars(length(min = 1, max = 32))]
    pub affinity_name: String,
    /// The clusters of this term.
    #[serde(flatten)]
    pub affinity: ClusterAffinity,
    /// Further clusters, taken in their order when the term's own clusters are full.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub overflow_affinities: Vec<OverflowAffinity>,
}

/// Clusters that take what does not fit into the affinity term they belong to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OverflowAffinity {
    /// The name, unique within the placement.
    #[schemars(length(min = 1, max = 32))]
    pub affinity_name: String,
    /// The clusters.
    #[serde(flatten)]
    pub affinity: ClusterAffinity,
}
