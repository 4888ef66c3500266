use serde_json::json;

use super::*;

fn id(name: &str) -> BindingName {
    ("default".into(), name.into())
}

fn requests(cpu: i64) -> Vec<(String, Quantity)> {
    vec![("cpu".to_owned(), Quantity::from_units(cpu))]
}

fn targets(words: &str) -> Vec<TargetCluster> {
    words
        .split_whitespace()
        .map(|word| {
            let (name, replicas) = word.split_once(':').unwrap();
            TargetCluster {
                name: name.into(),
                replicas: Some(replicas.parse().unwrap()),
                components: Vec::new(),
            }
        })
        .collect()
}

/// `m1:3` is applied and counts three replicas, `m1` is applied and counts none.
fn reports(words: &str) -> Vec<AggregatedStatusItem> {
    words
        .split_whitespace()
        .map(|word| {
            let (name, replicas) = word.split_once(':').unwrap_or((word, ""));
            let replicas = replicas.parse::<i64>().ok();
            AggregatedStatusItem {
                cluster_name: name.into(),
                status: replicas.map(|count| json!({ "replicas": count })),
                applied: Some(true),
                ..AggregatedStatusItem::default()
            }
        })
        .collect()
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_000_000 + seconds).unwrap()
}

/// CPUs and pods that are taken from a cluster.
fn taken(assumed: &Assumed, cluster: &str) -> (i64, i64) {
    assumed.in_cluster(cluster).map_or((0, 0), |taken| {
        (taken.sum("cpu").value(), taken.sum(PODS).value())
    })
}

/// The binding `web`, whose replicas request two CPUs each, moves.
fn moves(assumed: &mut Assumed, before: &str, after: &str) -> Before {
    let requests = requests(2);
    let need = Need::replicas(&requests, 9);
    assumed.decide(&id("web"), &need, &targets(before), &targets(after))
}

fn observes(assumed: &mut Assumed, clusters: &str, members: &str, seconds: i64) {
    let requests = requests(2);
    assumed.observe(
        &id("web"),
        &Need::replicas(&requests, 9),
        &targets(clusters),
        &reports(members),
        at(seconds),
    );
}

#[test]
fn a_decision_takes_what_it_adds_and_gives_back_what_it_removes() {
    let mut assumed = Assumed::default();
    let _ = moves(&mut assumed, "", "m1:3 m2:1");
    assert_eq!(taken(&assumed, "m1"), (6, 3));
    assert_eq!(taken(&assumed, "m2"), (2, 1));
    let _ = moves(&mut assumed, "m1:3 m2:1", "m1:5");
    assert_eq!(taken(&assumed, "m1"), (10, 5));
    assert_eq!(taken(&assumed, "m2"), (0, 0));
    let _ = moves(&mut assumed, "m1:5", "m1:2");
    assert_eq!(taken(&assumed, "m1"), (4, 2));
}

#[test]
fn what_was_there_before_is_in_the_reports_and_does_not_count() {
    let mut assumed = Assumed::default();
    let _ = moves(&mut assumed, "m1:3", "m1:4");
    assert_eq!(taken(&assumed, "m1"), (2, 1));
    let _ = moves(&mut assumed, "m1:4", "m1:1");
    assert_eq!(taken(&assumed, "m1"), (0, 0), "never less than nothing");
}

#[test]
fn a_failed_write_takes_nothing() {
    let mut assumed = Assumed::default();
    let _ = moves(&mut assumed, "", "m1:3");
    let before = assumed.clone();
    let undo = moves(&mut assumed, "m1:3", "m1:4 m2:7");
    assumed.undo(undo);
    assert_eq!(assumed, before);
}

#[test]
fn a_report_contains_what_was_running_before_it() {
    let mut assumed = Assumed::default();
    let _ = moves(&mut assumed, "", "m1:3 m2:2");
    assumed.cluster_reported(&"m1".into());
    assert_eq!(taken(&assumed, "m1"), (6, 3), "nothing runs yet");
    observes(&mut assumed, "m1:3 m2:2", "m1:1 m2:2", 0);
    assumed.cluster_reported(&"m1".into());
    assert_eq!(taken(&assumed, "m1"), (6, 3), "pods are missing yet");
    observes(&mut assumed, "m1:3 m2:2", "m1:3 m2:2", 1);
    assert_eq!(taken(&assumed, "m1"), (6, 3), "not reported yet");
    assumed.cluster_reported(&"m1".into());
    assert_eq!(taken(&assumed, "m1"), (0, 0));
    assert_eq!(taken(&assumed, "m2"), (4, 2), "m2 has its own report");
}

#[test]
fn a_cluster_with_nothing_new_to_say_has_it_in_its_last_report() {
    let mut assumed = Assumed::default();
    let _ = moves(&mut assumed, "", "m1:3");
    assumed.expire(at(10_000));
    assert_eq!(taken(&assumed, "m1"), (6, 3), "not running yet");
    observes(&mut assumed, "m1:3", "m1", 0);
    observes(&mut assumed, "m1:3", "m1", 60);
    assumed.expire(at(89));
    assert_eq!(taken(&assumed, "m1"), (6, 3));
    assumed.expire(at(90));
    assert_eq!(taken(&assumed, "m1"), (0, 0));
    assert!(assumed.running.is_empty());
}

#[test]
fn what_is_added_to_what_runs_waits_for_its_own_report() {
    let mut assumed = Assumed::default();
    let _ = moves(&mut assumed, "", "m1:3");
    observes(&mut assumed, "m1:3", "m1:3", 0);
    let _ = moves(&mut assumed, "m1:3", "m1:5");
    assumed.cluster_reported(&"m1".into());
    assert_eq!(taken(&assumed, "m1"), (10, 5));
    observes(&mut assumed, "m1:5", "m1:5", 5);
    assumed.cluster_reported(&"m1".into());
    assert_eq!(taken(&assumed, "m1"), (0, 0));
}

#[test]
fn after_a_restart_only_what_no_member_reports_is_assumed() {
    let mut assumed = Assumed::default();
    observes(&mut assumed, "m1:3 m2:2", "m1:3", 0);
    assert_eq!(taken(&assumed, "m1"), (0, 0), "in the report already");
    assert_eq!(taken(&assumed, "m2"), (4, 2));
    observes(&mut assumed, "m1:3 m2:2", "", 1);
    assert_eq!(taken(&assumed, "m1"), (0, 0), "seen before, counted before");
    assert_eq!(taken(&assumed, "m2"), (4, 2), "once, not twice");
}

#[test]
fn the_echo_of_a_write_adds_nothing() {
    let mut assumed = Assumed::default();
    let _ = moves(&mut assumed, "", "m1:3");
    observes(&mut assumed, "m1:3", "", 0);
    assert_eq!(taken(&assumed, "m1"), (6, 3));
}

#[test]
fn a_binding_that_is_gone_leaves_nothing() {
    let mut assumed = Assumed::default();
    let _ = moves(&mut assumed, "", "m1:3");
    observes(&mut assumed, "m1:3", "m1:3", 0);
    assumed.forget(&id("web"));
    assert_eq!(assumed, Assumed::default());
}

#[test]
fn kinds_without_replicas_take_nothing() {
    let mut assumed = Assumed::default();
    let target = TargetCluster {
        name: "m1".into(),
        ..TargetCluster::default()
    };
    let _ = assumed.decide(&id("config"), &Need::replicas(&[], 0), &[], &[target]);
    assert_eq!(assumed.in_cluster("m1"), None);
}
