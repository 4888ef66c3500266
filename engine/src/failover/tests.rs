//! One table a rule: a binding in a fleet at a second, and what becomes of its eviction tasks.

use std::sync::Arc;

use crds::policy::{
    ClusterAffinity, ClusterAffinityTerm, ClusterFailoverBehavior, FailoverBehavior, Placement,
    PurgeMode, ReplicaSchedulingStrategy, ReplicaSchedulingType,
};
use crds::work::{
    AggregatedStatusItem, GracefulEvictionTask, ObjectReference, ResourceBindingSpec,
    ResourceBindingStatus, ResourceHealth, TargetCluster,
};
use crds::{Taint, Time, Toleration, taints};
use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use super::*;
use crate::snapshot::{ClusterView, Fleet, Readiness};

pub(super) fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).unwrap()
}

/// A fleet in which the clusters named are not ready and tainted since second 0.
pub(super) fn fleet(names: &[&str], lost: &[&str]) -> Fleet {
    let cluster = |name: &str| {
        let is_lost = lost.contains(&name);
        let view = ClusterView {
            name: name.into(),
            ready: if is_lost {
                Readiness::NotReady
            } else {
                Readiness::Ready
            },
            taints: if is_lost { vec![loss(0)] } else { Vec::new() },
            ..ClusterView::default()
        };
        (view.name.clone(), Arc::new(view))
    };
    names.iter().map(|name| cluster(name)).collect()
}

pub(super) fn loss(added: i64) -> Taint {
    taint(taints::NOT_READY, taints::NO_SCHEDULE, Some(added))
}

pub(super) fn taint(key: &str, effect: &str, added: Option<i64>) -> Taint {
    Taint {
        key: key.to_owned(),
        effect: effect.to_owned(),
        value: None,
        time_added: added.map(|second| Time(at(second))),
    }
}

pub(super) fn tolerate(key: &str, effect: &str, seconds: Option<i64>) -> Toleration {
    Toleration {
        key: Some(key.to_owned()),
        operator: Some("Exists".to_owned()),
        effect: Some(effect.to_owned()).filter(|effect| !effect.is_empty()),
        toleration_seconds: seconds,
        value: None,
    }
}

/// A Deployment with failover, its replicas divided as given.
pub(super) fn binding(targets: &[(&str, i32)]) -> ResourceBindingSpec {
    ResourceBindingSpec {
        resource: ObjectReference {
            api_version: "apps/v1".to_owned(),
            kind: "Deployment".to_owned(),
            namespace: Some("shop".to_owned()),
            name: "web".to_owned(),
            ..ObjectReference::default()
        },
        replicas: Some(targets.iter().map(|(_, replicas)| replicas).sum()),
        clusters: targets
            .iter()
            .map(|&(name, replicas)| TargetCluster {
                name: name.to_owned(),
                replicas: Some(replicas),
                ..TargetCluster::default()
            })
            .collect(),
        placement: Some(Placement {
            replica_scheduling: Some(ReplicaSchedulingStrategy {
                replica_scheduling_type: ReplicaSchedulingType::Divided,
                ..ReplicaSchedulingStrategy::default()
            }),
            ..Placement::default()
        }),
        failover: Some(FailoverBehavior {
            cluster: Some(ClusterFailoverBehavior::default()),
            ..FailoverBehavior::default()
        }),
        ..ResourceBindingSpec::default()
    }
}

pub(super) fn placement(spec: &mut ResourceBindingSpec) -> &mut Placement {
    spec.placement.as_mut().unwrap()
}

fn duplicated(spec: &mut ResourceBindingSpec) {
    placement(spec).replica_scheduling = None;
}

pub(super) fn task(from: &str, created: i64) -> GracefulEvictionTask {
    GracefulEvictionTask {
        from_cluster: from.to_owned(),
        purge_mode: Some(PurgeMode::Gracefully),
        replicas: Some(2),
        reason: "TaintUntolerated".to_owned(),
        producer: "TaintManager".to_owned(),
        creation_timestamp: Some(Time(at(created))),
        ..GracefulEvictionTask::default()
    }
}

