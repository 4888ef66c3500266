use std::collections::BTreeMap;

use crds::cluster::{ClusterSpec, ResourceModel, ResourceModelRange};
use crds::policy::{
    ClusterAffinity, ClusterTaintPolicy, ClusterTaintPolicySpec, MatchCondition,
    MatchConditionOperator, PolicyTaint,
};
use crds::{Condition, Taint, Time, conditions, taints};
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;

use super::*;
use crate::quantity::Quantity;
use crate::snapshot::ClusterView;

const HALF_A_MINUTE: Thresholds = Thresholds {
    failure: SignedDuration::from_secs(30),
    success: SignedDuration::from_secs(30),
};

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).unwrap()
}

fn dead() -> Observation {
    Observation::Unreachable("connection refused".to_owned())
}

/// Feeds observations, each with the second it is made in, and returns the status of `Ready` after each.
fn readiness(start: &History, seen: &[(i64, Observation)]) -> Vec<ConditionStatus> {
    let mut history = start.clone();
    seen.iter()
        .map(|(second, observation)| {
            let decided = decide_readiness(&history, observation, &HALF_A_MINUTE, at(*second));
            history = decided.history;
            decided.condition.status
        })
        .collect()
}

fn ready_condition(status: &str, reason: &str, message: &str) -> Condition {
    Condition {
        type_: conditions::READY.to_owned(),
        status: status.to_owned(),
        reason: reason.to_owned(),
        message: message.to_owned(),
        last_transition_time: Time(at(0)),
        observed_generation: None,
    }
}

use ConditionStatus::{False, True, Unknown};

#[test]
fn the_first_look_at_a_new_member_counts() {
    let new = History::default();
    assert_eq!(readiness(&new, &[(0, Observation::Healthy)]), [True]);
    assert_eq!(readiness(&new, &[(0, dead())]), [False]);
}

#[test]
fn a_short_outage_changes_nothing() {
    let seen = [
        (0, Observation::Healthy),
        (10, dead()),
        (20, dead()),
        (30, Observation::Healthy),
        (40, dead()),
        (69, dead()),
        (70, dead()),
    ];
    assert_eq!(
        readiness(&History::default(), &seen),
        [True, True, True, True, True, True, False]
    );
}

#[test]
fn a_short_recovery_changes_nothing() {
    let seen = [
        (0, dead()),
        (10, Observation::Healthy),
        (20, dead()),
        (30, Observation::Healthy),
        (59, Observation::Healthy),
        (60, Observation::Healthy),
    ];
    assert_eq!(
        readiness(&History::default(), &seen),
        [False, False, False, False, False, True]
    );
}

#[test]
fn a_restarted_observer_believes_the_object_until_it_has_looked_long_enough() {
    let ready = History::resume(&[ready_condition("True", "ClusterReady", "fine")]);
    assert!(ready.is_ready());
    assert_eq!(
        readiness(&ready, &[(1000, dead()), (1029, dead()), (1030, dead())]),
        [True, True, False]
    );
    let unknown = History::resume(&[ready_condition("Unknown", "ClusterStatusUnknown", "?")]);
    assert_eq!(
        readiness(
            &unknown,
            &[(0, Observation::Healthy), (30, Observation::Healthy)]
        ),
        [Unknown, True]
    );
    assert_eq!(
        History::resume(&[]),
        History::default(),
        "never reported: the first look counts"
    );
}

#[test]
fn while_a_contradiction_lasts_the_condition_keeps_its_words_and_the_next_look_is_due_at_its_end() {
    let ready = History::resume(&[ready_condition("True", "ClusterReady", "fine")]);
    let decided = decide_readiness(&ready, &dead(), &HALF_A_MINUTE, at(5));
    assert_eq!(decided.condition.reason, "ClusterReady");
    assert_eq!(decided.condition.message, "fine");
    assert_eq!(decided.wake_at, Some(at(35)));
}

#[test]
fn each_cause_has_its_reason_and_its_words() {
    for (observation, reason, message) in [
        (
            Observation::Healthy,
            "ClusterReady",
            "the member answers and is ready for workloads",
        ),
        (
            Observation::Unhealthy("GET /readyz: HTTP 500".to_owned()),
            "ClusterNotReady",
            "the member answers but is not ready: GET /readyz: HTTP 500",
        ),
        (
            dead(),
            "ClusterNotReachable",
            "the member does not answer: connection refused",
        ),
        (
            Observation::Uncollectable("GET /readyz: HTTP 401".to_owned()),
            "StatusCollectionFailed",
            "the status of the member cannot be collected: GET /readyz: HTTP 401",
        ),
    ] {
        let decided = decide_readiness(&History::default(), &observation, &HALF_A_MINUTE, at(0));
        assert_eq!(decided.condition.reason, reason);
        assert_eq!(decided.condition.message, message);
        assert_eq!(decided.wake_at, None);
    }
}

