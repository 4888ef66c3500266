//! What holds for every binding in every fleet at every time.

use std::sync::Arc;

use crds::policy::PurgeMode;
use crds::taints;
use crds::work::{ResourceBindingSpec, ResourceBindingStatus};
use proptest::prelude::*;

use super::tests::{
    at, binding, decide_at, decide_with, fleet, placement, status, taint, task, tolerate,
};
use super::*;
use crate::snapshot::{Fleet, Readiness};

const NAMES: [&str; 4] = ["m1", "m2", "m3", "m4"];

#[derive(Clone, Debug)]
struct World {
    fleet: Fleet,
    spec: ResourceBindingSpec,
    status: ResourceBindingStatus,
}

fn world() -> impl Strategy<Value = World> {
    let cluster = (
        any::<bool>(),
        prop::option::of(0..500_i64),
        prop::option::of(prop::option::of(0..500_i64)),
    );
    let bound = (
        any::<bool>(),
        prop::option::of(0..900_i64),
        prop::option::of(0..4_i64),
    );
    (
        prop::collection::vec(cluster, NAMES.len()),
        prop::collection::vec(bound, NAMES.len()),
        any::<bool>(),
        prop::option::of(prop::option::of(0..400_i64)),
        any::<bool>(),
    )
        .prop_map(|(clusters, bounds, opted_in, toleration, duplicated)| {
            let lost: Vec<&str> = NAMES
                .iter()
                .zip(&clusters)
                .filter(|(_, c)| !c.0)
                .map(|(name, _)| *name)
                .collect();
            let mut fleet = fleet(&NAMES, &lost);
            for (name, (_, lost_since, drained)) in NAMES.iter().zip(&clusters) {
                let view = Arc::make_mut(fleet.get_mut(*name).unwrap());
                for taint in &mut view.taints {
                    taint.time_added = lost_since.map(|second| Time(at(second)));
                }
                if let Some(added) = drained {
                    view.taints.push(taint("drain", taints::NO_EXECUTE, *added));
                }
            }
            let placed: Vec<(&str, i32)> = NAMES
                .iter()
                .zip(&bounds)
                .filter(|(_, b)| b.0)
                .map(|(name, _)| (*name, 2))
                .collect();
            let ready: Vec<(&str, i64)> = NAMES
                .iter()
                .zip(&bounds)
                .filter_map(|(name, b)| Some((*name, b.2?)))
                .collect();
            let mut spec = binding(&placed);
            spec.graceful_eviction_tasks = NAMES
                .iter()
                .zip(&bounds)
                .filter_map(|(name, b)| Some(task(name, b.1?)))
                .collect();
            if !opted_in {
                spec.failover = None;
            }
            if duplicated {
                placement(&mut spec).replica_scheduling = None;
            }
            if let Some(seconds) = toleration {
                placement(&mut spec).cluster_tolerations =
                    vec![tolerate(taints::NOT_READY, "NoExecute", seconds)];
            }
            World {
                fleet,
                spec,
                status: status(&ready),
            }
        })
}

/// The tasks as they are without the fields that carry the time of the decision.
fn sources(evictions: &Evictions) -> Vec<String> {
    evictions
        .tasks
        .iter()
        .map(|task| task.from_cluster.clone())
        .collect()
}