/// A status in which the scheduler has seen generation 1 and the clusters report so many ready replicas.
pub(super) fn status(ready: &[(&str, i64)]) -> ResourceBindingStatus {
    ResourceBindingStatus {
        scheduler_observed_generation: Some(1),
        aggregated_status: ready
            .iter()
            .map(|&(name, ready)| AggregatedStatusItem {
                cluster_name: name.to_owned(),
                status: Some(json!({"readyReplicas": ready})),
                applied: Some(true),
                health: Some(ResourceHealth::Healthy),
                ..AggregatedStatusItem::default()
            })
            .collect(),
        ..ResourceBindingStatus::default()
    }
}

const LIMITS: Limits = Limits {
    toleration: SignedDuration::from_secs(300),
    grace: SignedDuration::from_secs(600),
    evidence_age: SignedDuration::from_secs(60),
};

pub(super) fn decide_at(
    second: i64,
    fleet: &Fleet,
    spec: &ResourceBindingSpec,
    status: Option<&ResourceBindingStatus>,
) -> Evictions {
    decide_with(second, Some(second), fleet, spec, status).want
}

pub(super) fn decide_with(
    second: i64,
    evidence: Option<i64>,
    fleet: &Fleet,
    spec: &ResourceBindingSpec,
    status: Option<&ResourceBindingStatus>,
) -> Decision<Evictions> {
    let bound = Bound {
        generation: Some(1),
        spec,
        status,
    };
    let situation = Situation {
        fleet,
        loss: Loss::of(fleet),
        evidence: evidence.map(at),
        limits: &LIMITS,
        now: at(second),
    };
    decide(&bound, &situation)
}

/// The first word of the verdict on a cluster: the reason why it is left, or stays.
fn verdict(evictions: &Evictions, cluster: &str) -> &'static str {
    let named = |list: &[(Name, FailoverReason)]| {
        let found = list.iter().find(|(name, _)| name.as_str() == cluster);
        found.map(|(_, reason)| reason.as_str())
    };
    named(&evictions.started)
        .or_else(|| named(&evictions.ended))
        .or_else(|| named(&evictions.held))
        .unwrap_or("-")
}

#[test]
fn a_lost_cluster_is_left_after_its_toleration_and_not_before() {
    let fleet = fleet(&["m1", "m2", "m3"], &["m1"]);
    let spec = binding(&[("m1", 2), ("m2", 2)]);
    let before = decide_at(299, &fleet, &spec, None);
    assert_eq!(before.tasks, []);
    assert_eq!(before.wake_at, Some(at(300)));

    let after = decide_at(300, &fleet, &spec, None);
    let message = "cluster m1 has had taint cluster.karmada.io/not-ready (NoSchedule) for longer than \
                   the 300 s it is tolerated";
    let expected = GracefulEvictionTask {
        message: Some(message.to_owned()),
        ..task("m1", 300)
    };
    assert_eq!(after.tasks, [expected]);
    assert_eq!(verdict(&after, "m1"), "TaintUntolerated");
}

