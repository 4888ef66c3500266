//! Jobs and cron jobs.

use serde_json::{Map, Value, json};

use super::{Copy, sums};
use crate::interpret::{items, number, text};

/// Sums; finished when every copy is, and failed if one of them has.
///
/// The API server guards what a Job says: counts of ended pods never go down, a start does not move, a finished Job has no active pods, carries
/// the condition that announces its end, and, if complete, a completion time that is not before its start. What has ended once stays so.
pub(super) fn job(template: &Value, copies: &[Copy<'_>], complete: bool) -> Option<Value> {
    let before = template.get("status").unwrap_or(&Value::Null);
    if is(before, "Complete") || is(before, "Failed") {
        return None;
    }
    let mut status = sums(copies, &["active", "succeeded", "failed"], &[]);
    for count in ["succeeded", "failed"] {
        let written = number(before, &format!("/{count}"));
        let sum = status.get(count).and_then(Value::as_i64).unwrap_or(0);
        status.insert(count.to_owned(), json!(sum.max(written)));
    }
    let times = |field: &'static str| {
        copies
            .iter()
            .map(move |copy| text(copy.status, field))
            .filter(|time| !time.is_empty())
    };
    let start = match text(before, "/startTime") {
        "" => times("/startTime").min(),
        written => Some(written),
    };
    if let Some(start) = start {
        status.insert("startTime".to_owned(), json!(start));
    }
    let ended = complete
        && copies
            .iter()
            .all(|copy| is(copy.status, "Complete") || is(copy.status, "Failed"));
    let Some(start) = start.filter(|_| ended) else {
        return Some(Value::Object(status));
    };
    let failed: Vec<&str> = copies
        .iter()
        .filter(|copy| is(copy.status, "Failed"))
        .map(|copy| copy.cluster)
        .collect();
    let last = copies
        .iter()
        .flat_map(|copy| items(copy.status, "/conditions"))
        .map(|condition| text(condition, "/lastTransitionTime"))
        .max()
        .unwrap_or_default();
    if failed.is_empty() {
        let completion = times("/completionTime").max().unwrap_or(last).max(start);
        status.insert("completionTime".to_owned(), json!(completion));
    }
    // A cluster that was lost in between may still count pods that ended long ago elsewhere.
    status.insert("active".to_owned(), json!(0));
    status.insert("conditions".to_owned(), end(&failed, last));
    Some(Value::Object(status))
}

/// How a Job ended, after the condition that announces it.
fn end(failed: &[&str], at: &str) -> Value {
    let (announced, kind, reason, message) = if failed.is_empty() {
        (
            "SuccessCriteriaMet",
            "Complete",
            "CompletionsReached",
            "the Job has completed in every cluster".to_owned(),
        )
    } else {
        (
            "FailureTarget",
            "Failed",
            "JobFailed",
            format!("the Job failed in {}", failed.join(", ")),
        )
    };
    let one = |kind: &str| {
        let mut condition =
            json!({"type": kind, "status": "True", "reason": reason, "message": message});
        if !at.is_empty() {
            condition["lastTransitionTime"] = json!(at);
            condition["lastProbeTime"] = json!(at);
        }
        condition
    };
    json!([one(announced), one(kind)])
}

fn is(status: &Value, kind: &str) -> bool {
    items(status, "/conditions")
        .iter()
        .any(|condition| text(condition, "/type") == kind && text(condition, "/status") == "True")
}

pub(super) fn cron_job(copies: &[Copy<'_>]) -> Option<Value> {
    let mut status = Map::new();
    let active: Vec<Value> = copies
        .iter()
        .flat_map(|copy| items(copy.status, "/active"))
        .cloned()
        .collect();
    status.insert("active".to_owned(), Value::Array(active));
    for field in ["lastScheduleTime", "lastSuccessfulTime"] {
        let times = copies
            .iter()
            .filter_map(|copy| copy.status.get(field).and_then(Value::as_str));
        if let Some(last) = times.max() {
            status.insert(field.to_owned(), json!(last));
        }
    }
    (!copies.is_empty()).then_some(Value::Object(status))
}
