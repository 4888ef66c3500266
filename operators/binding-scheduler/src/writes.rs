//! Where the scheduler writes: objects by name, whatever their scope.

use crds::scope::Object;
use crds::work::ObjectReference;
use engine::trace::EventFact;
use k8s_openapi::api::core::v1::ObjectReference as EventReference;
use kit::dynamic::Kinds;
use kit::events::{Recorder, Severity};
use kit::writer::{Deletion, Writer};
use kit::{RequestError, Runtime};
use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::key::TemplateKey;

/// The writers of this operator, one a field manager.
#[derive(Clone)]
pub(crate) struct Writes {
    /// Claims of templates, metadata and spec of bindings, metadata of policies.
    pub(crate) template: Writer,
    /// The scheduler's part of the status of bindings.
    pub(crate) binding: Writer,
    pub(crate) kinds: Kinds,
    recorder: Recorder,
}

/// An object of one of our own kinds, by name.
pub(crate) struct Target {
    api: Api<DynamicObject>,
    name: String,
}

impl Target {
    /// An object of a kind; an empty namespace means cluster scope.
    pub(crate) fn of<K: Object>(client: &Client, namespace: &str, name: &str) -> Self {
        let resource = ApiResource::erase::<K>(&());
        let api = if namespace.is_empty() {
            Api::all_with(client.clone(), &resource)
        } else {
            Api::namespaced_with(client.clone(), namespace, &resource)
        };
        Self {
            api,
            name: name.to_owned(),
        }
    }
}

impl Writes {
    pub(crate) fn new(runtime: &Runtime) -> Self {
        Self {
            template: runtime.writer("template"),
            binding: runtime.writer("binding"),
            kinds: Kinds::new(runtime.client.clone()),
            recorder: runtime.recorder(),
        }
    }

    pub(crate) fn target<K: Object>(&self, namespace: &str, name: &str) -> Target {
        Target::of::<K>(self.template.client(), namespace, name)
    }

    /// A template as a target; `None` if its kind is no longer served, and with it every object of the kind gone.
    pub(crate) async fn template_target(
        &self,
        key: &TemplateKey,
    ) -> Result<Option<Target>, RequestError> {
        let kind = self.kinds.find(&(&key.gvk).into()).await?;
        Ok(kind.map(|kind| Target {
            api: kind.api(self.template.client(), &key.namespace),
            name: key.name.to_string(),
        }))
    }

    pub(crate) async fn create<K>(&self, target: &Target, object: &K) -> Result<K, RequestError>
    where
        K: Serialize + DeserializeOwned,
    {
        let object: DynamicObject = typed("create", target, object)?;
        let created = self.template.create(&target.api, &object).await?;
        typed("read", target, &created)
    }

    pub(crate) async fn get<K: DeserializeOwned>(
        &self,
        target: &Target,
    ) -> Result<K, RequestError> {
        let found = target
            .api
            .get(&target.name)
            .await
            .map_err(|source| RequestError::new("get", &target.name, source))?;
        typed("read", target, &found)
    }

    pub(crate) async fn merge_patch<K: DeserializeOwned>(
        &self,
        target: &Target,
        patch: &Value,
    ) -> Result<K, RequestError> {
        let patched = self
            .template
            .merge_patch(&target.api, &target.name, patch)
            .await?;
        typed("read", target, &patched)
    }

    pub(crate) async fn json_patch(
        &self,
        target: &Target,
        patch: json_patch::Patch,
    ) -> Result<(), RequestError> {
        self.template
            .json_patch(&target.api, &target.name, patch)
            .await?;
        Ok(())
    }

    pub(crate) async fn delete(
        &self,
        target: &Target,
        deletion: &Deletion,
    ) -> Result<(), RequestError> {
        self.template
            .delete(&target.api, &target.name, deletion)
            .await
    }

    pub(crate) async fn apply_status<K: DeserializeOwned>(
        &self,
        target: &Target,
        intent: &Value,
    ) -> Result<K, RequestError> {
        let applied = self
            .binding
            .apply_status(&target.api, &target.name, intent)
            .await?;
        typed("read", target, &applied)
    }

    /// Tells about an object.
    pub(crate) async fn event(
        &self,
        about: &ObjectReference,
        event: &EventFact,
    ) -> Result<(), RequestError> {
        let reference = EventReference {
            api_version: Some(about.api_version.clone()),
            kind: Some(about.kind.clone()),
            namespace: about.namespace.clone(),
            name: Some(about.name.clone()),
            uid: about.uid.clone(),
            ..EventReference::default()
        };
        let severity = if event.warning {
            Severity::Warning
        } else {
            Severity::Normal
        };
        self.recorder
            .emit(&reference, severity, &event.reason, &event.note)
            .await
    }
}

/// The same object as another type.
fn typed<T: DeserializeOwned>(
    verb: &'static str,
    target: &Target,
    object: &impl Serialize,
) -> Result<T, RequestError> {
    serde_json::to_value(object)
        .and_then(serde_json::from_value)
        .map_err(|source| RequestError::new(verb, &target.name, kube::Error::SerdeError(source)))
}