#[test]
fn tolerations_decide_when_a_lost_cluster_is_left() {
    let key = taints::NOT_READY;
    let fleet = fleet(&["m1", "m2"], &["m1"]);
    for (case, tolerations, leaves_at) in [
        ("none", vec![], Some(300)),
        (
            "for a time",
            vec![tolerate(key, "NoExecute", Some(20))],
            Some(20),
        ),
        (
            "for a time, any effect",
            vec![tolerate(key, "", Some(20))],
            Some(20),
        ),
        (
            "the smallest",
            vec![
                tolerate(key, "NoExecute", Some(50)),
                tolerate(key, "NoExecute", Some(20)),
            ],
            Some(20),
        ),
        (
            "one of them without a limit",
            vec![
                tolerate(key, "NoExecute", None),
                tolerate(key, "NoExecute", Some(20)),
            ],
            Some(20),
        ),
        (
            "without a limit",
            vec![tolerate(key, "NoExecute", None)],
            None,
        ),
        (
            "without a limit, any effect",
            vec![tolerate(key, "", None)],
            None,
        ),
        (
            "only to let copies in",
            vec![tolerate(key, "NoSchedule", None)],
            Some(300),
        ),
        (
            "another taint",
            vec![tolerate("other", "NoExecute", None)],
            Some(300),
        ),
        (
            "not at all",
            vec![tolerate(key, "NoExecute", Some(-1))],
            Some(0),
        ),
    ] {
        let mut spec = binding(&[("m1", 2), ("m2", 2)]);
        placement(&mut spec).cluster_tolerations = tolerations;
        let left = |second| !decide_at(second, &fleet, &spec, None).started.is_empty();
        match leaves_at {
            Some(second) => {
                assert!(left(second), "{case}: left in second {second}");
                assert!(second == 0 || !left(second - 1), "{case}: not before");
            }
            None => assert!(!left(1_000_000), "{case}: never"),
        }
    }
}

#[test]
fn failover_is_asked_for_by_the_policy() {
    let fleet = fleet(&["m1", "m2"], &["m1"]);
    let mut spec = binding(&[("m1", 2)]);
    spec.failover = None;
    let decided = decide_with(9999, Some(9999), &fleet, &spec, None);
    assert_eq!(decided.want, Evictions::default());
    let told: Vec<String> = decided
        .trace
        .about_cluster("m1")
        .map(|v| v.reason().to_string())
        .collect();
    assert_eq!(
        told,
        [
            "has taint cluster.karmada.io/not-ready, but the policy does not set failover.cluster, so the copy stays"
        ]
    );

    spec.failover = Some(FailoverBehavior {
        cluster: Some(ClusterFailoverBehavior {
            purge_mode: PurgeMode::Directly,
            ..ClusterFailoverBehavior::default()
        }),
        ..FailoverBehavior::default()
    });
    let asked = decide_at(9999, &fleet, &spec, None);
    assert_eq!(asked.tasks[0].purge_mode, Some(PurgeMode::Directly));
}

#[test]
fn an_eviction_taint_moves_every_binding_as_its_tolerations_say() {
    let key = "maintenance";
    let drained = |added| {
        let mut fleet = fleet(&["m1", "m2"], &[]);
        let m1 = Arc::make_mut(fleet.get_mut("m1").unwrap());
        m1.taints = vec![taint(key, taints::NO_EXECUTE, added)];
        fleet
    };
    for (case, tolerations, added, leaves_at) in [
        ("untolerated", vec![], Some(0), Some(0)),
        ("untolerated, without a time", vec![], None, Some(0)),
        (
            "for a time",
            vec![
                tolerate(key, "NoExecute", Some(30)),
                tolerate(key, "", None),
            ],
            Some(0),
            Some(30),
        ),
        (
            "for a time, but since when?",
            vec![tolerate(key, "NoExecute", Some(30))],
            None,
            None,
        ),
        (
            "without a limit",
            vec![tolerate(key, "NoExecute", None)],
            Some(0),
            None,
        ),
        (
            "another effect",
            vec![tolerate(key, "NoSchedule", None)],
            Some(0),
            Some(0),
        ),
    ] {
        let mut spec = binding(&[("m1", 2), ("m2", 2)]);
        spec.failover = None;
        placement(&mut spec).cluster_tolerations = tolerations;
        let fleet = drained(added);
        let left = |second| !decide_at(second, &fleet, &spec, None).started.is_empty();
        match leaves_at {
            Some(second) => {
                assert!(left(second), "{case}: left in second {second}");
                assert!(second == 0 || !left(second - 1), "{case}: not before");
            }
            None => assert!(!left(1_000_000), "{case}: never"),
        }
    }
}

