//! Work → objects in the member → status of the Work.
//!
//! Each member has a queue of its own, so that one that does not answer holds up nobody else.

mod bring;
mod copy;
mod ownership;
mod remove;
mod status;
mod trouble;

use std::sync::Arc;
use std::time::Duration;

use crds::finalizers;
use crds::work::Work;
use engine::snapshot::Name;
use kit::queue::Outcome;
use kube::api::Api;
use serde_json::json;

pub(crate) use copy::{Baseline, CopySeen};
pub(crate) use remove::without;
pub(crate) use status::condition;

use crate::hub::{Hub, namespace_kind};
use crate::key::{ObjectKey, WorkKey};
use crate::seen::WorkSeen;
use bring::{Bringing, Brought};
use trouble::Trouble;

/// What became of one manifest.
pub(crate) struct Result {
    /// `None` if the manifest names no object.
    object: Option<ObjectKey>,
    outcome: std::result::Result<Option<Arc<CopySeen>>, Trouble>,
    /// Look again after this time.
    again: Option<Duration>,
}

/// Works on one Work of one member.
pub(crate) async fn execute(hub: Option<Arc<Hub>>, cluster: Arc<str>, name: Name) -> Outcome {
    let Some(hub) = hub else {
        return Outcome::Done;
    };
    hub.filled.cancelled().await;
    let key = WorkKey {
        cluster: Name::from(&*cluster),
        name,
    };
    let Some(work) = hub.world.work(&key) else {
        hub.members.written.end(&key);
        hub.unwritten.end(&key);
        return Outcome::Done;
    };
    match hub.world.cluster(&key.cluster) {
        // An agent in the member does it.
        Some(seen) if !seen.pushed => return Outcome::Done,
        Some(_) => {}
        None if work.deleting => return remove::release(&hub, &work).await,
        None => return Outcome::Done,
    }
    let timer = hub.metrics.sync_workload();
    let outcome = if work.deleting {
        remove::remove(&hub, &work).await
    } else {
        sync(&hub, &work).await
    };
    timer.stop(!matches!(outcome, Outcome::Retry | Outcome::RetryAfter(_)));
    outcome
}

async fn sync(hub: &Hub, work: &WorkSeen) -> Outcome {
    if !work.finalized {
        return finalize(hub, work).await;
    }
    let results = bring_all(hub, work).await;
    let troubled = results.iter().any(|result| result.outcome.is_err());
    let again = results.iter().filter_map(|result| result.again).min();
    let reported = status::report(hub, work, &results).await;
    match (reported, troubled, again) {
        (status::Reported::Failed, _, _) | (status::Reported::Done, true, _) => Outcome::Retry,
        (status::Reported::Later(delay), true, _) => {
            // Whatever is due first.
            hub.members
                .queue(&work.key.cluster)
                .add_after(work.key.name.clone(), delay);
            Outcome::Retry
        }
        (status::Reported::Later(delay), false, again) => {
            Outcome::After(again.map_or(delay, |again| again.min(delay)))
        }
        (status::Reported::Done, false, Some(again)) => Outcome::After(again),
        (status::Reported::Done, false, None) => Outcome::Done,
    }
}

async fn bring_all(hub: &Hub, work: &WorkSeen) -> Vec<Result> {
    let mut results = Vec::new();
    for manifest in work.spec().workload.manifests {
        let manifest = copy::complete(manifest, work);
        let Some(object) = ObjectKey::of(&manifest) else {
            results.push(Result {
                object: None,
                outcome: Err(Trouble::Nameless),
                again: None,
            });
            continue;
        };
        results.push(bring_one(hub, work, object, &manifest).await);
    }
    results
}

async fn bring_one(
    hub: &Hub,
    work: &WorkSeen,
    object: ObjectKey,
    manifest: &serde_json::Value,
) -> Result {
    let member = match hub.members.state(&work.key.cluster) {
        Ok(member) => member,
        Err(error) => {
            return Result {
                object: Some(object),
                outcome: Err(Trouble::Member(error)),
                again: None,
            };
        }
    };
    if work.suspended {
        // What is there is reported all the same.
        let copy = member
            .copies
            .store(&object.gvk)
            .and_then(|store| store.find(&object.namespace, &object.name));
        return Result {
            object: Some(object),
            outcome: Ok(copy),
            again: None,
        };
    }
    let brought = Bringing {
        hub,
        member: &member,
        work,
        object: &object,
        manifest,
    }
    .bring()
    .await;
    let (outcome, again) = match brought {
        Ok(Brought::There(copy)) => (Ok(Some(copy)), None),
        Ok(Brought::Made(copy)) => {
            if object.gvk == namespace_kind() {
                hub.namespace_is_there(&work.key, &object.name);
            }
            (Ok(Some(copy)), None)
        }
        Ok(Brought::Later(copy, delay)) => (Ok(Some(copy)), Some(delay)),
        Err(trouble) => (Err(trouble), None),
    };
    Result {
        object: Some(object),
        outcome,
        again,
    }
}

/// Before anything is put into the member, it is made sure that it will be taken out again.
async fn finalize(hub: &Hub, work: &WorkSeen) -> Outcome {
    let api: Api<Work> = Api::namespaced(hub.client().clone(), &work.key.namespace());
    let mut all: Vec<String> = match api.get_opt(&work.key.name).await {
        Ok(Some(live)) => live.metadata.finalizers.unwrap_or_default(),
        Ok(None) => return Outcome::Done,
        Err(error) => {
            tracing::warn!(work = %work.key, %error, "a Work could not be read");
            return Outcome::Retry;
        }
    };
    all.push(finalizers::EXECUTION.to_owned());
    let patch = json!({"metadata": {"finalizers": all}});
    match hub.works.merge_patch(&api, &work.key.name, &patch).await {
        Ok(written) => {
            hub.learn_work(&written);
            Outcome::After(Duration::ZERO)
        }
        Err(error) => {
            tracing::warn!(work = %work.key, error = %error.message(), "the finalizer of a Work was not written");
            Outcome::Retry
        }
    }
}
