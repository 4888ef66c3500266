//! What is kept of an object in a member.

use std::collections::BTreeMap;

use crds::work::ResourceHealth;
use crds::{annotations, labels};
use engine::dispatch::{Ownership, drift, ownership};
use engine::interpret::{self, Interpreter};
use engine::snapshot::Name;
use jiff::Timestamp;
use kube::api::DynamicObject;
use kube::core::{GroupVersionKind, TypeMeta};
use serde_json::Value;

use crate::key::{ObjectKey, WorkKey};
use crate::seen::{WorkSeen, version};
use crate::world::World;

/// An object in a member that carries our label.
#[derive(Debug, PartialEq)]
pub(crate) struct CopySeen {
    pub(crate) version: u64,
    pub(crate) uid: String,
    pub(crate) deleting: bool,
    /// The Work it says it was made for.
    work: Option<(String, String)>,
    /// See [`drift::print`]; by the manifest its Work had when this was seen.
    pub(crate) print: u64,
    /// See [`drift::holds`].
    pub(crate) holds: bool,
    /// What its kind reports, as JSON; empty if nothing.
    status: Box<[u8]>,
    pub(crate) health: ResourceHealth,
    /// Why a customization of its kind could not be asked for status or health.
    pub(crate) problem: Option<Box<str>>,
}

/// An object as this process applied it.
#[derive(Clone, Debug)]
pub(crate) struct Baseline {
    pub(crate) uid: String,
    pub(crate) version: u64,
    /// The generation of the Work that was applied.
    pub(crate) generation: i64,
    pub(crate) print: u64,
    /// Whether field ownership is in the form that later applies need; `None` if it was not looked at.
    pub(crate) applied: Option<bool>,
    /// How often it drifted lately, to keep from fighting with somebody who never gives in.
    pub(crate) drifts: u32,
    pub(crate) since: tokio::time::Instant,
}

impl CopySeen {
    pub(crate) fn of(
        world: &World,
        interpreter: &Interpreter,
        cluster: &Name,
        gvk: &GroupVersionKind,
        mut object: DynamicObject,
    ) -> Self {
        object.types = Some(TypeMeta {
            api_version: gvk.api_version(),
            kind: gvk.kind.clone(),
        });
        let meta = &object.metadata;
        let (version, uid, deleting) = (
            version(meta),
            meta.uid.clone().unwrap_or_default(),
            meta.deletion_timestamp.is_some(),
        );
        let note = |key: &str| {
            meta.annotations
                .as_ref()
                .and_then(|notes| notes.get(key).cloned())
        };
        let work = note(annotations::WORK_NAMESPACE).zip(note(annotations::WORK_NAME));
        let live =
            serde_json::to_value(&object).expect("what was read from JSON can be written as JSON");
        let manifest = work
            .as_ref()
            .and_then(|(_, name)| world.work(&WorkKey::new(cluster, name)))
            .and_then(|work| manifest_of(&work, &ObjectKey::of(&live)?));
        let (print, holds) = manifest
            .map(|manifest| binding_part(manifest, &live, interpreter))
            .map_or((0, false), |manifest| {
                (
                    drift::print(&manifest, &live),
                    drift::holds(&manifest, &live),
                )
            });
        let now = Timestamp::now();
        let mut problem = None;
        let status = interpreter
            .reflect(&live, now)
            .unwrap_or_else(|failed| {
                problem = Some(failed);
                None
            })
            .map(|status| serde_json::to_vec(&status).expect("a value can be written as JSON"))
            .unwrap_or_default()
            .into();
        let health = interpreter.health(&live, now).unwrap_or_else(|failed| {
            problem = Some(failed);
            ResourceHealth::Unknown
        });
        Self {
            version,
            uid,
            deleting,
            work,
            print,
            holds,
            status,
            health,
            problem: problem.map(|problem| problem.to_string().into()),
        }
    }

    /// Whose it is, seen from a Work.
    pub(crate) fn ownership(&self, work: &WorkKey) -> Ownership {
        match &self.work {
            Some((namespace, name)) if *namespace != work.namespace() || **name != *work.name => {
                Ownership::OtherWork {
                    namespace: namespace.clone(),
                    name: name.clone(),
                }
            }
            _ => Ownership::Ours,
        }
    }

    /// The name of the Work it says it was made for.
    pub(crate) fn work(&self) -> Option<&str> {
        self.work.as_ref().map(|(_, name)| name.as_str())
    }

    /// What its kind reports.
    pub(crate) fn status(&self) -> Option<Value> {
        (!self.status.is_empty())
            .then(|| serde_json::from_slice(&self.status).expect("it was written from a value"))
    }
}

/// Whose an object is that was read from the member just now.
pub(crate) fn owner_of(meta: &kube::core::ObjectMeta, work: &WorkKey) -> Ownership {
    let nothing = BTreeMap::new();
    ownership(
        meta.labels.as_ref().unwrap_or(&nothing),
        meta.annotations.as_ref().unwrap_or(&nothing),
        &work.namespace(),
        &work.name,
    )
}

/// The manifest of a Work for one object, complete.
pub(crate) fn manifest_of(work: &WorkSeen, object: &ObjectKey) -> Option<Value> {
    work.spec()
        .workload
        .manifests
        .into_iter()
        .find(|manifest| ObjectKey::of(manifest).as_ref() == Some(object))
        .map(|manifest| complete(manifest, work))
}

/// The part of a manifest that the member may not change.
fn binding_part(mut manifest: Value, live: &Value, interpreter: &Interpreter) -> Value {
    if interpreter.retains_by_script(&manifest) {
        // Where the script fails the whole manifest counts, and bringing it tells why it fails.
        let _ = interpreter.retain(&mut manifest, live, Timestamp::now());
        return manifest;
    }
    let retained = interpret::retained(&manifest).and_then(|pointer| pointer.rsplit_once('/'));
    if let Some((parent, field)) = retained
        && let Some(parent) = manifest.pointer_mut(parent).and_then(Value::as_object_mut)
    {
        parent.remove(field);
    }
    manifest
}

/// Adds what every object in a member carries, whoever made the Work.
pub(crate) fn complete(mut manifest: Value, work: &WorkSeen) -> Value {
    let mut set = |part: &str, key: &str, value: &str| {
        manifest["metadata"][part][key] = Value::String(value.to_owned());
    };
    set("labels", labels::MANAGED, labels::TRUE);
    if let Some(id) = work.labels.get(labels::WORK_PERMANENT_ID) {
        set("labels", labels::WORK_PERMANENT_ID, id);
    }
    set(
        "annotations",
        annotations::WORK_NAMESPACE,
        &work.key.namespace(),
    );
    set("annotations", annotations::WORK_NAME, &work.key.name);
    manifest
}
