//! Observations of a member over time → its conditions and taints.
//!
//! A single failed probe proves nothing: the `Ready` condition changes only when what is seen contradicts it for as
//! long as a threshold says ([`Thresholds`]), and every agreeing observation in between starts the clock anew. What
//! must survive a restart is in the Cluster object itself ([`History::resume`]); an observer that was away flips
//! nothing before it has looked for a whole threshold. When the way to the member changes – another address, another
//! Secret – the past says nothing about it any more: start with [`History::default`], and the first look counts.
//!
//! Nothing here reads a clock or talks to a member: time and observations come in as arguments.

mod refresh;
mod removal;
mod requests;
mod summary;
mod taint_policy;
mod taints;
#[cfg(test)]
mod tests;

use crds::{Condition, conditions};
use jiff::{SignedDuration, Timestamp};

pub use refresh::{Change, Folded, Folding, Refresh, compare, decide_refresh};
pub use removal::{Leftovers, Removal, RemovalStep, decide_removal};
pub use requests::{Amounts, PodParts, pod_requests};
pub use summary::{Room, node_summary, resource_summary};
pub use taint_policy::decide_policy_taints;
pub use taints::{decide_taints, stamp_taints};

use crate::trace::reason::HealthReason;
use crate::trace::{ConditionFact, ConditionStatus, MAX_CONDITION_MESSAGE, bounded};

/// What one look at a member found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Observation {
    /// It answers, and says it is ready.
    Healthy,
    /// It answers, and says it is not; the words say what it answered.
    Unhealthy(String),
    /// No answer; the words say what went wrong on the way.
    Unreachable(String),
    /// It cannot be asked, or refuses: no or bad credentials, a forbidden path, a malformed address.
    Uncollectable(String),
}

impl Observation {
    fn reason(&self) -> HealthReason {
        match self {
            Self::Healthy => HealthReason::Ready,
            Self::Unhealthy(answer) => HealthReason::NotReady {
                answer: answer.clone(),
            },
            Self::Unreachable(cause) => HealthReason::NotReachable {
                cause: cause.clone(),
            },
            Self::Uncollectable(cause) => HealthReason::StatusCollectionFailed {
                cause: cause.clone(),
            },
        }
    }
}

/// For how long an observation must contradict the condition until it is believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thresholds {
    /// From ready to not ready.
    pub failure: SignedDuration,
    /// From not ready to ready.
    pub success: SignedDuration,
}

impl Default for Thresholds {
    /// 30 seconds each, as Karmada has it.
    fn default() -> Self {
        Self {
            failure: SignedDuration::from_secs(30),
            success: SignedDuration::from_secs(30),
        }
    }
}

/// What is believed of a member, and since when observations contradict it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    believed: Option<Belief>,
    contradicted_since: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Belief {
    status: ConditionStatus,
    reason: HealthReason,
}

impl Belief {
    fn is_ready(&self) -> bool {
        self.status == ConditionStatus::True
    }
}

impl History {
    /// Takes up where the conditions of the Cluster object stand.
    pub fn resume(conditions: &[Condition]) -> Self {
        let believed = conditions
            .iter()
            .find(|condition| condition.type_ == conditions::READY)
            .map(|condition| Belief {
                status: match condition.status.as_str() {
                    conditions::TRUE => ConditionStatus::True,
                    conditions::FALSE => ConditionStatus::False,
                    _ => ConditionStatus::Unknown,
                },
                reason: HealthReason::Reported {
                    reason: condition.reason.clone(),
                    message: condition.message.clone(),
                },
            });
        Self {
            believed,
            contradicted_since: None,
        }
    }

    /// Whether the member is believed to be ready.
    pub fn is_ready(&self) -> bool {
        self.believed.as_ref().is_some_and(Belief::is_ready)
    }
}

/// What follows from an observation.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "a decision does nothing until it is applied"]
pub struct Readiness {
    /// What to remember until the next observation.
    pub history: History,
    /// The `Ready` condition.
    pub condition: ConditionFact,
    /// When to look again at the latest, because a contradiction will then have lasted long enough.
    pub wake_at: Option<Timestamp>,
}

/// Takes one observation into account.
pub fn decide_readiness(
    history: &History,
    seen: &Observation,
    thresholds: &Thresholds,
    now: Timestamp,
) -> Readiness {
    let healthy = *seen == Observation::Healthy;
    let as_seen = Belief {
        status: if healthy {
            ConditionStatus::True
        } else {
            ConditionStatus::False
        },
        reason: seen.reason(),
    };
    let (believed, contradicted_since, wake_at) = match &history.believed {
        None => (as_seen, None, None),
        Some(believed) if believed.is_ready() == healthy => (as_seen, None, None),
        Some(believed) => {
            // A clock that was set back must not make the contradiction last longer than the threshold.
            let since = history.contradicted_since.unwrap_or(now).min(now);
            let threshold = if healthy {
                thresholds.success
            } else {
                thresholds.failure
            };
            let due = since.saturating_add(threshold).unwrap_or(Timestamp::MAX);
            if now >= due {
                (as_seen, None, None)
            } else {
                (believed.clone(), Some(since), Some(due))
            }
        }
    };
    Readiness {
        condition: fact(conditions::READY, believed.status, &believed.reason),
        history: History {
            believed: Some(believed),
            contradicted_since,
        },
        wake_at,
    }
}

/// How much of what a member serves is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApiList {
    /// All of it.
    Complete,
    /// All but these groups with their versions.
    Partial(Vec<String>),
    /// Nothing, and why.
    Empty(String),
}

/// The `CompleteAPIEnablements` condition.
pub fn decide_api_condition(list: &ApiList) -> ConditionFact {
    let (status, reason) = match list {
        ApiList::Complete => (ConditionStatus::True, HealthReason::ApisComplete),
        ApiList::Partial(groups) => {
            let mut groups = groups.clone();
            groups.sort();
            groups.dedup();
            (ConditionStatus::False, HealthReason::ApisPartial { groups })
        }
        ApiList::Empty(cause) => (
            ConditionStatus::False,
            HealthReason::ApisEmpty {
                cause: cause.clone(),
            },
        ),
    };
    fact(conditions::COMPLETE_API_ENABLEMENTS, status, &reason)
}

fn fact(kind: &str, status: ConditionStatus, reason: &HealthReason) -> ConditionFact {
    ConditionFact {
        r#type: kind.to_owned(),
        status,
        reason: reason.as_str().to_owned(),
        message: bounded(&reason.to_string(), MAX_CONDITION_MESSAGE),
        observed_generation: None,
    }
}
