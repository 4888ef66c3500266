//! Bringing one object to a member.
//!
//! A new object is created by POST, which cannot touch one that is there already; changes are made by server-side apply, bound to the
//! uid of the object that was seen. What POST leaves behind as "updated" fields is turned into applied fields before the first
//! change, or a field that leaves the manifest would stay in the object for ever.

use std::sync::Arc;
use std::time::Duration;

use crds::annotations::{CONFLICT_RESOLUTION, CONFLICT_RESOLUTION_OVERWRITE};
use engine::dispatch::Ownership;
use jiff::Timestamp;
use kit::dynamic::Kind;
use kit::store::Key;
use kit::writer::Writer;
use kit::{Failure, RequestError};
use kube::api::{Api, DynamicObject};
use kube::core::{ObjectMeta, PartialObjectMeta};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::copy::{Baseline, CopySeen, owner_of};
use super::ownership;
use super::trouble::Trouble;
use crate::hub::Hub;
use crate::key::ObjectKey;
use crate::members::MemberState;
use crate::seen::WorkSeen;

/// How long to wait for the list of what is in a member before asking object by object.
const LIST: Duration = Duration::from_secs(10);

/// After this time without drift an object counts as quiet.
const QUIET: Duration = Duration::from_secs(60);

/// Everything that is needed to bring one object.
pub(crate) struct Bringing<'a> {
    pub(crate) hub: &'a Hub,
    pub(crate) member: &'a MemberState,
    pub(crate) work: &'a WorkSeen,
    pub(crate) object: &'a ObjectKey,
    pub(crate) manifest: &'a Value,
}

/// An object that is as its Work says.
pub(crate) enum Brought {
    /// It was so already, or was put right.
    There(Arc<CopySeen>),
    /// It was not there, and is now.
    Made(Arc<CopySeen>),
    /// It drifted again and again and is left alone for a while.
    Later(Arc<CopySeen>, Duration),
}

