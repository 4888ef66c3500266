//! The writes of a plan, in the one safe order: problems are noted, new and changed Works are sent, then old ones go, at last the
//! finalizer of the binding.

use std::collections::BTreeMap;
use std::sync::Arc;

use crds::scope::{Binding, Object};
use crds::work::{ClusterResourceBinding, ResourceBinding, Work};
use crds::{events, finalizers, names};
use engine::dispatch::{Draft, Stored, Target, difference};
use engine::snapshot::Name;
use futures::future::join_all;
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kit::events::Severity;
use kit::queue::Outcome;
use kit::writer::Deletion;
use kit::{Failure, RequestError};
use kube::api::{Api, ObjectMeta};
use kube::core::{NamespaceResourceScope, PartialObjectMeta};
use kube::{Client, Resource};
use serde_json::json;

use super::Plan;
use crate::execution::without;
use crate::hub::Hub;
use crate::key::Origin;
use crate::problem::Problem;
use crate::seen::{BindingSeen, WorkSeen, reference};

/// Writes a plan.
pub(crate) async fn apply(
    hub: &Hub,
    origin: &Origin,
    binding: Option<&BindingSeen>,
    plan: Plan,
    works: &[Arc<WorkSeen>],
) -> Outcome {
    let Plan {
        drafts,
        leaving,
        mut problems,
        conflicts,
        finished,
        again,
    } = plan;
    let sent = join_all(drafts.iter().map(|(target, draft)| {
        let present = works.iter().find(|work| work.key.cluster == target.cluster);
        send(
            hub,
            origin,
            binding,
            target,
            draft,
            present.map(|work| &**work),
        )
    }))
    .await;
    let (mut failed, mut changed) = (false, false);
    for (result, (target, _)) in sent.into_iter().zip(&drafts) {
        match result {
            Ok(Sent::Changed) => changed = true,
            Ok(Sent::Nothing) => {}
            Err(Unsent::Taken(work)) => problems.push(Problem {
                cluster: target.cluster.as_str().to_owned(),
                message: format!("{work} exists and was made for another object"),
                overriding: false,
            }),
            Err(Unsent::Request(error)) => {
                failed = true;
                report(origin, &error);
            }
        }
    }
    if hub.world.put_problems(origin, &problems) && matches!(origin, Origin::Binding { .. }) {
        hub.reports.add(origin.clone());
    }
    if changed && let Some(binding) = binding {
        tell(hub, binding, &conflicts).await;
    }
    // What leaves is looked at again when it is known that what replaces it was written.
    if failed {
        return Outcome::Retry;
    }
    let preserve = binding.map(|binding| {
        binding
            .spec
            .preserve_resources_on_deletion
            .unwrap_or_default()
    });
    for result in join_all(leaving.iter().map(|work| leave(hub, work, preserve))).await {
        if let Err(error) = result {
            failed = true;
            report(origin, &error);
        }
    }
    if !failed
        && finished
        && let Err(error) = finish(hub, origin).await
    {
        failed = true;
        report(origin, &error);
    }
    match (failed, again) {
        (true, _) => Outcome::Retry,
        (false, Some(delay)) => Outcome::After(delay),
        (false, None) => Outcome::Done,
    }
}

fn report(origin: &Origin, error: &RequestError) {
    tracing::warn!(%origin, error = %error.message(), "{error}");
}

/// Tells on the template, together with the change that came of it, which of two override policies has the last word where.
async fn tell(hub: &Hub, binding: &BindingSeen, conflicts: &BTreeMap<String, Vec<Name>>) {
    if conflicts.is_empty() {
        return;
    }
    let list: Vec<String> = conflicts
        .iter()
        .map(|(conflict, clusters)| {
            let clusters: Vec<&str> = clusters.iter().map(Name::as_str).collect();
            format!("{conflict} (in {})", clusters.join(", "))
        })
        .collect();
    let note = format!("override policies disagree: {}", list.join("; "));
    let resource = &binding.spec.resource;
    let about = reference(resource, resource.uid.as_deref().unwrap_or_default());
    let reason = events::APPLY_OVERRIDE_POLICY_SUCCEED;
    hub.recorder
        .tell(&about, Severity::Warning, reason, &note)
        .await;
}

