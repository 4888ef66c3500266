//! Reasons of Events, as users and tools of Karmada know them. Each is emitted once, on a transition.

/// On a template: a policy claimed it.
pub const APPLY_POLICY_SUCCEED: &str = "ApplyPolicySucceed";
/// On a template: no policy could claim it.
pub const APPLY_POLICY_FAILED: &str = "ApplyPolicyFailed";
/// On a template: a policy took it from another one.
pub const PREEMPT_POLICY_SUCCEED: &str = "PreemptPolicySucceed";
/// On a template: a policy could not take it from another one.
pub const PREEMPT_POLICY_FAILED: &str = "PreemptPolicyFailed";
/// On a template: its replicas were read.
pub const GET_REPLICAS_SUCCEED: &str = "GetReplicasSucceed";
/// On a template: its replicas could not be read.
pub const GET_REPLICAS_FAILED: &str = "GetReplicasFailed";
/// On a template: its components were read.
pub const GET_COMPONENTS_SUCCEED: &str = "GetComponentsSucceed";
/// On a template: its components could not be read.
pub const GET_COMPONENTS_FAILED: &str = "GetComponentsFailed";
/// On a template: its dependencies were read.
pub const GET_DEPENDENCIES_SUCCEED: &str = "GetDependenciesSucceed";
/// On a template: its dependencies could not be read.
pub const GET_DEPENDENCIES_FAILED: &str = "GetDependenciesFailed";
/// On a template and its binding: clusters were chosen.
pub const SCHEDULE_BINDING_SUCCEED: &str = "ScheduleBindingSucceed";
/// On a template and its binding: no clusters could be chosen.
pub const SCHEDULE_BINDING_FAILED: &str = "ScheduleBindingFailed";
/// On a template and its binding: replicas that could not run were withdrawn.
pub const DESCHEDULE_BINDING_SUCCEED: &str = "DescheduleBindingSucceed";
/// On a template and its binding: replicas that cannot run could not be withdrawn.
pub const DESCHEDULE_BINDING_FAILED: &str = "DescheduleBindingFailed";
/// On a template: its overrides were applied.
pub const APPLY_OVERRIDE_POLICY_SUCCEED: &str = "ApplyOverridePolicySucceed";
/// On a template: an override could not be applied.
pub const APPLY_OVERRIDE_POLICY_FAILED: &str = "ApplyOverridePolicyFailed";
/// On a template and its binding: its copies are in the members.
pub const SYNC_WORK_SUCCEED: &str = "SyncWorkSucceed";
/// On a template and its binding: its copies could not be brought to the members.
pub const SYNC_WORK_FAILED: &str = "SyncWorkFailed";
/// On a template and its binding, or a quota: the members' statuses were put together.
pub const AGGREGATE_STATUS_SUCCEED: &str = "AggregateStatusSucceed";
/// On a template and its binding, or a quota: the members' statuses could not be put together.
pub const AGGREGATE_STATUS_FAILED: &str = "AggregateStatusFailed";
/// On a template and its binding: a copy leaves a cluster.
pub const EVICT_WORKLOAD_FROM_CLUSTER_SUCCEED: &str = "EvictWorkloadFromClusterSucceed";
/// On a template and its binding: a copy could not be made to leave a cluster.
pub const EVICT_WORKLOAD_FROM_CLUSTER_FAILED: &str = "EvictWorkloadFromClusterFailed";
/// On a template and its binding: the dependencies follow it.
pub const SYNC_SCHEDULE_RESULT_TO_DEPENDENCIES_SUCCEED: &str =
    "SyncScheduleResultToDependenciesSucceed";
/// On a template and its binding: the dependencies could not follow it.
pub const SYNC_SCHEDULE_RESULT_TO_DEPENDENCIES_FAILED: &str =
    "SyncScheduleResultToDependenciesFailed";
