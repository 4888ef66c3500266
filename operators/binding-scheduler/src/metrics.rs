//! What Prometheus may know of scheduling, by Karmada's names where it has them.

use std::time::Duration;

use engine::placement::binding::Attempt;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

/// How an attempt went; `result` and `schedule_type` are Karmada's, `reason` is the condition's.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct AttemptLabels {
    result: &'static str,
    schedule_type: &'static str,
    reason: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct DurationLabels {
    result: &'static str,
    schedule_type: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct StepLabel {
    schedule_step: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ResultLabel {
    result: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct QueueLabel {
    queue: &'static str,
}

type Histograms<L> = Family<L, Histogram, fn() -> Histogram>;

/// The metrics of this operator.
#[derive(Clone, Debug)]
pub(crate) struct Metrics {
    attempts: Family<AttemptLabels, Counter>,
    whole: Histograms<DurationLabels>,
    algorithm: Histograms<StepLabel>,
    matching: Histogram,
    applied: Family<ResultLabel, Counter>,
    preempted: Family<ResultLabel, Counter>,
    pending: Family<QueueLabel, Gauge>,
}

fn seconds() -> Histogram {
    Histogram::new(exponential_buckets(0.0005, 2.0, 16))
}

fn result(good: bool) -> &'static str {
    if good { "success" } else { "error" }
}

impl Metrics {
    pub(crate) fn new() -> Self {
        Self {
            attempts: Family::default(),
            whole: Family::new_with_constructor(seconds as fn() -> Histogram),
            algorithm: Family::new_with_constructor(seconds as fn() -> Histogram),
            matching: seconds(),
            applied: Family::default(),
            preempted: Family::default(),
            pending: Family::default(),
        }
    }

    pub(crate) fn register(&self, registry: &mut Registry) {
        registry.register(
            "karmada_scheduler_schedule_attempts",
            "Attempts to schedule a binding that came to a new result",
            self.attempts.clone(),
        );
        registry.register(
            "karmada_scheduler_e2e_scheduling_duration_seconds",
            "From taking a template from the queue to its result being written",
            self.whole.clone(),
        );
        registry.register(
            "karmada_scheduler_scheduling_algorithm_duration_seconds",
            "Time spent on deciding",
            self.algorithm.clone(),
        );
        registry.register(
            "resource_match_policy_duration_seconds",
            "Time spent on finding the policy that owns a template",
            self.matching.clone(),
        );
        registry.register(
            "policy_apply_attempts",
            "Attempts to bind a template to its policy",
            self.applied.clone(),
        );
        registry.register(
            "policy_preemption",
            "Templates that a policy took over from another",
            self.preempted.clone(),
        );
        registry.register(
            "scheduler_pending_bindings",
            "Bindings that wait for room or for a cluster",
            self.pending.clone(),
        );
    }

    /// An attempt came to a new result and was written.
    pub(crate) fn attempted(&self, attempt: &Attempt, took: Duration) {
        let good = attempt.outcome == engine::placement::Outcome::Success;
        let result = if good { "scheduled" } else { "error" };
        let schedule_type = if attempt.scale {
            "ScaleSchedule"
        } else {
            "ReconcileSchedule"
        };
        self.attempts
            .get_or_create(&AttemptLabels {
                result,
                schedule_type,
                reason: attempt.outcome.reason(),
            })
            .inc();
        self.whole
            .get_or_create(&DurationLabels {
                result,
                schedule_type,
            })
            .observe(took.as_secs_f64());
    }

    /// The decision took so long.
    pub(crate) fn decided(&self, took: Duration) {
        self.algorithm
            .get_or_create(&StepLabel {
                schedule_step: "Decide",
            })
            .observe(took.as_secs_f64());
    }

    /// Finding the owner took so long.
    pub(crate) fn matched(&self, took: Duration) {
        self.matching.observe(took.as_secs_f64());
    }

    /// A template was bound to its policy, or could not be.
    pub(crate) fn bound(&self, good: bool) {
        let result = result(good);
        self.applied.get_or_create(&ResultLabel { result }).inc();
    }

    /// A policy took a template over, or could not.
    pub(crate) fn preempted(&self, good: bool) {
        let result = result(good);
        self.preempted.get_or_create(&ResultLabel { result }).inc();
    }

    /// So many bindings wait.
    pub(crate) fn waiting(&self, count: usize) {
        self.pending
            .get_or_create(&QueueLabel {
                queue: "unschedulable",
            })
            .set(i64::try_from(count).unwrap_or(i64::MAX));
    }
}
