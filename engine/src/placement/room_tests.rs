//! How much finds room, by each estimator and by all of them.

use super::*;
use crate::placement::{Answer, Estimates};
use crate::snapshot::{NodeGroup, Room};
use crate::trace::reason::Silence;

fn amounts_of(words: &str) -> Vec<(String, Quantity)> {
    words
        .split_whitespace()
        .map(|word| {
            let (resource, amount) = word.split_once('=').unwrap();
            (resource.to_owned(), Quantity::parse(amount).unwrap())
        })
        .collect()
}

/// A cluster with these sums, and groups of nodes such as `2*cpu=4 memory=8Gi`.
fn cluster(sums: &str, nodes: &[&str]) -> ClusterView {
    let group = |words: &&str| {
        let (count, free) = words.split_once('*').unwrap();
        NodeGroup {
            free: amounts_of(free).into_iter().collect(),
            count: count.parse().unwrap(),
        }
    };
    ClusterView {
        name: "m1".into(),
        room: Some(Room {
            free: amounts_of(sums).into_iter().collect(),
            nodes: nodes.iter().map(group).collect(),
        }),
        ..ClusterView::default()
    }
}

fn component(name: &str, replicas: i32, requests: &str) -> ComponentNeed {
    ComponentNeed {
        name: name.into(),
        replicas,
        requests: amounts_of(requests),
    }
}

/// Opinions by sums and by node on replicas that request this much.
#[track_caller]
fn opinions(cluster: &ClusterView, requests: &str, sums: Option<i64>, by_node: Option<i64>) {
    let requests = amounts_of(requests);
    let need = Need::replicas(&requests, 1000);
    assert_eq!(Sums.estimate(&need, cluster, None), sums, "by sums");
    assert_eq!(ByNode.estimate(&need, cluster, None), by_node, "by node");
}

#[test]
fn the_scarcest_resource_limits_and_so_does_the_number_of_pods() {
    let m1 = cluster("cpu=2500m memory=6Gi pods=14", &[]);
    opinions(&m1, "cpu=500m", Some(5), None);
    opinions(&m1, "memory=1Gi", Some(6), None);
    opinions(&m1, "cpu=500m memory=2Gi", Some(3), None);
    opinions(&m1, "", Some(14), None);
    opinions(&m1, "cpu=0", Some(14), None);
    opinions(&m1, "cpu=1m", Some(14), None);
}

#[test]
fn a_resource_the_cluster_does_not_have_has_no_room() {
    opinions(&cluster("cpu=4", &[]), "example.com/gpu=1", Some(0), None);
}

#[test]
fn an_overcommitted_cluster_has_no_room_rather_than_less_than_none() {
    opinions(&cluster("cpu=-1 pods=9", &[]), "cpu=1", Some(0), None);
    opinions(&cluster("cpu=4 pods=-2", &[]), "cpu=1", Some(0), None);
}

#[test]
fn who_limits_nothing_and_who_says_nothing_has_no_opinion() {
    opinions(&cluster("cpu=4", &[]), "", None, None);
    opinions(&ClusterView::default(), "cpu=1", None, None);
}

#[test]
fn what_fits_on_no_node_has_no_room_however_much_is_left_in_all() {
    let m1 = cluster("cpu=40 pods=100", &["10*cpu=4"]);
    opinions(&m1, "cpu=20", Some(2), Some(0));
    opinions(&m1, "cpu=3", Some(13), Some(10));
    opinions(&m1, "cpu=2", Some(20), Some(20));
}

#[test]
fn resources_unknown_by_node_are_left_to_the_sums() {
    let m1 = cluster("cpu=40 example.com/gpu=2", &["10*cpu=4"]);
    opinions(&m1, "example.com/gpu=1", Some(2), None);
    opinions(&m1, "cpu=4 example.com/gpu=1", Some(2), Some(10));
}

#[test]
fn a_cluster_whose_nodes_are_all_full_has_no_room() {
    opinions(
        &cluster("cpu=1", &["0*cpu=4", "3*cpu=0"]),
        "cpu=100m",
        Some(10),
        Some(0),
    );
}