/// On a Work: its objects are in the member.
pub const SYNC_WORKLOAD_SUCCEED: &str = "SyncSucceed";
/// On a Work: its objects could not be brought to the member.
pub const SYNC_WORKLOAD_FAILED: &str = "SyncFailed";
/// On a Work: the status of its objects was read.
pub const REFLECT_STATUS_SUCCEED: &str = "ReflectStatusSucceed";
/// On a Work: the status of its objects could not be read.
pub const REFLECT_STATUS_FAILED: &str = "ReflectStatusFailed";
/// On a Work: the health of its objects was judged.
pub const INTERPRET_HEALTH_SUCCEED: &str = "InterpretHealthSucceed";
/// On a Work: the health of its objects could not be judged.
pub const INTERPRET_HEALTH_FAILED: &str = "InterpretHealthFailed";
/// On a customization: a script of it cannot be read or is not used. Karmada has no event for that.
pub const INVALID_CUSTOMIZATION: &str = "InvalidCustomization";
/// On a Cluster: its taints were changed.
pub const TAINT_CLUSTER_SUCCEED: &str = "TaintClusterSucceed";
/// On a Cluster: its taints could not be changed.
pub const TAINT_CLUSTER_FAILED: &str = "TaintClusterFailed";
/// On a Cluster: its execution namespace was made.
pub const CREATE_EXECUTION_SPACE_SUCCEED: &str = "CreateExecutionSpaceSucceed";
/// On a Cluster: its execution namespace could not be made.
pub const CREATE_EXECUTION_SPACE_FAILED: &str = "CreateExecutionSpaceFailed";
/// On a Cluster: its execution namespace was removed.
pub const REMOVE_EXECUTION_SPACE_SUCCEED: &str = "RemoveExecutionSpaceSucceed";
/// On a Cluster: its execution namespace could not be removed.
pub const REMOVE_EXECUTION_SPACE_FAILED: &str = "RemoveExecutionSpaceFailed";
/// On a Cluster: who may impersonate whom there was brought to it.
pub const SYNC_IMPERSONATION_CONFIG_SUCCEED: &str = "SyncImpersonationConfigSucceed";
/// On a Cluster: who may impersonate whom there could not be brought to it.
pub const SYNC_IMPERSONATION_CONFIG_FAILED: &str = "SyncImpersonationConfigFailed";
/// On a quota: what is used was counted.
pub const COLLECT_OVERALL_STATUS_SUCCEED: &str = "CollectOverallStatusSucceed";
/// On a quota: what is used could not be counted.
pub const COLLECT_OVERALL_STATUS_FAILED: &str = "CollectOverallStatusFailed";
/// On a multi-cluster service: it is in the members.
pub const SYNC_SERVICE_SUCCEED: &str = "SyncServiceSucceed";
/// On a multi-cluster service: it could not be brought to the members.
pub const SYNC_SERVICE_FAILED: &str = "SyncServiceFailed";
/// On a service import: its service was made.
pub const SYNC_DERIVED_SERVICE_SUCCEED: &str = "SyncDerivedServiceSucceed";
/// On a service import: its service could not be made.
pub const SYNC_DERIVED_SERVICE_FAILED: &str = "SyncDerivedServiceFailed";
/// On a multi-cluster service: its endpoint slices were handed out.
pub const DISPATCH_ENDPOINT_SLICE_SUCCEED: &str = "DispatchEndpointSliceSucceed";
/// On a multi-cluster service: its endpoint slices could not be handed out.
pub const DISPATCH_ENDPOINT_SLICE_FAILED: &str = "DispatchEndpointSliceFailed";
/// On a template: copies that are no longer wanted could not be removed.
pub const CLEANUP_WORK_FAILED: &str = "CleanupWorkFailed";
/// On a template: a member does not serve its kind.
pub const API_INCOMPATIBLE: &str = "APIIncompatible";
/// On an attached binding: the bindings that depend on it want different things.
pub const DEPENDENCY_POLICY_CONFLICT: &str = "DependencyPolicyConflict";
/// On a Work: sending was suspended or resumed.
pub const WORK_DISPATCHING: &str = "WorkDispatching";
/// On a multi-cluster service: a cluster it names does not exist.
pub const CLUSTER_NOT_FOUND: &str = "ClusterNotFound";
