//! Works: what exactly goes to one member.

use super::ResourceHealth;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

kind! {
    /// Holds manifests for one member cluster; lives in the cluster's execution namespace.
    Work = "work.karmada.io" / "v1alpha1", "works", short &["wk"], NamespaceResourceScope, categorised true,
    spec: WorkSpec, status: WorkStatus
}

/// What goes to the member.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkSpec {
    /// The manifests.
    #[serde(default, skip_serializing_if = "WorkloadTemplate::is_empty")]
    pub workload: WorkloadTemplate,
    /// Whether nothing is sent for now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspend_dispatching: Option<bool>,
    /// Whether the objects stay in the member when the Work is deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preserve_resources_on_deletion: Option<bool>,
}

/// A list of manifests.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkloadTemplate {
    /// Whole objects of any kind.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub manifests: Vec<Value>,
}

impl WorkloadTemplate {
    /// Whether there is no manifest.
    pub fn is_empty(&self) -> bool {
        self.manifests.is_empty()
    }
}

/// How far the member is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkStatus {
    /// `Applied` and `Dispatching`.
    #[serde(
        default,
        deserialize_with = "crate::wire::conditions",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub conditions: Vec<Condition>,
    /// What the member reports, manifest by manifest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub manifest_statuses: Vec<ManifestStatus>,
}

/// What the member reports about one manifest.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ManifestStatus {
    /// Which manifest.
    pub identifier: ResourceIdentifier,
    /// The object's status, as its kind defines it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<Value>,
    /// Whether the object is healthy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health: Option<ResourceHealth>,
}

/// Which manifest of a Work is meant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResourceIdentifier {
    /// Its index.
    pub ordinal: i64,
    /// The object's group.
    #[serde(
        default,
        deserialize_with = "crate::wire::non_empty",
        skip_serializing_if = "Option::is_none"
    )]
    pub group: Option<String>,
    /// The object's version.
    pub version: String,
    /// The object's kind.
    pub kind: String,
    /// Present for compatibility, always empty.
    pub resource: String,
    /// The object's namespace.
    #[serde(
        default,
        deserialize_with = "crate::wire::non_empty",
        skip_serializing_if = "Option::is_none"
    )]
    pub namespace: Option<String>,
    /// The object's name.
    pub name: String,
}
