//! What holds of every placement, whatever the fleet and the wish.

use std::sync::Arc;

use crds::policy::{
    ClusterPreferences, DynamicWeightFactor, Placement, ReplicaDivisionPreference,
    ReplicaSchedulingStrategy, ReplicaSchedulingType, SpreadConstraint, SpreadFieldValue,
};
use crds::work::GracefulEvictionTask;
use crds::{Taint, taints};
use proptest::prelude::*;

use super::*;
use crate::quantity::Quantity;
use crate::snapshot::{ClusterView, Readiness, Room};

#[derive(Clone, Debug)]
struct World {
    fleet: Vec<ClusterView>,
    placement: Placement,
    uid: String,
    replicas: Option<i32>,
    current: Vec<TargetCluster>,
    evictions: Vec<GracefulEvictionTask>,
    fresh: bool,
    placement_unchanged: bool,
}

impl World {
    fn decide(&self) -> Decision<Placed> {
        let fleet: Fleet = self
            .fleet
            .iter()
            .map(|view| (view.name.clone(), Arc::new(view.clone())))
            .collect();
        decide(
            &Request {
                placement: &self.placement,
                api_version: "apps/v1",
                kind: "Deployment",
                uid: &self.uid,
                replicas: self.replicas,
                requests: &[("cpu".to_owned(), Quantity::from_units(1))],
                components: &[],
                room: RoomHints::default(),
                current: &self.current,
                evictions: &self.evictions,
                observed_affinity: None,
                placement_unchanged: self.placement_unchanged,
                fresh: self.fresh,
                suspended: false,
            },
            &fleet,
        )
    }

    fn apply(&self, decision: &Decision<Placed>) -> Self {
        let success = decision.want.outcome == Outcome::Success;
        Self {
            current: decision.want.clusters.clone(),
            fresh: self.fresh && !success,
            placement_unchanged: self.placement_unchanged || success,
            ..self.clone()
        }
    }

    fn mode(&self) -> ReplicaSchedulingType {
        match (&self.placement.replica_scheduling, self.replicas) {
            (Some(strategy), Some(_)) => strategy.replica_scheduling_type,
            _ => ReplicaSchedulingType::Duplicated,
        }
    }

    fn by_room(&self) -> bool {
        self.mode() == ReplicaSchedulingType::Divided
            && self
                .placement
                .replica_scheduling
                .as_ref()
                .is_some_and(|strategy| {
                    strategy.replica_division_preference
                        == Some(ReplicaDivisionPreference::Aggregated)
                        || strategy
                            .weight_preference
                            .as_ref()
                            .is_some_and(|weights| weights.dynamic_weight.is_some())
                })
    }
}

fn view() -> impl Strategy<Value = ClusterView> {
    (
        0_usize..8,
        prop::option::of(0_i64..12),
        0_usize..3,
        prop::bool::weighted(0.15),
        prop::bool::weighted(0.1),
        prop::bool::weighted(0.1),
    )
        .prop_map(
            |(n, room, region, tainted, deleting, unreachable)| ClusterView {
                name: format!("m{n}").into(),
                region: ["eu", "us", "ap"][region].into(),
                taints: if tainted {
                    vec![Taint {
                        key: "k".into(),
                        effect: taints::NO_SCHEDULE.into(),
                        ..Taint::default()
                    }]
                } else {
                    Vec::new()
                },
                ready: if unreachable {
                    Readiness::Unreachable
                } else {
                    Readiness::Ready
                },
                deleting,
                kinds: [("apps/v1".to_owned(), ["Deployment".to_owned()].into())].into(),
                kinds_complete: true,
                room: room.map(|n| Room::new([("cpu".to_owned(), Quantity::from_units(n))])),
                ..ClusterView::default()
            },
        )
}

fn strategy() -> impl Strategy<Value = Option<ReplicaSchedulingStrategy>> {
    let divided = |preference, weights| ReplicaSchedulingStrategy {
        replica_scheduling_type: ReplicaSchedulingType::Divided,
        replica_division_preference: Some(preference),
        weight_preference: weights,
    };
    prop_oneof![
        Just(None),
        Just(Some(divided(ReplicaDivisionPreference::Aggregated, None))),
        Just(Some(divided(ReplicaDivisionPreference::Weighted, None))),
        Just(Some(divided(
            ReplicaDivisionPreference::Weighted,
            Some(ClusterPreferences {
                static_weight_list: Vec::new(),
                dynamic_weight: Some(DynamicWeightFactor::AvailableReplicas),
            })
        ))),
    ]
}

fn spread() -> impl Strategy<Value = Vec<SpreadConstraint>> {
    let bounds = |field, min: i64, more: i64| SpreadConstraint {
        spread_by_field: Some(field),
        spread_by_label: None,
        min_groups: Some(min),
        max_groups: Some(min + more),
    };
    prop_oneof![
        Just(Vec::new()),
        (1_i64..4, 0_i64..3).prop_map(move |(min, more)| vec![bounds(
            SpreadFieldValue::Cluster,
            min,
            more
        )]),
        (1_i64..3, 0_i64..2, 1_i64..4, 0_i64..3).prop_map(move |(r, rm, c, cm)| vec![
            bounds(SpreadFieldValue::Region, r, rm),
            bounds(SpreadFieldValue::Cluster, c, cm),
        ]),
    ]
}