#[test]
fn the_taint_of_a_cluster_that_is_ready_again_moves_nothing() {
    let mut fleet = fleet(&["m1", "m2"], &["m1"]);
    Arc::make_mut(fleet.get_mut("m1").unwrap()).ready = Readiness::Ready;
    assert_eq!(
        decide_at(9999, &fleet, &binding(&[("m1", 2)]), None),
        Evictions::default()
    );
}

#[test]
fn nothing_moves_on_weak_evidence() {
    let fleet = fleet(&["m1", "m2", "m3"], &["m1"]);
    let spec = binding(&[("m1", 2)]);
    for (evidence, expected) in [
        (None, "WeakEvidence"),
        (Some(339), "WeakEvidence"),
        (Some(340), "TaintUntolerated"),
        // The clocks of two machines differ.
        (Some(405), "TaintUntolerated"),
    ] {
        let decided = decide_with(400, evidence, &fleet, &spec, None).want;
        assert_eq!(
            verdict(&decided, "m1"),
            expected,
            "evidence of second {evidence:?}"
        );
    }
}

#[test]
fn a_loss_of_most_of_the_fleet_moves_nothing() {
    let spec = binding(&[("m1", 2)]);
    for (names, lost, expected) in [
        (&["m1", "m2"][..], &["m1"][..], "TaintUntolerated"),
        (&["m1", "m2", "m3"], &["m1"], "TaintUntolerated"),
        (&["m1", "m2", "m3"], &["m1", "m2"], "LargeScaleLoss"),
        (&["m1", "m2", "m3", "m4"], &["m1", "m2"], "TaintUntolerated"),
        (
            &["m1", "m2", "m3", "m4"],
            &["m1", "m2", "m3"],
            "LargeScaleLoss",
        ),
    ] {
        let decided = decide_at(400, &fleet(names, lost), &spec, None);
        assert_eq!(verdict(&decided, "m1"), expected, "{lost:?} of {names:?}");
    }
}

#[test]
fn a_drain_needs_no_evidence_and_goes_on_while_others_are_lost() {
    let mut fleet = fleet(&["m1", "m2", "m3", "m4"], &["m2", "m3"]);
    Arc::make_mut(fleet.get_mut("m1").unwrap()).taints =
        vec![taint("maintenance", taints::NO_EXECUTE, Some(0))];
    let decided = decide_with(5, None, &fleet, &binding(&[("m1", 2)]), None).want;
    assert_eq!(verdict(&decided, "m1"), "TaintUntolerated");
}

