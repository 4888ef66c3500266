//! The scheduler's part of a binding's status.

use crds::Condition;
use crds::Time;
use crds::work::{ResourceBindingStatus, TargetCluster};
use jiff::Timestamp;

use crate::placement::{Outcome, Placed};
use crate::snapshot::{BindingView, Scheduled};
use crate::trace::{ConditionFact, Decision};

/// The scheduler's part of a binding's status, complete but for the generation it speaks of.
#[derive(Clone, Debug, PartialEq)]
pub struct StatusWish {
    condition: ConditionFact,
    since: Timestamp,
    success: bool,
    affinity: Option<String>,
    observed_generation: Option<i64>,
    last_scheduled: Option<Timestamp>,
    /// Whether the time of the last success has to move in any case.
    restamp: bool,
    before: Option<Before>,
}

/// What the status says now.
#[derive(Clone, Debug, PartialEq)]
struct Before {
    scheduled: Option<Scheduled>,
    observed_generation: Option<i64>,
    affinity: Option<String>,
}

/// The status that a decision calls for; `None` if it says nothing new about scheduling.
pub(super) fn wish(
    now: Timestamp,
    binding: Option<&BindingView>,
    placed: &Decision<Placed>,
) -> Option<StatusWish> {
    let condition = placed.condition(None)?;
    let success = placed.want.outcome == Outcome::Success;
    let now = whole_seconds(now);
    let asked = binding
        .and_then(|binding| binding.spec.reschedule_triggered_at.as_ref())
        .map(|asked| asked.0);
    let last = binding.and_then(|binding| binding.last_scheduled);
    let restamp = success && asked.is_some_and(|asked| last.is_none_or(|last| asked > last));
    let before = binding.and_then(|binding| binding.scheduled.as_ref());
    let since = before
        .filter(|before| before.status == condition.status.as_str())
        .and_then(|before| before.since)
        .unwrap_or(now);
    Some(StatusWish {
        condition,
        since,
        success,
        affinity: placed.want.affinity.clone(),
        observed_generation: binding.and_then(|binding| binding.observed_generation),
        // A request stamped by a clock ahead of this one must not look unanswered for ever.
        last_scheduled: if success {
            Some(asked.map_or(now, |asked| asked.max(now)))
        } else {
            last
        },
        restamp,
        before: binding.map(|binding| Before {
            scheduled: binding.scheduled.clone(),
            observed_generation: binding.observed_generation,
            affinity: binding.affinity.as_ref().map(String::from),
        }),
    })
}

impl StatusWish {
    /// Whether scheduling turned from one outcome to another.
    pub(super) fn turns(&self, binding: Option<&BindingView>) -> bool {
        binding
            .and_then(|binding| binding.scheduled.as_ref())
            .is_none_or(|before| {
                before.status != self.condition.status.as_str()
                    || before.reason != self.condition.reason
            })
    }

    /// The status for a binding of this generation; `None` if the binding says so already.
    pub fn status(&self, generation: i64) -> Option<ResourceBindingStatus> {
        let observed = if self.success {
            Some(generation)
        } else {
            self.observed_generation
        };
        let same = self.before.as_ref().is_some_and(|before| {
            before.observed_generation == observed
                && before.affinity == self.affinity
                && before.scheduled.as_ref().is_some_and(|scheduled| {
                    scheduled.status == self.condition.status.as_str()
                        && scheduled.reason == self.condition.reason
                        && scheduled.message == self.condition.message
                        && scheduled.observed_generation == Some(generation)
                })
        });
        if same && !self.restamp {
            return None;
        }
        Some(ResourceBindingStatus {
            scheduler_observed_generation: observed,
            scheduler_observing_affinity_name: self.affinity.clone(),
            last_scheduled_time: self.last_scheduled.map(Time),
            conditions: vec![Condition {
                type_: self.condition.r#type.clone(),
                status: self.condition.status.as_str().to_owned(),
                reason: self.condition.reason.clone(),
                message: self.condition.message.clone(),
                observed_generation: Some(generation),
                last_transition_time: Time(self.since),
            }],
            aggregated_status: Vec::new(),
        })
    }
}

/// Whether two results differ, in whatever order they come.
pub(super) fn differ(before: &[TargetCluster], after: &[TargetCluster]) -> bool {
    before.len() != after.len() || before.iter().any(|target| !after.contains(target))
}

/// The API keeps whole seconds; finer times would never compare equal.
fn whole_seconds(time: Timestamp) -> Timestamp {
    Timestamp::from_second(time.as_second()).expect("a whole second of a valid time is valid")
}
