//! `config.karmada.io/v1alpha1`: what users teach about their own kinds.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

kind! {
    /// Teaches, by Lua scripts, what a kind means: its replicas, status, health, dependencies.
    ResourceInterpreterCustomization = "config.karmada.io" / "v1alpha1", "resourceinterpretercustomizations", short &["ric"], ClusterResourceScope, categorised true,
    spec: ResourceInterpreterCustomizationSpec
}

/// A kind and the scripts for it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResourceInterpreterCustomizationSpec {
    /// The kind.
    pub target: CustomizationTarget,
    /// The scripts.
    pub customizations: CustomizationRules,
}

/// The kind that scripts are for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CustomizationTarget {
    /// Group and version, such as `apps/v1`.
    pub api_version: String,
    /// The kind.
    pub kind: String,
}

/// Scripts, each for one question about an object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CustomizationRules {
    /// `Retain(desiredObj, observedObj)`: keeps what the member's own controllers wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retention: Option<LuaScript>,
    /// `GetReplicas(obj)`: how many replicas are wanted, and what one needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replica_resource: Option<LuaScript>,
    /// `GetComponents(obj)`: the parts of an object with several pod templates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub component_resource: Option<LuaScript>,
    /// `ReviseReplica(obj, replica)`: sets the replicas of a copy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replica_revision: Option<LuaScript>,
    /// `ReflectStatus(observedObj)`: what of the status is reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status_reflection: Option<LuaScript>,
    /// `AggregateStatus(desiredObj, statusItems)`: one status out of many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status_aggregation: Option<LuaScript>,
    /// `InterpretHealth(observedObj)`: whether a copy is healthy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health_interpretation: Option<LuaScript>,
    /// `GetDependencies(desiredObj)`: what an object refers to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dependency_interpretation: Option<LuaScript>,
}

/// A script in Lua 5.1.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LuaScript {
    /// The script; it defines the function that the field it stands in names.
    pub lua_script: String,
}