/// What became of a Work.
enum Sent {
    /// It was made or changed.
    Changed,
    /// It was right already, or has to go first.
    Nothing,
}

/// Why a Work was not sent.
enum Unsent {
    /// A Work of that name was made for something else.
    Taken(String),
    Request(RequestError),
}

async fn send(
    hub: &Hub,
    origin: &Origin,
    binding: Option<&BindingSeen>,
    target: &Target,
    draft: &Draft,
    present: Option<&WorkSeen>,
) -> Result<Sent, Unsent> {
    let namespace = crds::namespaces::execution(&target.cluster);
    let api: Api<Work> = Api::namespaced(hub.client().clone(), &namespace);
    let Some(work) = present else {
        let Some(work) = new_work(hub, origin, binding, draft) else {
            return Ok(Sent::Nothing);
        };
        return match hub.works.create(&api, &work).await {
            Ok(made) => {
                hub.learn_work(&made);
                Ok(Sent::Changed)
            }
            Err(error) if error.failure() == Failure::AlreadyExists => {
                clash(hub, origin, &target.cluster, &work, error)
            }
            Err(error) => Err(Unsent::Request(error)),
        };
    };
    if work.deleting {
        // It is made anew when it is gone.
        return Ok(Sent::Nothing);
    }
    let spec = work.spec();
    let stored = Stored {
        labels: &work.labels,
        annotations: &work.annotations,
        spec: &spec,
    };
    let Some(patch) = difference(stored, draft) else {
        hub.works.unchanged("works");
        return Ok(Sent::Nothing);
    };
    match hub.works.merge_patch(&api, &work.key.name, &patch).await {
        Ok(written) => {
            hub.learn_work(&written);
            Ok(Sent::Changed)
        }
        Err(error) => Err(Unsent::Request(error)),
    }
}

/// A Work of that name exists that the watch has not shown as ours.
fn clash(
    hub: &Hub,
    origin: &Origin,
    cluster: &str,
    work: &Work,
    error: RequestError,
) -> Result<Sent, Unsent> {
    let name = work.metadata.name.as_deref().unwrap_or_default();
    let key = crate::key::WorkKey::new(cluster, name);
    match hub.world.work(&key) {
        Some(other) if other.origin.as_ref() != Some(origin) => {
            Err(Unsent::Taken(other.key.to_string()))
        }
        // The watch will show it in a moment.
        Some(_) | None => Err(Unsent::Request(error)),
    }
}

fn new_work(
    hub: &Hub,
    origin: &Origin,
    binding: Option<&BindingSeen>,
    draft: &Draft,
) -> Option<Work> {
    let Draft {
        labels,
        annotations,
        spec,
    } = draft;
    let (name, owner) = match (origin, binding) {
        (Origin::Binding { .. }, Some(binding)) => {
            let resource = &binding.spec.resource;
            let namespace = resource.namespace.as_deref();
            (names::work(&resource.kind, &resource.name, namespace), None)
        }
        (Origin::Namespace(namespace), _) => {
            let seen = hub
                .templates
                .store(&crate::hub::namespace_kind())?
                .find("", namespace)?;
            let owner = OwnerReference {
                api_version: "v1".to_owned(),
                kind: "Namespace".to_owned(),
                name: namespace.as_str().to_owned(),
                uid: seen.uid.clone(),
                controller: Some(true),
                block_owner_deletion: None,
            };
            (names::work("Namespace", namespace, None), Some(owner))
        }
        (Origin::Binding { .. }, None) => return None,
    };
    Some(Work {
        metadata: ObjectMeta {
            name: Some(name),
            labels: Some(labels.clone()),
            annotations: Some(annotations.clone()),
            finalizers: Some(vec![finalizers::EXECUTION.to_owned()]),
            owner_references: owner.map(|owner| vec![owner]),
            ..ObjectMeta::default()
        },
        spec: spec.clone(),
        status: None,
    })
}

