//! Reasons not to ask for an eviction although it is due. An empty list means go.

use crds::policy::{ClusterAffinity, Placement, ReplicaSchedulingType};
use crds::taints;
use crds::work::{GracefulEvictionTask, ResourceBindingSpec};

use super::clock::tolerates;
use super::{Bound, Situation};
use crate::placement::affinity::check_affinity;
use crate::snapshot::{ClusterView, Fleet, Readiness};
use crate::trace::reason::FailoverReason;

/// How much of the fleet is lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Loss {
    /// How many clusters are not ready.
    pub lost: usize,
    /// How many clusters there are.
    pub total: usize,
}

impl Loss {
    /// Counts; clusters that are being deleted are on their way out anyway and do not count.
    pub fn of(fleet: &Fleet) -> Self {
        let staying = || fleet.values().filter(|cluster| !cluster.deleting);
        Self {
            lost: staying()
                .filter(|cluster| cluster.ready != Readiness::Ready)
                .count(),
            total: staying().count(),
        }
    }

    /// Whether more than half of the fleet, and more than one cluster, is lost.
    ///
    /// Then the fault is more likely on our side – our network, our credentials, our clock – than in each of the
    /// members, and what is left could hardly take all that would move.
    pub fn is_large_scale(self) -> bool {
        self.lost > 1 && self.lost * 2 > self.total
    }
}

pub(super) fn reasons_not_to_leave(
    cluster: &ClusterView,
    bound: &Bound<'_>,
    placement: &Placement,
    tasks: &[GracefulEvictionTask],
    situation: &Situation<'_>,
) -> Vec<FailoverReason> {
    let mut reasons = Vec::new();
    // A cluster that is ready is drained on purpose: no evidence is needed, and nothing is lost.
    let lost = cluster.ready != Readiness::Ready;
    if lost && !is_fresh(situation) {
        reasons.push(FailoverReason::WeakEvidence);
    }
    if lost && situation.loss.is_large_scale() {
        reasons.push(FailoverReason::LargeScaleLoss {
            lost: situation.loss.lost,
            total: situation.loss.total,
        });
    }
    // Where every cluster holds all replicas, a lost copy is made good only by a cluster that has none yet; with
    // divided replicas the others can take over its share.
    let only_new = lost && !is_divided(bound.spec, placement);
    let can_take = |candidate: &ClusterView| {
        candidate.name != cluster.name
            && !(only_new
                && bound
                    .spec
                    .clusters
                    .iter()
                    .any(|t| *t.name == *candidate.name))
            && is_usable(candidate, bound.spec, placement, tasks)
    };
    if !situation
        .fleet
        .values()
        .any(|candidate| can_take(candidate))
    {
        reasons.push(FailoverReason::NowhereToGo);
    }
    reasons
}

fn is_fresh(situation: &Situation<'_>) -> bool {
    situation
        .evidence
        .is_some_and(|seen| situation.now.duration_since(seen) <= situation.limits.evidence_age)
}

fn is_divided(spec: &ResourceBindingSpec, placement: &Placement) -> bool {
    let strategy = placement.replica_scheduling.as_ref();
    spec.replicas.is_some()
        && strategy.is_some_and(|strategy| {
            strategy.replica_scheduling_type == ReplicaSchedulingType::Divided
        })
}

/// Whether a copy could run in the cluster.
fn is_usable(
    candidate: &ClusterView,
    spec: &ResourceBindingSpec,
    placement: &Placement,
    tasks: &[GracefulEvictionTask],
) -> bool {
    let resource = &spec.resource;
    candidate.ready == Readiness::Ready
        && !candidate.deleting
        && !tasks
            .iter()
            .any(|task| *task.from_cluster == *candidate.name)
        && is_selected(candidate, placement)
        && candidate.serves(&resource.api_version, &resource.kind) != Some(false)
        && candidate.effective_taints().all(|taint| {
            taint.effect == taints::PREFER_NO_SCHEDULE
                || placement
                    .cluster_tolerations
                    .iter()
                    .any(|toleration| tolerates(toleration, &taint))
        })
}

/// Whether any of the placement's affinities selects the cluster.
pub(crate) fn is_selected(cluster: &ClusterView, placement: &Placement) -> bool {
    let selects = |affinity: &ClusterAffinity| check_affinity(affinity, cluster).is_ok();
    if placement.cluster_affinities.is_empty() {
        return placement.cluster_affinity.as_ref().is_none_or(selects);
    }
    placement.cluster_affinities.iter().any(|term| {
        selects(&term.affinity)
            || term
                .overflow_affinities
                .iter()
                .any(|overflow| selects(&overflow.affinity))
    })
}
