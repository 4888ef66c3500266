//! `policy.karmada.io/v1alpha1`: what is propagated where, changed how, and limited to what.

mod affinity;
mod overrides;
mod placement;
mod propagation;
mod quota;
mod taint;

pub use affinity::{ClusterAffinity, ClusterAffinityTerm, FieldSelector, OverflowAffinity};
pub use overrides::{
    ClusterOverridePolicy, CommandArgsOperator, CommandArgsOverrider, FieldOverrider, FieldPatch,
    ImageComponent, ImageOverrider, ImagePredicate, LabelAnnotationOverrider, OverridePolicy,
    OverrideRule, OverrideSpec, OverriderOperator, Overriders, PlaintextOverrider,
};
pub use placement::{
    ClusterPreferences, DynamicWeightFactor, Placement, ReplicaDivisionPreference,
    ReplicaSchedulingStrategy, ReplicaSchedulingType, SpreadConstraint, SpreadFieldValue,
    StaticClusterWeight, WorkloadAffinity, WorkloadAffinityTerm,
};
pub use propagation::{
    ActivationPreference, ApplicationFailoverBehavior, ClusterFailoverBehavior,
    ClusterPropagationPolicy, ConflictResolution, DecisionConditions, FailoverBehavior,
    PreemptionBehavior, PriorityClassSource, PropagationPolicy, PropagationSpec, PurgeMode,
    ResourceSelector, SchedulePriority, StatePreservation, StatePreservationRule, SuspendClusters,
    Suspension,
};
pub use quota::{
    ClusterQuotaStatus, FederatedResourceQuota, FederatedResourceQuotaSpec,
    FederatedResourceQuotaStatus, StaticClusterAssignment,
};
pub use taint::{
    ClusterTaintPolicy, ClusterTaintPolicySpec, MatchCondition, MatchConditionOperator, PolicyTaint,
};
