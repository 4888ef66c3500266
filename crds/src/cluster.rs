//! `cluster.karmada.io/v1alpha1`: member clusters.

use k8s_openapi::{
    api::core::v1::Taint,
    apimachinery::pkg::{api::resource::Quantity, apis::meta::v1::Condition},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

kind! {
    /// Is a member: a Kubernetes cluster that runs what the control plane propagates.
    Cluster = "cluster.karmada.io" / "v1alpha1", "clusters", short &[], ClusterResourceScope, categorised false,
    spec: ClusterSpec, status: ClusterStatus
}

/// How the member is reached, and where it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterSpec {
    /// What tells this cluster from any other: the uid of its namespace `kube-system`.
    #[serde(
        default,
        deserialize_with = "crate::wire::non_empty",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(length(max = 128_000))]
    pub id: Option<String>,
    /// Whether the control plane pushes to the member, or an agent in the member pulls.
    pub sync_mode: ClusterSyncMode,
    /// The address of the member's API server.
    #[serde(
        default,
        deserialize_with = "crate::wire::non_empty",
        skip_serializing_if = "Option::is_none"
    )]
    pub api_endpoint: Option<String>,
    /// The Secret with the credentials for the member: `token`, and `caBundle` unless the endpoint is not verified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<LocalSecretReference>,
    /// The Secret with the token that may impersonate users in the member.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub impersonator_secret_ref: Option<LocalSecretReference>,
    /// Whether the certificate of the member's API server is not verified.
    #[serde(
        default,
        rename = "insecureSkipTLSVerification",
        skip_serializing_if = "Option::is_none"
    )]
    pub insecure_skip_tls_verification: Option<bool>,
    /// The proxy through which the member is reached: `http`, `https` or `socks5`.
    #[serde(
        default,
        rename = "proxyURL",
        deserialize_with = "crate::wire::non_empty",
        skip_serializing_if = "Option::is_none"
    )]
    pub proxy_url: Option<String>,
    /// Headers sent to the proxy.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub proxy_header: BTreeMap<String, String>,
    /// Who runs the cluster.
    #[serde(
        default,
        deserialize_with = "crate::wire::non_empty",
        skip_serializing_if = "Option::is_none"
    )]
    pub provider: Option<String>,
    /// The region it is in.
    #[serde(
        default,
        deserialize_with = "crate::wire::non_empty",
        skip_serializing_if = "Option::is_none"
    )]
    pub region: Option<String>,
    /// Deprecated: use `zones`.
    #[serde(
        default,
        deserialize_with = "crate::wire::non_empty",
        skip_serializing_if = "Option::is_none"
    )]
    pub zone: Option<String>,
    /// The zones it is in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub zones: Vec<String>,
    /// Taints that keep copies away, or drive them out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub taints: Vec<Taint>,
    /// Grades of nodes by size, to estimate room from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resource_models: Vec<ResourceModel>,
}

impl ClusterSpec {
    /// The zones, whichever of the two fields names them.
    pub fn zones(&self) -> impl Iterator<Item = &str> {
        let deprecated = if self.zones.is_empty() {
            self.zone.as_deref()
        } else {
            None
        };
        self.zones.iter().map(String::as_str).chain(deprecated)
    }
}

/// Who starts the conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ClusterSyncMode {
    /// The control plane calls the member.
    #[default]
    Push,
    /// An agent in the member calls the control plane.
    Pull,
}

impl ClusterSyncMode {
    /// The value on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Push => "Push",
            Self::Pull => "Pull",
        }
    }
}

/// A reference to a Secret.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LocalSecretReference {
    /// The Secret's namespace.
    pub namespace: String,
    /// The Secret's name.
    pub name: String,
}

/// A grade of nodes by size.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResourceModel {
    /// The grade; larger nodes have a higher one.
    pub grade: i32,
    /// The sizes of a node of this grade.
    #[serde(deserialize_with = "crate::wire::list")]
    pub ranges: Vec<ResourceModelRange>,
}

/// The sizes of a node in one resource: from `min`, below `max`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResourceModelRange {
    /// The resource, such as `cpu`.
    pub name: String,
    /// The smallest amount.
    pub min: Quantity,
    /// The amount at which the next grade begins.
    pub max: Quantity,
}

/// What was observed of the member.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterStatus {
    /// The member's Kubernetes version.
    #[serde(
        default,
        deserialize_with = "crate::wire::non_empty",
        skip_serializing_if = "Option::is_none"
    )]
    pub kubernetes_version: Option<String>,
    /// The kinds that the member serves.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub api_enablements: Vec<APIEnablement>,
    /// `Ready`, `CompleteAPIEnablements`, and what other detectors report.
    #[serde(
        default,
        deserialize_with = "crate::wire::conditions",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub conditions: Vec<Condition>,
    /// How many nodes there are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_summary: Option<NodeSummary>,
    /// How much room there is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_summary: Option<ResourceSummary>,
    /// What remedies ask to do about the member, such as `TrafficControl`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remedy_actions: Vec<String>,
}

/// The kinds of one group and version that a member serves.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct APIEnablement {
    /// Group and version, such as `apps/v1`.
    pub group_version: String,
    /// The kinds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<APIResource>,
}

/// A kind that a member serves.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct APIResource {
    /// The resource name in URLs, such as `deployments`.
    pub name: String,
    /// The kind, such as `Deployment`.
    pub kind: String,
}

/// How many nodes a member has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeSummary {
    /// All of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_num: Option<i32>,
    /// Those that are ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready_num: Option<i32>,
}

/// How much room a member has.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResourceSummary {
    /// What all nodes together offer.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub allocatable: BTreeMap<String, Quantity>,
    /// What pods that have no node yet request.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub allocating: BTreeMap<String, Quantity>,
    /// What pods that have a node request.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub allocated: BTreeMap<String, Quantity>,
    /// How many nodes of each grade have room.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allocatable_modelings: Vec<AllocatableModeling>,
}

/// How many nodes of one grade have room.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AllocatableModeling {
    /// The grade.
    pub grade: i32,
    /// The number of nodes.
    pub count: i32,
}