proptest! {
    /// Deciding twice changes nothing: a restart in between is not noticed.
    #[test]
    fn what_is_decided_stays_decided(mut world in world(), second in 0..2000_i64) {
        let World { fleet, spec, status } = &mut world;
        let once = decide_at(second, fleet, spec, Some(status));
        spec.graceful_eviction_tasks.clone_from(&once.tasks);
        let twice = decide_at(second, fleet, spec, Some(status));
        prop_assert_eq!(twice.tasks, once.tasks);
        prop_assert_eq!((twice.started, twice.ended), (Vec::new(), Vec::new()));
        prop_assert_eq!((twice.held, twice.wake_at), (once.held, once.wake_at));
        for (name, _) in &once.started {
            prop_assert!(!once.ended.iter().any(|(ended, _)| ended == name), "{name} both started and ended");
        }
    }

    /// No copy in a lost cluster is asked to leave while most of the fleet is lost, or on weak evidence.
    #[test]
    fn guards_hold(world in world(), second in 0..2000_i64, fresh in any::<bool>()) {
        let evidence = fresh.then_some(second);
        let decided = decide_with(second, evidence, &world.fleet, &world.spec, Some(&world.status)).want;
        for (name, _) in &decided.started {
            let lost = world.fleet[name].ready != Readiness::Ready;
            prop_assert!(!lost || (fresh && !Loss::of(&world.fleet).is_large_scale()));
        }
    }

    /// Without failover in the policy and without an eviction taint, nobody is asked to leave.
    #[test]
    fn nobody_leaves_unasked(mut world in world(), second in 0..2000_i64) {
        world.spec.failover = None;
        for view in world.fleet.values_mut() {
            Arc::make_mut(view).taints.retain(|taint| taint.effect != taints::NO_EXECUTE);
        }
        prop_assert_eq!(decide_at(second, &world.fleet, &world.spec, Some(&world.status)).started, []);
    }

    /// Time alone never takes an eviction back: who leaves now leaves later too.
    #[test]
    fn evictions_are_monotone_in_time(mut world in world(), second in 0..2000_i64, later in 0..2000_i64) {
        world.spec.graceful_eviction_tasks.clear();
        let now = decide_at(second, &world.fleet, &world.spec, None);
        let then = decide_at(second + later, &world.fleet, &world.spec, None);
        for name in sources(&now) {
            prop_assert!(sources(&then).contains(&name) || then.held.iter().any(|(held, _)| held.as_str() == name));
        }
    }

    /// A longer toleration never makes a copy leave earlier.
    #[test]
    fn a_longer_toleration_never_hurries(mut world in world(), second in 0..2000_i64, short in 0..500_i64, more in 0..500_i64) {
        world.spec.graceful_eviction_tasks.clear();
        for view in world.fleet.values_mut() {
            Arc::make_mut(view).taints.retain(|taint| taint.effect != taints::NO_EXECUTE);
        }
        let mut leaves = |seconds| {
            placement(&mut world.spec).cluster_tolerations = vec![tolerate(taints::NOT_READY, "NoExecute", Some(seconds))];
            let decided = decide_at(second, &world.fleet, &world.spec, None);
            (decided.started.len() + decided.held.len(), decided)
        };
        let (patient, _) = leaves(short + more);
        let (hasty, _) = leaves(short);
        prop_assert!(patient <= hasty);
    }

    /// When a task ends because its time is over, somebody is left who could serve.
    #[test]
    fn time_never_removes_the_last_copy(world in world(), second in 0..4000_i64) {
        let decided = decide_at(second, &world.fleet, &world.spec, Some(&world.status));
        for (name, reason) in &decided.ended {
            let graceful = world.spec.graceful_eviction_tasks.iter().any(|task| {
                *task.from_cluster == **name && task.purge_mode == Some(PurgeMode::Gracefully)
            });
            if graceful && matches!(reason, FailoverReason::GraceOver { .. }) {
                let served = world.spec.clusters.iter().any(|target| {
                    *target.name != **name
                        && world.fleet[target.name.as_str()].ready == Readiness::Ready
                });
                prop_assert!(served);
            }
        }
    }

    /// Whatever waits for time says until when, and nothing changes before.
    #[test]
    fn nothing_changes_before_the_time_to_wake(mut world in world(), second in 0..2000_i64, share in 0.0..1.0_f64) {
        let first = decide_at(second, &world.fleet, &world.spec, Some(&world.status));
        world.spec.graceful_eviction_tasks.clone_from(&first.tasks);
        let wake = first.wake_at.map_or(10_000, |wake| wake.as_second() - at(second).as_second());
        #[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "seconds are few")]
        let between = second + ((wake - 1) as f64 * share) as i64;
        prop_assume!(wake > 0);
        let later = decide_at(between, &world.fleet, &world.spec, Some(&world.status));
        prop_assert_eq!(later.tasks, first.tasks);
    }
}
