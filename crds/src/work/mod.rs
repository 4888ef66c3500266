//! `work.karmada.io`: who should run what ([`ResourceBinding`]), and what exactly goes to one member ([`Work`]).

mod binding;
mod eviction;
mod manifest;
mod requirements;

pub use binding::{
    AggregatedStatusItem, BindingSnapshot, BindingSuspension, ClusterResourceBinding,
    ObjectReference, ResourceBinding, ResourceBindingSpec, ResourceBindingStatus, ResourceHealth,
    SchedulePriority, TargetCluster, WorkloadAffinityGroups,
};
pub use eviction::GracefulEvictionTask;
pub use manifest::{
    ManifestStatus, ResourceIdentifier, Work, WorkSpec, WorkStatus, WorkloadTemplate,
};
pub use requirements::{
    Component, ComponentReplicaRequirements, NodeClaim, ReplicaRequirements, TargetComponent,
};
