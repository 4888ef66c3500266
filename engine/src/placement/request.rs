//! What is to be placed.

use crds::policy::{
    ClusterAffinity, Placement, ReplicaDivisionPreference, ReplicaSchedulingType,
    StaticClusterWeight,
};
use crds::work::{GracefulEvictionTask, TargetCluster};

use super::room::{ComponentNeed, RoomHints};
use crate::quantity::Quantity;

/// A workload to place, and where it is now.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// What its policy wants.
    pub placement: &'a Placement,
    /// apiVersion of the template.
    pub api_version: &'a str,
    /// Kind of the template.
    pub kind: &'a str,
    /// Uid of the template: decides ties between equal clusters, so that remainders spread over many workloads.
    pub uid: &'a str,
    /// Replicas to run in all; `None` for a kind without replicas.
    pub replicas: Option<i32>,
    /// What one replica requests.
    pub requests: &'a [(String, Quantity)],
    /// The components, where the workload has several that stay together.
    pub components: &'a [ComponentNeed],
    /// What is known about room beside what the clusters say.
    pub room: RoomHints<'a>,
    /// Where it is placed now.
    pub current: &'a [TargetCluster],
    /// Pending evictions.
    pub evictions: &'a [GracefulEvictionTask],
    /// The affinity group in use.
    pub observed_affinity: Option<&'a str>,
    /// Whether the present result was made from this very placement.
    pub placement_unchanged: bool,
    /// Whether someone asked for a fresh result since the last one.
    pub fresh: bool,
    /// Whether scheduling is suspended.
    pub suspended: bool,
}

/// How replicas are handed out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mode<'a> {
    /// Every cluster gets a copy, with all replicas if it has any.
    Duplicated,
    /// Divided by fixed weights; empty means that all weigh the same.
    Static(&'a [StaticClusterWeight]),
    /// Divided by the room that clusters have.
    Dynamic,
    /// Packed into few clusters.
    Aggregated,
}

impl Mode<'_> {
    /// Whether replicas are divided.
    pub fn divides(self) -> bool {
        self != Self::Duplicated
    }

    /// Whether room in the clusters matters.
    pub fn needs_room(self) -> bool {
        matches!(self, Self::Dynamic | Self::Aggregated)
    }
}

impl<'a> Request<'a> {
    /// How replicas are handed out. A kind without replicas is copied.
    pub fn mode(&self) -> Mode<'a> {
        let strategy = match &self.placement.replica_scheduling {
            Some(strategy) if self.replicas.is_some() => strategy,
            _ => return Mode::Duplicated,
        };
        match (
            strategy.replica_scheduling_type,
            strategy.replica_division_preference,
        ) {
            (ReplicaSchedulingType::Duplicated, _) => Mode::Duplicated,
            (ReplicaSchedulingType::Divided, Some(ReplicaDivisionPreference::Aggregated)) => {
                Mode::Aggregated
            }
            (ReplicaSchedulingType::Divided, Some(ReplicaDivisionPreference::Weighted) | None) => {
                match &strategy.weight_preference {
                    Some(preference) if preference.dynamic_weight.is_some() => Mode::Dynamic,
                    Some(preference) => Mode::Static(&preference.static_weight_list),
                    None => Mode::Static(&[]),
                }
            }
        }
    }

    /// Replicas in a cluster now; `None` if it is not a target.
    pub fn current_in(&self, cluster: &str) -> Option<i64> {
        self.current
            .iter()
            .find(|target| target.name == cluster)
            .map(|target| i64::from(target.replicas.unwrap_or(0)))
    }

    /// Replicas in all clusters now.
    pub fn current_sum(&self) -> i64 {
        self.current
            .iter()
            .map(|target| i64::from(target.replicas.unwrap_or(0)))
            .sum()
    }

    /// Whether an eviction from the cluster is pending.
    pub fn evicts(&self, cluster: &str) -> bool {
        self.evictions
            .iter()
            .any(|task| task.from_cluster == cluster)
    }
}

/// The weight of a cluster: the highest of the rules that match it, 0 if none does.
pub(super) fn static_weight(
    rules: &[StaticClusterWeight],
    matches: impl Fn(&ClusterAffinity) -> bool,
) -> i64 {
    rules
        .iter()
        .filter(|rule| matches(&rule.target_cluster))
        .map(|rule| rule.weight)
        .max()
        .unwrap_or(0)
        .max(0)
}
