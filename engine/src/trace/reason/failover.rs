//! Why a copy leaves a cluster, or does not.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::snapshot::Name;

/// Why a copy leaves a cluster, or does not; why an eviction under way goes on, or ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "reason", rename_all_fields = "camelCase")]
pub enum FailoverReason {
    /// The cluster is lost, but the policy does not ask for failover.
    NotOptedIn {
        /// Key of the taint.
        key: String,
    },
    /// A taint is tolerated without a limit.
    ToleratedForever {
        /// Key of the taint.
        key: String,
    },
    /// A taint is tolerated for so long, which is not over yet.
    ToleratedFor {
        /// Key of the taint.
        key: String,
        /// For how many seconds.
        seconds: i64,
    },
    /// A taint is tolerated for a time, but the taint does not say since when it is there.
    TaintWithoutTime {
        /// Key of the taint.
        key: String,
    },
    /// A taint is not tolerated, or not any longer: the copy should leave.
    Untolerated {
        /// Key of the taint.
        key: String,
        /// Effect of the taint.
        effect: String,
        /// For how many seconds it was tolerated.
        seconds: i64,
    },
    /// The copy should leave, but nobody has confirmed lately that the cluster is lost.
    WeakEvidence,
    /// The copy should leave, but too large a part of the fleet is lost at once.
    LargeScaleLoss {
        /// How many clusters are lost.
        lost: usize,
        /// How many there are.
        total: usize,
    },
    /// The copy should leave, but no other cluster could take it.
    NowhereToGo,
    /// The eviction is cancelled: the cluster is healthy again and still chosen.
    Recovered,
    /// The eviction is cancelled: the taint is tolerated now, or the policy no longer asks for failover.
    NoLongerDue,
    /// The eviction is cancelled: the cluster is healthy again, and all that were to replace it are lost.
    NeededAgain,
    /// The eviction is over: every replacement is healthy.
    Replaced,
    /// The eviction is over: the grace period is.
    GraceOver {
        /// Its length.
        seconds: i64,
    },
    /// The eviction is over: the cluster does not exist any more.
    ClusterGone,
    /// The eviction is over: the placement no longer selects the cluster.
    NotSelected,
    /// The eviction is over: a user released the copy.
    Released,
    /// The copy stays until the scheduler has found a replacement.
    AwaitsReplacement,
    /// The copy stays until its replacements are healthy.
    AwaitsHealth {
        /// Those that are not.
        clusters: Vec<Name>,
    },
    /// The copy stays although its time is over: no other copy is left.
    LastCopy,
    /// The copy stays until a user releases it.
    Suppressed,
}

impl FailoverReason {
    /// The CamelCase name.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::NotOptedIn { .. } => "NotOptedIn",
            Self::ToleratedForever { .. } => "ToleratedForever",
            Self::ToleratedFor { .. } => "ToleratedFor",
            Self::TaintWithoutTime { .. } => "TaintWithoutTime",
            Self::Untolerated { .. } => "TaintUntolerated",
            Self::WeakEvidence => "WeakEvidence",
            Self::LargeScaleLoss { .. } => "LargeScaleLoss",
            Self::NowhereToGo => "NowhereToGo",
            Self::Recovered => "Recovered",
            Self::NoLongerDue => "NoLongerDue",
            Self::NeededAgain => "NeededAgain",
            Self::Replaced => "Replaced",
            Self::GraceOver { .. } => "GraceOver",
            Self::ClusterGone => "ClusterGone",
            Self::NotSelected => "NotSelected",
            Self::Released => "Released",
            Self::AwaitsReplacement => "AwaitsReplacement",
            Self::AwaitsHealth { .. } => "AwaitsHealth",
            Self::LastCopy => "LastCopy",
            Self::Suppressed => "Suppressed",
        }
    }
}

impl fmt::Display for FailoverReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotOptedIn { key } => write!(
                f,
                "has taint {key}, but the policy does not set failover.cluster, so the copy stays"
            ),
            Self::ToleratedForever { key } => {
                write!(f, "has taint {key}, which is tolerated without a limit")
            }
            Self::ToleratedFor { key, seconds } => {
                write!(f, "has taint {key}, which is tolerated for {seconds} s")
            }
            Self::TaintWithoutTime { key } => write!(
                f,
                "has taint {key}, which is tolerated for a time but has no timeAdded to count from"
            ),
            Self::Untolerated {
                key,
                effect,
                seconds: 0,
            } => write!(f, "has untolerated taint {key} ({effect})"),
            Self::Untolerated {
                key,
                effect,
                seconds,
            } => write!(
                f,
                "has had taint {key} ({effect}) for longer than the {seconds} s it is tolerated"
            ),
            Self::WeakEvidence => f.write_str(
                "is reported lost, but cluster-health has not confirmed that lately; waiting for it",
            ),
            Self::LargeScaleLoss { lost, total } => write!(
                f,
                "is lost together with most of the fleet ({lost} of {total} clusters); \
                 nothing moves until most are back"
            ),
            Self::NowhereToGo => {
                f.write_str("is lost, but no other cluster can take the copy, so it stays")
            }
            Self::Recovered => f.write_str("is healthy again and keeps its copy"),
            Self::NoLongerDue => f.write_str("keeps its copy: its taints are tolerated now"),
            Self::NeededAgain => f.write_str(
                "is healthy again and may be chosen anew: all clusters that were to replace it are lost",
            ),
            Self::Replaced => f.write_str("is left: every replacement is healthy"),
            Self::GraceOver { seconds } => {
                write!(f, "is left: the grace period of {seconds} s is over")
            }
            Self::ClusterGone => f.write_str("does not exist any more"),
            Self::NotSelected => f.write_str("is no longer selected by the placement"),
            Self::Released => f.write_str("is left: a user released its copy"),
            Self::AwaitsReplacement => {
                f.write_str("keeps its copy until a replacement is scheduled")
            }
            Self::AwaitsHealth { clusters } => {
                let names: Vec<&str> = clusters.iter().map(Name::as_str).collect();
                write!(
                    f,
                    "keeps its copy until the replacements are healthy in {}",
                    names.join(", ")
                )
            }
            Self::LastCopy => {
                f.write_str("keeps its copy after the grace period: no other copy is left")
            }
            Self::Suppressed => f.write_str("keeps its copy until a user releases it"),
        }
    }
}
