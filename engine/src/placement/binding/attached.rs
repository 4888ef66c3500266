//! Bindings of templates that no policy owns: those that are there because others depend on the template, and those that a policy has left.

use crds::events;
use crds::finalizers::BINDING_DEPENDENCIES_DISTRIBUTOR;
use crds::work::ResourceBindingSpec;
use serde_json::{Map, Value, json};

use super::meta::{self, BindingMeta, References};
use super::{BindingChange, NewBinding, Plan, Situation, merge_patch, reference};
use crate::dependencies::{Dependent, Terms, is_attached, is_unplaced, required_by, terms};
use crate::snapshot::{BindingView, TemplateView};
use crate::trace::{EventFact, MAX_EVENT_NOTE, Trace, bounded};

/// No policy owns the template: nobody claims it or its binding any more. What a policy has placed stays where it is; what is there for
/// others stays as long as they are.
pub(super) fn without_owner(
    situation: &Situation<'_>,
    template: &TemplateView,
    binding: Option<&BindingView>,
    trace: &mut Trace,
) -> Plan {
    let dependents = situation.dependents;
    let mut plan = match binding {
        // Nothing is needed anywhere before there is a cluster for one of those who need it.
        None if dependents
            .iter()
            .all(|dependent| dependent.clusters.is_empty()) =>
        {
            Plan::default()
        }
        Some(present) if is_attached(present) && dependents.is_empty() => Plan {
            binding: BindingChange::Delete,
            ..Plan::default()
        },
        Some(present) if dependents.is_empty() || !is_unplaced(present) => Plan {
            binding: mention(present, dependents),
            ..Plan::default()
        },
        attached => attach(situation, template, attached, trace),
    };
    plan.template = template
        .claim
        .patch_to(None)
        .map(|metadata| json!({ "metadata": metadata }));
    plan
}

/// The binding of a template that goes wherever those go who depend on it.
fn attach(
    situation: &Situation<'_>,
    template: &TemplateView,
    binding: Option<&BindingView>,
    trace: &mut Trace,
) -> Plan {
    let dependents = situation.dependents;
    let Terms {
        conflict_resolution,
        preserves,
        conflicts,
    } = terms(dependents);
    let mut spec = binding.map_or_else(ResourceBindingSpec::default, |b| (*b.spec).clone());
    let resource_version = spec.resource.resource_version.take();
    spec.resource = reference(template);
    spec.resource.resource_version = resource_version;
    spec.required_by = required_by(dependents);
    spec.conflict_resolution = conflict_resolution;
    spec.preserve_resources_on_deletion = preserves.then_some(true);
    let meta = BindingMeta {
        template,
        claim: None,
        id: situation.new_id,
        applied_placement: None,
        lazy_version: None,
        dependents,
        dependencies: References::Irrelevant,
    };
    let conflict: Vec<String> = conflicts.iter().map(ToString::to_string).collect();
    for reason in conflicts {
        trace.note(reason);
    }
    Plan {
        binding: match binding {
            None => BindingChange::Create(Box::new(NewBinding {
                meta: meta.create(),
                spec,
            })),
            Some(present) => meta.patch(present, &spec),
        },
        conflict: (!conflict.is_empty()).then(|| conflict.join("; ")),
        ..Plan::default()
    }
}

/// A binding that a policy has left, or that another controller made: only who depends on it is noted.
fn mention(present: &BindingView, dependents: &[Dependent]) -> BindingChange {
    let mut metadata = if present.managed_by.is_some() {
        Map::new()
    } else {
        present.claim.patch_to(None).unwrap_or_default()
    };
    let labels: Map<String, Value> = meta::depended_by(present, dependents).collect();
    if !labels.is_empty() {
        let all = metadata.entry("labels").or_insert_with(|| json!({}));
        if let Value::Object(all) = all {
            all.extend(labels);
        }
    }
    let mut spec = (*present.spec).clone();
    spec.required_by = required_by(dependents);
    let mut patch = Map::new();
    if !metadata.is_empty() {
        patch.insert("metadata".to_owned(), Value::Object(metadata));
    }
    if let Some(change) = merge_patch(&*present.spec, &spec) {
        patch.insert("spec".to_owned(), change);
    }
    if patch.is_empty() {
        BindingChange::Keep
    } else {
        BindingChange::Patch(Value::Object(patch))
    }
}

/// A binding that is being deleted. In Karmada a finalizer holds it until its dependencies are told; here they see that it is gone, so
/// that one which comes from there is let go.
pub(super) fn let_go(binding: &BindingView) -> Plan {
    let others: Vec<&String> = binding
        .finalizers
        .iter()
        .filter(|finalizer| *finalizer != BINDING_DEPENDENCIES_DISTRIBUTOR)
        .collect();
    if others.len() == binding.finalizers.len() {
        return Plan::default();
    }
    Plan {
        binding: BindingChange::Patch(json!({ "metadata": {
            "finalizers": others,
            "resourceVersion": binding.resource_version.as_str(),
        }})),
        ..Plan::default()
    }
}

/// What is told about a template whose dependents disagree.
pub fn conflict_event(conflict: &str) -> EventFact {
    EventFact {
        warning: true,
        reason: events::DEPENDENCY_POLICY_CONFLICT.to_owned(),
        note: bounded(conflict, MAX_EVENT_NOTE),
    }
}
