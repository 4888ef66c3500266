//! Works.

use std::collections::BTreeMap;

use crds::conditions::{APPLIED, TRUE};
use crds::work::{Work, WorkSpec, WorkStatus};
use crds::{annotations, finalizers};
use kube::ResourceExt as _;

use crate::key::{ObjectKey, Origin, WorkKey};

/// A Work.
#[derive(Debug, PartialEq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an independent fact about the object"
)]
pub(crate) struct WorkSeen {
    pub(crate) key: WorkKey,
    pub(crate) version: u64,
    pub(crate) uid: String,
    pub(crate) generation: i64,
    pub(crate) deleting: bool,
    /// Whether it waits for its objects in the member to go.
    pub(crate) finalized: bool,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) annotations: BTreeMap<String, String>,
    /// What it was made from; `None` if somebody else made it.
    pub(crate) origin: Option<Origin>,
    /// The objects it stands for.
    pub(crate) objects: Vec<ObjectKey>,
    /// Whether nothing is sent for now.
    pub(crate) suspended: bool,
    /// Whether the objects stay when it goes.
    pub(crate) preserved: bool,
    /// The generation for which it says that it was applied.
    applied_generation: Option<i64>,
    spec: Box<[u8]>,
    status: Box<[u8]>,
}

impl WorkSeen {
    /// `None` for a Work that is for no member.
    pub(crate) fn of(work: &Work) -> Option<Self> {
        let meta = &work.metadata;
        let key = WorkKey::of(meta.namespace.as_deref()?, meta.name.as_deref()?)?;
        let objects: Vec<ObjectKey> = work
            .spec
            .workload
            .manifests
            .iter()
            .filter_map(ObjectKey::of)
            .collect();
        let applied = work
            .status
            .iter()
            .flat_map(|status| &status.conditions)
            .find(|condition| condition.type_ == APPLIED);
        Some(Self {
            key,
            version: super::version(meta),
            uid: meta.uid.clone().unwrap_or_default(),
            generation: meta.generation.unwrap_or_default(),
            deleting: meta.deletion_timestamp.is_some(),
            finalized: work.finalizers().iter().any(|f| f == finalizers::EXECUTION),
            labels: work.labels().clone(),
            annotations: work.annotations().clone(),
            origin: origin(work, &objects),
            objects,
            suspended: work.spec.suspend_dispatching == Some(true),
            preserved: work.spec.preserve_resources_on_deletion == Some(true),
            applied_generation: applied.filter(|condition| condition.status == TRUE).map(
                |condition| {
                    condition
                        .observed_generation
                        .or(meta.generation)
                        .unwrap_or_default()
                },
            ),
            spec: bytes(&work.spec),
            status: work.status.as_ref().map(bytes).unwrap_or_default(),
        })
    }

    pub(crate) fn spec(&self) -> WorkSpec {
        serde_json::from_slice(&self.spec).expect("it was written from the same type")
    }

    pub(crate) fn status(&self) -> WorkStatus {
        if self.status.is_empty() {
            return WorkStatus::default();
        }
        serde_json::from_slice(&self.status).expect("it was written from the same type")
    }

    /// Whether it says that the member has what it says now.
    pub(crate) fn applied(&self) -> bool {
        self.applied_generation == Some(self.generation)
    }

    /// Whether the member may have to change because this one took the place of `old`.
    pub(crate) fn differs_for_member(&self, old: &Self) -> bool {
        self.uid != old.uid
            || self.generation != old.generation
            || self.deleting != old.deleting
            || self.annotations != old.annotations
    }

    /// Whether what it reports differs.
    pub(crate) fn differs_in_status(&self, old: &Self) -> bool {
        self.status != old.status
            || self.generation != old.generation
            || self.deleting != old.deleting
    }
}

fn bytes(value: &impl serde::Serialize) -> Box<[u8]> {
    serde_json::to_vec(value)
        .expect("what was read from JSON can be written as JSON")
        .into()
}

fn origin(work: &Work, objects: &[ObjectKey]) -> Option<Origin> {
    let note = |key: &str| {
        work.annotations()
            .get(key)
            .map(String::as_str)
            .filter(|note| !note.is_empty())
    };
    if let (Some(namespace), Some(name)) = (
        note(annotations::RESOURCE_BINDING_NAMESPACE),
        note(annotations::RESOURCE_BINDING_NAME),
    ) {
        return Some(Origin::binding(namespace, name));
    }
    if let Some(name) = note(annotations::CLUSTER_RESOURCE_BINDING_NAME) {
        return Some(Origin::binding("", name));
    }
    let owner = work
        .owner_references()
        .iter()
        .find(|owner| owner.kind == "Namespace" && owner.api_version == "v1")?;
    objects
        .iter()
        .any(|object| object.gvk.kind == "Namespace" && *object.name == *owner.name)
        .then(|| Origin::Namespace(owner.name.as_str().into()))
}
