//! Condition types of the contract, and the reasons each may have.

/// The status of a condition that holds.
pub const TRUE: &str = "True";
/// The status of a condition that does not hold.
pub const FALSE: &str = "False";
/// The status of a condition nobody can tell.
pub const UNKNOWN: &str = "Unknown";

/// On a Cluster: the member is healthy and reachable.
pub const READY: &str = "Ready";
/// Ready: it is.
pub const CLUSTER_READY: &str = "ClusterReady";
/// Not ready: the member itself says so.
pub const CLUSTER_NOT_READY: &str = "ClusterNotReady";
/// Not ready: the member does not answer.
pub const CLUSTER_NOT_REACHABLE: &str = "ClusterNotReachable";
/// Not ready: the member answers, but its status cannot be collected.
pub const STATUS_COLLECTION_FAILED: &str = "StatusCollectionFailed";
/// Unknown: no status was ever reported.
pub const CLUSTER_STATUS_NEVER_UPDATED: &str = "ClusterStatusNeverUpdated";
/// Unknown: the reports stopped.
pub const CLUSTER_STATUS_UNKNOWN: &str = "ClusterStatusUnknown";

/// On a Cluster: the list of kinds it serves is complete.
pub const COMPLETE_API_ENABLEMENTS: &str = "CompleteAPIEnablements";
/// Complete: it is.
pub const API_ENABLEMENTS_COMPLETE: &str = "Complete";
/// Not complete: some groups did not answer.
pub const API_ENABLEMENTS_PARTIAL: &str = "Partial";
/// Not complete: nothing is known.
pub const API_ENABLEMENTS_EMPTY: &str = "Empty";

/// On a Cluster that is being deleted, beyond the contract: something still keeps it.
pub const REMOVAL_BLOCKED: &str = "RemovalBlocked";

/// On a binding: clusters were chosen.
pub const SCHEDULED: &str = "Scheduled";
/// Scheduled: it is.
pub const SUCCESS: &str = "Success";
/// Not scheduled: something went wrong that may go away.
pub const SCHEDULER_ERROR: &str = "SchedulerError";
/// Not scheduled: no cluster fits.
pub const NO_CLUSTER_FIT: &str = "NoClusterFit";
/// Not scheduled: the clusters that fit have no room.
pub const UNSCHEDULABLE: &str = "Unschedulable";
/// Not scheduled: a quota does not allow it.
pub const QUOTA_EXCEEDED: &str = "QuotaExceeded";

/// On a binding: every cluster chosen has its copy.
pub const FULLY_APPLIED: &str = "FullyApplied";
/// Fully applied: it is.
pub const FULLY_APPLIED_SUCCESS: &str = "FullyAppliedSuccess";
/// Not fully applied.
pub const FULLY_APPLIED_FAILED: &str = "FullyAppliedFailed";

/// On a Work: the member has the objects.
pub const APPLIED: &str = "Applied";
/// Applied: it is.
pub const APPLIED_SUCCESSFUL: &str = "AppliedSuccessful";
/// Not applied.
pub const APPLIED_FAILED: &str = "AppliedFailed";

/// On a Work: it is being sent; false while it is suspended.
pub const DISPATCHING: &str = "Dispatching";
/// Not dispatching: it is suspended.
pub const SUSPEND_DISPATCHING: &str = "SuspendDispatching";

/// On a Work, declared by the contract and never set: the objects are being applied.
pub const PROGRESSING: &str = "Progressing";
/// On a Work, declared by the contract and never set: the objects exist.
pub const AVAILABLE: &str = "Available";
/// On a Work, declared by the contract and never set: the objects differ from what is wanted.
pub const DEGRADED: &str = "Degraded";

/// On a Cluster, set by a detector in the member: names of services resolve.
pub const SERVICE_DOMAIN_NAME_RESOLUTION_READY: &str = "ServiceDomainNameResolutionReady";
/// On a multi-cluster service: the service is in the members.
pub const SERVICE_APPLIED: &str = "ServiceApplied";
/// On a multi-cluster service: its endpoint slices are in the members.
pub const ENDPOINT_SLICE_DISPATCHED: &str = "EndpointSliceDispatched";
