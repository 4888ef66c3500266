//! Which copies leave a cluster that is lost or drained, and when their eviction is over.
//!
//! The decision depends on objects and the time alone, so a restart loses nothing: tolerations count from the taint's
//! `timeAdded`, grace periods from the task's `creationTimestamp`.
//!
//! | cause | who leaves | when |
//! |---|---|---|
//! | taint `not-ready` or `unreachable` on a cluster that is not ready | bindings whose policy sets `failover.cluster` | after the toleration's seconds, 300 without one |
//! | any `NoExecute` taint | all bindings | at once if untolerated, after the smallest `tolerationSeconds` of the tolerations that match |
//!
//! Asking for an eviction deletes nothing: the task tells the scheduler to find a replacement, and the copy is kept
//! until one runs. Still there are [guards](guard) that hold an eviction back: weak evidence, a loss of most of the
//! fleet, nowhere to go. A task ends when its replacements are healthy, when its grace period is over – unless it
//! guards the last copy –, or when the reason for it is gone ([`task`]).

mod budget;
mod clock;
mod guard;
#[cfg(test)]
mod properties;
mod task;
#[cfg(test)]
mod tests;

use crds::policy::PurgeMode;
use crds::work::{GracefulEvictionTask, ResourceBindingSpec, ResourceBindingStatus, TargetCluster};
use crds::{Time, taints};
use jiff::{SignedDuration, Timestamp};

pub use budget::Budget;
pub use guard::Loss;
pub(crate) use guard::is_selected;

use crate::snapshot::{Fleet, Name};
use crate::trace::reason::FailoverReason;
use crate::trace::{Decision, Trace, Verdict};
use clock::Clock;
use task::Judgement;

/// Limits that a user of the operators may set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// For how long the loss of a cluster is tolerated where the placement does not say.
    pub toleration: SignedDuration,
    /// For how long a copy stays when its replacement does not become healthy, where the task does not say.
    pub grace: SignedDuration,
    /// How old the last sign of life of cluster-health may be.
    pub evidence_age: SignedDuration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            toleration: SignedDuration::from_mins(5),
            grace: SignedDuration::from_mins(10),
            evidence_age: SignedDuration::from_mins(1),
        }
    }
}

/// All that is known beside the binding itself.
#[derive(Clone, Copy, Debug)]
pub struct Situation<'a> {
    /// The clusters.
    pub fleet: &'a Fleet,
    /// How much of the fleet is lost: [`Loss::of`] it.
    pub loss: Loss,
    /// When cluster-health last showed that it observes the fleet; `None` if never.
    pub evidence: Option<Timestamp>,
    /// The limits.
    pub limits: &'a Limits,
    /// The time.
    pub now: Timestamp,
}

/// The binding.
#[derive(Clone, Copy, Debug)]
pub struct Bound<'a> {
    /// Generation of the binding.
    pub generation: Option<i64>,
    /// Its spec.
    pub spec: &'a ResourceBindingSpec,
    /// Its status.
    pub status: Option<&'a ResourceBindingStatus>,
}

/// What should become of the binding's eviction tasks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Evictions {
    /// The tasks it should have.
    pub tasks: Vec<GracefulEvictionTask>,
    /// The clusters for which a task is new.
    pub started: Vec<(Name, FailoverReason)>,
    /// The clusters whose task is gone, and why.
    pub ended: Vec<(Name, FailoverReason)>,
    /// The clusters that should be left, and what holds it back.
    pub held: Vec<(Name, FailoverReason)>,
    /// When time alone may change this decision.
    pub wake_at: Option<Timestamp>,
}

/// Decides on the eviction tasks of a binding.
///
/// A task that starts or ends may change what another one waits for; what follows from that is decided here and now,
/// so that deciding again changes nothing.
pub fn decide(bound: &Bound<'_>, situation: &Situation<'_>) -> Decision<Evictions> {
    let mut decision = decide_once(bound, situation);
    if decision.want.tasks == bound.spec.graceful_eviction_tasks {
        return decision;
    }
    let mut spec = bound.spec.clone();
    while decision.want.tasks != spec.graceful_eviction_tasks {
        spec.graceful_eviction_tasks
            .clone_from(&decision.want.tasks);
        let next = decide_once(
            &Bound {
                spec: &spec,
                ..*bound
            },
            situation,
        );
        let Evictions {
            tasks,
            started,
            ended,
            held,
            wake_at,
        } = next.want;
        if !started.is_empty() || !ended.is_empty() {
            decision.trace.append(next.trace);
        }
        decision.want.tasks = tasks;
        decision.want.started.extend(started);
        decision.want.ended.extend(ended);
        decision.want.held = held;
        decision.want.wake_at = wake_at;
    }
    decision
}

