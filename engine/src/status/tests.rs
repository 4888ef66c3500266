use crds::work::{AggregatedStatusItem, ManifestStatus, ResourceHealth, WorkStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use k8s_openapi::jiff::Timestamp;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::binding::{Report, summarize};
use super::*;
use crate::trace::ConditionStatus;

fn copy(cluster: &str, status: Value) -> AggregatedStatusItem {
    AggregatedStatusItem {
        cluster_name: cluster.into(),
        status: Some(status),
        applied: Some(true),
        applied_message: None,
        health: Some(ResourceHealth::Healthy),
    }
}

fn workload(kind: &str, generation: i64, status: impl Into<Value>) -> Value {
    let status: Value = status.into();
    json!({"apiVersion": "apps/v1", "kind": kind, "metadata": {"generation": generation}, "status": status})
}

fn seen(template_generation: i64, generation: i64, observed: i64) -> Value {
    json!({"replicas": 2, "readyReplicas": 2, "availableReplicas": 2, "updatedReplicas": 2,
        "resourceTemplateGeneration": template_generation, "generation": generation, "observedGeneration": observed})
}

#[test]
fn the_generation_is_observed_when_every_member_has_seen_the_present_template_and_not_before() {
    for kind in ["Deployment", "StatefulSet", "DaemonSet", "ReplicaSet"] {
        let template = workload(kind, 7, json!({"observedGeneration": 6}));
        for (narrative, b, expected) in [
            ("both have", seen(7, 3, 3), 7),
            ("one has an old template", seen(6, 3, 3), 6),
            ("one's controller lags", seen(7, 3, 2), 6),
        ] {
            let status = aggregate(&template, &[copy("a", seen(7, 1, 1)), copy("b", b)]).unwrap();
            assert_eq!(
                status["observedGeneration"],
                json!(expected),
                "{kind}: {narrative}"
            );
        }
        let mut silent = copy("b", Value::Null);
        silent.status = None;
        let status = aggregate(&template, &[copy("a", seen(7, 1, 1)), silent]).unwrap();
        assert_eq!(
            status["observedGeneration"],
            json!(6),
            "{kind}: one has said nothing yet"
        );
    }
}

#[test]
fn a_deployment_sums_its_copies() {
    let template = workload("Deployment", 1, json!({}));
    let status = aggregate(
        &template,
        &[copy("b", seen(1, 1, 1)), copy("a", seen(1, 4, 4))],
    )
    .unwrap();
    for (field, expected) in [
        ("replicas", 4),
        ("readyReplicas", 4),
        ("availableReplicas", 4),
        ("updatedReplicas", 4),
        ("unavailableReplicas", 0),
        ("observedGeneration", 1),
    ] {
        assert_eq!(status[field], json!(expected), "{field}");
    }
}

#[test]
fn what_a_silent_cluster_last_said_is_not_counted_as_ready() {
    let mut lost = copy("b", seen(1, 1, 1));
    lost.health = Some(ResourceHealth::Unknown);
    let status = aggregate(
        &workload("Deployment", 1, json!({})),
        &[copy("a", seen(1, 1, 1)), lost],
    )
    .unwrap();
    assert_eq!(
        (&status["replicas"], &status["readyReplicas"]),
        (&json!(4), &json!(2))
    );
}

#[test]
fn a_job_is_complete_when_all_its_copies_are_and_says_so_in_the_form_the_server_accepts() {
    let done = |cluster: &str, end: &str| {
        copy(
            cluster,
            json!({"succeeded": 1, "startTime": "2026-01-01T00:00:00Z", "completionTime": end,
                "conditions": [{"type": "Complete", "status": "True", "lastTransitionTime": end}]}),
        )
    };
    let template = json!({"apiVersion": "batch/v1", "kind": "Job"});
    let running = copy(
        "b",
        json!({"active": 1, "startTime": "2026-01-01T00:00:05Z"}),
    );
    let status = aggregate(&template, &[done("a", "2026-01-01T00:01:00Z"), running]).unwrap();
    assert_eq!(
        status,
        json!({"active": 1, "succeeded": 1, "failed": 0, "startTime": "2026-01-01T00:00:00Z"})
    );
    let status = aggregate(
        &template,
        &[
            done("a", "2026-01-01T00:01:00Z"),
            done("b", "2026-01-01T00:02:00Z"),
        ],
    )
    .unwrap();
    let kinds: Vec<&str> = status["conditions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| c["type"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["SuccessCriteriaMet", "Complete"]);
    assert_eq!(status["completionTime"], json!("2026-01-01T00:02:00Z"));
}

#[test]
fn addresses_are_collected_from_load_balancers_only() {
    let address = json!({"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}});
    let service =
        |kind: &str| json!({"apiVersion": "v1", "kind": "Service", "spec": {"type": kind}});
    assert_eq!(
        aggregate(&service("LoadBalancer"), &[copy("a", address.clone())]),
        Some(json!({"loadBalancer": {"ingress": [{"ip": "1.2.3.4", "hostname": "a"}]}}))
    );
    assert_eq!(
        aggregate(&service("ClusterIP"), &[copy("a", address)]),
        None
    );
}

#[test]
fn a_custom_kind_in_one_cluster_shows_that_clusters_status() {
    let template = json!({"apiVersion": "example.io/v1", "kind": "Thing"});
    let status = json!({"phase": "Fine", "observedGeneration": 3});
    assert_eq!(
        aggregate(&template, &[copy("a", status.clone())]),
        Some(json!({"phase": "Fine"}))
    );
    assert_eq!(
        aggregate(&template, &[copy("a", status.clone()), copy("b", status)]),
        None
    );
}

#[test]
fn a_status_that_is_already_there_needs_no_write() {
    let template = workload(
        "Deployment",
        1,
        json!({"replicas": 4, "conditions": ["kept"]}),
    );
    assert_eq!(
        status_patch(&template, &json!({"replicas": 4, "unavailableReplicas": 0})),
        None
    );
    assert_eq!(
        status_patch(&template, &json!({"replicas": 5, "readyReplicas": 0})),
        Some(json!({"status": {"replicas": 5}}))
    );
}

fn work(applied: Option<(&str, &str)>, health: Option<ResourceHealth>) -> WorkStatus {
    WorkStatus {
        conditions: applied
            .map(|(status, message)| Condition {
                type_: "Applied".into(),
                status: status.into(),
                reason: "X".into(),
                message: message.into(),
                observed_generation: None,
                last_transition_time: Time(Timestamp::UNIX_EPOCH),
            })
            .into_iter()
            .collect(),
        manifest_statuses: vec![ManifestStatus {
            health,
            status: Some(json!({"replicas": 1})),
            ..ManifestStatus::default()
        }],
    }
}

fn report<'a>(cluster: &'a str, status: Option<&'a WorkStatus>) -> Report<'a> {
    Report {
        cluster,
        wanted: true,
        answers: true,
        problem: None,
        status,
    }
}

#[test]
fn fully_applied_names_each_cluster_that_is_behind_and_why() {
    let fine = work(Some(("True", "")), Some(ResourceHealth::Healthy));
    let refused = work(Some(("False", "admission webhook says no (403)")), None);
    let (items, fact) = summarize(
        &[
            report("c", None),
            report("b", Some(&refused)),
            report("a", Some(&fine)),
        ],
        Some(2),
    );
    assert_eq!(
        items
            .iter()
            .map(|i| i.cluster_name.as_str())
            .collect::<Vec<_>>(),
        ["a", "b", "c"]
    );
    assert_eq!(
        items[1].applied_message.as_deref(),
        Some("admission webhook says no (403)")
    );
    assert_eq!(fact.status, ConditionStatus::False);
    assert_eq!(
        fact.message,
        "2 of 3 clusters are behind: b: admission webhook says no (403); c: not applied yet"
    );
    let (_, fact) = summarize(&[report("a", Some(&fine))], None);
    assert_eq!(fact.status, ConditionStatus::True);
}

#[test]
fn a_copy_that_is_being_cleared_is_shown_but_not_waited_for() {
    let fine = work(Some(("True", "")), Some(ResourceHealth::Healthy));
    let leaving = Report {
        wanted: false,
        ..report("b", Some(&fine))
    };
    let (items, fact) = summarize(&[report("a", Some(&fine)), leaving], None);
    assert_eq!(fact.status, ConditionStatus::True);
    assert_eq!(items.len(), 2);
}

#[test]
fn a_lost_cluster_is_unknown_while_it_is_wanted_and_no_longer_counted_when_it_is_replaced() {
    let fine = work(Some(("True", "")), Some(ResourceHealth::Healthy));
    let lost = Report {
        answers: false,
        ..report("b", Some(&fine))
    };
    let (items, _) = summarize(&[report("a", Some(&fine)), lost], None);
    assert_eq!(items[1].health, Some(ResourceHealth::Unknown));
    let replaced = Report {
        wanted: false,
        ..lost
    };
    let (items, fact) = summarize(&[report("a", Some(&fine)), replaced], None);
    let clusters: Vec<&str> = items.iter().map(|item| &*item.cluster_name).collect();
    assert_eq!(clusters, ["a"]);
    assert_eq!(fact.status, ConditionStatus::True);
}

#[test]
fn an_override_that_does_not_apply_is_the_reason_given() {
    let problem = Report {
        problem: Some("OverridePolicy shop/x, rule 1: nothing at /data/a"),
        ..report("a", None)
    };
    let (items, fact) = summarize(&[problem], None);
    assert!(
        fact.message
            .ends_with("a: OverridePolicy shop/x, rule 1: nothing at /data/a")
    );
    assert_eq!(items[0].applied, Some(false));
}

proptest! {
    #[test]
    fn the_order_of_copies_does_not_matter(numbers in prop::collection::vec(0_i64..9, 1..5), kind in 0_usize..4) {
        let template = workload(["Deployment", "StatefulSet", "DaemonSet", "ReplicaSet"][kind], 1, json!({}));
        let mut items: Vec<_> = numbers.iter().enumerate()
            .map(|(at, n)| copy(&format!("c{at}"), json!({"replicas": n, "readyReplicas": n, "resourceTemplateGeneration": 1})))
            .collect();
        let forward = aggregate(&template, &items);
        items.reverse();
        prop_assert_eq!(forward, aggregate(&template, &items));
    }
}
