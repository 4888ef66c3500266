#![allow(
    clippy::needless_pass_by_value,
    reason = "fixtures read better by value"
)]

use crds::work::{AggregatedStatusItem, ResourceHealth};
use jiff::Timestamp;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{aggregate, stamp, status_patch};

fn item(cluster: &str, status: Value) -> AggregatedStatusItem {
    AggregatedStatusItem {
        cluster_name: cluster.into(),
        status: Some(status).filter(|status| !status.is_null()),
        applied: Some(true),
        health: Some(ResourceHealth::Healthy),
        ..AggregatedStatusItem::default()
    }
}

fn lost(cluster: &str, status: Value) -> AggregatedStatusItem {
    AggregatedStatusItem {
        health: Some(ResourceHealth::Unknown),
        ..item(cluster, status)
    }
}

fn template(api_version: &str, kind: &str, spec: &Value, status: &Value) -> Value {
    json!({
        "apiVersion": api_version, "kind": kind,
        "metadata": {"name": "web", "generation": 2}, "spec": spec, "status": status,
    })
}

/// What the server has after a write of the aggregate.
fn written(mut template: Value, items: &[AggregatedStatusItem]) -> Value {
    if let Some(patch) =
        aggregate(&template, items).and_then(|wanted| status_patch(&template, &wanted))
    {
        json_patch::merge(&mut template, &patch);
    }
    let again = aggregate(&template, items).and_then(|wanted| status_patch(&template, &wanted));
    assert_eq!(again, None, "what was written once is not written again");
    template
}

/// Counts of a copy: replicas, updated, available; both generations are the present ones.
fn counts(replicas: i64, updated: i64, available: i64) -> Value {
    json!({
        "replicas": replicas, "updatedReplicas": updated,
        "readyReplicas": available, "availableReplicas": available,
        "unavailableReplicas": replicas - available,
        "observedGeneration": 5, "generation": 5, "resourceTemplateGeneration": 2,
    })
}

/// What `kubectl rollout status` waits for.
fn rolled_out(deployment: &Value) -> bool {
    let number = |pointer: &str| {
        deployment
            .pointer(pointer)
            .and_then(Value::as_i64)
            .unwrap_or(0)
    };
    number("/metadata/generation") <= number("/status/observedGeneration")
        && number("/status/updatedReplicas") >= number("/spec/replicas")
        && number("/status/replicas") <= number("/status/updatedReplicas")
        && number("/status/availableReplicas") >= number("/status/updatedReplicas")
}

fn condition<'a>(object: &'a Value, kind: &str) -> Option<&'a Value> {
    object
        .pointer("/status/conditions")?
        .as_array()?
        .iter()
        .find(|condition| condition["type"] == kind)
}

fn says(object: &Value, kind: &str) -> (String, String) {
    let found = condition(object, kind).unwrap();
    let word = |key: &str| found[key].as_str().unwrap().to_owned();
    (word("status"), word("reason"))
}

fn pair(status: &str, reason: &str) -> (String, String) {
    (status.to_owned(), reason.to_owned())
}

fn deployment(replicas: i64, items: &[AggregatedStatusItem]) -> Value {
    let spec = json!({ "replicas": replicas });
    written(template("apps/v1", "Deployment", &spec, &json!({})), items)
}

#[test]
fn tools_wait_for_a_rollout_until_every_cluster_has_finished_it() {
    for (narrative, b, finished) in [
        ("both have", counts(3, 3, 3), true),
        ("an old pod is left", counts(4, 3, 3), false),
        ("a new pod is missing", counts(3, 2, 3), false),
        ("a pod is not available", counts(3, 3, 2), false),
        ("one has said nothing", Value::Null, false),
    ] {
        let object = deployment(5, &[item("a", counts(2, 2, 2)), item("b", b)]);
        assert_eq!(rolled_out(&object), finished, "{narrative}");
        let progressing = if finished {
            pair("True", "NewReplicaSetAvailable")
        } else {
            pair("True", "ReplicaSetUpdated")
        };
        assert_eq!(says(&object, "Progressing"), progressing, "{narrative}");
    }
}

