//! The writes: status of the binding, events, status of the template.

use crds::conditions::TRUE;
use crds::events;
use crds::scope::Binding;
use crds::work::{AggregatedStatusItem, ClusterResourceBinding, ResourceBinding};
use engine::status::{stamp, status_patch, template_status};
use engine::trace::ConditionFact;
use jiff::Timestamp;
use kit::events::Severity;
use kit::queue::Outcome;
use kit::{Failure, RequestError, conditions};
use kube::api::{Api, DynamicObject};
use serde_json::{Value, json};

use super::said_failed;
use crate::execution::condition;
use crate::hub::Hub;
use crate::key::Origin;
use crate::problem::Problem;
use crate::seen::{BindingSeen, TemplateSeen, reference};
use crate::world::template_of;

/// Writes what a binding says about its copies.
pub(super) async fn binding(
    hub: &Hub,
    origin: &Origin,
    seen: &BindingSeen,
    items: &[AggregatedStatusItem],
    fact: &ConditionFact,
) -> Result<(), RequestError> {
    let mut ours = seen.fully_applied.clone().into_iter().collect();
    conditions::set(&mut ours, condition(fact.clone()), Timestamp::now());
    let status = json!({"conditions": ours, "aggregatedStatus": items});
    match origin {
        Origin::Binding { namespace, name } if namespace.is_empty() => {
            let api: Api<ClusterResourceBinding> = Api::all(hub.client().clone());
            write(hub, origin, &api, name, &status).await
        }
        Origin::Binding { namespace, name } => {
            let api: Api<ResourceBinding> = Api::namespaced(hub.client().clone(), namespace);
            write(hub, origin, &api, name, &status).await
        }
        Origin::Namespace(_) => Ok(()),
    }
}

async fn write<B: Binding>(
    hub: &Hub,
    origin: &Origin,
    api: &Api<B>,
    name: &str,
    status: &Value,
) -> Result<(), RequestError> {
    let intent = json!({
        "apiVersion": B::api_version(&()),
        "kind": B::kind(&()),
        "metadata": {"name": name},
        "status": status,
    });
    match hub.aggregate.apply_status(api, name, &intent).await {
        Ok(written) => {
            hub.reported.begin(origin.clone());
            hub.learn_binding(origin, &written);
            Ok(())
        }
        Err(error) if error.failure() == Failure::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Tells on the template that all copies are there, or why not; once each.
pub(super) async fn tell(
    hub: &Hub,
    binding: &BindingSeen,
    fact: &ConditionFact,
    problems: &[Problem],
) {
    let resource = &binding.spec.resource;
    let uid = resource.uid.as_deref().unwrap_or_default();
    let about = reference(resource, uid);
    let old = binding.fully_applied.as_ref();
    if fact.status.as_str() == TRUE {
        if old.is_none_or(|condition| condition.status != TRUE) {
            hub.recorder
                .tell(
                    &about,
                    Severity::Normal,
                    events::SYNC_WORK_SUCCEED,
                    &fact.message,
                )
                .await;
        }
        return;
    }
    if said_failed(binding) && old.is_some_and(|condition| condition.message == fact.message) {
        return;
    }
    let overriding = problems.iter().any(|problem| problem.overriding);
    let reason = if overriding {
        events::APPLY_OVERRIDE_POLICY_FAILED
    } else {
        events::SYNC_WORK_FAILED
    };
    hub.recorder
        .tell(&about, Severity::Warning, reason, &fact.message)
        .await;
}

/// Writes what the template says, if its kind has a status that can be put together.
pub(super) async fn template(
    hub: &Hub,
    binding: &BindingSeen,
    items: &[AggregatedStatusItem],
) -> Outcome {
    let object = template_of(binding);
    let Some(store) = hub.templates.store(&object.gvk) else {
        return Outcome::Done;
    };
    let Some(template) = store.find(&object.namespace, &object.name) else {
        return Outcome::Done;
    };
    let is_ours = binding
        .spec
        .resource
        .uid
        .as_ref()
        .is_none_or(|uid| *uid == template.uid);
    if !is_ours || template.deleting {
        return Outcome::Done;
    }
    let mut whole = template.object();
    whole["status"] = template.status();
    let now = Timestamp::now();
    let wanted = match template_status(&hub.interpreter(), &whole, items, now) {
        Ok(wanted) => wanted,
        Err(problem) => {
            let about = reference(&binding.spec.resource, &template.uid);
            let (reason, note) = (events::AGGREGATE_STATUS_FAILED, problem.to_string());
            hub.recorder
                .tell(&about, Severity::Warning, reason, &note)
                .await;
            return Outcome::Done;
        }
    };
    let Some(mut patch) = wanted.and_then(|wanted| status_patch(&whole, &wanted)) else {
        return Outcome::Done;
    };
    stamp(&mut patch, &whole, now);
    let kind = match hub.templates.kinds().find(&object.gvk).await {
        Ok(Some(kind)) => kind,
        Ok(None) => return Outcome::Done,
        Err(error) => {
            tracing::warn!(template = %object, error = %error.message(), "{error}");
            return Outcome::Retry;
        }
    };
    let api: Api<DynamicObject> = kind.api(hub.client(), &object.namespace);
    match hub
        .aggregate
        .merge_patch_status(&api, &object.name, &patch)
        .await
    {
        Ok(written) => {
            let seen = TemplateSeen::of(&object.gvk, written);
            store.put(
                kit::Key::new(Some(&object.namespace), &object.name),
                std::sync::Arc::new(seen),
            );
            Outcome::Done
        }
        // The kind has no status of its own, or the object is gone.
        Err(error) if error.failure() == Failure::NotFound => Outcome::Done,
        Err(error) => {
            tracing::warn!(template = %object, error = %error.message(), "{error}");
            Outcome::Retry
        }
    }
}
