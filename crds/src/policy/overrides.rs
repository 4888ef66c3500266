//! Override policies: what differs from the template in which clusters.

use super::{ClusterAffinity, ResourceSelector};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

kind! {
    /// Says what differs from the templates of its namespace in which member clusters.
    OverridePolicy = "policy.karmada.io" / "v1alpha1", "overridepolicies", short &["op"], NamespaceResourceScope, categorised true,
    spec: OverrideSpec
}

kind! {
    /// Says what differs from templates, of any namespace or of none, in which member clusters.
    ClusterOverridePolicy = "policy.karmada.io" / "v1alpha1", "clusteroverridepolicies", short &["cop"], ClusterResourceScope, categorised true,
    spec: OverrideSpec
}

/// What differs, for which templates, in which clusters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OverrideSpec {
    /// The templates; absent means every template.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resource_selectors: Vec<ResourceSelector>,
    /// The differences, applied in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub override_rules: Vec<OverrideRule>,
    /// Deprecated: the clusters of `overriders`; use `overrideRules`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_cluster: Option<ClusterAffinity>,
    /// Deprecated: the differences in `targetCluster`; use `overrideRules`.
    #[serde(default, skip_serializing_if = "Overriders::is_empty")]
    pub overriders: Overriders,
}

/// Differences in some clusters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OverrideRule {
    /// The clusters; absent means all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_cluster: Option<ClusterAffinity>,
    /// The differences.
    pub overriders: Overriders,
}

/// Differences from a template, applied in this order: image, command, args, labels, annotations, field, plaintext.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Overriders {
    /// Changes at JSON pointers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub plaintext: Vec<PlaintextOverrider>,
    /// Changes of image names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub image_overrider: Vec<ImageOverrider>,
    /// Changes of container commands.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command_overrider: Vec<CommandArgsOverrider>,
    /// Changes of container arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args_overrider: Vec<CommandArgsOverrider>,
    /// Changes of labels.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels_overrider: Vec<LabelAnnotationOverrider>,
    /// Changes of annotations.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub annotations_overrider: Vec<LabelAnnotationOverrider>,
    /// Changes inside a string that holds a JSON or YAML document.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub field_overrider: Vec<FieldOverrider>,
}

impl Overriders {
    /// Whether nothing is changed.
    pub fn is_empty(&self) -> bool {
        let Self {
            plaintext,
            image_overrider,
            command_overrider,
            args_overrider,
            labels_overrider,
            annotations_overrider,
            field_overrider,
        } = self;
        plaintext.is_empty()
            && image_overrider.is_empty()
            && command_overrider.is_empty()
            && args_overrider.is_empty()
            && labels_overrider.is_empty()
            && annotations_overrider.is_empty()
            && field_overrider.is_empty()
    }
}

/// What a change does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum OverriderOperator {
    /// Puts the value there.
    Add,
    /// Takes away what is there.
    Remove,
    /// Puts the value in place of what is there.
    Replace,
}

/// A change at a JSON pointer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlaintextOverrider {
    /// Where, as JSON pointer such as `/spec/replicas`.
    pub path: String,
    /// What to do.
    pub operator: OverriderOperator,
    /// The value, of any JSON type; none for `remove`.
    #[serde(
        default,
        deserialize_with = "crate::wire::present",
        skip_serializing_if = "Option::is_none"
    )]
    pub value: Option<Value>,
}

/// A change of an image name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImageOverrider {
    /// Where the image name is; absent means every container of a workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub predicate: Option<ImagePredicate>,
    /// The part of the name.
    pub component: ImageComponent,
    /// What to do; `add` appends to the part.
    pub operator: OverriderOperator,
    /// The text; none for `remove`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
}

/// Where an image name is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImagePredicate {
    /// A JSON pointer such as `/spec/template/spec/containers/0/image`.
    pub path: String,
}

/// A part of an image name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ImageComponent {
    /// The host, with its port.
    Registry,
    /// The path.
    Repository,
    /// The tag or digest.
    Tag,
}

/// A change of a container's command or arguments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommandArgsOverrider {
    /// The container.
    pub container_name: String,
    /// What to do: `add` appends, `remove` takes equal items away.
    pub operator: CommandArgsOperator,
    /// The items.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub value: Vec<String>,
}

/// What a change of a command or its arguments does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CommandArgsOperator {
    /// Appends the items.
    Add,
    /// Takes equal items away.
    Remove,
}

/// A change of labels or annotations.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LabelAnnotationOverrider {
    /// What to do: `add` sets, `replace` and `remove` touch only existing keys.
    pub operator: OverriderOperator,
    /// Keys and values; for `remove` the values do not matter.
    pub value: BTreeMap<String, String>,
}

/// A change inside a string that holds a JSON or YAML document.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FieldOverrider {
    /// The string, as JSON pointer such as `/data/config.yaml`.
    pub field_path: String,
    /// Changes of a JSON document. Not together with `yaml`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub json: Vec<FieldPatch>,
    /// Changes of a YAML document. Not together with `json`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub yaml: Vec<FieldPatch>,
}

/// A change at a JSON pointer within a document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FieldPatch {
    /// Where in the document, as JSON pointer.
    pub sub_path: String,
    /// What to do.
    pub operator: OverriderOperator,
    /// The value, of any JSON type; none for `remove`.
    #[serde(
        default,
        deserialize_with = "crate::wire::present",
        skip_serializing_if = "Option::is_none"
    )]
    pub value: Option<Value>,
}