#[test]
fn without_another_cluster_to_go_to_a_copy_stays() {
    let check = |case: &str, fleet: &Fleet, spec: &ResourceBindingSpec, expected: &str| {
        assert_eq!(
            verdict(&decide_at(400, fleet, spec, None), "m1"),
            expected,
            "{case}"
        );
    };
    let three = fleet(&["m1", "m2", "m3"], &["m1"]);
    let selecting = |names: &[&str]| ClusterAffinity {
        cluster_names: names.iter().map(|&name| name.to_owned()).collect(),
        ..ClusterAffinity::default()
    };

    let mut pinned = binding(&[("m1", 2)]);
    placement(&mut pinned).cluster_affinity = Some(selecting(&["m1"]));
    check(
        "the policy names one cluster",
        &three,
        &pinned,
        "NowhereToGo",
    );

    let mut grouped = binding(&[("m1", 2)]);
    let term = |name: &str, clusters: &[&str]| ClusterAffinityTerm {
        affinity_name: name.to_owned(),
        affinity: selecting(clusters),
        overflow_affinities: Vec::new(),
    };
    placement(&mut grouped).cluster_affinities =
        vec![term("first", &["m1"]), term("backup", &["m2"])];
    check(
        "another group may take it",
        &three,
        &grouped,
        "TaintUntolerated",
    );

    let mut everywhere = binding(&[("m1", 2), ("m2", 2), ("m3", 2)]);
    check(
        "the others take its share",
        &three,
        &everywhere,
        "TaintUntolerated",
    );
    duplicated(&mut everywhere);
    check(
        "the others have all replicas already",
        &three,
        &everywhere,
        "NowhereToGo",
    );
    everywhere.clusters.pop();
    check(
        "one cluster has no copy yet",
        &three,
        &everywhere,
        "TaintUntolerated",
    );

    let mut tainted = fleet(&["m1", "m2"], &["m1"]);
    let m2 = Arc::make_mut(tainted.get_mut("m2").unwrap());
    m2.taints = vec![taint("team", taints::NO_SCHEDULE, None)];
    let mut spec = binding(&[("m1", 2)]);
    check("the other is tainted", &tainted, &spec, "NowhereToGo");
    placement(&mut spec).cluster_tolerations = vec![tolerate("team", "NoSchedule", None)];
    check(
        "its taint is tolerated",
        &tainted,
        &spec,
        "TaintUntolerated",
    );

    let mut lacking = fleet(&["m1", "m2"], &["m1"]);
    Arc::make_mut(lacking.get_mut("m2").unwrap()).kinds_complete = true;
    check(
        "the other does not serve the kind",
        &lacking,
        &binding(&[("m1", 2)]),
        "NowhereToGo",
    );

    let mut leaving = fleet(&["m1", "m2"], &["m1"]);
    Arc::make_mut(leaving.get_mut("m2").unwrap()).deleting = true;
    check(
        "the other is being deleted",
        &leaving,
        &binding(&[("m1", 2)]),
        "NowhereToGo",
    );

    let mut evicted = binding(&[("m1", 2), ("m2", 2)]);
    evicted.graceful_eviction_tasks = vec![GracefulEvictionTask {
        suppress_deletion: Some(true),
        ..task("m2", 0)
    }];
    check(
        "the other is left itself",
        &fleet(&["m1", "m2"], &["m1"]),
        &evicted,
        "NowhereToGo",
    );
}

#[test]
fn a_drain_may_leave_a_copy_to_the_clusters_that_have_one() {
    let mut fleet = fleet(&["m1", "m2"], &[]);
    Arc::make_mut(fleet.get_mut("m1").unwrap()).taints =
        vec![taint("maintenance", taints::NO_EXECUTE, Some(0))];
    let mut spec = binding(&[("m1", 2), ("m2", 2)]);
    duplicated(&mut spec);
    assert_eq!(
        verdict(&decide_at(5, &fleet, &spec, None), "m1"),
        "TaintUntolerated"
    );
}

#[test]
fn what_has_no_placement_follows_what_depends_on_it() {
    let mut spec = binding(&[("m1", 2)]);
    spec.placement = None;
    assert_eq!(
        decide_at(400, &fleet(&["m1", "m2"], &["m1"]), &spec, None),
        Evictions::default()
    );
}

/// A task from `m1`, created in second 300, in a binding that is now in these clusters.
fn evicting(targets: &[(&str, i32)]) -> ResourceBindingSpec {
    let mut spec = binding(targets);
    spec.graceful_eviction_tasks = vec![task("m1", 300)];
    spec
}

#[test]
fn a_task_waits_for_a_replacement_however_long_it_takes() {
    let fleet = fleet(&["m1", "m2"], &["m1"]);
    let spec = evicting(&[("m1", 2)]);
    let decided = decide_at(1_000_000, &fleet, &spec, None);
    assert_eq!(decided.tasks, spec.graceful_eviction_tasks);
}

