//! The metadata of a binding: claim, permanent id, finalizer, owner, and what it was placed for.

use crds::work::ResourceBindingSpec;
use crds::{annotations, finalizers, labels, names};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use serde_json::{Map, Value, json};

use super::BindingChange;
use super::difference::merge_patch;
use crate::snapshot::{BindingView, Claim, TemplateView};

/// What goes into a binding's metadata.
pub(super) struct BindingMeta<'a> {
    pub(super) template: &'a TemplateView,
    pub(super) claim: &'a Claim,
    pub(super) id: &'a str,
    /// The placement as JSON, if the clusters were chosen for it.
    pub(super) applied_placement: Option<String>,
    /// The state of the template that a lazy policy is applied to.
    pub(super) lazy_version: Option<String>,
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
        let mut labels = self.claim.labels();
        labels.insert(self.id_label().to_owned(), self.id.to_owned());
        let mut annotations = self.claim.annotations();
        annotations.extend(self.extra_annotations());
        ObjectMeta {
            name: Some(names::binding(&self.template.name, &self.template.kind)),
            namespace,
            labels: Some(labels),
            annotations: Some(annotations),
            finalizers: Some(vec![self.finalizer().to_owned()]),
            owner_references: Some(vec![self.owner()]),
            ..ObjectMeta::default()
        }
    }

    pub(super) fn patch(&self, present: &BindingView, spec: &ResourceBindingSpec) -> BindingChange {
        let mut metadata = present.claim.patch_to(Some(self.claim)).unwrap_or_default();
        let mut set = |field: &str, key: String, value: String| {
            let entry = metadata
                .entry(field.to_owned())
                .or_insert_with(|| Value::Object(Map::new()));
            if let Value::Object(entries) = entry {
                entries.insert(key, Value::String(value));
            }
        };
        if present.permanent_id.is_none() {
            set("labels", self.id_label().to_owned(), self.id.to_owned());
        }
        let placement_is_new = !present.applied || present.spec.placement != spec.placement;
        for (key, value) in self.extra_annotations() {
            let new = if key == annotations::APPLIED_PLACEMENT {
                placement_is_new
            } else {
                present.lazy_version.as_deref() != Some(value.as_str())
            };
            if new {
                set("annotations", key, value);
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
