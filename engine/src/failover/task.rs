//! When an eviction is over, cancelled, or goes on.

use crds::policy::PurgeMode;
use crds::taints;
use crds::work::{AggregatedStatusItem, GracefulEvictionTask, ResourceHealth, TargetCluster};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::clock::{self, Clock};
use super::guard::is_selected;
use super::{Bound, Situation, cluster_failover};
use crate::snapshot::{Name, Readiness};
use crate::trace::reason::FailoverReason;

/// What becomes of a task.
pub(super) enum Judgement {
    /// It goes on; time alone may change that at `until`.
    Keep {
        reason: FailoverReason,
        until: Option<Timestamp>,
    },
    /// It is over or cancelled.
    End(FailoverReason),
}

use Judgement::End;

fn keep(reason: FailoverReason) -> Judgement {
    Judgement::Keep {
        reason,
        until: None,
    }
}

pub(super) fn judge(
    task: &GracefulEvictionTask,
    bound: &Bound<'_>,
    situation: &Situation<'_>,
) -> Judgement {
    match (task.suppress_deletion, task.purge_mode) {
        (Some(false), _) => return End(FailoverReason::Released),
        (Some(true), _) | (None, Some(PurgeMode::Never)) => {
            return keep(FailoverReason::Suppressed);
        }
        (None, Some(PurgeMode::Gracefully | PurgeMode::Directly) | None) => {}
    }
    let Some(source) = situation.fleet.get(task.from_cluster.as_str()) else {
        return End(FailoverReason::ClusterGone);
    };
    let placement = bound.spec.placement.as_ref();
    if placement.is_some_and(|placement| !is_selected(source, placement)) {
        return End(FailoverReason::NotSelected);
    }
    let placed = bound
        .spec
        .clusters
        .iter()
        .any(|target| target.name == task.from_cluster);
    // Only the taint's own tasks end with the taint; an unhealthy application stays unhealthy in a healthy cluster.
    let due = if task.producer == taints::EVICTION_PRODUCER {
        let tolerations = placement.map_or(&[][..], |placement| &placement.cluster_tolerations);
        let opted_in = cluster_failover(bound.spec).is_some();
        matches!(
            clock::read(source, tolerations, opted_in, situation),
            Clock::Over(_)
        )
    } else {
        true
    };
    let healthy = source.ready == Readiness::Ready;
    let usable = usable_targets(bound, situation);
    if placed {
        return match (due, healthy) {
            (true, _) => keep(FailoverReason::AwaitsReplacement),
            (false, true) => End(FailoverReason::Recovered),
            (false, false) => End(FailoverReason::NoLongerDue),
        };
    }
    if !due && healthy && usable.is_empty() {
        return End(FailoverReason::NeededAgain);
    }
    replaced(task, bound, situation, usable.is_empty())
}

/// The source is no longer chosen: its copy stays until those that are chosen are healthy, or its time is over.
fn replaced(
    task: &GracefulEvictionTask,
    bound: &Bound<'_>,
    situation: &Situation<'_>,
    last_copy: bool,
) -> Judgement {
    let unhealthy = unhealthy_targets(bound);
    if unhealthy.is_empty() && !bound.spec.clusters.is_empty() && is_observed(bound) {
        return End(FailoverReason::Replaced);
    }
    let grace = task
        .grace_period_seconds
        .map_or(situation.limits.grace, |seconds| {
            SignedDuration::from_secs(i64::from(seconds))
        });
    let until = grace_starts(task, bound, situation)
        .saturating_add(grace)
        .unwrap_or(Timestamp::MAX);
    if situation.now < until {
        return Judgement::Keep {
            reason: FailoverReason::AwaitsHealth {
                clusters: unhealthy,
            },
            until: Some(until),
        };
    }
    // With `Directly` the copy is already gone; nothing is left to be kept.
    if last_copy && task.purge_mode != Some(PurgeMode::Directly) {
        return keep(FailoverReason::LastCopy);
    }
    End(FailoverReason::GraceOver {
        seconds: grace.as_secs(),
    })
}

/// The grace period is for the replacement to come up, so it starts when the replacement was scheduled, if that is
/// later than the task.
fn grace_starts(
    task: &GracefulEvictionTask,
    bound: &Bound<'_>,
    situation: &Situation<'_>,
) -> Timestamp {
    let created = task
        .creation_timestamp
        .as_ref()
        .map_or(situation.now, |time| time.0);
    let scheduled = bound
        .status
        .and_then(|status| status.last_scheduled_time.as_ref())
        .map(|time| time.0);
    scheduled.map_or(created, |scheduled| scheduled.max(created))
}

/// Whether the scheduler has seen the binding as it is.
fn is_observed(bound: &Bound<'_>) -> bool {
    let observed = bound
        .status
        .and_then(|status| status.scheduler_observed_generation);
    observed.is_some() && observed == bound.generation
}

/// The clusters chosen that could serve now: ready, and not being left themselves.
fn usable_targets(bound: &Bound<'_>, situation: &Situation<'_>) -> Vec<Name> {
    let tasks = &bound.spec.graceful_eviction_tasks;
    bound
        .spec
        .clusters
        .iter()
        .filter(|target| tasks.iter().all(|task| task.from_cluster != target.name))
        .filter_map(|target| situation.fleet.get(target.name.as_str()))
        .filter(|cluster| cluster.ready == Readiness::Ready)
        .map(|cluster| cluster.name.clone())
        .collect()
}

fn unhealthy_targets(bound: &Bound<'_>) -> Vec<Name> {
    let reported = |target: &TargetCluster| {
        let items = bound
            .status
            .map(|status| status.aggregated_status.as_slice());
        items
            .unwrap_or_default()
            .iter()
            .find(|item| item.cluster_name == target.name)
    };
    let counts_replicas = bound.spec.resource.api_version.starts_with("apps/");
    bound
        .spec
        .clusters
        .iter()
        .filter(|target| {
            !reported(target).is_some_and(|item| is_healthy(item, target, counts_replicas))
        })
        .map(|target| Name::from(target.name.as_str()))
        .collect()
}

/// Healthy may still speak of fewer replicas than the cluster has got by now, so built-in workloads are counted.
fn is_healthy(item: &AggregatedStatusItem, target: &TargetCluster, counts_replicas: bool) -> bool {
    let enough = || {
        let ready = item
            .status
            .as_ref()
            .and_then(|status| status.get("readyReplicas"))
            .and_then(Value::as_i64)
            .unwrap_or(0);
        ready >= i64::from(target.replicas.unwrap_or(0))
    };
    item.health == Some(ResourceHealth::Healthy)
        && item.applied != Some(false)
        && (!counts_replicas || enough())
}
