//! What the binding of a template has to be: the owner's wishes, the clusters chosen for them, and how to get there from what exists.
//!
//! The result is a [`Plan`]: at most one write of the binding, one of the template's claim, one of the binding's status, one event.
//! Nothing is left to choose while it is carried out, it may stop anywhere, and planning again on what it has written gives an
//! empty plan.

mod attached;
mod difference;
mod meta;
mod status;
mod wishes;

use crds::work::{ObjectReference, ResourceBindingSpec};
use crds::{annotations, events};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::{Map, Value, json};

pub use attached::conflict_event;
pub use status::StatusWish;

use super::{Needs, Outcome, Placed, Request, RoomHints};
use crate::dependencies::{Dependent, required_by};
use crate::policy::Owner;
use crate::snapshot::{BindingView, Claim, Fleet, PolicyView, TemplateView, Unclear};
use crate::trace::reason::{PlacementReason, PolicyReason};
use crate::trace::{Decision, EventFact, MAX_EVENT_NOTE, Subject, Trace, Verdict, bounded};

use difference::merge_patch;
use meta::{BindingMeta, References};

/// The scheduler that this is; bindings that name another one are not placed.
pub const SCHEDULER_NAME: &str = "default-scheduler";

/// All that is known about a template and its binding.
#[derive(Clone, Copy, Debug)]
pub struct Situation<'a> {
    /// The template, if it exists.
    pub template: Option<&'a TemplateView>,
    /// Its binding, if it exists.
    pub binding: Option<&'a BindingView>,
    /// The policy that owns the template, which has its permanent id.
    pub owner: Option<&'a Owner>,
    /// Override policies that the owner waits for.
    pub missing_overrides: &'a [String],
    /// The bindings that depend on the template.
    pub dependents: &'a [Dependent],
    /// The clusters.
    pub fleet: &'a Fleet,
    /// What is known about room beside what the clusters say.
    pub room: RoomHints<'a>,
    /// The time.
    pub now: Timestamp,
    /// A permanent id for a binding that has none.
    pub new_id: &'a str,
}

/// What is to be written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// The binding.
    pub binding: BindingChange,
    /// Merge patch of the template's metadata: its claim.
    pub template: Option<Value>,
    /// The binding's status, once its generation is known.
    pub status: Option<StatusWish>,
    /// Events for the template.
    pub events: Vec<EventFact>,
    /// What placing came to, if it was tried and came to something new.
    pub attempt: Option<Attempt>,
    /// Whether the template waits for override policies.
    pub waits_for_overrides: bool,
    /// In what the bindings that depend on the template disagree, in words.
    pub conflict: Option<String>,
    /// Whether replicas wait for room or a cluster, so that a change of either is worth another try.
    pub pending: Option<Outcome>,
}

impl Plan {
    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.binding == BindingChange::Keep
            && self.template.is_none()
            && self.status.is_none()
            && self.events.is_empty()
    }
}

/// How the binding changes.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum BindingChange {
    /// Not at all.
    #[default]
    Keep,
    /// It is created.
    Create(Box<NewBinding>),
    /// It is patched with this merge patch.
    Patch(Value),
    /// It is deleted, as it was seen: it was there for others, and nobody needs it any more.
    Delete,
}

/// A binding to create.
#[derive(Clone, Debug, PartialEq)]
pub struct NewBinding {
    /// Metadata.
    pub meta: ObjectMeta,
    /// Spec.
    pub spec: ResourceBindingSpec,
}

/// A new result of placing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// What it came to.
    pub outcome: Outcome,
    /// Whether only the number of replicas had changed.
    pub scale: bool,
}

/// What has to be written so that the binding is what the owner of the template wants.
pub fn plan(situation: &Situation<'_>) -> Decision<Plan> {
    let mut trace = Trace::new();
    let want = match (situation.template, situation.binding) {
        (_, Some(binding)) if binding.deleting => {
            trace.note(PlacementReason::BindingBeingDeleted);
            attached::let_go(binding)
        }
        // Garbage collection removes the binding of a template that is gone.
        (None, Some(binding)) if binding.managed_by.is_some() => {
            place_foreign(situation, binding, &mut trace)
        }
        (None, _) => Plan::default(),
        (Some(template), _) if template.deleting => Plan::default(),
        (Some(template), Some(binding)) if is_of_another(binding, template) => {
            trace.note(PlacementReason::BindingOfAnother);
            Plan::default()
        }
        (Some(template), binding) => match situation.owner {
            None => attached::without_owner(situation, template, binding, &mut trace),
            Some(owner) if binding.is_none() && !situation.missing_overrides.is_empty() => {
                wait_for_overrides(owner, situation.missing_overrides, &mut trace)
            }
            Some(owner) => {
                let unclear = template.unclear.as_ref().map(unclear);
                let mut plan = match (binding, &unclear) {
                    (None, Some(_)) => Plan::default(),
                    _ => bind(situation, template, owner, &mut trace),
                };
                plan.events.extend(unclear);
                if owner.policy.spec.propagates_deps() {
                    let unclear = template.unclear_dependencies.as_ref();
                    plan.events.extend(unclear.map(self::unclear));
                }
                plan
            }
        },
    };
    Decision { want, trace }
}

