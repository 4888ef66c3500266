//! What a binding says about its copies.

use crds::conditions;
use crds::work::{AggregatedStatusItem, ResourceHealth, WorkStatus};

use crate::trace::{ConditionFact, ConditionStatus};

/// What is known of the copy for one cluster.
#[derive(Clone, Copy, Debug)]
pub struct Report<'a> {
    /// The cluster.
    pub cluster: &'a str,
    /// Whether the binding wants a copy there now. One that is being cleared is waited for by nobody, and reported as long as its
    /// cluster answers.
    pub wanted: bool,
    /// Whether the cluster answers: else what its Work says is old.
    pub answers: bool,
    /// Why no Work could be made, if so.
    pub problem: Option<&'a str>,
    /// The status of its Work; `None` if there is no Work or nothing was reported yet.
    pub status: Option<&'a WorkStatus>,
}

/// The entries, by cluster, and whether everything is where it should be.
///
/// The message of the condition itself names each cluster that is behind, and why.
pub fn summarize(
    reports: &[Report<'_>],
    generation: Option<i64>,
) -> (Vec<AggregatedStatusItem>, ConditionFact) {
    let mut items: Vec<AggregatedStatusItem> = reports
        .iter()
        // What a lost cluster is left with when the others have taken over says nothing about the template any more, and would hold
        // up whoever waits for all that is reported.
        .filter(|report| report.wanted || report.answers)
        .map(item)
        .collect();
    items.sort_by(|a, b| a.cluster_name.cmp(&b.cluster_name));
    let mut behind: Vec<(&str, String)> = reports
        .iter()
        .filter(|report| report.wanted)
        .filter_map(|report| Some((report.cluster, missing(report)?)))
        .collect();
    behind.sort();
    let wanted = reports.iter().filter(|report| report.wanted).count();
    let (status, reason, message) = if wanted == 0 {
        (
            ConditionStatus::False,
            conditions::FULLY_APPLIED_FAILED,
            "no cluster is to run this".to_owned(),
        )
    } else if behind.is_empty() {
        (
            ConditionStatus::True,
            conditions::FULLY_APPLIED_SUCCESS,
            "All works have been successfully applied".to_owned(),
        )
    } else {
        let list: Vec<String> = behind
            .iter()
            .map(|(cluster, why)| format!("{cluster}: {why}"))
            .collect();
        (
            ConditionStatus::False,
            conditions::FULLY_APPLIED_FAILED,
            format!(
                "{} of {wanted} clusters are behind: {}",
                behind.len(),
                list.join("; ")
            ),
        )
    };
    let fact = ConditionFact {
        r#type: conditions::FULLY_APPLIED.to_owned(),
        status,
        reason: reason.to_owned(),
        message,
        observed_generation: generation,
    };
    (items, fact)
}

fn applied(status: Option<&WorkStatus>) -> Option<(bool, &str)> {
    let condition = status?
        .conditions
        .iter()
        .find(|c| c.type_ == conditions::APPLIED)?;
    Some((condition.status == conditions::TRUE, &condition.message))
}

fn suspended(status: Option<&WorkStatus>) -> bool {
    status.is_some_and(|status| {
        status
            .conditions
            .iter()
            .any(|c| c.type_ == conditions::DISPATCHING && c.status == conditions::FALSE)
    })
}

/// Why a wanted copy is not there; `None` if it is.
fn missing(report: &Report<'_>) -> Option<String> {
    if let Some(problem) = report.problem {
        return Some(problem.to_owned());
    }
    match applied(report.status) {
        Some((true, _)) => None,
        Some((false, message)) => Some(message.to_owned()),
        None if suspended(report.status) => Some("dispatching is suspended".to_owned()),
        None if !report.answers => Some("the cluster does not answer".to_owned()),
        None => Some("not applied yet".to_owned()),
    }
}

fn item(report: &Report<'_>) -> AggregatedStatusItem {
    let manifest = report
        .status
        .and_then(|status| status.manifest_statuses.first());
    let (is_applied, message) = match (report.problem, applied(report.status)) {
        (Some(problem), _) => (false, Some(problem.to_owned())),
        (None, Some((true, _))) => (true, None),
        (None, Some((false, message))) => (false, Some(message.to_owned())),
        (None, None) => (false, None),
    };
    let health = match manifest.and_then(|manifest| manifest.health) {
        Some(health) if report.answers => health,
        _ => ResourceHealth::Unknown,
    };
    AggregatedStatusItem {
        cluster_name: report.cluster.to_owned(),
        status: manifest.and_then(|manifest| manifest.status.clone()),
        applied: Some(is_applied),
        applied_message: message,
        health: Some(health),
    }
}
