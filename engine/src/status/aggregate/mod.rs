//! The status of a template: what its copies show, taken together.
//!
//! What a cluster that does not answer last said is not counted as ready or available: nobody knows.

mod batch;
mod network;
mod storage;
mod workload;

use crds::work::{AggregatedStatusItem, ResourceHealth};
use serde_json::{Map, Value};

use crate::interpret::{Native, number};

/// A copy's status, and whether it is fresh.
pub(crate) struct Copy<'a> {
    pub(crate) cluster: &'a str,
    pub(crate) status: &'a Value,
    pub(crate) fresh: bool,
}

/// The status that a template should have; `None` if there is no rule for its kind or nothing to tell.
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
    let complete = copies.len() == items.len() && !items.is_empty();
    match Native::of(template) {
        Native::Deployment => Some(workload::deployment(template, &copies, complete)),
        Native::ReplicaSet => Some(workload::replica_set(template, &copies, complete)),
        Native::StatefulSet => Some(workload::stateful_set(template, &copies, complete)),
        Native::DaemonSet => Some(workload::daemon_set(template, &copies, complete)),
        Native::HorizontalPodAutoscaler => Some(workload::autoscaler(&copies)),
        Native::PodDisruptionBudget => {
            Some(workload::disruption_budget(template, &copies, complete))
        }
        Native::Job => Some(batch::job(template, &copies, complete)),
        Native::CronJob => batch::cron_job(&copies),
        Native::Pod => batch::pod(&copies),
        Native::Service => network::service(template, &copies),
        Native::Ingress => Some(network::addresses(&copies)),
        Native::PersistentVolume => storage::volume(&copies),
        Native::PersistentVolumeClaim => storage::claim(&copies),
        Native::ServiceAccount | Native::Secret => None,
        Native::Other => only_copy(&copies, items.len()),
    }
}

/// A kind nobody has described: where just one cluster runs it, its status is the template's. The generation in it would be the
/// member's, so it is left out.
fn only_copy(copies: &[Copy<'_>], items: usize) -> Option<Value> {
    let [copy] = copies else { return None };
    if items != 1 {
        return None;
    }
    let mut status = copy.status.as_object()?.clone();
    status.remove("observedGeneration");
    (!status.is_empty()).then_some(Value::Object(status))
}

/// The merge patch `{"status": …}` that makes the template's status what it should be; `None` if it is.
///
/// A zero and a field that is not there are the same to the API.
pub fn status_patch(template: &Value, wanted: &Value) -> Option<Value> {
    let empty = Value::Object(Map::new());
    let present = template.get("status").unwrap_or(&empty);
    let changes: Map<String, Value> = wanted
        .as_object()?
        .iter()
        .filter(|(field, value)| !same(present.get(field.as_str()), value))
        .map(|(field, value)| (field.clone(), value.clone()))
        .collect();
    (!changes.is_empty()).then(|| serde_json::json!({ "status": changes }))
}

fn same(present: Option<&Value>, wanted: &Value) -> bool {
    match present {
        Some(present) => present == wanted,
        None => match wanted {
            Value::Null => true,
            Value::Number(number) => number.as_i64() == Some(0),
            Value::Array(items) => items.is_empty(),
            Value::Object(fields) => fields.values().all(|value| same(None, value)),
            Value::String(text) => text.is_empty(),
            Value::Bool(_) => false,
        },
    }
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