#[test]
fn a_deployment_is_available_when_as_many_replicas_are_as_it_wants() {
    let object = deployment(5, &[item("a", counts(2, 2, 2)), item("b", counts(3, 3, 3))]);
    assert_eq!(
        says(&object, "Available"),
        pair("True", "MinimumReplicasAvailable")
    );
    let object = deployment(5, &[item("a", counts(2, 2, 2)), lost("b", counts(3, 3, 3))]);
    assert_eq!(
        says(&object, "Available"),
        pair("False", "MinimumReplicasUnavailable")
    );
    assert_eq!(object["status"]["replicas"], 5);
    assert_eq!(object["status"]["unavailableReplicas"], 3);
}

#[test]
fn a_rollout_that_hangs_in_one_cluster_says_where_and_why() {
    let mut stuck = counts(3, 3, 0);
    stuck["conditions"] = json!([{
        "type": "Progressing", "status": "False",
        "reason": "ProgressDeadlineExceeded", "message": "timed out",
    }]);
    let object = deployment(5, &[item("a", counts(2, 2, 2)), item("b", stuck)]);
    let found = condition(&object, "Progressing").unwrap();
    assert_eq!(found["status"], "False");
    assert_eq!(found["reason"], "ProgressDeadlineExceeded");
    assert_eq!(found["message"], "b: timed out");
}

#[test]
fn a_deployment_that_wants_nothing_and_runs_nowhere_is_done() {
    assert!(rolled_out(&deployment(0, &[])));
    assert!(!rolled_out(&deployment(1, &[])));
}

#[test]
fn nothing_is_written_before_a_copy_has_reported() {
    let before = template("apps/v1", "Deployment", &json!({"replicas": 2}), &json!({}));
    let silent = [item("a", Value::Null), item("b", Value::Null)];
    assert_eq!(written(before.clone(), &silent), before);
    assert_eq!(written(before.clone(), &[]), before);
}

#[test]
fn a_deployment_that_left_every_cluster_is_not_available_any_more() {
    let object = deployment(2, &[item("a", counts(2, 2, 2))]);
    let object = written(object, &[]);
    assert_eq!(
        says(&object, "Available"),
        pair("False", "MinimumReplicasUnavailable")
    );
    assert_eq!(object["status"]["readyReplicas"], 0);
}

#[test]
fn a_stateful_set_shows_the_revisions_of_a_copy_that_is_still_rolling_out() {
    let copy = |current: &str, update: &str| {
        let mut status = counts(2, 2, 2);
        status["currentRevision"] = json!(current);
        status["updateRevision"] = json!(update);
        status
    };
    let of = |items: &[AggregatedStatusItem]| {
        let object = written(
            template(
                "apps/v1",
                "StatefulSet",
                &json!({"replicas": 4}),
                &json!({}),
            ),
            items,
        );
        let status = &object["status"];
        (
            status["currentRevision"].clone(),
            status["updateRevision"].clone(),
        )
    };
    let done = item("a", copy("web-1", "web-1"));
    assert_eq!(
        of(&[done.clone(), item("b", copy("web-7", "web-8"))]),
        (json!("web-7"), json!("web-8"))
    );
    assert_eq!(
        of(&[done, item("b", copy("web-8", "web-8"))]),
        (json!("web-1"), json!("web-1"))
    );
}

const START: &str = "2026-01-01T00:00:00Z";
const END: &str = "2026-01-01T00:02:00Z";

fn job(status: &Value, items: &[AggregatedStatusItem]) -> Value {
    written(template("batch/v1", "Job", &json!({}), status), items)
}

fn ended(how: &str, succeeded: i64, failed: i64) -> Value {
    json!({
        "succeeded": succeeded, "failed": failed, "startTime": START, "completionTime": END,
        "conditions": [{"type": how, "status": "True", "lastTransitionTime": END}],
    })
}

#[test]
fn a_job_fails_when_every_cluster_has_ended_and_one_has_failed() {
    let running = item("a", json!({"active": 1, "startTime": START}));
    let failed = item("b", ended("Failed", 0, 3));
    let object = job(&json!({}), &[running, failed.clone()]);
    assert_eq!(
        object["status"].get("conditions"),
        None,
        "a Job that fails later may not have active pods"
    );

    let object = job(&json!({}), &[item("a", ended("Complete", 2, 0)), failed]);
    let kinds: Vec<&str> = object["status"]["conditions"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|condition| condition["type"].as_str())
        .collect();
    assert_eq!(kinds, ["FailureTarget", "Failed"]);
    assert_eq!(
        condition(&object, "Failed").unwrap()["message"],
        "the Job failed in b"
    );
    assert_eq!(
        object["status"].get("completionTime"),
        None,
        "only what is complete has one"
    );
}

