//! Templates and their bindings as decisions see them.

use std::collections::BTreeMap;
use std::sync::Arc;

use crds::policy::Placement;
use crds::scope::Binding;
use crds::work::{Component, ReplicaRequirements, ResourceBindingSpec};
use crds::{annotations, conditions, labels};
use jiff::Timestamp;
use kube::ResourceExt;

use super::{ClaimMarks, Name};
use crate::dependencies;
use crate::interpret::Dependency;

/// A template, reduced to what decides who owns it and where it runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TemplateView {
    /// apiVersion.
    pub api_version: Name,
    /// Kind.
    pub kind: Name,
    /// Namespace; empty for cluster scope.
    pub namespace: Name,
    /// Name.
    pub name: Name,
    /// Uid.
    pub uid: Name,
    /// Resource version of this sight of it.
    pub resource_version: Name,
    /// Which state of the template this is: its generation, or its resource version if its kind has no generations.
    pub version: Name,
    /// Labels, claims included.
    pub labels: BTreeMap<String, String>,
    /// The policy it says it belongs to.
    pub claim: ClaimMarks,
    /// When it was created.
    pub created: Option<Timestamp>,
    /// Whether it is being deleted.
    pub deleting: bool,
    /// Replicas it wants; `None` for a kind without replicas.
    pub replicas: Option<i32>,
    /// What one replica needs.
    pub requirements: Option<Arc<ReplicaRequirements>>,
    /// Its parts, if its kind has several that stay together.
    pub components: Vec<Component>,
    /// Why a customization could not say how many replicas or parts it has; what is bound keeps those it has.
    pub unclear: Option<Unclear>,
    /// What it refers to; `None` if that could not be found out.
    pub dependencies: Option<Arc<[Dependency]>>,
    /// Why a customization could not say what it refers to; what was written down stays.
    pub unclear_dependencies: Option<Unclear>,
}

/// A question about a template that its customization failed to answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unclear {
    /// The reason of the event that tells it.
    pub event: &'static str,
    /// What went wrong, for the author of the customization.
    pub problem: Name,
}

/// A binding of either scope, reduced to what the scheduler looks at: not what members report.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BindingView {
    /// Namespace; empty for cluster scope.
    pub namespace: Name,
    /// Name.
    pub name: Name,
    /// Uid.
    pub uid: Name,
    /// Resource version of this sight of it.
    pub resource_version: Name,
    /// Generation of its spec.
    pub generation: i64,
    /// The policy it belongs to.
    pub claim: ClaimMarks,
    /// Its permanent id.
    pub permanent_id: Option<Name>,
    /// What its template refers to, as it was written down; `None` if it was not, or cannot be read.
    pub dependencies: Option<Arc<[Dependency]>>,
    /// Its labels that lead to bindings which depend on it.
    pub depended_by: BTreeMap<String, String>,
    /// The controller other than this scheduler that made it, if any.
    pub managed_by: Option<Name>,
    /// Its finalizers.
    pub finalizers: Vec<String>,
    /// Uid of the template that owns it.
    pub owner: Option<Name>,
    /// Whether it is being deleted.
    pub deleting: bool,
    /// Which state of the template a lazy policy was last applied to.
    pub lazy_version: Option<Name>,
    /// Whether the clusters were chosen for the very placement in the spec.
    pub applied: bool,
    /// The whole spec.
    pub spec: Arc<ResourceBindingSpec>,
    /// The `Scheduled` condition.
    pub scheduled: Option<Scheduled>,
    /// Generation that was last placed successfully.
    pub observed_generation: Option<i64>,
    /// The affinity group in use.
    pub affinity: Option<Name>,
    /// When it was last placed successfully.
    pub last_scheduled: Option<Timestamp>,
}

/// What the `Scheduled` condition says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scheduled {
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// CamelCase reason.
    pub reason: String,
    /// Words.
    pub message: String,
    /// Generation it speaks of.
    pub observed_generation: Option<i64>,
    /// Since when it has this status.
    pub since: Option<Timestamp>,
}

impl BindingView {
    /// The view of a binding object of either scope.
    pub fn of<B: Binding>(binding: &B) -> Self {
        let meta = binding.meta();
        let text = |text: Option<&String>| text.filter(|text| !text.is_empty()).map(Name::from);
        let status = binding.status();
        let applied: Option<Placement> = binding
            .annotations()
            .get(annotations::APPLIED_PLACEMENT)
            .and_then(|json| serde_json::from_str(json).ok());
        Self {
            namespace: meta.namespace.as_deref().unwrap_or_default().into(),
            name: meta.name.as_deref().unwrap_or_default().into(),
            uid: meta.uid.as_deref().unwrap_or_default().into(),
            resource_version: meta.resource_version.as_deref().unwrap_or_default().into(),
            generation: meta.generation.unwrap_or_default(),
            claim: ClaimMarks::read(binding.labels(), binding.annotations()),
            permanent_id: text(binding.labels().get(B::PERMANENT_ID_LABEL)),
            dependencies: binding
                .annotations()
                .get(annotations::DEPENDENCIES)
                .and_then(|text| dependencies::read(text))
                .map(Arc::from),
            depended_by: binding
                .labels()
                .iter()
                .filter(|(key, _)| key.starts_with(labels::DEPENDED_BY_PREFIX))
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect(),
            managed_by: text(binding.labels().get(labels::BINDING_MANAGED_BY)),
            finalizers: binding.finalizers().to_vec(),
            owner: binding
                .owner_references()
                .iter()
                .find(|owner| owner.controller == Some(true))
                .map(|owner| Name::from(&owner.uid)),
            deleting: meta.deletion_timestamp.is_some(),
            lazy_version: text(binding.annotations().get(annotations::TEMPLATE_GENERATION)),
            applied: applied.is_some() && applied == binding.spec().placement,
            spec: Arc::new(binding.spec().clone()),
            scheduled: status
                .into_iter()
                .flat_map(|status| &status.conditions)
                .find(|condition| condition.type_ == conditions::SCHEDULED)
                .map(|condition| Scheduled {
                    status: condition.status.clone(),
                    reason: condition.reason.clone(),
                    message: condition.message.clone(),
                    observed_generation: condition.observed_generation,
                    since: Some(condition.last_transition_time.0),
                }),
            observed_generation: status.and_then(|status| status.scheduler_observed_generation),
            affinity: text(status.and_then(|s| s.scheduler_observing_affinity_name.as_ref())),
            last_scheduled: status
                .and_then(|status| status.last_scheduled_time.as_ref())
                .map(|time| time.0),
        }
    }
}