#[test]
fn a_list_of_apis_is_complete_partial_or_empty() {
    let words = |list| {
        let fact = decide_api_condition(&list);
        (fact.status, fact.reason, fact.message)
    };
    assert_eq!(words(ApiList::Complete).1, "Complete");
    let partial = ApiList::Partial(vec![
        "b/v1".to_owned(),
        "a/v1".to_owned(),
        "b/v1".to_owned(),
    ]);
    assert_eq!(
        words(partial),
        (
            False,
            "Partial".to_owned(),
            "the member cannot tell what it serves in a/v1, b/v1".to_owned()
        )
    );
    assert_eq!(words(ApiList::Empty("HTTP 403".to_owned())).1, "Empty");
}

fn taint(key: &str, effect: &str, added: Option<i64>) -> Taint {
    Taint {
        key: key.to_owned(),
        effect: effect.to_owned(),
        value: None,
        time_added: added.map(|second| Time(at(second))),
    }
}

fn ready(status: ConditionStatus) -> ConditionFact {
    ConditionFact {
        r#type: conditions::READY.to_owned(),
        status,
        reason: String::new(),
        message: String::new(),
        observed_generation: None,
    }
}

#[test]
fn taints_follow_readiness_and_leave_others_alone() {
    let other = taint("maintenance", taints::NO_EXECUTE, Some(1));
    // The same key with another effect was set by somebody else.
    let foreign = taint(taints::NOT_READY, taints::NO_EXECUTE, Some(2));
    let not_ready = taint(taints::NOT_READY, taints::NO_SCHEDULE, Some(7));
    let unreachable = taint(taints::UNREACHABLE, taints::NO_SCHEDULE, Some(7));
    let with = |more: &[&Taint]| {
        let mut all = vec![other.clone(), foreign.clone()];
        all.extend(more.iter().map(|taint| (*taint).clone()));
        all
    };
    for (present, status, expected) in [
        (with(&[]), True, with(&[])),
        (with(&[]), False, with(&[&not_ready])),
        (with(&[&not_ready]), False, with(&[&not_ready])),
        (with(&[&not_ready]), Unknown, with(&[&unreachable])),
        (with(&[&unreachable]), False, with(&[&not_ready])),
        (with(&[&not_ready, &unreachable]), True, with(&[])),
    ] {
        // Only a taint that is new gets the present time; the others were added in second 7.
        let now = if present.len() == 2 { at(7) } else { at(99) };
        assert_eq!(decide_taints(&present, Some(&ready(status)), now), expected);
    }
    assert_eq!(decide_taints(&[], None, at(7)), [not_ready]);
}

#[test]
fn an_eviction_taint_without_a_time_gets_one() {
    let present = vec![
        taint("a", taints::NO_EXECUTE, None),
        taint("b", taints::NO_EXECUTE, Some(1)),
        taint("c", taints::NO_SCHEDULE, None),
    ];
    let expected = [
        taint("a", taints::NO_EXECUTE, Some(5)),
        taint("b", taints::NO_EXECUTE, Some(1)),
        taint("c", taints::NO_SCHEDULE, None),
    ];
    assert_eq!(stamp_taints(present, at(5)), expected);
}

fn when(kind: &str, operator: MatchConditionOperator, values: &[&str]) -> MatchCondition {
    MatchCondition {
        condition_type: kind.to_owned(),
        operator,
        status_values: values.iter().map(|&value| value.to_owned()).collect(),
    }
}

fn policy(name: &str, created: i64, spec: ClusterTaintPolicySpec) -> ClusterTaintPolicy {
    let mut policy = ClusterTaintPolicy::new(name, spec);
    policy.metadata.creation_timestamp = Some(Time(at(created)));
    policy
}

fn policy_taint(value: &str) -> PolicyTaint {
    PolicyTaint {
        key: "broken".to_owned(),
        effect: taints::NO_EXECUTE.to_owned(),
        value: Some(value.to_owned()),
    }
}