fn decide_once(bound: &Bound<'_>, situation: &Situation<'_>) -> Decision<Evictions> {
    let mut want = Evictions::default();
    let mut trace = Trace::new();
    keep_or_end_tasks(bound, situation, &mut want, &mut trace);
    for target in &bound.spec.clusters {
        consider(target, bound, situation, &mut want, &mut trace);
    }
    Decision { want, trace }
}

fn keep_or_end_tasks(
    bound: &Bound<'_>,
    situation: &Situation<'_>,
    want: &mut Evictions,
    trace: &mut Trace,
) {
    for present in &bound.spec.graceful_eviction_tasks {
        let cluster = Name::from(present.from_cluster.as_str());
        if want
            .tasks
            .iter()
            .any(|task| task.from_cluster == present.from_cluster)
        {
            continue;
        }
        match task::judge(present, bound, situation) {
            Judgement::End(reason) => {
                trace.note_cluster(&cluster, reason.clone());
                want.ended.push((cluster, reason));
            }
            Judgement::Keep { reason, until } => {
                let mut kept = present.clone();
                kept.creation_timestamp
                    .get_or_insert(Time(whole_seconds(situation.now)));
                want.tasks.push(kept);
                want.wake_at = earliest(want.wake_at, until);
                trace.note_cluster(&cluster, reason);
            }
        }
    }
}

fn consider(
    target: &TargetCluster,
    bound: &Bound<'_>,
    situation: &Situation<'_>,
    want: &mut Evictions,
    trace: &mut Trace,
) {
    let cluster = Name::from(target.name.as_str());
    let (Some(placement), Some(view)) = (&bound.spec.placement, situation.fleet.get(&cluster))
    else {
        // A dependency follows what depends on it; a cluster that is gone is the scheduler's business.
        return;
    };
    if want
        .tasks
        .iter()
        .any(|task| task.from_cluster == target.name)
    {
        return;
    }
    let opted_in = cluster_failover(bound.spec).is_some();
    match clock::read(view, &placement.cluster_tolerations, opted_in, situation) {
        Clock::Stays(None) => {}
        Clock::Stays(Some(reason)) => trace.note_cluster(&cluster, reason),
        Clock::Runs { until, reason } => {
            trace.note_cluster(&cluster, reason);
            want.wake_at = earliest(want.wake_at, Some(until));
        }
        Clock::Over(reason) => {
            let held = guard::reasons_not_to_leave(view, bound, placement, &want.tasks, situation);
            if let Some(first) = held.first() {
                want.held.push((cluster.clone(), first.clone()));
                for reason in held {
                    trace.note_cluster(&cluster, reason);
                }
                return;
            }
            want.tasks
                .push(new_task(target, bound.spec, &reason, situation.now));
            want.started.push((cluster.clone(), reason.clone()));
            trace.push(
                crate::trace::Subject::Cluster(cluster),
                Verdict::Unfit(reason.into()),
            );
        }
    }
}

fn new_task(
    target: &TargetCluster,
    spec: &ResourceBindingSpec,
    reason: &FailoverReason,
    now: Timestamp,
) -> GracefulEvictionTask {
    let behaviour = cluster_failover(spec);
    GracefulEvictionTask {
        from_cluster: target.name.clone(),
        purge_mode: Some(behaviour.map_or(PurgeMode::Gracefully, |behaviour| behaviour.purge_mode)),
        replicas: target.replicas,
        reason: taints::EVICTION_REASON_TAINT_UNTOLERATED.to_owned(),
        message: Some(format!("cluster {} {reason}", target.name)),
        producer: taints::EVICTION_PRODUCER.to_owned(),
        creation_timestamp: Some(Time(whole_seconds(now))),
        ..GracefulEvictionTask::default()
    }
}

fn cluster_failover(spec: &ResourceBindingSpec) -> Option<&crds::policy::ClusterFailoverBehavior> {
    spec.failover.as_ref()?.cluster.as_ref()
}

fn earliest(a: Option<Timestamp>, b: Option<Timestamp>) -> Option<Timestamp> {
    [a, b].into_iter().flatten().min()
}

/// The API keeps whole seconds; a fraction would come back different from what was written.
fn whole_seconds(time: Timestamp) -> Timestamp {
    Timestamp::from_second(time.as_second()).unwrap_or(time)
}
