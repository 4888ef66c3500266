//! Objects that this command makes, of any kind, in one shape.

use kube::api::{Api, ApiResource, DynamicObject};
use kube::core::Resource;
use kube::{Client, ResourceExt as _};
use serde::Serialize;

/// The field manager of everything this command writes.
pub(crate) const MANAGER: &str = "karmadactl";

/// Says who made an object: together with [`MANAGER`], that it was this command.
pub(crate) const MANAGED_BY: &str = "app.kubernetes.io/managed-by";

/// An object, and where it goes.
#[derive(Clone, Debug)]
pub(crate) struct Object {
    resource: ApiResource,
    pub(crate) content: DynamicObject,
}

impl Object {
    /// Takes an object of a known kind; it gets the labels that say whose it is.
    pub(crate) fn new<K>(object: &K) -> Self
    where
        K: Resource<DynamicType = ()> + Serialize,
    {
        let content = serde_json::to_value(object).expect("our own objects are JSON");
        let mut content: DynamicObject =
            serde_json::from_value(content).expect("our own objects have kind and metadata");
        let labels = content.labels_mut();
        labels.insert(
            crds::labels::SYSTEM.to_owned(),
            crds::labels::TRUE.to_owned(),
        );
        labels.insert(MANAGED_BY.to_owned(), MANAGER.to_owned());
        Self {
            resource: ApiResource::erase::<K>(&()),
            content,
        }
    }

    /// Where objects of this kind are, in the namespace of this one.
    pub(crate) fn api(&self, client: &Client) -> Api<DynamicObject> {
        match &self.content.metadata.namespace {
            Some(namespace) => Api::namespaced_with(client.clone(), namespace, &self.resource),
            None => Api::all_with(client.clone(), &self.resource),
        }
    }

    /// Its name.
    pub(crate) fn name(&self) -> String {
        self.content.name_any()
    }
}

impl std::fmt::Display for Object {
    /// As kubectl writes it, with the namespace.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.resource.kind.to_lowercase(), self.name())?;
        match &self.content.metadata.namespace {
            Some(namespace) => write!(f, " -n {namespace}"),
            None => Ok(()),
        }
    }
}