#[test]
fn a_taint_policy_adds_and_removes_by_conditions() {
    let spec = ClusterTaintPolicySpec {
        target_clusters: Some(ClusterAffinity {
            cluster_names: vec!["m1".to_owned()],
            ..ClusterAffinity::default()
        }),
        add_on_conditions: vec![when("Ready", MatchConditionOperator::NotIn, &["True"])],
        remove_on_conditions: vec![when("Ready", MatchConditionOperator::In, &["True"])],
        taints: vec![policy_taint("yes")],
    };
    let policies = [policy("p", 0, spec)];
    let decide = |cluster: &str, present: Vec<Taint>, status: &str, second| {
        let view = ClusterView {
            name: cluster.into(),
            ..ClusterView::default()
        };
        let conditions = [ready_condition(status, "", "")];
        decide_policy_taints(present, &view, &conditions, &policies, at(second))
    };
    let added = decide("m1", Vec::new(), "False", 5);
    assert_eq!(added.len(), 1);
    assert_eq!(added[0].time_added, Some(Time(at(5))));
    assert_eq!(
        decide("m1", added.clone(), "False", 9),
        added,
        "nothing to do"
    );
    assert_eq!(decide("m1", added.clone(), "True", 9), [], "removed");
    assert_eq!(decide("m2", Vec::new(), "False", 5), [], "another cluster");
}

#[test]
fn a_taint_policy_without_conditions_does_nothing_and_the_youngest_has_the_last_word() {
    let view = ClusterView::default();
    let conditions = [ready_condition("False", "", "")];
    let never = policy(
        "never",
        0,
        ClusterTaintPolicySpec {
            taints: vec![policy_taint("never")],
            ..ClusterTaintPolicySpec::default()
        },
    );
    assert_eq!(
        decide_policy_taints(Vec::new(), &view, &conditions, &[never], at(0)),
        []
    );
    let adding = |name, created, value| {
        let spec = ClusterTaintPolicySpec {
            add_on_conditions: vec![when("Ready", MatchConditionOperator::In, &["False"])],
            taints: vec![policy_taint(value)],
            ..ClusterTaintPolicySpec::default()
        };
        policy(name, created, spec)
    };
    let policies = [adding("young", 2, "young"), adding("old", 1, "old")];
    let decided = decide_policy_taints(Vec::new(), &view, &conditions, &policies, at(3));
    assert_eq!(decided.len(), 1);
    assert_eq!(decided[0].value.as_deref(), Some("young"));
}

fn amounts(list: &[(&str, &str)]) -> Amounts {
    list.iter()
        .map(|&(name, amount)| (name.to_owned(), amount.parse().unwrap()))
        .collect()
}

#[test]
fn a_pod_asks_for_its_containers_or_for_its_hungriest_start() {
    let small = amounts(&[("cpu", "100m"), ("memory", "1Gi")]);
    let hungry = amounts(&[("cpu", "2")]);
    let sidecar = amounts(&[("cpu", "50m")]);
    let check = |parts: PodParts<'_>, expected: &[(&str, &str)]| {
        assert_eq!(pod_requests(&parts), amounts(expected));
    };
    let two = [&small, &small];
    check(
        PodParts {
            containers: &two,
            ..PodParts::default()
        },
        &[("cpu", "200m"), ("memory", "2Gi")],
    );
    check(
        PodParts {
            containers: &two,
            init: &[(false, &hungry)],
            ..PodParts::default()
        },
        &[("cpu", "2"), ("memory", "2Gi")],
    );
    check(
        PodParts {
            containers: &two,
            init: &[(true, &sidecar), (false, &hungry)],
            ..PodParts::default()
        },
        &[("cpu", "2050m"), ("memory", "2Gi")],
    );
    check(
        PodParts {
            containers: &two,
            init: &[(true, &sidecar)],
            ..PodParts::default()
        },
        &[("cpu", "250m"), ("memory", "2Gi")],
    );
    check(
        PodParts {
            containers: &two,
            whole: Some(&amounts(&[("cpu", "1")])),
            overhead: Some(&amounts(&[("cpu", "10m")])),
            ..PodParts::default()
        },
        &[("cpu", "1010m"), ("memory", "2Gi")],
    );
    check(PodParts::default(), &[]);
}

