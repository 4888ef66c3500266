//! What is kept of a template, and which objects can be one.

use std::sync::Arc;

use crds::work::Component;
use crds::{events, namespaces};
use engine::interpret::custom::Problem;
use engine::interpret::{Dependency, Interpreter, Replicas};
use engine::snapshot::{ClaimMarks, Name, TemplateView, Unclear};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::core::DynamicObject;
use serde_json::{Value, json};

use crate::key::Gvk;

/// What is kept of a template; of one that was read without its body no replicas are known.
pub fn view(
    gvk: &Gvk,
    object: DynamicObject,
    interpreter: &Interpreter,
    now: Timestamp,
) -> TemplateView {
    let (counted, dependencies) = if interpreter.looks_into(&gvk.api_version, &gvk.kind) {
        let whole = whole(gvk, &object);
        (
            count(&whole, interpreter, now),
            refer(&whole, interpreter, now),
        )
    } else {
        (Ok(Counted::default()), Ok(Arc::default()))
    };
    let (counted, unclear) = match counted {
        Ok(counted) => (counted, None),
        Err(unclear) => (Counted::default(), Some(unclear)),
    };
    let (dependencies, unclear_dependencies) = match dependencies {
        Ok(dependencies) => (Some(dependencies), None),
        Err(unclear) => (None, Some(unclear)),
    };
    let ObjectMeta {
        name,
        namespace,
        uid,
        generation,
        resource_version,
        creation_timestamp,
        deletion_timestamp,
        labels,
        annotations,
        ..
    } = object.metadata;
    let text = |text: Option<String>| Name::from(text.unwrap_or_default());
    let labels = labels.unwrap_or_default();
    let resource_version = text(resource_version);
    TemplateView {
        api_version: gvk.api_version.clone(),
        kind: gvk.kind.clone(),
        namespace: text(namespace),
        name: text(name),
        uid: text(uid),
        version: generation.map_or_else(|| resource_version.clone(), |n| Name::from(n.to_string())),
        resource_version,
        claim: ClaimMarks::read(&labels, &annotations.unwrap_or_default()),
        labels,
        created: creation_timestamp.map(|time| time.0),
        deleting: deletion_timestamp.is_some(),
        replicas: counted.replicas.count,
        requirements: counted.replicas.requirements,
        components: counted.components,
        unclear,
        dependencies,
        unclear_dependencies,
    }
}

/// The object with its kind, which may be missing in what a watch brings.
fn whole(gvk: &Gvk, object: &DynamicObject) -> Value {
    let mut whole = object.data.clone();
    whole["apiVersion"] = json!(gvk.api_version.as_str());
    whole["kind"] = json!(gvk.kind.as_str());
    whole["metadata"] = json!(object.metadata);
    whole
}

fn unclear(event: &'static str) -> impl FnOnce(Problem) -> Unclear {
    move |problem| Unclear {
        event,
        problem: problem.to_string().into(),
    }
}

/// What the template refers to.
fn refer(
    whole: &Value,
    interpreter: &Interpreter,
    now: Timestamp,
) -> Result<Arc<[Dependency]>, Unclear> {
    interpreter
        .dependencies(whole, now)
        .map(Arc::from)
        .map_err(unclear(events::GET_DEPENDENCIES_FAILED))
}

#[derive(Default)]
struct Counted {
    replicas: Replicas,
    components: Vec<Component>,
}

/// Replicas, or parts if there are several: one part is no more than replicas.
fn count(whole: &Value, interpreter: &Interpreter, now: Timestamp) -> Result<Counted, Unclear> {
    let components = interpreter
        .components(whole, now)
        .map_err(unclear(events::GET_COMPONENTS_FAILED))?;
    if components.len() > 1 {
        return Ok(Counted {
            components,
            ..Counted::default()
        });
    }
    let replicas = interpreter
        .replicas(whole, now)
        .map_err(unclear(events::GET_REPLICAS_FAILED))?;
    Ok(Counted {
        replicas,
        ..Counted::default()
    })
}

/// Whether objects of a kind can be templates. What runs the control plane itself, and what only records what happened, cannot.
pub fn can_be_template(gvk: &Gvk) -> bool {
    let (group, _) = gvk.api_version.split_once('/').unwrap_or(("", ""));
    let own = group == "karmada.io" || group.ends_with(".karmada.io");
    let record = matches!(
        (group, gvk.kind.as_str()),
        ("" | "events.k8s.io", "Event") | ("coordination.k8s.io", "Lease")
    );
    !own && !record
}

/// Whether what is in a namespace can be a template; an empty one stands for cluster scope.
pub fn can_hold_templates(namespace: &str) -> bool {
    !namespaces::is_reserved(namespace) && !namespace.starts_with("kube-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_control_planes_own_objects_are_no_templates() {
        for (api_version, kind, expected) in [
            ("apps/v1", "Deployment", true),
            ("v1", "ConfigMap", true),
            ("v1", "Event", false),
            ("coordination.k8s.io/v1", "Lease", false),
            ("work.karmada.io/v1alpha1", "Work", false),
            ("example.io/v1", "Event", true),
        ] {
            assert_eq!(
                can_be_template(&Gvk::new(api_version, kind)),
                expected,
                "{kind}"
            );
        }
        for (namespace, expected) in [
            ("default", true),
            ("", true),
            ("kube-system", false),
            ("karmada-system", false),
            ("karmada-es-m1", false),
        ] {
            assert_eq!(can_hold_templates(namespace), expected, "{namespace}");
        }
    }
}