fn world() -> impl Strategy<Value = World> {
    (
        prop::collection::vec(view(), 0..7),
        prop::collection::vec(0_usize..8, 0..4),
        strategy(),
        spread(),
        prop::option::weighted(0.9, 0_i32..30),
        prop::collection::vec((0_usize..9, 0_i32..8), 0..4),
        prop::collection::vec(0_usize..8, 0..2),
        any::<(bool, bool, u16)>(),
    )
        .prop_map(
            |(mut fleet, names, strategy, spread, replicas, current, evicting, flags)| {
                fleet.sort_by(|a, b| a.name.cmp(&b.name));
                fleet.dedup_by(|a, b| a.name == b.name);
                let mut current: Vec<TargetCluster> = current
                    .into_iter()
                    .map(|(n, count)| TargetCluster {
                        name: format!("m{n}"),
                        replicas: replicas.map(|_| count),
                        components: Vec::new(),
                    })
                    .collect();
                current.sort_by(|a, b| a.name.cmp(&b.name));
                current.dedup_by(|a, b| a.name == b.name);
                World {
                    fleet,
                    placement: Placement {
                        cluster_affinity: Some(ClusterAffinity {
                            cluster_names: names.into_iter().map(|n| format!("m{n}")).collect(),
                            ..ClusterAffinity::default()
                        }),
                        replica_scheduling: strategy,
                        spread_constraints: spread,
                        ..Placement::default()
                    },
                    uid: format!("uid-{}", flags.2),
                    replicas,
                    current,
                    evictions: evicting
                        .into_iter()
                        .map(|n| GracefulEvictionTask {
                            from_cluster: format!("m{n}"),
                            ..GracefulEvictionTask::default()
                        })
                        .collect(),
                    fresh: flags.0,
                    placement_unchanged: flags.1,
                }
            },
        )
}

fn sum(clusters: &[TargetCluster]) -> i64 {
    clusters
        .iter()
        .map(|target| i64::from(target.replicas.unwrap_or(0)))
        .sum()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn deciding_on_ones_own_result_changes_nothing(world in world()) {
        let first = world.decide();
        let second = world.apply(&first).decide();
        prop_assert_eq!(&second.want.clusters, &first.want.clusters, "{}", first.trace.text());
        prop_assert_eq!(second.condition(None), first.condition(None), "{}", first.trace.text());
    }

    #[test]
    fn the_order_of_what_runs_does_not_matter(world in world()) {
        let mut turned = world.clone();
        turned.current.reverse();
        turned.evictions.reverse();
        prop_assert_eq!(world.decide().want, turned.decide().want);
    }

    #[test]
    fn a_division_adds_up(world in world()) {
        let decision = world.decide();
        if decision.want.outcome == Outcome::Success && world.mode() == ReplicaSchedulingType::Divided {
            let total = i64::from(world.replicas.unwrap_or(0));
            prop_assert_eq!(sum(&decision.want.clusters), total, "{}", decision.trace.text());
        }
    }

    #[test]
    fn no_replica_goes_where_it_may_not(world in world()) {
        let decision = world.decide();
        if decision.want.outcome != Outcome::Success {
            return Ok(());
        }
        let names = &world.placement.cluster_affinity.as_ref().unwrap().cluster_names;
        for target in &decision.want.clusters {
            let view = world.fleet.iter().find(|view| view.name == target.name.as_str());
            let view = view.expect("a target that does not exist");
            prop_assert!(names.is_empty() || names.contains(&target.name));
            prop_assert!(!view.deleting);
            prop_assert!(world.evictions.iter().all(|task| task.from_cluster != target.name));
            let before = world.current.iter().find(|t| t.name == target.name);
            let tainted = !view.taints.is_empty() || view.ready != Readiness::Ready;
            prop_assert!(!tainted || before.is_some(), "new in a tainted cluster");
            if let (true, Some(room)) = (world.by_room(), &view.room) {
                let room = room.free["cpu"].value();
                let before = before.and_then(|t| t.replicas).unwrap_or(0);
                prop_assert!(
                    i64::from(target.replicas.unwrap_or(0)) <= i64::from(before) + room,
                    "more than fits\n{}", decision.trace.text()
                );
            }
        }
    }

    #[test]
    fn bounds_on_clusters_hold(world in world()) {
        let decision = world.decide();
        let settled = decision.trace.text().contains("still holds");
        let weighted = world.mode() == ReplicaSchedulingType::Divided && !world.by_room();
        if decision.want.outcome != Outcome::Success || settled || weighted {
            return Ok(());
        }
        for constraint in &world.placement.spread_constraints {
            let groups: std::collections::BTreeSet<String> = decision.want.clusters.iter().map(|target| {
                match constraint.spread_by_field {
                    Some(SpreadFieldValue::Region) => {
                        world.fleet.iter().find(|v| v.name == target.name.as_str()).unwrap().region.clone()
                    }
                    _ => target.name.clone(),
                }
            }).collect();
            prop_assert!(i64::try_from(groups.len()).unwrap() <= constraint.max_groups.unwrap(), "too many\n{}", decision.trace.text());
            let total = world.replicas.map_or(i64::MAX, i64::from);
            let divided = world.mode() == ReplicaSchedulingType::Divided;
            let reachable = if divided { constraint.min_groups.unwrap().min(total) } else { constraint.min_groups.unwrap() };
            if !divided || total > 0 {
                prop_assert!(i64::try_from(groups.len()).unwrap() >= reachable, "too few\n{}", decision.trace.text());
            }
        }
    }

    #[test]
    fn what_the_affinity_wants_is_never_lost_by_a_failure(world in world()) {
        let decision = world.decide();
        if decision.want.outcome == Outcome::Success {
            return Ok(());
        }
        let names = &world.placement.cluster_affinity.as_ref().unwrap().cluster_names;
        for target in &world.current {
            let view = world.fleet.iter().find(|view| view.name == target.name.as_str());
            let wanted = view.is_some_and(|view| !view.deleting)
                && (names.is_empty() || names.contains(&target.name));
            prop_assert_eq!(decision.want.clusters.contains(target), wanted, "{}", decision.trace.text());
        }
    }
}
