//! The metadata of a binding: claim, permanent id, finalizer, owner, what it was placed for, and what leads to dependencies and back.

use crds::work::ResourceBindingSpec;
use crds::{annotations, finalizers, labels, names};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use serde_json::{Map, Value, json};

use super::BindingChange;
use super::difference::merge_patch;
use crate::dependencies::{self, Dependent};
use crate::interpret::Dependency;
use crate::snapshot::{BindingView, Claim, TemplateView};

/// What goes into a binding's metadata.
pub(super) struct BindingMeta<'a> {
    pub(super) template: &'a TemplateView,
    /// The owner's claim; `None` for a binding that is there for others only.
    pub(super) claim: Option<&'a Claim>,
    pub(super) id: &'a str,
    /// The placement as JSON, if the clusters were chosen for it.
    pub(super) applied_placement: Option<String>,
    /// The state of the template that a lazy policy is applied to.
    pub(super) lazy_version: Option<String>,
    /// Those who depend on the template.
    pub(super) dependents: &'a [Dependent],
    pub(super) dependencies: References<'a>,
}

/// What is known about what a template refers to.
#[derive(Clone, Copy)]
pub(super) enum References<'a> {
    /// Nothing: what was written down stays.
    Unknown,
    /// It does not matter.
    Irrelevant,
    /// This.
    These(&'a [Dependency]),
}

impl References<'_> {
    /// The annotation that a new binding gets.
    fn annotation(self) -> Option<(String, String)> {
        match self {
            Self::Unknown | Self::Irrelevant => None,
            Self::These(all) => Some((
                annotations::DEPENDENCIES.to_owned(),
                dependencies::record(all),
            )),
        }
    }

    /// The change of the annotation that a binding has.
    fn change(self, present: &BindingView) -> Option<Value> {
        let written = present.dependencies.as_deref();
        match self {
            Self::Unknown => None,
            Self::Irrelevant => written.is_some().then_some(Value::Null),
            Self::These(all) => {
                (written != Some(all)).then(|| Value::String(dependencies::record(all)))
            }
        }
    }
}

impl BindingMeta<'_> {
    fn id_label(&self) -> &'static str {
        if self.template.namespace.is_empty() {
            labels::CLUSTER_RESOURCE_BINDING_PERMANENT_ID
        } else {
            labels::RESOURCE_BINDING_PERMANENT_ID
        }
    }

    fn finalizer(&self) -> &'static str {
        if self.template.namespace.is_empty() {
            finalizers::CLUSTER_RESOURCE_BINDING
        } else {
            finalizers::BINDING
        }
    }

    fn owner(&self) -> OwnerReference {
        OwnerReference {
            api_version: self.template.api_version.to_string(),
            kind: self.template.kind.to_string(),
            name: self.template.name.to_string(),
            uid: self.template.uid.to_string(),
            controller: Some(true),
            block_owner_deletion: Some(true),
        }
    }

    fn extra_annotations(&self) -> impl Iterator<Item = (String, String)> {
        [
            (annotations::APPLIED_PLACEMENT, &self.applied_placement),
            (annotations::TEMPLATE_GENERATION, &self.lazy_version),
        ]
        .into_iter()
        .filter_map(|(key, value)| Some((key.to_owned(), value.clone()?)))
    }

    pub(super) fn create(&self) -> ObjectMeta {
        let namespace = Some(self.template.namespace.to_string()).filter(|ns| !ns.is_empty());
        let mut labels = self.claim.map(Claim::labels).unwrap_or_default();
        labels.insert(self.id_label().to_owned(), self.id.to_owned());
        labels.extend(dependencies::labels(self.dependents));
        let mut annotations = self.claim.map(Claim::annotations).unwrap_or_default();
        annotations.extend(self.extra_annotations());
        annotations.extend(self.dependencies.annotation());
        ObjectMeta {
            name: Some(names::binding(&self.template.name, &self.template.kind)),
            namespace,
            labels: Some(labels),
            annotations: Some(annotations).filter(|all| !all.is_empty()),
            finalizers: Some(vec![self.finalizer().to_owned()]),
            owner_references: Some(vec![self.owner()]),
            ..ObjectMeta::default()
        }
    }

    pub(super) fn patch(&self, present: &BindingView, spec: &ResourceBindingSpec) -> BindingChange {
        let mut metadata = present.claim.patch_to(self.claim).unwrap_or_default();
        let mut set = |field: &str, key: String, value: Value| {
            let entry = metadata
                .entry(field.to_owned())
                .or_insert_with(|| Value::Object(Map::new()));
            if let Value::Object(entries) = entry {
                entries.insert(key, value);
            }
        };
        if present.permanent_id.is_none() {
            set("labels", self.id_label().to_owned(), json!(self.id));
        }
        for (key, value) in depended_by(present, self.dependents) {
            set("labels", key, value);
        }
        if let Some(change) = self.dependencies.change(present) {
            set("annotations", annotations::DEPENDENCIES.to_owned(), change);
        }
        let placement_is_new = !present.applied || present.spec.placement != spec.placement;
        for (key, value) in self.extra_annotations() {
            let new = if key == annotations::APPLIED_PLACEMENT {
                placement_is_new
            } else {
                present.lazy_version.as_deref() != Some(value.as_str())
            };
            if new {
                set("annotations", key, json!(value));
            }
        }
        // Lists are replaced whole, so what another writer adds meanwhile must not get lost.
        let finalizer = self.finalizer();
        if !present.finalizers.iter().any(|f| f == finalizer) {
            let mut all = present.finalizers.clone();
            all.push(finalizer.to_owned());
            metadata.insert("finalizers".to_owned(), json!(all));
        }
        if present.owner.is_none() {
            metadata.insert("ownerReferences".to_owned(), json!([self.owner()]));
        }
        if metadata.contains_key("finalizers") || metadata.contains_key("ownerReferences") {
            metadata.insert(
                "resourceVersion".to_owned(),
                json!(present.resource_version.as_str()),
            );
        }

        let mut patch = Map::new();
        if !metadata.is_empty() {
            patch.insert("metadata".to_owned(), Value::Object(metadata));
        }
        if let Some(change) = merge_patch(&*present.spec, spec) {
            patch.insert("spec".to_owned(), change);
        }
        if patch.is_empty() {
            BindingChange::Keep
        } else {
            BindingChange::Patch(Value::Object(patch))
        }
    }
}

/// The changes of the labels that lead from a binding to those who depend on it.
pub(super) fn depended_by(
    present: &BindingView,
    dependents: &[Dependent],
) -> impl Iterator<Item = (String, Value)> {
    let wanted = dependencies::labels(dependents);
    let gone: Vec<(String, Value)> = present
        .depended_by
        .keys()
        .filter(|key| !wanted.contains_key(*key))
        .map(|key| (key.clone(), Value::Null))
        .collect();
    let new: Vec<(String, Value)> = wanted
        .into_iter()
        .filter(|(key, value)| present.depended_by.get(key) != Some(value))
        .map(|(key, value)| (key, Value::String(value)))
        .collect();
    gone.into_iter().chain(new)
}