#[test]
fn a_summary_counts_pods_and_keeps_memory_in_powers_of_1024() {
    let mut room = Room::default();
    room.add_node(&amounts(&[
        ("cpu", "4"),
        ("memory", "8Gi"),
        ("pods", "110"),
    ]));
    room.add_node(&amounts(&[
        ("cpu", "4"),
        ("memory", "8Gi"),
        ("pods", "110"),
    ]));
    let pod = amounts(&[("cpu", "250m"), ("memory", "128Mi")]);
    room.add_pods(&pod, 3, true);
    room.add_pods(&pod, 1, false);
    let summary = resource_summary(&room, &ClusterSpec::default());
    let texts = |amounts: &BTreeMap<String, crds::Quantity>| {
        amounts
            .iter()
            .map(|(name, amount)| format!("{name} {}", amount.0))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        texts(&summary.allocatable),
        ["cpu 8", "memory 16Gi", "pods 220"]
    );
    assert_eq!(
        texts(&summary.allocated),
        ["cpu 750m", "memory 384Mi", "pods 3"]
    );
    assert_eq!(
        texts(&summary.allocating),
        ["cpu 250m", "memory 128Mi", "pods 1"]
    );
    assert_eq!(summary.allocatable_modelings, []);
}

#[test]
fn nodes_are_counted_by_the_highest_grade_they_reach() {
    let model = |grade, cpu: &str, memory: &str| ResourceModel {
        grade,
        ranges: [("cpu", cpu), ("memory", memory)]
            .map(|(name, min)| ResourceModelRange {
                name: name.to_owned(),
                min: crds::Quantity(min.to_owned()),
                max: crds::Quantity::default(),
            })
            .to_vec(),
    };
    let spec = ClusterSpec {
        resource_models: vec![
            model(1, "2", "4Gi"),
            model(0, "0", "0"),
            model(2, "4", "16Gi"),
        ],
        ..ClusterSpec::default()
    };
    let room = Room {
        free: vec![
            amounts(&[("cpu", "8"), ("memory", "8Gi")]),
            amounts(&[("cpu", "8"), ("memory", "64Gi")]),
            amounts(&[("cpu", "-1"), ("memory", "1Gi")]),
        ],
        ..Room::default()
    };
    let counts: Vec<_> = resource_summary(&room, &spec)
        .allocatable_modelings
        .iter()
        .map(|modeling| (modeling.grade, modeling.count))
        .collect();
    assert_eq!(
        counts,
        [(0, 1), (1, 1), (2, 1)],
        "the full one is among the lowest"
    );
}

proptest! {
    /// Whatever is seen, `Ready` changes at most once in any stretch as long as the smaller threshold.
    #[test]
    fn readiness_never_flaps(steps in prop::collection::vec((1..20_i64, any::<bool>()), 1..60)) {
        let mut history = History::default();
        let mut second = 0;
        let mut changes: Vec<i64> = Vec::new();
        let mut before = None;
        for (pause, healthy) in steps {
            second += pause;
            let seen = if healthy { Observation::Healthy } else { dead() };
            let decided = decide_readiness(&history, &seen, &HALF_A_MINUTE, at(second));
            if before.is_some_and(|before| before != decided.condition.status) {
                changes.push(second);
            }
            before = Some(decided.condition.status);
            history = decided.history;
        }
        prop_assert!(changes.windows(2).all(|pair| pair[1] - pair[0] >= 30), "{changes:?}");
    }

    /// What was decided is what stays decided.
    #[test]
    fn taints_decided_twice_are_the_same(
        status in prop_oneof![Just(True), Just(False), Just(Unknown)],
        keys in prop::collection::vec((0..4_usize, any::<bool>(), prop::option::of(0..50_i64)), 0..5),
    ) {
        let present: Vec<Taint> = keys
            .into_iter()
            .map(|(key, execute, added)| {
                let key = [taints::NOT_READY, taints::UNREACHABLE, "a", "b"][key];
                taint(key, if execute { taints::NO_EXECUTE } else { taints::NO_SCHEDULE }, added)
            })
            .collect();
        let once = decide_taints(&present, Some(&ready(status)), at(100));
        let twice = decide_taints(&once, Some(&ready(status)), at(200));
        prop_assert_eq!(twice, once);
    }

    /// Sums do not depend on the order of what is summed.
    #[test]
    fn requests_do_not_depend_on_the_order_of_containers(cpus in prop::collection::vec(0..5000_i64, 0..6)) {
        let each: Vec<Amounts> = cpus
            .iter()
            .map(|cpu| Amounts::from([("cpu".to_owned(), Quantity::from_millis(*cpu))]))
            .collect();
        let forward: Vec<&Amounts> = each.iter().collect();
        let backward: Vec<&Amounts> = each.iter().rev().collect();
        let requests = |containers| pod_requests(&PodParts { containers, ..PodParts::default() });
        prop_assert_eq!(requests(&forward), requests(&backward));
    }
}