impl Bringing<'_> {
    pub(crate) async fn bring(&self) -> Result<Brought, Trouble> {
        let Self {
            member,
            work,
            object,
            ..
        } = self;
        member.copies.ensure(&object.gvk);
        let kind = self.kind().await?;
        if work.applied() {
            // Without the list everything would look as if it were missing.
            let listed = member.copies.synced(&object.gvk);
            let _ = tokio::time::timeout(LIST, listed).await;
        }
        let store = member.copies.store(&object.gvk);
        let Some(copy) = store.and_then(|store| store.find(&object.namespace, &object.name)) else {
            return self.create(&kind).await.map(Brought::Made);
        };
        match copy.ownership(&work.key) {
            Ownership::Ours => {}
            _ if self.overwrites() => {}
            other => return Err(Trouble::NotOurs(other)),
        }
        if copy.deleting {
            return Err(Trouble::Leaving);
        }
        match self.due(&copy) {
            Due::No => Ok(Brought::There(copy)),
            Due::Now(drifts) => self
                .apply(&kind, &copy.uid, None, drifts)
                .await
                .map(Brought::There),
            Due::After(delay) => Ok(Brought::Later(copy, delay)),
        }
    }

    async fn kind(&self) -> Result<Kind, Trouble> {
        self.member
            .copies
            .kinds()
            .find(&self.object.gvk)
            .await
            .map_err(Trouble::of)?
            .ok_or(Trouble::NotServed)
    }

    fn due(&self, copy: &CopySeen) -> Due {
        let baseline = self.member.baseline(self.object);
        let Some(baseline) = baseline.filter(|baseline| baseline.uid == copy.uid) else {
            if self.work.applied() && copy.holds {
                self.note(copy, None, 0);
                return Due::No;
            }
            return Due::Now(0);
        };
        if baseline.generation != self.work.generation {
            return Due::Now(0);
        }
        if copy.version <= baseline.version || copy.print == baseline.print {
            return Due::No;
        }
        let quiet = baseline.since.elapsed();
        if quiet > QUIET {
            return Due::Now(1);
        }
        let pause = match baseline.drifts {
            0..=3 => Duration::ZERO,
            more => Duration::from_secs(1 << (more - 3).min(6)),
        };
        match pause.saturating_sub(quiet) {
            Duration::ZERO => Due::Now(baseline.drifts + 1),
            left => Due::After(left),
        }
    }

    async fn create(&self, kind: &Kind) -> Result<Arc<CopySeen>, Trouble> {
        let object: DynamicObject =
            serde_json::from_value(self.manifest.clone()).map_err(|_| Trouble::Nameless)?;
        let again = self.member.baseline(self.object).is_some();
        match self.writer().create(&self.api(kind), &object).await {
            Ok(made) => {
                self.hub
                    .metrics
                    .created(self.work, self.object, again, true);
                Ok(self.learn(made, Some(false), 0))
            }
            Err(error) if error.failure() == Failure::AlreadyExists => self.adopt(kind).await,
            Err(error) => {
                self.hub
                    .metrics
                    .created(self.work, self.object, again, false);
                Err(self.failed(error))
            }
        }
    }

    /// An object is there that the list did not show: ours, if the list is not complete yet; else somebody's.
    async fn adopt(&self, kind: &Kind) -> Result<Arc<CopySeen>, Trouble> {
        let meta = self.read(kind).await?.ok_or(Trouble::Moved)?;
        match owner_of(&meta, &self.work.key) {
            Ownership::Ours => {}
            _ if self.overwrites() => {}
            other => return Err(Trouble::NotOurs(other)),
        }
        if meta.deletion_timestamp.is_some() {
            return Err(Trouble::Leaving);
        }
        let uid = meta.uid.clone().unwrap_or_default();
        self.apply(kind, &uid, Some(meta), 0).await
    }

    async fn apply(
        &self,
        kind: &Kind,
        uid: &str,
        meta: Option<ObjectMeta>,
        drifts: u32,
    ) -> Result<Arc<CopySeen>, Trouble> {
        let known = self
            .member
            .baseline(self.object)
            .filter(|baseline| baseline.uid == uid)
            .and_then(|baseline| baseline.applied);
        if known != Some(true) {
            let meta = match meta {
                Some(meta) => meta,
                None => self.read(kind).await?.ok_or(Trouble::Moved)?,
            };
            self.own(kind, &meta).await?;
        }
        let mut intent = self.manifest.clone();
        let interpreter = self.hub.interpreter();
        if interpreter.retains(&intent) {
            let live = self.live(kind).await?;
            interpreter
                .retain(&mut intent, &live, Timestamp::now())
                .map_err(Trouble::Customization)?;
        }
        // Not another object that took the name meanwhile.
        intent["metadata"]["uid"] = json!(uid);
        let written = self
            .writer()
            .apply(&self.api(kind), &self.object.name, &intent)
            .await;
        self.hub
            .metrics
            .updated(self.work, self.object, written.is_ok());
        match written {
            Ok(made) => Ok(self.learn(made, Some(true), drifts)),
            Err(error) if is_other_object(&error) => {
                self.forget();
                Err(Trouble::Moved)
            }
            Err(error) => Err(self.failed(error)),
        }
    }

    /// Fields that were created become fields that were applied.
    async fn own(&self, kind: &Kind, meta: &ObjectMeta) -> Result<(), Trouble> {
        let writer = self.writer();
        let fields = meta.managed_fields.as_deref().unwrap_or_default();
        let Some(patch) = ownership::takeover(fields, writer.manager()) else {
            return Ok(());
        };
        let api: Api<DynamicObject> = self.api(kind);
        match writer.json_patch(&api, &self.object.name, patch).await {
            Ok(_) => Ok(()),
            // The list of owners changed since it was read.
            Err(error) if error.failure() == Failure::Invalid => Err(Trouble::Moved),
            Err(error) => Err(self.failed(error)),
        }
    }

    /// The object as it is in the member, with the record of who owns which field.
    async fn live(&self, kind: &Kind) -> Result<Value, Trouble> {
        let api: Api<DynamicObject> = self.api(kind);
        let live = api
            .get_opt(&self.object.name)
            .await
            .map_err(|error| Trouble::of(RequestError::new("get", self.object.to_string(), error)))?
            .ok_or(Trouble::Moved)?;
        Ok(serde_json::to_value(live).expect("what was read from JSON can be written as JSON"))
    }

    async fn read(&self, kind: &Kind) -> Result<Option<ObjectMeta>, Trouble> {
        let client = self.member.member.client.clone();
        let api: Api<PartialObjectMeta<DynamicObject>> =
            if kind.namespaced && !self.object.namespace.is_empty() {
                Api::namespaced_with(client, &self.object.namespace, &kind.resource)
            } else {
                Api::all_with(client, &kind.resource)
            };
        let read = api.get_opt(&self.object.name).await.map_err(|error| {
            Trouble::of(RequestError::new("get", self.object.to_string(), error))
        })?;
        Ok(read.map(|object| object.metadata))
    }

    fn learn(&self, made: DynamicObject, applied: Option<bool>, drifts: u32) -> Arc<CopySeen> {
        let copy = Arc::new(CopySeen::of(
            &self.hub.world,
            &self.hub.interpreter(),
            &self.work.key.cluster,
            &self.object.gvk,
            slim(made),
        ));
        if let Some(store) = self.member.copies.store(&self.object.gvk) {
            store.put(self.key(), Arc::clone(&copy));
        }
        self.note(&copy, applied, drifts);
        copy
    }

    fn note(&self, copy: &CopySeen, applied: Option<bool>, drifts: u32) {
        self.member.note_baseline(
            self.object,
            Baseline {
                uid: copy.uid.clone(),
                version: copy.version,
                generation: self.work.generation,
                print: copy.print,
                applied,
                drifts,
                since: Instant::now(),
            },
        );
    }

    fn forget(&self) {
        self.member.forget_baseline(self.object);
        if let Some(store) = self.member.copies.store(&self.object.gvk) {
            store.remove(&self.key());
        }
    }

    fn failed(&self, error: RequestError) -> Trouble {
        let trouble = Trouble::of(error);
        if matches!(trouble, Trouble::NotServed) {
            self.member.copies.kinds().forget(&self.object.gvk);
        }
        trouble
    }

    /// Whether an object of somebody else may be taken over.
    fn overwrites(&self) -> bool {
        let of_manifest = self
            .manifest
            .pointer("/metadata/annotations")
            .and_then(|notes| notes.get(CONFLICT_RESOLUTION))
            .and_then(Value::as_str);
        let of_work = self
            .work
            .annotations
            .get(CONFLICT_RESOLUTION)
            .map(String::as_str);
        of_manifest.or(of_work) == Some(CONFLICT_RESOLUTION_OVERWRITE)
    }

    fn writer(&self) -> Writer {
        self.hub.execution.on(self.member.member.client.clone())
    }

    fn api(&self, kind: &Kind) -> Api<DynamicObject> {
        kind.api(&self.member.member.client, &self.object.namespace)
    }

    fn key(&self) -> Key {
        Key::new(Some(&self.object.namespace), &self.object.name)
    }
}

enum Due {
    No,
    /// With how often it drifted lately.
    Now(u32),
    After(Duration),
}

fn is_other_object(error: &RequestError) -> bool {
    match error.failure() {
        Failure::Conflict => true,
        Failure::Invalid => error.message().contains("metadata.uid"),
        _ => false,
    }
}

/// As watches deliver it, so that both give equal values.
fn slim(mut object: DynamicObject) -> DynamicObject {
    object.metadata.managed_fields = None;
    if let Some(annotations) = &mut object.metadata.annotations {
        annotations.remove("kubectl.kubernetes.io/last-applied-configuration");
    }
    object
}