#[test]
fn a_task_ends_when_every_replacement_has_its_replicas_ready() {
    let fleet = fleet(&["m1", "m2", "m3"], &["m1"]);
    let spec = evicting(&[("m2", 3), ("m3", 1)]);
    let unhealthy = |mut status: ResourceBindingStatus| {
        status.aggregated_status[0].health = Some(ResourceHealth::Unhealthy);
        status
    };
    let unobserved = |mut status: ResourceBindingStatus| {
        status.scheduler_observed_generation = Some(0);
        status
    };
    let full = || status(&[("m2", 3), ("m3", 1)]);
    for (case, status, ends) in [
        ("all ready", Some(full()), true),
        ("one reports nothing", Some(status(&[("m2", 3)])), false),
        (
            "one is healthy with the replicas it had before",
            Some(status(&[("m2", 2), ("m3", 1)])),
            false,
        ),
        ("one is unhealthy", Some(unhealthy(full())), false),
        (
            "the scheduler has not seen the binding",
            Some(unobserved(full())),
            false,
        ),
        ("no status", None, false),
    ] {
        let decided = decide_at(400, &fleet, &spec, status.as_ref());
        assert_eq!(decided.tasks.is_empty(), ends, "{case}");
        assert_eq!(decided.wake_at, (!ends).then(|| at(900)), "{case}");
        assert_eq!(
            verdict(&decided, "m1"),
            if ends { "Replaced" } else { "-" },
            "{case}"
        );
    }
}

#[test]
fn a_task_ends_with_its_grace_period() {
    let fleet = fleet(&["m1", "m2"], &["m1"]);
    let mut spec = evicting(&[("m2", 2)]);
    assert_eq!(decide_at(899, &fleet, &spec, None).tasks.len(), 1);
    assert_eq!(
        verdict(&decide_at(900, &fleet, &spec, None), "m1"),
        "GraceOver"
    );

    let mut late = status(&[]);
    late.last_scheduled_time = Some(Time(at(800)));
    assert_eq!(
        decide_at(1399, &fleet, &spec, Some(&late)).tasks.len(),
        1,
        "it counts from the replacement"
    );
    assert_eq!(
        verdict(&decide_at(1400, &fleet, &spec, Some(&late)), "m1"),
        "GraceOver"
    );

    spec.graceful_eviction_tasks[0].grace_period_seconds = Some(10);
    assert_eq!(decide_at(309, &fleet, &spec, None).wake_at, Some(at(310)));
    assert_eq!(
        verdict(&decide_at(310, &fleet, &spec, None), "m1"),
        "GraceOver"
    );
}

#[test]
fn the_last_copy_outlives_its_grace_period() {
    // The replacement was scheduled to a cluster that is lost now as well.
    let both_lost = fleet(&["m1", "m2", "m3"], &["m1", "m2"]);
    let mut spec = evicting(&[("m2", 2)]);
    assert_eq!(
        decide_at(5000, &both_lost, &spec, None).tasks,
        spec.graceful_eviction_tasks
    );
    let drained = {
        let mut fleet = fleet(&["m1", "m2", "m3"], &["m2"]);
        Arc::make_mut(fleet.get_mut("m1").unwrap()).taints =
            vec![taint("maintenance", taints::NO_EXECUTE, Some(0))];
        fleet
    };
    assert_eq!(decide_at(5000, &drained, &spec, None).ended, []);
    spec.graceful_eviction_tasks[0].purge_mode = Some(PurgeMode::Directly);
    assert_eq!(
        verdict(&decide_at(5000, &drained, &spec, None), "m1"),
        "GraceOver",
        "there is no copy left to keep"
    );
}

#[test]
fn a_task_is_cancelled_when_its_cause_is_gone_and_the_cluster_still_chosen() {
    let spec = evicting(&[("m1", 2), ("m2", 2)]);
    let recovered = fleet(&["m1", "m2"], &[]);
    assert_eq!(
        verdict(&decide_at(400, &recovered, &spec, None), "m1"),
        "Recovered"
    );

    let lost = fleet(&["m1", "m2"], &["m1"]);
    let mut tolerant = spec.clone();
    placement(&mut tolerant).cluster_tolerations =
        vec![tolerate(taints::NOT_READY, "NoExecute", None)];
    assert_eq!(
        verdict(&decide_at(400, &lost, &tolerant, None), "m1"),
        "NoLongerDue"
    );

    let mut application = spec;
    application.graceful_eviction_tasks[0].producer = "application".to_owned();
    assert_eq!(
        decide_at(400, &recovered, &application, None).tasks.len(),
        1,
        "another cause"
    );
}

