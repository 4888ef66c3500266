//! The status of a Work: one write for all that became known.

use std::time::Duration;

use crds::conditions::{APPLIED, TRUE};
use crds::work::{ManifestStatus, ResourceHealth, ResourceIdentifier, Work, WorkStatus};
use crds::{Condition, Time, events};
use engine::dispatch::{Pace, facts, wait};
use engine::trace::ConditionFact;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use kit::events::Severity;
use kit::{Failure, conditions};
use kube::api::Api;
use serde_json::json;

use super::Result;
use crate::hub::Hub;
use crate::key::ObjectKey;
use crate::seen::WorkSeen;

/// What became of the status.
pub(crate) enum Reported {
    /// It is written, or was right already.
    Done,
    /// It is written later, together with what comes until then.
    Later(Duration),
    /// It could not be written.
    Failed,
}

/// What passes by itself is told of when it lasts longer.
const PATIENCE: Duration = Duration::from_secs(3);

/// Writes what became of a Work, if it is not written already.
pub(crate) async fn report(hub: &Hub, work: &WorkSeen, results: &[Result]) -> Reported {
    let old = work.status();
    let new = status(work, &old, results);
    if old.manifest_statuses == new.manifest_statuses
        && conditions::same(&old.conditions, &new.conditions)
    {
        hub.unwritten.end(&work.key);
        return Reported::Done;
    }
    let differs = hub.unwritten.elapsed(work.key.clone());
    let since = hub.members.written.get(&work.key);
    let delay = if let Some(patience) = patience(hub, work, &old, results) {
        patience
    } else {
        wait(pace(&old, &new), differs, since)
    };
    if !delay.is_zero() {
        return Reported::Later(delay);
    }
    let api: Api<Work> = Api::namespaced(hub.client().clone(), &work.key.namespace());
    let patch = json!({"status": {
        "conditions": new.conditions,
        "manifestStatuses": new.manifest_statuses,
    }});
    match hub
        .works
        .merge_patch_status(&api, &work.key.name, &patch)
        .await
    {
        Ok(written) => {
            hub.members.written.begin(work.key.clone());
            hub.unwritten.end(&work.key);
            hub.learn_work(&written);
            tell(hub, work, &old, &new).await;
            tell_problems(hub, work, results).await;
            Reported::Done
        }
        Err(error) if error.failure() == Failure::NotFound => Reported::Done,
        Err(error) => {
            tracing::warn!(work = %work.key, error = %error.message(), "the status of a Work was not written");
            Reported::Failed
        }
    }
}

/// How much longer to wait before telling of trouble that usually passes; `None` if there is nothing to wait for.
fn patience(hub: &Hub, work: &WorkSeen, old: &WorkStatus, results: &[Result]) -> Option<Duration> {
    let mut troubles = results
        .iter()
        .filter_map(|result| result.outcome.as_ref().err())
        .peekable();
    troubles.peek()?;
    let told =
        conditions::get(&old.conditions, APPLIED).is_some_and(|condition| condition.status != TRUE);
    if told || !troubles.all(super::Trouble::passes) {
        return None;
    }
    let left = PATIENCE.saturating_sub(hub.troubled.elapsed(work.key.clone()));
    (!left.is_zero()).then_some(left)
}

fn pace(old: &WorkStatus, new: &WorkStatus) -> Pace {
    let sick = |status: &WorkStatus| {
        status
            .manifest_statuses
            .iter()
            .any(|manifest| manifest.health == Some(ResourceHealth::Unhealthy))
    };
    let healthy = |status: &WorkStatus| {
        !status.manifest_statuses.is_empty()
            && status
                .manifest_statuses
                .iter()
                .all(|manifest| manifest.health == Some(ResourceHealth::Healthy))
    };
    let failed =
        conditions::get(&new.conditions, APPLIED).is_some_and(|condition| condition.status != TRUE);
    if sick(new) && !healthy(old) && !failed {
        Pace::Moving
    } else {
        Pace::Settled
    }
}