/// A binding that garbage collection is about to remove, or that has the same name by accident.
fn is_of_another(binding: &BindingView, template: &TemplateView) -> bool {
    let resource = &binding.spec.resource;
    binding
        .owner
        .as_ref()
        .is_some_and(|owner| *owner != template.uid)
        || resource.kind != template.kind.as_str()
        || resource.api_version != template.api_version.as_str()
        || resource.name != template.name.as_str()
}

fn wait_for_overrides(owner: &Owner, missing: &[String], trace: &mut Trace) -> Plan {
    let reason = PolicyReason::WaitsForOverrides {
        missing: missing.to_vec(),
    };
    let policy = &owner.policy.policy;
    let event = EventFact {
        warning: true,
        reason: events::APPLY_POLICY_FAILED.to_owned(),
        note: bounded(&format!("{policy} {reason}"), MAX_EVENT_NOTE),
    };
    trace.push(
        Subject::Policy(policy.clone()),
        Verdict::Unknown(reason.into()),
    );
    Plan {
        events: vec![event],
        waits_for_overrides: true,
        ..Plan::default()
    }
}

fn unclear(unclear: &Unclear) -> EventFact {
    EventFact {
        warning: true,
        reason: unclear.event.to_owned(),
        note: bounded(&unclear.problem, MAX_EVENT_NOTE),
    }
}

fn preemption(owner: &Owner, loser: &PolicyView) -> EventFact {
    let reason = PolicyReason::Preempts {
        owner: loser.policy.clone(),
    };
    EventFact {
        warning: false,
        reason: events::PREEMPT_POLICY_SUCCEED.to_owned(),
        note: bounded(&format!("{} {reason}", owner.policy.policy), MAX_EVENT_NOTE),
    }
}

fn bind(
    situation: &Situation<'_>,
    template: &TemplateView,
    owner: &Owner,
    trace: &mut Trace,
) -> Plan {
    let claim = Claim::of(&owner.policy);
    let binding = situation.binding;
    let lazy = wishes::is_lazy(owner);
    let mut spec = binding.map_or_else(ResourceBindingSpec::default, |b| (*b.spec).clone());
    wishes::take_template(&mut spec, template);
    let held_back = lazy && binding.is_some_and(|b| wishes::holds_back(b, template, &claim));
    if held_back {
        trace.push(
            Subject::Policy(owner.policy.policy.clone()),
            Verdict::Note(PolicyReason::WaitsForTemplate.into()),
        );
    } else {
        wishes::take_policy(&mut spec, &owner.policy.spec);
    }
    spec.required_by = required_by(situation.dependents);

    let placed = place(situation, &spec, binding, trace);
    spec.clusters.clone_from(&placed.want.clusters);
    let new = BindingMeta {
        template,
        claim: Some(&claim),
        id: situation.new_id,
        applied_placement: (placed.want.outcome == Outcome::Success).then(|| placement_json(&spec)),
        lazy_version: (lazy && !held_back).then(|| template.version.to_string()),
        dependents: situation.dependents,
        dependencies: match (spec.propagate_deps, &template.dependencies) {
            (Some(true), Some(all)) => References::These(all),
            (Some(true), None) => References::Unknown,
            (Some(false) | None, _) => References::Irrelevant,
        },
    };
    let change = match binding {
        None => BindingChange::Create(Box::new(NewBinding {
            meta: new.create(),
            spec,
        })),
        Some(present) => new.patch(present, &spec),
    };
    let mut plan = Plan {
        binding: change,
        template: template
            .claim
            .patch_to(Some(&claim))
            .map(|metadata| json!({ "metadata": metadata })),
        ..outcome(situation, binding, placed, trace)
    };
    if let Some(loser) = &owner.preempted {
        plan.events.push(preemption(owner, loser));
    }
    plan
}

