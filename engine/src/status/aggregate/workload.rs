//! Workloads: sums, and a generation that `kubectl rollout` and continuous delivery can trust.

use serde_json::Value;

use super::{Copy, observed_generation, sums};

fn counted(
    template: &Value,
    copies: &[Copy<'_>],
    complete: bool,
    all: &[&str],
    live: &[&str],
) -> Value {
    let mut status = sums(copies, all, live);
    let observed = observed_generation(template, copies, complete);
    status.insert("observedGeneration".to_owned(), observed.into());
    Value::Object(status)
}

pub(super) fn deployment(template: &Value, copies: &[Copy<'_>], complete: bool) -> Value {
    counted(
        template,
        copies,
        complete,
        &["replicas", "updatedReplicas", "unavailableReplicas"],
        &["readyReplicas", "availableReplicas"],
    )
}

pub(super) fn replica_set(template: &Value, copies: &[Copy<'_>], complete: bool) -> Value {
    counted(
        template,
        copies,
        complete,
        &["replicas", "fullyLabeledReplicas"],
        &["readyReplicas", "availableReplicas"],
    )
}

pub(super) fn stateful_set(template: &Value, copies: &[Copy<'_>], complete: bool) -> Value {
    counted(
        template,
        copies,
        complete,
        &["replicas", "currentReplicas", "updatedReplicas"],
        &["readyReplicas", "availableReplicas"],
    )
}

pub(super) fn daemon_set(template: &Value, copies: &[Copy<'_>], complete: bool) -> Value {
    counted(
        template,
        copies,
        complete,
        &[
            "currentNumberScheduled",
            "desiredNumberScheduled",
            "numberMisscheduled",
            "numberUnavailable",
            "updatedNumberScheduled",
        ],
        &["numberAvailable", "numberReady"],
    )
}

pub(super) fn autoscaler(copies: &[Copy<'_>]) -> Value {
    Value::Object(sums(copies, &["currentReplicas", "desiredReplicas"], &[]))
}

pub(super) fn disruption_budget(template: &Value, copies: &[Copy<'_>], complete: bool) -> Value {
    counted(
        template,
        copies,
        complete,
        &["desiredHealthy", "expectedPods"],
        &["currentHealthy", "disruptionsAllowed"],
    )
}