#[test]
fn counts_of_ended_pods_and_the_start_of_a_job_do_not_go_back() {
    let before = json!({"succeeded": 4, "failed": 1, "startTime": START});
    let moved = item("b", json!({"active": 1, "startTime": END}));
    let object = job(&before, &[moved]);
    assert_eq!(object["status"]["succeeded"], 4);
    assert_eq!(object["status"]["failed"], 1);
    assert_eq!(object["status"]["startTime"], START);
    assert_eq!(object["status"]["active"], 1);
}

#[test]
fn a_job_that_has_ended_stays_so() {
    let object = job(&json!({}), &[item("a", ended("Complete", 2, 0))]);
    let moved = item("b", json!({"active": 1, "startTime": END}));
    assert_eq!(aggregate(&object, &[moved]), None);
}

#[test]
fn a_job_is_not_completed_before_it_started() {
    let before = json!({"startTime": "2026-01-01T00:05:00Z"});
    let object = job(&before, &[item("a", ended("Complete", 1, 0))]);
    assert_eq!(object["status"]["completionTime"], "2026-01-01T00:05:00Z");
}

#[test]
fn cron_jobs_tell_what_runs_anywhere_and_when_it_last_did() {
    let copy =
        |active: &str, last: &str| json!({"active": [{"name": active}], "lastScheduleTime": last});
    let object = written(
        template("batch/v1", "CronJob", &json!({}), &json!({})),
        &[item("b", copy("y", START)), item("a", copy("x", END))],
    );
    assert_eq!(
        object["status"],
        json!({"active": [{"name": "x"}, {"name": "y"}], "lastScheduleTime": END})
    );
}

#[test]
fn of_several_pods_the_one_that_is_worst_off_is_told() {
    let running = json!({
        "phase": "Running", "conditions": [{"type": "Ready", "status": "True"}],
        "containerStatuses": [{"name": "c", "ready": true, "restartCount": 0}],
    });
    let pending = json!({
        "phase": "Pending", "conditions": [{"type": "Ready", "status": "False", "reason": "ContainersNotReady"}],
        "containerStatuses": [{"name": "c", "ready": false, "restartCount": 2}],
    });
    let pod = |items: &[AggregatedStatusItem]| {
        written(template("v1", "Pod", &json!({}), &json!({})), items)
    };
    let object = pod(&[item("a", running.clone()), item("b", pending)]);
    assert_eq!(object["status"]["phase"], "Pending");
    assert_eq!(says(&object, "Ready"), pair("False", "ContainersNotReady"));
    assert_eq!(
        object["status"]["containerStatuses"],
        json!([{"name": "c", "ready": false, "restartCount": 2}])
    );
    let object = pod(&[item("a", running.clone()), lost("b", running)]);
    assert_eq!(object["status"]["phase"], "Unknown");
}

#[test]
fn a_budget_counts_pods_of_one_name_in_two_clusters_as_two() {
    let copy = json!({"currentHealthy": 2, "disruptedPods": {"web-0": START}});
    let budget = template("policy/v1", "PodDisruptionBudget", &json!({}), &json!({}));
    let object = written(budget, &[item("a", copy.clone()), item("b", copy)]);
    assert_eq!(object["status"]["currentHealthy"], 4);
    assert_eq!(
        object["status"]["disruptedPods"],
        json!({"a/web-0": START, "b/web-0": START})
    );
    let object = written(object, &[item("a", json!({"currentHealthy": 2}))]);
    assert_eq!(
        object["status"]["disruptedPods"],
        json!({}),
        "what is over is taken away"
    );
}

#[test]
fn an_autoscaler_that_fails_in_one_cluster_says_where() {
    let fine = json!({"currentReplicas": 2, "desiredReplicas": 2});
    let failing = json!({"currentReplicas": 1, "conditions": [{
        "type": "ScalingActive", "status": "False", "reason": "FailedGetResourceMetric", "message": "no metrics",
    }]});
    let scaler = || {
        template(
            "autoscaling/v2",
            "HorizontalPodAutoscaler",
            &json!({}),
            &json!({}),
        )
    };
    let object = written(scaler(), &[item("a", fine.clone()), item("b", failing)]);
    assert_eq!(object["status"]["currentReplicas"], 3);
    assert_eq!(
        condition(&object, "ScalingActive").unwrap()["message"],
        "b: no metrics"
    );
    assert_eq!(
        says(&object, "AbleToScale"),
        pair("True", "ReadyForNewScale")
    );
}

