//! Taints of the contract, on Cluster objects.

/// The member says it is not ready.
pub const NOT_READY: &str = "cluster.karmada.io/not-ready";
/// The member does not answer.
pub const UNREACHABLE: &str = "cluster.karmada.io/unreachable";
/// A user cordoned the member.
pub const UNSCHEDULABLE: &str = "cluster.karmada.io/unschedulable";

/// Nothing new is placed there.
pub const NO_SCHEDULE: &str = "NoSchedule";
/// Something new is placed there only when nothing else fits.
pub const PREFER_NO_SCHEDULE: &str = "PreferNoSchedule";
/// Nothing new is placed there, and what is there leaves.
pub const NO_EXECUTE: &str = "NoExecute";

/// The producer of eviction tasks that taints cause.
pub const EVICTION_PRODUCER: &str = "TaintManager";
/// The reason of eviction tasks that taints cause.
pub const EVICTION_REASON_TAINT_UNTOLERATED: &str = "TaintUntolerated";
/// The reason of eviction tasks that an unhealthy application causes.
pub const EVICTION_REASON_APPLICATION_FAILURE: &str = "ApplicationFailure";
