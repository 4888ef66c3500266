//! Workloads: sums, and a generation and conditions that `kubectl rollout`, `kubectl wait` and continuous delivery can trust.

use serde_json::{Map, Value, json};

use super::{Copy, observed_generation, sums};
use crate::interpret::{items, number, text};

fn counted(
    template: &Value,
    copies: &[Copy<'_>],
    complete: bool,
    all: &[&str],
    live: &[&str],
) -> Map<String, Value> {
    let mut status = sums(copies, all, live);
    let observed = observed_generation(template, copies, complete);
    status.insert("observedGeneration".to_owned(), observed.into());
    status
}

fn count(status: &Map<String, Value>, field: &str) -> i64 {
    status.get(field).and_then(Value::as_i64).unwrap_or(0)
}

pub(super) fn deployment(template: &Value, copies: &[Copy<'_>], complete: bool) -> Value {
    let mut status = counted(
        template,
        copies,
        complete,
        &["replicas", "updatedReplicas", "unavailableReplicas"],
        &["readyReplicas", "availableReplicas"],
    );
    let unknown: i64 = copies
        .iter()
        .filter(|copy| !copy.fresh)
        .map(|copy| number(copy.status, "/availableReplicas"))
        .sum();
    let unavailable = count(&status, "unavailableReplicas").saturating_add(unknown);
    status.insert("unavailableReplicas".to_owned(), unavailable.into());
    // Before anybody has reported there is nothing to say, and so nothing to write.
    let said = !items(template, "/status/conditions").is_empty();
    if complete || said || !copies.is_empty() {
        let conditions = rollout(template, copies, &status);
        status.insert("conditions".to_owned(), conditions);
    }
    Value::Object(status)
}

/// The conditions of a Deployment, as its controller would set them for all copies together.
fn rollout(template: &Value, copies: &[Copy<'_>], status: &Map<String, Value>) -> Value {
    let wanted = template
        .pointer("/spec/replicas")
        .and_then(Value::as_i64)
        .unwrap_or(1);
    let [updated, available] =
        ["updatedReplicas", "availableReplicas"].map(|field| count(status, field));
    let finished = count(status, "observedGeneration") >= number(template, "/metadata/generation")
        && updated >= wanted
        && count(status, "replicas") <= updated
        && available >= updated;
    let mut conditions = vec![if available >= wanted {
        condition(
            "Available",
            true,
            "MinimumReplicasAvailable",
            "as many replicas are available as the template wants",
        )
    } else {
        condition(
            "Available",
            false,
            "MinimumReplicasUnavailable",
            "fewer replicas are available than the template wants",
        )
    }];
    conditions.push(trouble(copies, "Progressing").unwrap_or_else(|| {
        if finished {
            condition(
                "Progressing",
                true,
                "NewReplicaSetAvailable",
                "every copy has rolled out the present template",
            )
        } else {
            condition(
                "Progressing",
                true,
                "ReplicaSetUpdated",
                "copies are rolling out the present template",
            )
        }
    }));
    conditions.extend(trouble(copies, "ReplicaFailure"));
    Value::Array(conditions)
}

/// What copies say is wrong, each with its cluster; the reason is that of the first.
fn trouble(copies: &[Copy<'_>], kind: &str) -> Option<Value> {
    let said: Vec<(&str, &Value)> = copies
        .iter()
        .flat_map(|copy| {
            items(copy.status, "/conditions")
                .iter()
                .filter(|condition| text(condition, "/type") == kind)
                .map(|condition| (copy.cluster, condition))
        })
        .collect();
    let (_, first) = said.first()?;
    let messages: Vec<String> = said
        .iter()
        .map(|(cluster, condition)| format!("{cluster}: {}", text(condition, "/message")))
        .collect();
    Some(json!({
        "type": kind,
        "status": text(first, "/status"),
        "reason": text(first, "/reason"),
        "message": messages.join("; "),
    }))
}

fn condition(kind: &str, holds: bool, reason: &str, message: &str) -> Value {
    let status = if holds { "True" } else { "False" };
    json!({"type": kind, "status": status, "reason": reason, "message": message})
}

pub(super) fn replica_set(template: &Value, copies: &[Copy<'_>], complete: bool) -> Value {
    Value::Object(counted(
        template,
        copies,
        complete,
        &["replicas", "fullyLabeledReplicas"],
        &["readyReplicas", "availableReplicas"],
    ))
}

pub(super) fn stateful_set(template: &Value, copies: &[Copy<'_>], complete: bool) -> Value {
    let mut status = counted(
        template,
        copies,
        complete,
        &["replicas", "currentReplicas", "updatedReplicas"],
        &["readyReplicas", "availableReplicas"],
    );
    // Revisions differ by cluster. Who reads them asks whether both are the same: those of a copy that is still rolling out, if any is.
    let revisions = |copy: &Copy<'_>| {
        ["currentRevision", "updateRevision"]
            .map(|field| text(copy.status, &format!("/{field}")).to_owned())
    };
    let mut all = copies.iter().map(revisions);
    let chosen = all
        .clone()
        .find(|[current, update]| current != update)
        .or_else(|| all.next());
    if let Some([current, update]) = chosen {
        status.insert("currentRevision".to_owned(), json!(current));
        status.insert("updateRevision".to_owned(), json!(update));
    }
    Value::Object(status)
}

pub(super) fn daemon_set(template: &Value, copies: &[Copy<'_>], complete: bool) -> Value {
    Value::Object(counted(
        template,
        copies,
        complete,
        &[
            "currentNumberScheduled",
            "desiredNumberScheduled",
            "numberMisscheduled",
            "numberUnavailable",
            "updatedNumberScheduled",
        ],
        &["numberAvailable", "numberReady"],
    ))
}

pub(super) fn autoscaler(template: &Value, copies: &[Copy<'_>], complete: bool) -> Value {
    let mut status = counted(
        template,
        copies,
        complete,
        &["currentReplicas", "desiredReplicas"],
        &[],
    );
    if complete && !copies.is_empty() {
        let conditions: Vec<Value> = [
            ("AbleToScale", "ReadyForNewScale"),
            ("ScalingActive", "ValidMetricFound"),
        ]
        .into_iter()
        .map(|(kind, reason)| {
            trouble(copies, kind).unwrap_or_else(|| {
                condition(kind, true, reason, "no cluster reports anything else")
            })
        })
        .collect();
        status.insert("conditions".to_owned(), Value::Array(conditions));
    }
    Value::Object(status)
}

pub(super) fn disruption_budget(template: &Value, copies: &[Copy<'_>], complete: bool) -> Value {
    let mut status = counted(
        template,
        copies,
        complete,
        &["desiredHealthy", "expectedPods"],
        &["currentHealthy", "disruptionsAllowed"],
    );
    // Pods of several clusters may have one name.
    let disrupted: Map<String, Value> = copies
        .iter()
        .flat_map(|copy| {
            copy.status
                .get("disruptedPods")
                .and_then(Value::as_object)
                .into_iter()
                .flatten()
                .map(|(pod, time)| (format!("{}/{pod}", copy.cluster), time.clone()))
        })
        .collect();
    status.insert("disruptedPods".to_owned(), Value::Object(disrupted));
    Value::Object(status)
}
