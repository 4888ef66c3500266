//! Workloads of several components.

use std::sync::Arc;

use crds::policy::{
    Placement, ReplicaSchedulingStrategy, ReplicaSchedulingType, SpreadConstraint, SpreadFieldValue,
};
use crds::work::{GracefulEvictionTask, TargetComponent};

use super::*;
use crate::quantity::Quantity;
use crate::snapshot::{ClusterView, Readiness, Room};

/// A job of one master, which wants 2 CPUs, and some workers, which want 1 each.
struct Job {
    rooms: &'static [(&'static str, i64)],
    workers: i32,
    placement: Placement,
    current: Vec<TargetCluster>,
    evicting: &'static [&'static str],
}

fn at_most(clusters: i64) -> SpreadConstraint {
    SpreadConstraint {
        spread_by_field: Some(SpreadFieldValue::Cluster),
        spread_by_label: None,
        min_groups: Some(1),
        max_groups: Some(clusters),
    }
}

fn job(rooms: &'static [(&'static str, i64)], workers: i32) -> Job {
    Job {
        rooms,
        workers,
        placement: Placement {
            replica_scheduling: Some(ReplicaSchedulingStrategy {
                replica_scheduling_type: ReplicaSchedulingType::Divided,
                ..ReplicaSchedulingStrategy::default()
            }),
            spread_constraints: vec![at_most(1)],
            ..Placement::default()
        },
        current: Vec::new(),
        evicting: &[],
    }
}

/// The whole job in a cluster.
fn whole(cluster: &str, workers: i32) -> TargetCluster {
    let component = |name: &str, replicas| TargetComponent {
        name: name.into(),
        replicas,
    };
    TargetCluster {
        name: cluster.into(),
        replicas: None,
        components: vec![component("master", 1), component("worker", workers)],
    }
}

impl Job {
    fn runs_in(mut self, cluster: &str, workers: i32) -> Self {
        self.current = vec![whole(cluster, workers)];
        self
    }

    fn evicting(mut self, clusters: &'static [&'static str]) -> Self {
        self.evicting = clusters;
        self
    }

    fn decide(&self) -> Decision<Placed> {
        let component = |name: &str, replicas, cpu| ComponentNeed {
            name: name.into(),
            replicas,
            requests: vec![("cpu".to_owned(), Quantity::from_units(cpu))],
        };
        let view = |(name, cpu): &(&str, i64)| ClusterView {
            name: (*name).into(),
            ready: Readiness::Ready,
            kinds: [(
                "batch.volcano.sh/v1alpha1".to_owned(),
                ["Job".to_owned()].into(),
            )]
            .into(),
            kinds_complete: true,
            room: Some(Room::new([("cpu".to_owned(), Quantity::from_units(*cpu))])),
            ..ClusterView::default()
        };
        let fleet: Fleet = self
            .rooms
            .iter()
            .map(|one| (one.0.into(), Arc::new(view(one))))
            .collect();
        let evictions: Vec<_> = self
            .evicting
            .iter()
            .map(|from| GracefulEvictionTask {
                from_cluster: (*from).into(),
                ..GracefulEvictionTask::default()
            })
            .collect();
        let components = [
            component("master", 1, 2),
            component("worker", self.workers, 1),
        ];
        decide(
            &Request {
                api_version: "batch.volcano.sh/v1alpha1",
                kind: "Job",
                components: &components,
                current: &self.current,
                evictions: &evictions,
                ..Request::new(&self.placement)
            },
            &fleet,
        )
    }

    #[track_caller]
    fn gives(&self, reason: &str, expected: &[TargetCluster]) {
        let Decision { .. } = self.told(reason, expected);
    }

    #[track_caller]
    fn told(&self, reason: &str, expected: &[TargetCluster]) -> Decision<Placed> {
        let decision = self.decide();
        let told = decision.trace.text();
        assert_eq!(decision.want.clusters, expected, "{told}");
        assert_eq!(decision.want.outcome.reason(), reason, "{told}");
        decision
    }
}

#[test]
fn the_whole_set_goes_to_one_cluster_that_has_room_for_all_of_it() {
    job(&[("m1", 5), ("m2", 6), ("m3", 3)], 4).gives("Success", &[whole("m2", 4)]);
}

#[test]
fn a_set_that_fits_nowhere_is_not_split() {
    let decision = job(&[("m1", 5), ("m2", 4)], 4).told("Unschedulable", &[]);
    assert_eq!(
        decision.condition(None).unwrap().message,
        "No cluster has room for all components: m1, m2 has no room for all components."
    );
}

#[test]
fn what_runs_stays_whatever_room_others_have() {
    job(&[("m1", 0), ("m2", 99)], 4)
        .runs_in("m1", 4)
        .gives("Success", &[whole("m1", 4)]);
}

#[test]
fn more_workers_need_room_for_what_is_added_only() {
    job(&[("m1", 2), ("m2", 99)], 6)
        .runs_in("m1", 4)
        .gives("Success", &[whole("m1", 6)]);
    job(&[("m1", 1), ("m2", 99)], 6)
        .runs_in("m1", 4)
        .gives("Success", &[whole("m2", 6)]);
    job(&[("m1", 1), ("m2", 7)], 6)
        .runs_in("m1", 4)
        .gives("Unschedulable", &[whole("m1", 4)]);
}

#[test]
fn fewer_workers_stay_where_they_are() {
    job(&[("m1", 0), ("m2", 99)], 2)
        .runs_in("m1", 4)
        .gives("Success", &[whole("m1", 2)]);
}

#[test]
fn an_evicted_set_is_placed_again_as_a_whole() {
    job(&[("m1", 9), ("m2", 6), ("m3", 7)], 4)
        .runs_in("m1", 4)
        .evicting(&["m1"])
        .gives("Success", &[whole("m2", 4)]);
    job(&[("m1", 9), ("m2", 5)], 4)
        .runs_in("m1", 4)
        .evicting(&["m1"])
        .gives("Unschedulable", &[whole("m1", 4)]);
}

#[test]
fn components_are_not_divided_without_a_bound_to_one_cluster() {
    for constraints in [Vec::new(), vec![at_most(2)]] {
        let mut job = job(&[("m1", 9), ("m2", 9)], 4).runs_in("m1", 4);
        job.placement.spread_constraints = constraints;
        job.placement.cluster_affinity = Some(ClusterAffinity {
            cluster_names: vec!["m1".into(), "m2".into()],
            ..ClusterAffinity::default()
        });
        job.workers = 5;
        let decision = job.told("SchedulerError", &[whole("m1", 4)]);
        let message = decision.condition(None).unwrap().message;
        assert!(
            message.contains("needs a spreadConstraint by cluster with maxGroups 1"),
            "{message}"
        );
    }
}

#[test]
fn components_that_are_not_divided_are_copied_to_every_cluster() {
    let mut job = job(&[("m1", 0), ("m2", 9)], 4);
    job.placement = Placement::default();
    job.gives("Success", &[whole("m1", 4), whole("m2", 4)]);
}
