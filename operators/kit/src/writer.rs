//! The only way to change anything in an API server.
//!
//! One field manager a writer. A caller that finds nothing to change says so with [`Writer::unchanged`], so that the metric shows what was
//! saved as well as what was sent.

use std::fmt::Debug;
use std::sync::Arc;

use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams, PropagationPolicy};
use kube::{Client, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::failure::RequestError;
use crate::metrics::{WriteLabels, WriteMetrics};

/// Writes under one field manager.
#[derive(Clone)]
pub struct Writer {
    client: Client,
    manager: Arc<str>,
    metrics: WriteMetrics,
}

/// What must hold for a deletion to happen, and what happens to what the object owns.
#[derive(Clone, Debug, Default)]
pub struct Deletion {
    /// Only this very object, not a new one of the same name.
    pub uid: Option<String>,
    /// Only as it was seen.
    pub resource_version: Option<String>,
    /// Wait for what it owns to go first, instead of letting it go in the background.
    pub foreground: bool,
}

/// What of an object a patch is for.
#[derive(Clone, Copy)]
enum Part {
    Object,
    Status,
}

impl Writer {
    pub(crate) fn new(client: Client, manager: &str, metrics: WriteMetrics) -> Self {
        Self {
            client,
            manager: manager.into(),
            metrics,
        }
    }

    /// The client it writes with.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// The same manager on another API server.
    pub fn on(&self, client: Client) -> Self {
        Self {
            client,
            ..self.clone()
        }
    }

    /// The name that appears in `managedFields`.
    pub fn manager(&self) -> &str {
        &self.manager
    }

    /// Creates an object; its answer carries uid and generation.
    pub async fn create<K>(&self, api: &Api<K>, object: &K) -> Result<K, RequestError>
    where
        K: Resource + Clone + Debug + Serialize + DeserializeOwned,
    {
        let params = PostParams {
            dry_run: false,
            field_manager: Some(self.manager.to_string()),
        };
        let name = object.meta().name.clone().unwrap_or_default();
        self.count("create", api, &name, api.create(&params, object).await)
    }

    /// Changes just the fields in `patch`.
    pub async fn merge_patch<K>(
        &self,
        api: &Api<K>,
        name: &str,
        patch: &Value,
    ) -> Result<K, RequestError>
    where
        K: Resource + Clone + Debug + DeserializeOwned,
    {
        self.patch(Part::Object, api, name, &Patch::Merge(patch))
            .await
    }

    /// Changes just the fields in `patch` of the status; `patch` is `{"status": …}`.
    pub async fn merge_patch_status<K>(
        &self,
        api: &Api<K>,
        name: &str,
        patch: &Value,
    ) -> Result<K, RequestError>
    where
        K: Resource + Clone + Debug + DeserializeOwned,
    {
        self.patch(Part::Status, api, name, &Patch::Merge(patch))
            .await
    }

    /// Changes by JSON patch; a `test` that fails is [`crate::Failure::Invalid`].
    pub async fn json_patch<K>(
        &self,
        api: &Api<K>,
        name: &str,
        patch: json_patch::Patch,
    ) -> Result<K, RequestError>
    where
        K: Resource + Clone + Debug + DeserializeOwned,
    {
        self.patch(Part::Object, api, name, &Patch::Json::<()>(patch))
            .await
    }

    /// Server-side apply: the object has these fields, whoever had them before.
    pub async fn apply<K>(
        &self,
        api: &Api<K>,
        name: &str,
        intent: &Value,
    ) -> Result<K, RequestError>
    where
        K: Resource + Clone + Debug + DeserializeOwned,
    {
        self.patch(Part::Object, api, name, &Patch::Apply(intent))
            .await
    }

    /// Server-side apply of the status, for statuses with two writers.
    pub async fn apply_status<K>(
        &self,
        api: &Api<K>,
        name: &str,
        intent: &Value,
    ) -> Result<K, RequestError>
    where
        K: Resource + Clone + Debug + DeserializeOwned,
    {
        self.patch(Part::Status, api, name, &Patch::Apply(intent))
            .await
    }

    async fn patch<K, P>(
        &self,
        part: Part,
        api: &Api<K>,
        name: &str,
        patch: &Patch<P>,
    ) -> Result<K, RequestError>
    where
        K: Resource + Clone + Debug + DeserializeOwned,
        P: Debug + Serialize,
    {
        let applies = matches!(patch, Patch::Apply(_));
        let params = PatchParams {
            field_manager: Some(self.manager.to_string()),
            force: applies,
            ..PatchParams::default()
        };
        let (verb, result) = match part {
            Part::Object => (
                if applies { "apply" } else { "patch" },
                api.patch(name, &params, patch).await,
            ),
            Part::Status => (
                if applies {
                    "apply the status of"
                } else {
                    "patch the status of"
                },
                api.patch_status(name, &params, patch).await,
            ),
        };
        self.count(verb, api, name, result)
    }

    /// Asks for an object to be deleted. One that is gone already is an error of kind [`crate::Failure::NotFound`].
    pub async fn delete<K>(
        &self,
        api: &Api<K>,
        name: &str,
        deletion: &Deletion,
    ) -> Result<(), RequestError>
    where
        K: Resource + Clone + Debug + DeserializeOwned,
    {
        let Deletion {
            uid,
            resource_version,
            foreground,
        } = deletion;
        let preconditions = kube::api::Preconditions {
            uid: uid.clone(),
            resource_version: resource_version.clone(),
        };
        let params = DeleteParams {
            propagation_policy: Some(if *foreground {
                PropagationPolicy::Foreground
            } else {
                PropagationPolicy::Background
            }),
            preconditions: (uid.is_some() || resource_version.is_some()).then_some(preconditions),
            ..DeleteParams::default()
        };
        self.count("delete", api, name, api.delete(name, &params).await)
            .map(|_| ())
    }

    /// Notes that a write was not sent because nothing would change.
    pub fn unchanged(&self, resource: &str) {
        self.tally(resource, "unchanged");
    }

    fn count<K: Resource, T>(
        &self,
        verb: &'static str,
        api: &Api<K>,
        name: &str,
        result: kube::Result<T>,
    ) -> Result<T, RequestError> {
        let (resource, place) = describe(api.resource_url());
        self.tally(resource, if result.is_ok() { "sent" } else { "failed" });
        result.map_err(|error| RequestError::new(verb, format!("{resource} {place}{name}"), error))
    }

    fn tally(&self, resource: &str, outcome: &'static str) {
        self.metrics
            .writes
            .get_or_create(&WriteLabels {
                resource: resource.to_owned(),
                outcome,
            })
            .inc();
    }
}

/// Resource and `namespace/` of an API's path.
fn describe(url: &str) -> (&str, String) {
    let (head, resource) = url.rsplit_once('/').unwrap_or(("", url));
    match head.rsplit_once("/namespaces/") {
        Some((_, namespace)) => (resource, format!("{namespace}/")),
        None => (resource, String::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::describe;

    #[test]
    fn a_path_names_resource_and_namespace() {
        assert_eq!(
            describe("/apis/apps/v1/namespaces/a/deployments"),
            ("deployments", "a/".to_owned())
        );
        assert_eq!(
            describe("/api/v1/namespaces"),
            ("namespaces", String::new())
        );
    }
}
