//! Jobs, cron jobs and pods.

use serde_json::{Map, Value, json};

use super::{Copy, sums};
use crate::interpret::{items, text};

/// Sums; finished when every copy is, failed as soon as one has and the others have ended.
///
/// The API server accepts a finished Job only together with the condition that announces it, and with times that fit.
pub(super) fn job(template: &Value, copies: &[Copy<'_>], complete: bool) -> Value {
    let mut status = sums(copies, &["active", "succeeded", "failed"], &[]);
    let times = |field: &'static str| {
        copies
            .iter()
            .map(|copy| text(copy.status, field))
            .filter(|time| !time.is_empty())
    };
    if let Some(start) = times("/startTime").min() {
        // A start does not change once it is written.
        let start = match text(template, "/status/startTime") {
            "" => start,
            written => written,
        };
        status.insert("startTime".to_owned(), json!(start));
    }
    let is = |copy: &Copy<'_>, kind: &str| condition(copy.status, kind).is_some();
    let ended = complete
        && copies
            .iter()
            .all(|copy| is(copy, "Complete") || is(copy, "Failed"));
    let finished = ["Complete", "Failed"]
        .iter()
        .any(|kind| condition(template.get("status").unwrap_or(&Value::Null), kind).is_some());
    if !ended || finished {
        return Value::Object(status);
    }
    let failed: Vec<&Copy<'_>> = copies.iter().filter(|copy| is(copy, "Failed")).collect();
    let (announced, kind, reason, message) = if failed.is_empty() {
        (
            "SuccessCriteriaMet",
            "Complete",
            "CompletionsReached",
            "the Job has completed in every cluster".to_owned(),
        )
    } else {
        let clusters: Vec<&str> = failed.iter().map(|copy| copy.cluster).collect();
        (
            "FailureTarget",
            "Failed",
            "JobFailed",
            format!("the Job failed in {}", clusters.join(", ")),
        )
    };
    let last = copies
        .iter()
        .flat_map(|copy| items(copy.status, "/conditions"))
        .map(|condition| text(condition, "/lastTransitionTime"))
        .max()
        .unwrap_or_default();
    let one = |kind: &str| {
        let mut condition =
            json!({"type": kind, "status": "True", "reason": reason, "message": message});
        if !last.is_empty() {
            condition["lastTransitionTime"] = json!(last);
            condition["lastProbeTime"] = json!(last);
        }
        condition
    };
    status.insert("conditions".to_owned(), json!([one(announced), one(kind)]));
    if kind == "Complete"
        && let Some(completion) = times("/completionTime").max()
    {
        status.insert("completionTime".to_owned(), json!(completion));
    }
    Value::Object(status)
}

fn condition<'a>(status: &'a Value, kind: &str) -> Option<&'a Value> {
    items(status, "/conditions")
        .iter()
        .find(|c| text(c, "/type") == kind && text(c, "/status") == "True")
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

/// The phase of the copy that is worst off, and the containers of all.
pub(super) fn pod(copies: &[Copy<'_>]) -> Option<Value> {
    const WORST_FIRST: [&str; 5] = ["Failed", "Unknown", "Pending", "Running", "Succeeded"];
    let phase = WORST_FIRST.iter().find(|phase| {
        copies
            .iter()
            .any(|copy| text(copy.status, "/phase") == **phase)
    })?;
    let containers: Vec<Value> = copies
        .iter()
        .flat_map(|copy| items(copy.status, "/containerStatuses"))
        .cloned()
        .collect();
    Some(json!({"phase": phase, "containerStatuses": containers}))
}