/// A binding that another controller made and filled in; only its clusters are ours.
fn place_foreign(situation: &Situation<'_>, binding: &BindingView, trace: &mut Trace) -> Plan {
    if binding.spec.placement.is_none() {
        return Plan::default();
    }
    let placed = place(situation, &binding.spec, Some(binding), trace);
    let mut spec = (*binding.spec).clone();
    spec.clusters.clone_from(&placed.want.clusters);
    let mut patch = Map::new();
    if let Some(change) = merge_patch(&*binding.spec, &spec) {
        patch.insert("spec".to_owned(), change);
    }
    if placed.want.outcome == Outcome::Success && !binding.applied {
        patch.insert(
            "metadata".to_owned(),
            json!({ "annotations": { annotations::APPLIED_PLACEMENT: placement_json(&spec) } }),
        );
    }
    Plan {
        binding: if patch.is_empty() {
            BindingChange::Keep
        } else {
            BindingChange::Patch(Value::Object(patch))
        },
        ..outcome(situation, Some(binding), placed, trace)
    }
}

fn place(
    situation: &Situation<'_>,
    spec: &ResourceBindingSpec,
    binding: Option<&BindingView>,
    trace: &mut Trace,
) -> Decision<Placed> {
    let needs = Needs::of(spec);
    let placement = spec.placement.clone().unwrap_or_default();
    let suspended = spec
        .suspension
        .as_ref()
        .is_some_and(|suspension| suspension.scheduling == Some(true));
    let other = spec
        .scheduler_name
        .as_deref()
        .filter(|name| *name != SCHEDULER_NAME);
    if let Some(name) = other {
        trace.note(PlacementReason::OtherScheduler {
            name: name.to_owned(),
        });
    }
    super::decide(
        &Request {
            placement: &placement,
            api_version: &spec.resource.api_version,
            kind: &spec.resource.kind,
            uid: spec.resource.uid.as_deref().unwrap_or_default(),
            replicas: spec.replicas,
            requests: &needs.requests,
            components: &needs.components,
            room: situation.room,
            current: &spec.clusters,
            evictions: &spec.graceful_eviction_tasks,
            observed_affinity: binding.and_then(|b| b.affinity.as_deref()),
            placement_unchanged: binding
                .is_some_and(|b| b.applied && b.spec.placement == spec.placement),
            fresh: is_fresh(spec, binding),
            suspended: suspended || other.is_some(),
        },
        situation.fleet,
    )
}

/// Whether someone asked for a fresh result after the last one.
fn is_fresh(spec: &ResourceBindingSpec, binding: Option<&BindingView>) -> bool {
    spec.reschedule_triggered_at.as_ref().is_some_and(|asked| {
        binding
            .and_then(|binding| binding.last_scheduled)
            .is_none_or(|last| asked.0 > last)
    })
}

/// The status, event and attempt that a result calls for.
fn outcome(
    situation: &Situation<'_>,
    binding: Option<&BindingView>,
    placed: Decision<Placed>,
    trace: &mut Trace,
) -> Plan {
    let before = binding
        .map(|b| b.spec.clusters.as_slice())
        .unwrap_or_default();
    let moved = status::differ(before, &placed.want.clusters);
    let wish = status::wish(situation.now, binding, &placed);
    let turned = wish.as_ref().is_some_and(|wish| wish.turns(binding));
    let new = moved || turned;
    let scale = binding.is_some_and(|b| {
        !b.spec.clusters.is_empty()
            && b.applied
            && b.spec.replicas != situation.template.and_then(|t| t.replicas)
    });
    let outcome = placed.want.outcome.clone();
    let plan = Plan {
        events: if new {
            placed.event().into_iter().collect()
        } else {
            Vec::new()
        },
        attempt: (new && outcome != Outcome::Suspended).then(|| Attempt {
            outcome: outcome.clone(),
            scale,
        }),
        pending: match outcome {
            Outcome::NoClusterFit | Outcome::Unschedulable { .. } => Some(outcome),
            Outcome::Success | Outcome::Unsupported | Outcome::Suspended => None,
        },
        status: wish,
        ..Plan::default()
    };
    trace.append(placed.trace);
    plan
}

fn placement_json(spec: &ResourceBindingSpec) -> String {
    serde_json::to_string(&spec.placement.clone().unwrap_or_default())
        .expect("a placement has string keys only, so it is JSON")
}

/// The reference to a template in a new binding.
pub(super) fn reference(template: &TemplateView) -> ObjectReference {
    ObjectReference {
        api_version: template.api_version.to_string(),
        kind: template.kind.to_string(),
        namespace: Some(template.namespace.to_string()).filter(|ns| !ns.is_empty()),
        name: template.name.to_string(),
        uid: Some(template.uid.to_string()),
        resource_version: None,
    }
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod attached_tests;
