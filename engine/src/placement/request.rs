//! What is to be placed.

use crds::policy::{
    ClusterAffinity, Placement, ReplicaDivisionPreference, ReplicaSchedulingType,
    StaticClusterWeight,
};
use crds::work::{GracefulEvictionTask, TargetCluster, TargetComponent};

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
    /// All components in one cluster, where there is room for all of them.
    Together,
}

impl Mode<'_> {
    /// Whether replicas are divided.
    pub fn divides(self) -> bool {
        self != Self::Duplicated
    }

    /// Whether room in the clusters matters.
    pub fn needs_room(self) -> bool {
        matches!(self, Self::Dynamic | Self::Aggregated | Self::Together)
    }
}

impl<'a> Request<'a> {
    /// A workload of no kind in particular, without replicas, that runs nowhere yet.
    pub fn new(placement: &'a Placement) -> Self {
        Self {
            placement,
            api_version: "",
            kind: "",
            uid: "",
            replicas: None,
            requests: &[],
            components: &[],
            room: RoomHints::default(),
            current: &[],
            evictions: &[],
            observed_affinity: None,
            placement_unchanged: true,
            fresh: false,
            suspended: false,
        }
    }

    /// How replicas are handed out. A kind without replicas is copied; components are not divided, but may be kept together.
    pub fn mode(&self) -> Mode<'a> {
        let counts = self.replicas.is_some() || !self.components.is_empty();
        let strategy = match &self.placement.replica_scheduling {
            Some(strategy) if counts => strategy,
            _ => return Mode::Duplicated,
        };
        let divided = strategy.replica_scheduling_type == ReplicaSchedulingType::Divided;
        if divided && !self.components.is_empty() {
            return Mode::Together;
        }
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

    /// Units in a cluster now, that is replicas or the whole set of components; `None` if it is not a target.
    pub fn current_in(&self, cluster: &str) -> Option<i64> {
        let target = self.target(cluster)?;
        Some(if self.components.is_empty() {
            i64::from(target.replicas.unwrap_or(0))
        } else {
            i64::from(target.components == self.all_components())
        })
    }

    /// The cluster as a target now.
    pub(super) fn target(&self, cluster: &str) -> Option<&'a TargetCluster> {
        self.current.iter().find(|target| target.name == cluster)
    }

    /// All components with their replicas.
    pub(super) fn all_components(&self) -> Vec<TargetComponent> {
        let component = |need: &ComponentNeed| TargetComponent {
            name: need.name.clone(),
            replicas: need.replicas,
        };
        self.components.iter().map(component).collect()
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
