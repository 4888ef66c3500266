//! The status of a template: what its copies show, taken together.
//!
//! What a cluster that does not answer last said is not counted as ready or available: nobody knows.

mod batch;
mod network;
mod patch;
mod pod;
mod storage;
mod workload;

use crds::work::{AggregatedStatusItem, ResourceHealth};
use jiff::Timestamp;
use serde_json::{Map, Value};

use crate::interpret::custom::Problem;
use crate::interpret::{Interpreter, Native, number, text};

pub use patch::{stamp, status_patch};

/// A copy's status, and whether it is fresh.
pub(crate) struct Copy<'a> {
    pub(crate) cluster: &'a str,
    pub(crate) status: &'a Value,
    pub(crate) fresh: bool,
}

/// The status that a template should have: what a customization makes of the copies' statuses, else what [`aggregate`] does.
///
/// # Errors
///
/// If the customization's script fails.
pub fn template_status(
    interpreter: &Interpreter,
    template: &Value,
    items: &[AggregatedStatusItem],
    now: Timestamp,
) -> Result<Option<Value>, Problem> {
    match interpreter.aggregate(template, items, now) {
        Some(status) => status.map(|status| Some(status).filter(Value::is_object)),
        None => Ok(aggregate(template, items)),
    }
}

/// The status that a template should have by the built-in rules; `None` if there is none for its kind or nothing to tell.
///
/// Fields that are left out are not ours to say.
pub fn aggregate(template: &Value, items: &[AggregatedStatusItem]) -> Option<Value> {
    let mut copies: Vec<Copy<'_>> = items
        .iter()
        .filter_map(|item| {
            Some(Copy {
                cluster: &item.cluster_name,
                status: item.status.as_ref()?,
                fresh: item.health != Some(ResourceHealth::Unknown),
            })
        })
        .collect();
    copies.sort_by_key(|copy| copy.cluster);
    // A workload that wants nothing runs nowhere, and there is nobody to wait for.
    let complete = copies.len() == items.len() && (!items.is_empty() || wants_nothing(template));
    match Native::of(template) {
        Native::Deployment => Some(workload::deployment(template, &copies, complete)),
        Native::ReplicaSet => Some(workload::replica_set(template, &copies, complete)),
        Native::StatefulSet => Some(workload::stateful_set(template, &copies, complete)),
        Native::DaemonSet => Some(workload::daemon_set(template, &copies, complete)),
        Native::HorizontalPodAutoscaler => Some(workload::autoscaler(template, &copies, complete)),
        Native::PodDisruptionBudget => {
            Some(workload::disruption_budget(template, &copies, complete))
        }
        Native::Job => batch::job(template, &copies, complete),
        Native::CronJob => batch::cron_job(&copies),
        Native::Pod => pod::pod(&copies),
        Native::Service => network::service(template, &copies),
        Native::Ingress => Some(network::addresses(&copies)),
        Native::PersistentVolume => storage::volume(&copies),
        Native::PersistentVolumeClaim => storage::claim(&copies),
        Native::ServiceAccount | Native::Secret => None,
        Native::Other => only_copy(template, &copies, items.len()),
    }
}

fn wants_nothing(template: &Value) -> bool {
    template.pointer("/spec/replicas").and_then(Value::as_i64) == Some(0)
}

/// Groups whose kinds the control plane's own API server and controllers report on: two writers of one status never come to rest.
const BUILT_IN: [&str; 20] = [
    "",
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "apiregistration.k8s.io",
    "apps",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "autoscaling",
    "batch",
    "certificates.k8s.io",
    "coordination.k8s.io",
    "discovery.k8s.io",
    "events.k8s.io",
    "extensions",
    "flowcontrol.apiserver.k8s.io",
    "networking.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "resource.k8s.io",
    "storage.k8s.io",
];

/// A custom kind nobody has described: where just one cluster runs it, its status is the template's. The generations in it would be the
/// member's, so they are left out; what the member no longer says is taken away.
fn only_copy(template: &Value, copies: &[Copy<'_>], items: usize) -> Option<Value> {
    let api_version = text(template, "/apiVersion");
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    let [copy] = copies else { return None };
    if items != 1 || BUILT_IN.contains(&group) {
        return None;
    }
    let mut status = copy.status.as_object()?.clone();
    status.remove("observedGeneration");
    for condition in status
        .get_mut("conditions")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
        .filter_map(Value::as_object_mut)
    {
        condition.remove("observedGeneration");
    }
    if status.is_empty() {
        return None;
    }
    for field in template
        .get("status")
        .and_then(Value::as_object)
        .into_iter()
        .flat_map(Map::keys)
    {
        status.entry(field.clone()).or_insert(Value::Null);
    }
    Some(Value::Object(status))
}

/// The generation that may be called observed: the template's, when every copy was made from it and its member's controller has seen it;
/// else what was said before.
pub(crate) fn observed_generation(template: &Value, copies: &[Copy<'_>], complete: bool) -> i64 {
    let generation = number(template, "/metadata/generation");
    let all = complete
        && copies.iter().all(|copy| {
            number(copy.status, "/resourceTemplateGeneration") == generation
                && number(copy.status, "/observedGeneration") == number(copy.status, "/generation")
        });
    if all {
        generation
    } else {
        number(template, "/status/observedGeneration").min(generation)
    }
}

/// Sums of fields over all copies. `live` ones count for fresh copies only.
pub(crate) fn sums(copies: &[Copy<'_>], all: &[&str], live: &[&str]) -> Map<String, Value> {
    let sum = |field: &str, only_fresh: bool| -> i64 {
        copies
            .iter()
            .filter(|copy| copy.fresh || !only_fresh)
            .map(|copy| copy.status.get(field).and_then(Value::as_i64).unwrap_or(0))
            .fold(0, i64::saturating_add)
    };
    let all = all
        .iter()
        .map(|field| ((*field).to_owned(), sum(field, false).into()));
    let live = live
        .iter()
        .map(|field| ((*field).to_owned(), sum(field, true).into()));
    all.chain(live).collect()
}

#[cfg(test)]
mod tests;