#[test]
fn a_set_of_components_fits_as_a_whole_or_not_at_all() {
    let set = [
        component("master", 1, "cpu=3"),
        component("worker", 4, "cpu=1"),
    ];
    let need = Need::set(&set);
    let fits = |sums: &str, nodes: &[&str]| {
        let cluster = cluster(sums, nodes);
        (
            Sums.estimate(&need, &cluster, None),
            ByNode.estimate(&need, &cluster, None),
        )
    };
    assert_eq!(
        fits("cpu=7 pods=5", &["1*cpu=4", "1*cpu=3"]),
        (Some(1), Some(1))
    );
    assert_eq!(fits("cpu=6 pods=5", &[]), (Some(0), None));
    assert_eq!(fits("cpu=9 pods=4", &[]), (Some(0), None));
    assert_eq!(
        fits("cpu=9 pods=9", &["3*cpu=2", "1*cpu=1"]),
        (Some(1), Some(0))
    );
}

fn room_for(request: &Request<'_>, cluster: &ClusterView) -> (i64, String) {
    let mut trace = Trace::new();
    let room = room(request, cluster, &mut trace);
    (room, trace.text())
}

fn request<'a>(
    requests: &'a Requests,
    placement: &'a crds::policy::Placement,
    room: RoomHints<'a>,
) -> Request<'a> {
    Request {
        placement,
        api_version: "apps/v1",
        kind: "Deployment",
        uid: "uid-1",
        replicas: Some(9),
        requests,
        components: &[],
        room,
        current: &[],
        evictions: &[],
        observed_affinity: None,
        placement_unchanged: true,
        fresh: false,
        suspended: false,
    }
}

#[test]
fn the_least_of_all_opinions_counts_and_no_more_than_is_wanted() {
    let placement = crds::policy::Placement::default();
    let requests = amounts_of("cpu=3");
    let plain = request(&requests, &placement, RoomHints::default());
    let m1 = cluster("cpu=400", &["2*cpu=4"]);
    assert_eq!(room_for(&plain, &m1).0, 2);
    assert_eq!(room_for(&plain, &cluster("cpu=400", &[])).0, 9, "capped");
    assert_eq!(room_for(&plain, &ClusterView::default()).0, 9, "in doubt");

    let mut estimates = Estimates::default();
    estimates.put("m1".into(), "quota".into(), Answer::Units(1));
    estimates.put("m1".into(), "other".into(), Answer::NoOpinion);
    let hints = RoomHints {
        estimates: Some(&estimates),
        ..RoomHints::default()
    };
    assert_eq!(room_for(&request(&requests, &placement, hints), &m1).0, 1);
}

#[test]
fn an_estimator_that_gives_no_answer_leaves_the_others_to_decide_and_is_told() {
    let placement = crds::policy::Placement::default();
    let requests = amounts_of("cpu=1");
    let mut estimates = Estimates::default();
    let failed = Silence::Failed("connection refused".into());
    estimates.put("m1".into(), "late".into(), Answer::Silent(Silence::Late));
    estimates.put("m1".into(), "lost".into(), Answer::Silent(failed));
    let hints = RoomHints {
        estimates: Some(&estimates),
        ..RoomHints::default()
    };
    let request = request(&requests, &placement, hints);
    let (room, told) = room_for(&request, &cluster("cpu=5", &[]));
    assert_eq!(room, 5);
    assert!(
        told.contains("was not estimated by late: no answer in time"),
        "{told}"
    );
    assert!(
        told.contains("was not estimated by lost: connection refused"),
        "{told}"
    );
}

#[test]
fn what_was_placed_since_the_report_is_taken_from_sums_and_nodes() {
    let placement = crds::policy::Placement::default();
    let (small, large) = (amounts_of("cpu=1"), amounts_of("cpu=4"));
    let mut assumed = Assumed::default();
    let target = crds::work::TargetCluster {
        name: "m1".into(),
        replicas: Some(3),
        components: Vec::new(),
    };
    let binding = ("default".into(), "other".into());
    let _ = assumed.decide(&binding, &Need::replicas(&small, 3), &[], &[target]);
    let hints = RoomHints {
        assumed: Some(&assumed),
        ..RoomHints::default()
    };
    let left = |requests: &Requests, cluster: &ClusterView| {
        room_for(&request(requests, &placement, hints), cluster).0
    };
    assert_eq!(left(&small, &cluster("cpu=8", &[])), 5);
    assert_eq!(left(&small, &cluster("cpu=8 pods=4", &[])), 1);
    assert_eq!(left(&small, &cluster("cpu=99", &["2*cpu=4"])), 5);
    assert_eq!(left(&large, &cluster("cpu=99", &["2*cpu=4"])), 1);
    let elsewhere = ClusterView {
        name: "m2".into(),
        ..cluster("cpu=8", &[])
    };
    assert_eq!(left(&small, &elsewhere), 8);
}