fn status(work: &WorkSeen, old: &WorkStatus, results: &[Result]) -> WorkStatus {
    let silent = results
        .iter()
        .filter_map(|result| result.outcome.as_ref().err())
        .all(super::Trouble::is_silence);
    let troubles: Vec<String> = results
        .iter()
        .filter_map(|result| {
            let trouble = result.outcome.as_ref().err()?;
            Some(trouble.message(&work.key.cluster, result.object.as_ref()))
        })
        .collect();
    let mut list = old.conditions.clone();
    let now = Timestamp::now();
    if work.suspended {
        conditions::set(&mut list, condition(facts::suspended(work.generation)), now);
    } else {
        conditions::set(
            &mut list,
            condition(facts::dispatching(work.generation)),
            now,
        );
        // A member that cannot be asked still has what it was given.
        if troubles.is_empty() || !silent || !work.applied() {
            conditions::set(
                &mut list,
                condition(facts::applied(work.generation, &troubles)),
                now,
            );
        }
    }
    let manifest_statuses = results
        .iter()
        .enumerate()
        .filter_map(|(ordinal, result)| {
            let object = result.object.as_ref()?;
            match &result.outcome {
                Ok(copy) => {
                    let copy = copy.as_ref()?;
                    Some(ManifestStatus {
                        identifier: identifier(ordinal, object),
                        status: copy.status(),
                        health: Some(copy.health),
                    })
                }
                // What was known last is better than nothing.
                Err(_) => old
                    .manifest_statuses
                    .iter()
                    .find(|known| known.identifier == identifier(ordinal, object))
                    .cloned(),
            }
        })
        .collect();
    WorkStatus {
        conditions: list,
        manifest_statuses,
    }
}

fn identifier(ordinal: usize, object: &ObjectKey) -> ResourceIdentifier {
    let given = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    ResourceIdentifier {
        ordinal: i64::try_from(ordinal).unwrap_or(i64::MAX),
        group: given(&object.gvk.group),
        version: object.gvk.version.clone(),
        kind: object.gvk.kind.clone(),
        resource: String::new(),
        namespace: given(&object.namespace),
        name: object.name.as_str().to_owned(),
    }
}

fn reference(work: &WorkSeen) -> ObjectReference {
    ObjectReference {
        api_version: Some("work.karmada.io/v1alpha1".to_owned()),
        kind: Some("Work".to_owned()),
        namespace: Some(work.key.namespace()),
        name: Some(work.key.name.as_str().to_owned()),
        uid: Some(work.uid.clone()),
        ..ObjectReference::default()
    }
}

/// What is not known because a customization fails; the recorder tells it once.
async fn tell_problems(hub: &Hub, work: &WorkSeen, results: &[Result]) {
    let copies = results
        .iter()
        .filter_map(|result| result.outcome.as_ref().ok()?.as_ref());
    for problem in copies.filter_map(|copy| copy.problem.as_deref()) {
        let reason = events::REFLECT_STATUS_FAILED;
        hub.recorder
            .tell(&reference(work), Severity::Warning, reason, problem)
            .await;
    }
}

/// Events on transitions that somebody has to know of; that all is well is told on the template.
async fn tell(hub: &Hub, work: &WorkSeen, old: &WorkStatus, new: &WorkStatus) {
    let about = reference(work);
    let before = conditions::get(&old.conditions, APPLIED);
    let after = conditions::get(&new.conditions, APPLIED);
    let failed = |condition: Option<&Condition>| {
        condition
            .filter(|condition| condition.status != TRUE)
            .cloned()
    };
    match (failed(before), failed(after)) {
        (was, Some(is)) if was.as_ref().map(|was| &was.message) != Some(&is.message) => {
            let reason = events::SYNC_WORKLOAD_FAILED;
            hub.recorder
                .tell(&about, Severity::Warning, reason, &is.message)
                .await;
        }
        (Some(_), None) if after.is_some() => {
            let (reason, note) = (events::SYNC_WORKLOAD_SUCCEED, "The member has all objects.");
            hub.recorder
                .tell(&about, Severity::Normal, reason, note)
                .await;
        }
        _ => {}
    }
    let was_suspended = facts::is_suspended(&old.conditions);
    if was_suspended != facts::is_suspended(&new.conditions) {
        let note = if was_suspended {
            "Sending to the member goes on."
        } else {
            "Sending to the member is suspended."
        };
        hub.recorder
            .tell(&about, Severity::Normal, events::WORK_DISPATCHING, note)
            .await;
    }
}

/// A condition without its time, which is set when it is put among the others.
pub(crate) fn condition(fact: ConditionFact) -> Condition {
    let ConditionFact {
        r#type,
        status,
        reason,
        message,
        observed_generation,
    } = fact;
    Condition {
        type_: r#type,
        status: status.as_str().to_owned(),
        reason,
        message,
        observed_generation,
        last_transition_time: Time(Timestamp::UNIX_EPOCH),
    }
}
