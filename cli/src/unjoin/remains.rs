//! What a member runs for the control plane, read from its Works.

use crds::namespaces::execution;
use crds::work::Work;
use kube::Client;
use kube::api::{Api, ListParams};
use serde_json::Value;

use super::{Error, failed};

/// The works of a member, and the objects in it that they stand for.
pub(crate) struct Remains {
    pub(crate) works: usize,
    pub(crate) objects: Vec<String>,
}

impl Remains {
    /// Reads them from the execution namespace.
    pub(crate) async fn of(client: &Client, cluster: &str) -> Result<Self, Error> {
        let works: Api<Work> = Api::namespaced(client.clone(), &execution(cluster));
        let works = works
            .list(&ListParams::default())
            .await
            .map_err(failed("list works"))?;
        let mut objects: Vec<String> = works
            .iter()
            .flat_map(|work| &work.spec.workload.manifests)
            .map(title)
            .collect();
        objects.sort();
        Ok(Self {
            works: works.items.len(),
            objects,
        })
    }
}

/// An object as kubectl writes it.
fn title(manifest: &Value) -> String {
    let text = |pointer: &str| manifest.pointer(pointer).and_then(Value::as_str);
    let kind = text("/kind").unwrap_or("object").to_lowercase();
    let name = text("/metadata/name").unwrap_or("without a name");
    match text("/metadata/namespace") {
        Some(namespace) => format!("{kind}/{name} -n {namespace}"),
        None => format!("{kind}/{name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn objects_are_named_as_kubectl_does() {
        let namespaced =
            json!({"kind": "Deployment", "metadata": {"name": "demo", "namespace": "a"}});
        assert_eq!(title(&namespaced), "deployment/demo -n a");
        let cluster = json!({"kind": "Namespace", "metadata": {"name": "a"}});
        assert_eq!(title(&cluster), "namespace/a");
    }
}
