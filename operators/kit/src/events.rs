//! Kubernetes Events: what users see with `kubectl describe` and `kubectl events`.
//!
//! An event tells of a transition, once. Callers emit when a stored condition changes; the recorder remembers besides what it said last
//! about a concern of an object, so that a repeated attempt does not repeat the event. `…Succeed` and `…Failed` are one concern: a success
//! after a failure is told again.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};
use std::sync::{Arc, Mutex, PoisonError};

use k8s_openapi::api::core::v1::{Event, EventSource, ObjectReference};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use k8s_openapi::jiff::Timestamp;
use kube::Resource;
use kube::api::Api;

use crate::failure::{Failure, RequestError};
use crate::text::bounded;
use crate::writer::Writer;

/// Longest note that the API accepts.
pub const MAX_NOTE: usize = 1024;

/// Transitions remembered; beyond that the oldest is forgotten and might be told twice.
const REMEMBERED: usize = 4096;

/// Bytes of the object's name that an event's name begins with.
const LONGEST_NAME: usize = 200;

/// Whether all is well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// `Normal`
    Normal,
    /// `Warning`
    Warning,
}

/// Writes events for one component.
#[derive(Clone)]
pub struct Recorder {
    writer: Writer,
    component: Arc<str>,
    told: Arc<Mutex<Told>>,
}

#[derive(Default)]
struct Told {
    /// Hash of reason and note, by object and concern.
    said: HashMap<(String, String), u64>,
    order: VecDeque<(String, String)>,
}

impl Recorder {
    pub(crate) fn new(writer: Writer, component: &str) -> Self {
        Self {
            writer,
            component: component.into(),
            told: Arc::default(),
        }
    }

    /// Tells of a transition of `object`; nothing is sent if the last thing told of it with this reason was the same.
    ///
    /// # Errors
    ///
    /// If the event cannot be written. The transition itself has happened; the error is for the log.
    pub async fn emit(
        &self,
        object: &ObjectReference,
        severity: Severity,
        reason: &str,
        note: &str,
    ) -> Result<(), RequestError> {
        let note = bounded(note, MAX_NOTE);
        let identity = object.uid.clone().unwrap_or_else(|| {
            format!(
                "{}/{}/{}",
                object.kind.as_deref().unwrap_or_default(),
                object.namespace.as_deref().unwrap_or_default(),
                object.name.as_deref().unwrap_or_default()
            )
        });
        if !self.is_news(&identity, reason, &note) {
            return Ok(());
        }
        let namespace = object
            .namespace
            .clone()
            .filter(|n| !n.is_empty())
            .unwrap_or_else(|| "default".to_owned());
        let now = Time(Timestamp::now());
        let event = Event {
            metadata: ObjectMeta {
                name: Some(name(object)),
                namespace: Some(namespace.clone()),
                ..ObjectMeta::default()
            },
            involved_object: object.clone(),
            type_: Some(
                match severity {
                    Severity::Normal => "Normal",
                    Severity::Warning => "Warning",
                }
                .to_owned(),
            ),
            reason: Some(reason.to_owned()),
            message: Some(note),
            source: Some(EventSource {
                component: Some(self.component.to_string()),
                host: None,
            }),
            reporting_component: Some(self.component.to_string()),
            reporting_instance: Some(self.component.to_string()),
            first_timestamp: Some(now.clone()),
            last_timestamp: Some(now),
            count: Some(1),
            ..Event::default()
        };
        let api: Api<Event> = Api::namespaced(self.writer.client().clone(), &namespace);
        match self.writer.create(&api, &event).await {
            Ok(_) => Ok(()),
            // The namespace is going away, and with it whoever would read this.
            Err(error)
                if error.failure() == Failure::Forbidden
                    && error.message().contains("being terminated") =>
            {
                Ok(())
            }
            Err(error) if error.failure() == Failure::NotFound => Ok(()),
            Err(error) => {
                self.forget(&identity, reason);
                Err(error)
            }
        }
    }

    /// As [`Recorder::emit`], for callers that have nobody to hand an error to: it is logged.
    pub async fn tell(
        &self,
        object: &ObjectReference,
        severity: Severity,
        reason: &str,
        note: &str,
    ) {
        if let Err(error) = self.emit(object, severity, reason, note).await {
            tracing::warn!(reason, error = %error.message(), "event not written");
        }
    }

    fn is_news(&self, identity: &str, reason: &str, note: &str) -> bool {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (identity.to_owned(), concern(reason).to_owned());
        let said = BuildHasherDefault::<DefaultHasher>::default().hash_one((reason, note));
        if let Some(last) = told.said.insert(key.clone(), said) {
            return last != said;
        }
        told.order.push_back(key);
        if told.order.len() > REMEMBERED
            && let Some(oldest) = told.order.pop_front()
        {
            told.said.remove(&oldest);
        }
        true
    }

    fn forget(&self, identity: &str, reason: &str) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (identity.to_owned(), concern(reason).to_owned());
        // Its place in the order stays: at worst something is forgotten a little early.
        told.said.remove(&key);
    }
}

/// As Kubernetes' own recorders do it: the object's name and something that differs. Some kinds have names that events may not have.
fn name(object: &ObjectReference) -> String {
    let differs = format!("{:016x}", rand::random::<u64>());
    let name = object.name.as_deref().unwrap_or_default();
    let fits = name
        .bytes()
        .all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.'));
    // Cut where it leaves room: 253 characters are allowed, and none but the name's last may be cut off from a part.
    let name = name.get(..LONGEST_NAME).unwrap_or(name);
    match name.trim_end_matches(['-', '.']) {
        name if fits && !name.is_empty() => format!("{name}.{differs}"),
        _ => differs,
    }
}

/// What a reason is about: `ScheduleBinding` for `ScheduleBindingFailed` and `ScheduleBindingSucceed`.
fn concern(reason: &str) -> &str {
    reason
        .strip_suffix("Succeed")
        .or_else(|| reason.strip_suffix("Failed"))
        .unwrap_or(reason)
}

/// A reference to a typed object, as events and owners need it.
pub fn reference<K: Resource<DynamicType = ()>>(object: &K) -> ObjectReference {
    object.object_ref(&())
}