#[test]
fn a_cluster_that_is_back_may_be_chosen_again_when_its_replacements_are_lost() {
    let spec = evicting(&[("m2", 2)]);
    let swapped = fleet(&["m1", "m2", "m3"], &["m2"]);
    assert_eq!(
        verdict(&decide_at(400, &swapped, &spec, None), "m1"),
        "NeededAgain"
    );
    let fine = fleet(&["m1", "m2", "m3"], &[]);
    assert_eq!(
        decide_at(400, &fine, &spec, None).tasks.len(),
        1,
        "otherwise the replacement is awaited"
    );
}

#[test]
fn a_task_ends_with_its_cluster_with_its_placement_and_when_a_user_says_so() {
    let fleet = fleet(&["m1", "m2"], &["m1"]);
    let mut gone = evicting(&[("m2", 2)]);
    gone.graceful_eviction_tasks[0].from_cluster = "m9".to_owned();
    assert_eq!(
        verdict(&decide_at(400, &fleet, &gone, None), "m9"),
        "ClusterGone"
    );

    let mut unselected = evicting(&[("m2", 2)]);
    placement(&mut unselected).cluster_affinity = Some(ClusterAffinity {
        exclude: vec!["m1".to_owned()],
        ..ClusterAffinity::default()
    });
    assert_eq!(
        verdict(&decide_at(400, &fleet, &unselected, None), "m1"),
        "NotSelected"
    );

    let mut suppressed = evicting(&[("m2", 2)]);
    suppressed.graceful_eviction_tasks[0].suppress_deletion = Some(true);
    let healthy = status(&[("m2", 2)]);
    assert_eq!(
        decide_at(5000, &fleet, &suppressed, Some(&healthy))
            .tasks
            .len(),
        1
    );
    suppressed.graceful_eviction_tasks[0].suppress_deletion = Some(false);
    assert_eq!(
        verdict(&decide_at(5000, &fleet, &suppressed, Some(&healthy)), "m1"),
        "Released"
    );
    suppressed.graceful_eviction_tasks[0].suppress_deletion = None;
    suppressed.graceful_eviction_tasks[0].purge_mode = Some(PurgeMode::Never);
    assert_eq!(
        decide_at(5000, &fleet, &suppressed, Some(&healthy))
            .tasks
            .len(),
        1
    );
}

#[test]
fn a_task_without_a_time_gets_one_and_a_second_one_from_the_same_cluster_goes() {
    let fleet = fleet(&["m1", "m2"], &["m1"]);
    let mut spec = evicting(&[("m2", 2)]);
    spec.graceful_eviction_tasks[0].creation_timestamp = None;
    spec.graceful_eviction_tasks.push(task("m1", 5));
    assert_eq!(decide_at(400, &fleet, &spec, None).tasks, [task("m1", 400)]);
}

#[test]
fn a_budget_allows_a_burst_and_then_a_rate() {
    let mut budget = Budget::new(SignedDuration::from_secs(2), 3);
    let taken: Vec<bool> = [0, 0, 0, 0, 1, 2, 2, 60, 60, 60, 60]
        .into_iter()
        .map(|second| budget.take(at(second)).is_ok())
        .collect();
    assert_eq!(
        taken,
        [
            true, true, true, false, false, true, false, true, true, true, false
        ]
    );
    assert_eq!(budget.take(at(61)), Err(at(62)));
    let mut unlimited = Budget::new(SignedDuration::ZERO, 1);
    assert!((0..100).all(|_| unlimited.take(at(0)).is_ok()));
}