/// Takes a Work away. What becomes of the object in the member stands in the Work, so that is put right first.
async fn leave(hub: &Hub, work: &WorkSeen, preserve: Option<bool>) -> Result<(), RequestError> {
    let api: Api<Work> = Api::namespaced(hub.client().clone(), &work.key.namespace());
    if let Some(preserve) = preserve
        && preserve != work.preserved
    {
        let patch = json!({"spec": {"preserveResourcesOnDeletion": preserve}});
        match hub.works.merge_patch(&api, &work.key.name, &patch).await {
            Ok(written) => hub.learn_work(&written),
            Err(error) if error.failure() == Failure::NotFound => return Ok(()),
            Err(error) => return Err(error),
        }
    }
    let deletion = Deletion {
        uid: Some(work.uid.clone()),
        ..Deletion::default()
    };
    match hub.works.delete(&api, &work.key.name, &deletion).await {
        Ok(()) => Ok(()),
        Err(error) if matches!(error.failure(), Failure::NotFound | Failure::Conflict) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Lets a binding go.
async fn finish(hub: &Hub, origin: &Origin) -> Result<(), RequestError> {
    match origin {
        Origin::Binding { namespace, name } if namespace.is_empty() => {
            let api: Api<ClusterResourceBinding> = Api::all(hub.client().clone());
            let_go(hub, &api, name).await
        }
        Origin::Binding { namespace, name } => {
            let api: Api<ResourceBinding> = Api::namespaced(hub.client().clone(), namespace);
            let_go(hub, &api, name).await
        }
        Origin::Namespace(_) => Ok(()),
    }
}

async fn let_go<B: Binding>(hub: &Hub, api: &Api<B>, name: &str) -> Result<(), RequestError> {
    let read = api
        .get_opt(name)
        .await
        .map_err(|error| RequestError::new("get", name, error))?;
    let Some(live) = read else { return Ok(()) };
    let meta = live.meta();
    let finalizers = meta.finalizers.clone().unwrap_or_default();
    let Some(patch) =
        without(&finalizers, B::FINALIZER).filter(|_| meta.deletion_timestamp.is_some())
    else {
        return Ok(());
    };
    match hub.works.json_patch(api, name, patch).await {
        Ok(_) => Ok(()),
        Err(error) if error.failure() == Failure::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Takes away Works whose origin is gone – after looking for it once more: what a watch does not show may be about to come.
pub(crate) async fn orphans(hub: &Hub, origin: &Origin) -> Outcome {
    let works = hub.world.works_of(origin);
    let works: Vec<_> = works.iter().filter(|work| !work.deleting).collect();
    if works.is_empty() {
        return Outcome::Done;
    }
    match exists(hub.client().clone(), origin).await {
        Ok(false) => {}
        Ok(true) => return Outcome::Retry,
        Err(error) => {
            tracing::warn!(%origin, %error, "it could not be made sure that the origin of Works is gone");
            return Outcome::Retry;
        }
    }
    let mut failed = false;
    for result in join_all(works.iter().map(|work| leave(hub, work, None))).await {
        if let Err(error) = result {
            failed = true;
            report(origin, &error);
        }
    }
    if failed {
        Outcome::Retry
    } else {
        Outcome::Done
    }
}

async fn exists(client: Client, origin: &Origin) -> kube::Result<bool> {
    match origin {
        Origin::Binding { namespace, name } if namespace.is_empty() => {
            is_there(
                &Api::<PartialObjectMeta<ClusterResourceBinding>>::all(client),
                name,
            )
            .await
        }
        Origin::Binding { namespace, name } => {
            is_there(&namespaced::<ResourceBinding>(client, namespace), name).await
        }
        Origin::Namespace(name) => {
            is_there(&Api::<PartialObjectMeta<Namespace>>::all(client), name).await
        }
    }
}

fn namespaced<K>(client: Client, namespace: &str) -> Api<PartialObjectMeta<K>>
where
    K: Object + Resource<Scope = NamespaceResourceScope>,
{
    Api::namespaced(client, namespace)
}

async fn is_there<K>(api: &Api<PartialObjectMeta<K>>, name: &str) -> kube::Result<bool>
where
    K: Resource<DynamicType = ()> + Clone + std::fmt::Debug,
{
    api.get_opt(name).await.map(|found| found.is_some())
}
