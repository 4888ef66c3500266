//! What is wrong with a member cluster, or right.

use std::fmt;

use crds::conditions;
use serde::{Deserialize, Serialize};

/// Why a cluster is ready, or not, or why the list of what it serves is complete, or not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all_fields = "camelCase")]
pub enum HealthReason {
    /// It answers, and says it is ready.
    Ready,
    /// It answers, and says it is not ready.
    NotReady {
        /// What it said.
        answer: String,
    },
    /// It does not answer.
    NotReachable {
        /// What went wrong on the way.
        cause: String,
    },
    /// It cannot be asked, or it refuses to tell.
    StatusCollectionFailed {
        /// What stands in the way.
        cause: String,
    },
    /// Somebody else reported it, with these words.
    Reported {
        /// The reason given.
        reason: String,
        /// The message given.
        message: String,
    },
    /// The list of what it serves is complete.
    ApisComplete,
    /// Some groups of the list are missing or stale.
    ApisPartial {
        /// The groups with their versions.
        groups: Vec<String>,
    },
    /// Nothing is known of what it serves.
    ApisEmpty {
        /// Why not.
        cause: String,
    },
    /// It is being deleted, but bindings still name it.
    BindingsRemain {
        /// The bindings, as `namespace/name`.
        bindings: Vec<String>,
    },
    /// It is being deleted, and its Works are being removed from the member.
    WorksRemain,
    /// It is being deleted, and the member does not answer.
    MemberSilent,
}

/// How many bindings a message names before it only counts them.
const NAMED_BINDINGS: usize = 10;

impl HealthReason {
    /// The CamelCase name, as the wire contract has it.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Ready => conditions::CLUSTER_READY,
            Self::NotReady { .. } => conditions::CLUSTER_NOT_READY,
            Self::NotReachable { .. } => conditions::CLUSTER_NOT_REACHABLE,
            Self::StatusCollectionFailed { .. } => conditions::STATUS_COLLECTION_FAILED,
            Self::Reported { reason, .. } => reason,
            Self::ApisComplete => conditions::API_ENABLEMENTS_COMPLETE,
            Self::ApisPartial { .. } => conditions::API_ENABLEMENTS_PARTIAL,
            Self::ApisEmpty { .. } => conditions::API_ENABLEMENTS_EMPTY,
            Self::BindingsRemain { .. } => "BindingsRemain",
            Self::WorksRemain => "WorksRemain",
            Self::MemberSilent => "MemberSilent",
        }
    }
}

impl fmt::Display for HealthReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ready => f.write_str("the member answers and is ready for workloads"),
            Self::NotReady { answer } => {
                write!(f, "the member answers but is not ready: {answer}")
            }
            Self::NotReachable { cause } => write!(f, "the member does not answer: {cause}"),
            Self::StatusCollectionFailed { cause } => {
                write!(f, "the status of the member cannot be collected: {cause}")
            }
            Self::Reported { message, .. } => f.write_str(message),
            Self::ApisComplete => f.write_str("all APIs that the member serves are listed"),
            Self::ApisPartial { groups } => write!(
                f,
                "the member cannot tell what it serves in {}",
                groups.join(", ")
            ),
            Self::ApisEmpty { cause } => {
                write!(f, "it is not known what the member serves: {cause}")
            }
            Self::BindingsRemain { bindings } => {
                let named = &bindings[..bindings.len().min(NAMED_BINDINGS)];
                write!(
                    f,
                    "{} bindings still place copies in it: {}",
                    bindings.len(),
                    named.join(", ")
                )?;
                match bindings.len() - named.len() {
                    0 => Ok(()),
                    more => write!(f, " and {more} more"),
                }
            }
            Self::WorksRemain => f.write_str("its copies are being removed from the member"),
            Self::MemberSilent => f.write_str(
                "the member does not answer, so its copies cannot be removed; after a while they are left behind",
            ),
        }
    }
}
