//! Templates: the users' objects.

use std::collections::BTreeMap;

use engine::interpret;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::api::DynamicObject;
use kube::core::GroupVersionKind;
use serde_json::Value;

/// A template.
#[derive(Debug, PartialEq)]
pub(crate) struct TemplateSeen {
    pub(crate) version: u64,
    pub(crate) uid: String,
    pub(crate) deleting: bool,
    pub(crate) labels: BTreeMap<String, String>,
    /// The object as JSON, without its status: a tree of values would take ten times the memory.
    object: Box<[u8]>,
    /// Its status, as JSON.
    status: Box<[u8]>,
    spec_print: u64,
}

impl TemplateSeen {
    pub(crate) fn of(gvk: &GroupVersionKind, mut object: DynamicObject) -> Self {
        object.types = Some(kube::core::TypeMeta {
            api_version: gvk.api_version(),
            kind: gvk.kind.clone(),
        });
        let status = object
            .data
            .as_object_mut()
            .and_then(|data| data.remove("status"))
            .unwrap_or(Value::Null);
        let meta = &object.metadata;
        let (version, uid, deleting, labels) = (
            super::version(meta),
            meta.uid.clone().unwrap_or_default(),
            meta.deletion_timestamp.is_some(),
            meta.labels.clone().unwrap_or_default(),
        );
        let mut plain = object;
        plain.metadata.resource_version = None;
        if let Some(notes) = &mut plain.metadata.annotations {
            notes.remove("kubectl.kubernetes.io/last-applied-configuration");
        }
        let mut plain =
            serde_json::to_value(&plain).expect("what was read from JSON can be written as JSON");
        // Who owns which field is known only here, and too large to be kept.
        interpret::forget_allocations(&mut plain);
        let object = bytes(&plain);
        Self {
            version,
            uid,
            deleting,
            labels,
            spec_print: print(&object),
            object,
            status: bytes(&status),
        }
    }

    /// The object, without its status.
    pub(crate) fn object(&self) -> Value {
        serde_json::from_slice(&self.object).expect("it was written from a value")
    }

    /// Its status.
    pub(crate) fn status(&self) -> Value {
        serde_json::from_slice(&self.status).expect("it was written from a value")
    }

    /// Whether anything but the status differs.
    pub(crate) fn differs_beside_status(&self, old: &Self) -> bool {
        self.spec_print != old.spec_print || self.object != old.object
    }
}

fn bytes(value: &impl serde::Serialize) -> Box<[u8]> {
    serde_json::to_vec(value)
        .expect("what was read from JSON can be written as JSON")
        .into()
}

fn print(bytes: &[u8]) -> u64 {
    use std::hash::{Hash as _, Hasher as _};
    let mut hasher = std::collections::hash_map::DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}

/// What an Event about a template points at.
pub(crate) fn reference(resource: &crds::work::ObjectReference, uid: &str) -> ObjectReference {
    ObjectReference {
        api_version: Some(resource.api_version.clone()),
        kind: Some(resource.kind.clone()),
        namespace: resource.namespace.clone(),
        name: Some(resource.name.clone()),
        uid: Some(uid.to_owned()).filter(|uid| !uid.is_empty()),
        ..ObjectReference::default()
    }
}
