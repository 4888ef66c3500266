//! What a placement decision comes to, and how it is told.

use crds::work::TargetCluster;
use crds::{conditions, events};

use super::request::Request;
use crate::trace::reason::PlacementReason;
use crate::trace::{
    ConditionFact, ConditionStatus, Decision, EventFact, MAX_CONDITION_MESSAGE, MAX_EVENT_NOTE,
    Reason, Verdict, bounded,
};

/// Where a workload is to run.
#[derive(Clone, Debug, PartialEq)]
pub struct Placed {
    /// The target clusters with their replicas, by name.
    pub clusters: Vec<TargetCluster>,
    /// Whether the clusters are what the placement wants, or what could be kept.
    pub outcome: Outcome,
    /// The affinity group in use, where the placement has several.
    pub affinity: Option<String>,
    /// How many clusters there are in all.
    pub available: usize,
}

/// What a placement decision comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The clusters are what the placement wants.
    Success,
    /// No cluster is fit; what runs stays.
    NoClusterFit,
    /// Clusters are fit but lack room; what runs stays.
    Unschedulable {
        /// Replicas that would find room.
        available: i64,
        /// Replicas to place.
        wanted: i64,
    },
    /// The placement asks for something that does not exist.
    Unsupported,
    /// Someone has suspended scheduling; nothing was decided.
    Suspended,
}

/// Why one affinity group did not work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    NoCluster,
    TooFewGroups,
    NoRoom { available: i64, wanted: i64 },
    Unsupported,
}

impl From<Failure> for Outcome {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::NoCluster | Failure::TooFewGroups => Self::NoClusterFit,
            Failure::NoRoom { available, wanted } => Self::Unschedulable { available, wanted },
            Failure::Unsupported => Self::Unsupported,
        }
    }
}

impl Outcome {
    /// The reason of the condition; also the label of metrics.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Success => conditions::SUCCESS,
            Self::NoClusterFit => conditions::NO_CLUSTER_FIT,
            Self::Unschedulable { .. } => conditions::UNSCHEDULABLE,
            Self::Unsupported => conditions::SCHEDULER_ERROR,
            Self::Suspended => "Suspended",
        }
    }
}

impl Placed {
    /// The present result, as it is.
    pub(super) fn unchanged(request: &Request<'_>, outcome: Outcome) -> Self {
        let mut clusters = request.current.to_vec();
        clusters.sort_by(|a, b| a.name.cmp(&b.name));
        Self {
            clusters,
            outcome,
            affinity: request.observed_affinity.map(str::to_owned),
            available: 0,
        }
    }
}

impl Decision<Placed> {
    /// The `Scheduled` condition; `None` if scheduling is suspended, because then nothing new is known.
    pub fn condition(&self, generation: Option<i64>) -> Option<ConditionFact> {
        let status = match self.want.outcome {
            Outcome::Suspended => return None,
            Outcome::Success => ConditionStatus::True,
            Outcome::NoClusterFit | Outcome::Unschedulable { .. } | Outcome::Unsupported => {
                ConditionStatus::False
            }
        };
        Some(ConditionFact {
            r#type: conditions::SCHEDULED.to_owned(),
            status,
            reason: self.want.outcome.reason().to_owned(),
            message: bounded(&self.words(), MAX_CONDITION_MESSAGE),
            observed_generation: generation,
        })
    }

    /// The event that is due when this result is new.
    pub fn event(&self) -> Option<EventFact> {
        let (warning, reason) = match self.want.outcome {
            Outcome::Suspended => return None,
            Outcome::Success => (false, events::SCHEDULE_BINDING_SUCCEED),
            Outcome::NoClusterFit | Outcome::Unschedulable { .. } | Outcome::Unsupported => {
                (true, events::SCHEDULE_BINDING_FAILED)
            }
        };
        let mut words = self.words();
        if !warning {
            words.push_str(" Result: ");
            words.push_str(&self.result());
        }
        Some(EventFact {
            warning,
            reason: reason.to_owned(),
            note: bounded(&words, MAX_EVENT_NOTE),
        })
    }

    /// The result in short: `{m1:2, m2:1}`.
    fn result(&self) -> String {
        let clusters: Vec<String> = self
            .want
            .clusters
            .iter()
            .map(|target| match target.replicas {
                Some(replicas) => format!("{}:{replicas}", target.name),
                None => target.name.clone(),
            })
            .collect();
        format!("{{{}}}", clusters.join(", "))
    }

    /// Whether it is a set of components that finds no room.
    fn lacks_room_together(&self) -> bool {
        let mut reasons = self.trace.steps.iter().map(|step| step.verdict.reason());
        reasons.any(|reason| matches!(reason, Reason::Placement(PlacementReason::NoRoomTogether)))
    }

    fn words(&self) -> String {
        let headline = match &self.want.outcome {
            Outcome::Success | Outcome::Suspended => {
                let unknown = self.trace.clusters_where(|verdict| {
                    matches!(
                        verdict.reason(),
                        Reason::Placement(PlacementReason::UnknownCluster)
                    )
                });
                return if unknown.is_empty() {
                    "Binding has been scheduled successfully.".to_owned()
                } else {
                    format!("Binding has been scheduled successfully. Note: {unknown}.")
                };
            }
            Outcome::NoClusterFit => format!("0/{} clusters are available", self.want.available),
            Outcome::Unschedulable { .. } if self.lacks_room_together() => {
                "No cluster has room for all components".to_owned()
            }
            Outcome::Unschedulable { available, wanted } => format!(
                "Clusters available replicas {available} are not enough to schedule {wanted}"
            ),
            Outcome::Unsupported => "The placement cannot be carried out".to_owned(),
        };
        // Why there are too few groups, or what the affinity groups were, concerns the whole.
        let remarks: Vec<String> = self
            .trace
            .steps
            .iter()
            .filter(|step| step.subject == crate::trace::Subject::Whole)
            .filter(|step| step.verdict.is_unfit())
            .map(|step| step.verdict.reason().to_string())
            .collect();
        let clusters = self.trace.clusters_where(|verdict| match verdict {
            Verdict::Unfit(_) => true,
            Verdict::Note(Reason::Placement(reason)) => matches!(
                reason,
                PlacementReason::Room { .. } | PlacementReason::Kept { .. }
            ),
            Verdict::Fit(_) | Verdict::Unknown(_) | Verdict::Note(_) => false,
        });
        let mut parts = remarks;
        if !clusters.is_empty() {
            parts.push(clusters.to_string());
        }
        if parts.is_empty() {
            format!("{headline}.")
        } else {
            format!("{headline}: {}.", parts.join("; "))
        }
    }
}