#[test]
fn the_status_of_a_kind_the_control_plane_reports_on_itself_is_left_alone() {
    let status = json!({"conditions": [{"type": "Established", "status": "True"}]});
    let definition = template(
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        &json!({}),
        &json!({}),
    );
    assert_eq!(aggregate(&definition, &[item("a", status.clone())]), None);
    let namespace = template("v1", "Namespace", &json!({}), &json!({}));
    assert_eq!(aggregate(&namespace, &[item("a", status)]), None);
}

#[test]
fn what_a_custom_resource_no_longer_says_is_taken_away() {
    let before = json!({"phase": "Failed", "reason": "Broken", "detail": {"a": 1, "b": 2}});
    let thing = template("example.io/v1", "Thing", &json!({}), &before);
    let now = json!({"phase": "Ready", "detail": {"a": 1}, "observedGeneration": 9});
    let object = written(thing, &[item("a", now)]);
    assert_eq!(
        object["status"],
        json!({"phase": "Ready", "detail": {"a": 1}})
    );
}

#[test]
fn a_condition_keeps_its_time_until_its_status_changes() {
    let present = template(
        "apps/v1",
        "Deployment",
        &json!({"replicas": 1}),
        &json!({"conditions": [
            {"type": "Available", "status": "False", "reason": "MinimumReplicasUnavailable", "lastTransitionTime": START},
            {"type": "Progressing", "status": "True", "reason": "ReplicaSetUpdated", "lastTransitionTime": START},
        ]}),
    );
    let wanted = aggregate(&present, &[item("a", counts(1, 1, 1))]).unwrap();
    let mut patch = status_patch(&present, &wanted).unwrap();
    let now: Timestamp = "2026-01-01T09:00:00.5Z".parse().unwrap();
    stamp(&mut patch, &present, now);
    let time = |kind: &str| condition(&patch, kind).unwrap()["lastTransitionTime"].clone();
    assert_eq!(time("Available"), json!("2026-01-01T09:00:00Z"));
    assert_eq!(time("Progressing"), json!(START), "only its reason changed");
}

fn any_status() -> impl Strategy<Value = Value> {
    let number = 0_i64..5;
    (number.clone(), number.clone(), number, any::<bool>(), any::<bool>()).prop_map(
        |(replicas, ready, active, observed, ended)| {
            json!({
                "replicas": replicas, "readyReplicas": ready, "availableReplicas": ready, "active": active,
                "currentHealthy": ready, "phase": if ended { "Bound" } else { "Pending" },
                "resourceTemplateGeneration": if observed { 2 } else { 1 },
                "currentRevision": format!("r-{replicas}"), "updateRevision": format!("r-{ready}"),
                "startTime": START, "disruptedPods": {format!("p-{active}"): START},
                "loadBalancer": {"ingress": [{"ip": format!("192.0.2.{active}")}]},
                "conditions": [{"type": if ended { "Complete" } else { "Progressing" },
                    "status": if ended { "True" } else { "False" }, "lastTransitionTime": END, "message": "m"}],
            })
        },
    )
}

proptest! {
    #[test]
    fn clusters_are_taken_together_in_any_order_and_written_once(
        statuses in prop::collection::vec(prop::option::of(any_status()), 0..5),
        kind in 0_usize..13,
    ) {
        let (api_version, kind) = [
            ("apps/v1", "Deployment"), ("apps/v1", "StatefulSet"), ("apps/v1", "DaemonSet"), ("apps/v1", "ReplicaSet"),
            ("batch/v1", "Job"), ("batch/v1", "CronJob"), ("v1", "Pod"), ("v1", "Service"), ("networking.k8s.io/v1", "Ingress"),
            ("v1", "PersistentVolume"), ("v1", "PersistentVolumeClaim"), ("policy/v1", "PodDisruptionBudget"),
            ("autoscaling/v2", "HorizontalPodAutoscaler"),
        ][kind];
        let object = template(api_version, kind, &json!({"replicas": 3, "type": "LoadBalancer"}), &json!({}));
        let mut items: Vec<_> = statuses.into_iter().enumerate()
            .map(|(at, status)| item(&format!("c{at}"), status.unwrap_or_default()))
            .collect();
        let forward = written(object.clone(), &items);
        items.reverse();
        prop_assert_eq!(forward, written(object, &items));
    }
}
