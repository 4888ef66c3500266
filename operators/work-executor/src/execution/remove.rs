//! Taking the objects of a Work out of the member, then letting the Work go.

use std::time::Duration;

use crds::finalizers;
use crds::work::Work;
use engine::dispatch::{Ownership, release_patch};
use kit::queue::Outcome;
use kit::writer::Deletion;
use kit::{Failure, RequestError};
use kube::api::{Api, DynamicObject};
use kube::core::PartialObjectMeta;
use serde_json::json;

use super::copy::owner_of;
use super::trouble::Trouble;
use crate::hub::{Hub, namespace_kind};
use crate::key::ObjectKey;
use crate::members::MemberState;
use crate::seen::WorkSeen;

/// Takes the objects out, or makes them the member's own; a member that does not answer keeps the Work.
pub(crate) async fn remove(hub: &Hub, work: &WorkSeen) -> Outcome {
    if !work.finalized {
        return Outcome::Done;
    }
    let member = match hub.members.state(&work.key.cluster) {
        Ok(member) => member,
        Err(error) => {
            tracing::info!(work = %work.key, %error, "a deleted Work waits for its member");
            return Outcome::RetryAfter(Duration::from_secs(5));
        }
    };
    for object in &work.objects {
        if let Err(trouble) = take_out(hub, &member, work, object).await {
            hub.metrics.deleted(work, object, false);
            tracing::info!(
                work = %work.key,
                reason = trouble.message(&work.key.cluster, Some(object)),
                "an object is still in the member"
            );
            return Outcome::Retry;
        }
    }
    release(hub, work).await
}

async fn take_out(
    hub: &Hub,
    member: &MemberState,
    work: &WorkSeen,
    object: &ObjectKey,
) -> Result<(), Trouble> {
    // An error means that it is not known whether the kind is served, so neither whether the object is gone.
    let Some(kind) = member
        .copies
        .kinds()
        .find(&object.gvk)
        .await
        .map_err(Trouble::of)?
    else {
        return Ok(());
    };
    let client = &member.member.client;
    let namespace = if kind.namespaced {
        object.namespace.as_str()
    } else {
        ""
    };
    let seen = member
        .copies
        .store(&object.gvk)
        .and_then(|store| store.find(namespace, &object.name));
    let uid = match seen {
        Some(copy) if copy.ownership(&work.key) == Ownership::Ours => copy.uid.clone(),
        Some(_) => return Ok(()),
        None if member.copies.is_synced(&object.gvk) => {
            member.forget_baseline(object);
            return Ok(());
        }
        None => {
            let api: Api<PartialObjectMeta<DynamicObject>> = if namespace.is_empty() {
                Api::all_with(client.clone(), &kind.resource)
            } else {
                Api::namespaced_with(client.clone(), namespace, &kind.resource)
            };
            let read = api.get_opt(&object.name).await.map_err(|error| {
                Trouble::of(RequestError::new("get", object.to_string(), error))
            })?;
            match read.map(|found| found.metadata) {
                Some(meta) if owner_of(&meta, &work.key) == Ownership::Ours => {
                    meta.uid.unwrap_or_default()
                }
                Some(_) | None => return Ok(()),
            }
        }
    };
    let api = kind.api(client, &object.namespace);
    let writer = hub.execution.on(client.clone());
    let done = if work.preserved || outlives_membership(hub, work, object) {
        let mut patch = release_patch();
        patch["metadata"]["uid"] = json!(uid);
        writer
            .merge_patch(&api, &object.name, &patch)
            .await
            .map(|_| ())
    } else {
        let deletion = Deletion {
            uid: Some(uid),
            ..Deletion::default()
        };
        writer.delete(&api, &object.name, &deletion).await
    };
    match done {
        Ok(()) => {
            hub.metrics.deleted(work, object, true);
            member.forget_baseline(object);
            Ok(())
        }
        Err(error) if error.failure() == Failure::NotFound => Ok(()),
        // Another object took the name meanwhile: look at it anew.
        Err(error) if error.failure() == Failure::Conflict => {
            if let Some(store) = member.copies.store(&object.gvk) {
                store.remove(&kit::Key::new(Some(namespace), &object.name));
            }
            Err(Trouble::Moved)
        }
        Err(error) => Err(Trouble::Request(error)),
    }
}

/// A namespace of a cluster that leaves stays: the cluster's users may have put things of their own into it.
fn outlives_membership(hub: &Hub, work: &WorkSeen, object: &ObjectKey) -> bool {
    object.gvk == namespace_kind()
        && hub
            .world
            .cluster(&work.key.cluster)
            .is_some_and(|cluster| cluster.view.deleting)
}

/// Lets a Work go: nothing of it is in the member, or there is no member any more.
pub(crate) async fn release(hub: &Hub, work: &WorkSeen) -> Outcome {
    if !work.finalized {
        return Outcome::Done;
    }
    let api: Api<Work> = Api::namespaced(hub.client().clone(), &work.key.namespace());
    let live = match api.get_opt(&work.key.name).await {
        Ok(Some(live)) if live.metadata.uid.as_deref() == Some(&work.uid) => live,
        Ok(_) => return Outcome::Done,
        Err(error) => {
            tracing::warn!(work = %work.key, %error, "a Work could not be read");
            return Outcome::Retry;
        }
    };
    let finalizers = live.metadata.finalizers.unwrap_or_default();
    let Some(patch) = without(&finalizers, finalizers::EXECUTION) else {
        return Outcome::Done;
    };
    match hub.works.json_patch(&api, &work.key.name, patch).await {
        Ok(written) => {
            hub.learn_work(&written);
            Outcome::Done
        }
        Err(error) if error.failure() == Failure::NotFound => Outcome::Done,
        Err(error) => {
            tracing::warn!(work = %work.key, error = %error.message(), "a Work could not be let go");
            Outcome::Retry
        }
    }
}

/// The patch that takes one finalizer away and nothing else; `None` if it is not there.
pub(crate) fn without(finalizers: &[String], ours: &str) -> Option<json_patch::Patch> {
    let at = finalizers.iter().position(|finalizer| finalizer == ours)?;
    let path = format!("/metadata/finalizers/{at}");
    let operations = json!([
        {"op": "test", "path": path, "value": ours},
        {"op": "remove", "path": path},
    ]);
    Some(serde_json::from_value(operations).expect("the operations are well formed"))
}
