//! Propagation policies: which templates go where.

use super::Placement;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

kind! {
    /// Says which templates of its namespace are propagated to which member clusters.
    PropagationPolicy = "policy.karmada.io" / "v1alpha1", "propagationpolicies", short &["pp"], NamespaceResourceScope, categorised true,
    spec: PropagationSpec
}

kind! {
    /// Says which templates, of any namespace or of none, are propagated to which member clusters.
    ClusterPropagationPolicy = "policy.karmada.io" / "v1alpha1", "clusterpropagationpolicies", short &["cpp"], ClusterResourceScope, categorised true,
    spec: PropagationSpec
}

/// What is propagated, where to, and how.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PropagationSpec {
    /// The templates this policy is for; a match by name beats one by label, which beats one of the whole kind.
    #[schemars(length(min = 1))]
    #[serde(deserialize_with = "crate::wire::list")]
    pub resource_selectors: Vec<ResourceSelector>,
    /// Deprecated name of `propagateDeps`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub association: Option<bool>,
    /// Whether what a template refers to (`ConfigMaps`, `Secrets`, …) is propagated with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub propagate_deps: Option<bool>,
    /// The clusters, and how replicas are divided among them.
    #[serde(default, skip_serializing_if = "crate::wire::is_default")]
    pub placement: Placement,
    /// The higher priority wins a template that several policies select.
    #[serde(default)]
    pub priority: i32,
    /// Whether this policy takes templates from policies of lower priority.
    #[serde(default)]
    pub preemption: PreemptionBehavior,
    /// Override policies that must exist before a template is propagated.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dependent_overrides: Vec<String>,
    /// The scheduler in charge; it cannot be changed later.
    #[serde(default = "default_scheduler")]
    pub scheduler_name: String,
    /// What happens when a failure of clusters or applications calls for a move; absent means that nothing moves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failover: Option<FailoverBehavior>,
    /// What happens when the object already exists in a member and was not put there by propagation.
    #[serde(default)]
    pub conflict_resolution: ConflictResolution,
    /// When a change of this policy takes effect; absent means at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub activation_preference: Option<ActivationPreference>,
    /// Pauses propagation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspension: Option<Suspension>,
    /// Whether the copies in members stay when the template is deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preserve_resources_on_deletion: Option<bool>,
    /// The order in which the scheduler takes bindings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule_priority: Option<SchedulePriority>,
}

impl PropagationSpec {
    /// Whether dependencies are propagated, by either of the field's two names.
    pub fn propagates_deps(&self) -> bool {
        self.propagate_deps == Some(true) || self.association == Some(true)
    }
}

impl Default for PropagationSpec {
    fn default() -> Self {
        Self {
            resource_selectors: Vec::new(),
            association: None,
            propagate_deps: None,
            placement: Placement::default(),
            priority: 0,
            preemption: PreemptionBehavior::default(),
            dependent_overrides: Vec::new(),
            scheduler_name: default_scheduler(),
            failover: None,
            conflict_resolution: ConflictResolution::default(),
            activation_preference: None,
            suspension: None,
            preserve_resources_on_deletion: None,
            schedule_priority: None,
        }
    }
}

fn default_scheduler() -> String {
    "default-scheduler".to_owned()
}

/// Selects templates of one kind: one by name, some by label, or all.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResourceSelector {
    /// Group and version, such as `apps/v1`.
    pub api_version: String,
    /// The kind, such as `Deployment`.
    pub kind: String,
    /// The namespace; absent means that of the policy, or any for a cluster-scoped policy.
    #[serde(
        default,
        deserialize_with = "crate::wire::non_empty",
        skip_serializing_if = "Option::is_none"
    )]
    pub namespace: Option<String>,
    /// The name; absent means any.
    #[serde(
        default,
        deserialize_with = "crate::wire::non_empty",
        skip_serializing_if = "Option::is_none"
    )]
    pub name: Option<String>,
    /// The labels, when no name is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label_selector: Option<LabelSelector>,
}

/// Whether a policy takes templates from policies of lower priority.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum PreemptionBehavior {
    /// It takes them.
    Always,
    /// It leaves them.
    #[default]
    Never,
}

/// What happens to an object that already exists in a member.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ConflictResolution {
    /// It is left alone, and the conflict is reported.
    #[default]
    Abort,
    /// It is taken over.
    Overwrite,
}

/// When a changed policy takes effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ActivationPreference {
    /// With the template's own next change.
    Lazy,
}

/// Pauses propagation, everywhere or to some clusters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Suspension {
    /// Whether nothing is sent to any cluster. Not together with `dispatchingOnClusters`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dispatching: Option<bool>,
    /// Clusters to which nothing is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dispatching_on_clusters: Option<SuspendClusters>,
}

/// Clusters to which nothing is sent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SuspendClusters {
    /// Their names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cluster_names: Vec<String>,
}

/// Where the scheduling priority of a binding comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SchedulePriority {
    /// The kind of class.
    pub priority_class_source: PriorityClassSource,
    /// The class's name.
    pub priority_class_name: String,
}

/// The kind of priority class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum PriorityClassSource {
    /// A `PriorityClass` of `scheduling.k8s.io/v1` in the control plane.
    KubePriorityClass,
}

/// What happens when an application or a cluster fails.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FailoverBehavior {
    /// When the application is unhealthy in a cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub application: Option<ApplicationFailoverBehavior>,
    /// When a cluster is not ready or cannot be reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<ClusterFailoverBehavior>,
}

/// What happens when the application is unhealthy in a cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApplicationFailoverBehavior {
    /// When the application counts as failed.
    pub decision_conditions: DecisionConditions,
    /// How the failed copy is removed.
    #[serde(default)]
    pub purge_mode: PurgeMode,
    /// For how long a copy may stay with purge mode `Gracefully` while its replacement is not healthy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grace_period_seconds: Option<i32>,
    /// What of the failed copy's status is handed to its replacement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state_preservation: Option<StatePreservation>,
}

/// When an application counts as failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DecisionConditions {
    /// For how long it must have been unhealthy.
    #[serde(default = "default_toleration")]
    pub toleration_seconds: i32,
}

impl Default for DecisionConditions {
    fn default() -> Self {
        Self {
            toleration_seconds: default_toleration(),
        }
    }
}

fn default_toleration() -> i32 {
    300
}

/// What happens when a cluster fails.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterFailoverBehavior {
    /// How the copy in the failed cluster is removed; `Never` is not for clusters.
    #[serde(default)]
    pub purge_mode: PurgeMode,
    /// What of the failed copy's status is handed to its replacement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state_preservation: Option<StatePreservation>,
}

/// How a copy is removed from a cluster it is moved away from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum PurgeMode {
    /// At once.
    Directly,
    /// When its replacement is healthy, or the grace period is over.
    #[default]
    Gracefully,
    /// Not, until a user says so.
    Never,
}

/// What of a failed copy's status is handed to its replacement.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StatePreservation {
    /// Values to take, each into a label.
    #[serde(deserialize_with = "crate::wire::list")]
    pub rules: Vec<StatePreservationRule>,
}

/// A value of the status that is handed on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StatePreservationRule {
    /// The label of the replacement that gets the value.
    pub alias_label_name: String,
    /// Where the value is, as `JSONPath` into the status.
    pub json_path: String,
}
