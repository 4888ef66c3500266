//! The bed that all tests share, with everything installed once.

use anyhow::{Context as _, Result};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    Client,
    api::{Api, DynamicObject, Patch, PatchParams, PostParams},
    core::{ApiResource, GroupVersionKind},
};
use serde_json::{Value, json};
use std::sync::LazyLock;
use testbed::{Shared, Testbed, wait};
use tokio::sync::OnceCell;

static BED: Shared = Shared::new(|| Testbed::builder().without_controllers());
static INSTALLED: OnceCell<()> = OnceCell::const_new();

/// The manager in whose name the tests write.
pub(crate) const MANAGER: &str = "crds-tests";

/// The bed, with all kinds served and all admission policies in force.
pub(crate) async fn installed() -> Result<&'static Testbed> {
    let bed = BED.get().await;
    INSTALLED
        .get_or_try_init(async || {
            install(&bed.control_plane().client()).await?;
            in_force(&bed.control_plane().client()).await
        })
        .await?;
    Ok(bed)
}

async fn install(client: &Client) -> Result<()> {
    for definition in crds::all() {
        define(client, &definition).await?;
    }
    for manifest in crds::admission::manifests() {
        let name = manifest["metadata"]["name"]
            .as_str()
            .context("a policy has a name")?;
        api(client, &manifest, None)
            .patch(name, &PatchParams::apply(MANAGER), &Patch::Apply(&manifest))
            .await
            .with_context(|| format!("installing {name}"))?;
    }
    Ok(())
}

/// Installs a definition and waits until it is served.
pub(crate) async fn define(client: &Client, definition: &CustomResourceDefinition) -> Result<()> {
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let name = definition
        .metadata
        .name
        .as_deref()
        .context("a definition has a name")?;
    definitions
        .patch(
            name,
            &PatchParams::apply(MANAGER),
            &Patch::Apply(definition),
        )
        .await
        .with_context(|| format!("installing {name}"))?;
    wait::object(
        &definitions,
        name,
        "established",
        wait::PATIENCE,
        established,
    )
    .await?;
    Ok(())
}

fn established(definition: &CustomResourceDefinition) -> bool {
    let conditions = definition
        .status
        .as_ref()
        .and_then(|status| status.conditions.as_ref());
    conditions.is_some_and(|all| {
        all.iter()
            .any(|c| c.type_ == "Established" && c.status == "True")
    })
}

/// Waits until each admission policy acts; the server takes a second or two from its creation on.
async fn in_force(client: &Client) -> Result<()> {
    let refused = [
        (
            "karmada-selector-namespace",
            json!({"apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy", "metadata": {"name": "x"},
                "spec": {"resourceSelectors": [{"apiVersion": "v1", "kind": "Pod", "namespace": "elsewhere"}]}}),
        ),
        (
            "karmada-map-keys",
            json!({"apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy", "metadata": {"name": "x"},
                "spec": {"resourceSelectors": [{"apiVersion": "v1", "kind": "Pod", "labelSelector": {"matchLabels": {"a b": "c"}}}]}}),
        ),
        (
            "karmada-override-values",
            json!({"apiVersion": "policy.karmada.io/v1alpha1", "kind": "OverridePolicy", "metadata": {"name": "x"},
                "spec": {"overrideRules": [{"overriders": {"plaintext": [{"path": "/a", "operator": "add"}]}}]}}),
        ),
    ];
    for (policy, document) in refused {
        wait::until(
            format!("{policy} to be in force"),
            wait::PATIENCE,
            async || match dry_run(client, &document).await {
                Err(refusal) if refusal.contains(policy) => Ok(()),
                Err(refusal) => Err(refusal),
                Ok(_) => Err("the document was accepted".to_owned()),
            },
        )
        .await?;
    }
    let filled = json!({"apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy", "metadata": {"name": "x"},
        "spec": {"resourceSelectors": [{"apiVersion": "v1", "kind": "Pod"}], "placement": {"replicaScheduling": {}}}});
    wait::until("the defaults to be in force", wait::PATIENCE, async || {
        let object = dry_run(client, &filled).await?;
        let namespace = &object["spec"]["resourceSelectors"][0]["namespace"];
        let division =
            &object["spec"]["placement"]["replicaScheduling"]["replicaDivisionPreference"];
        if namespace.is_string() && division.is_string() {
            Ok(())
        } else {
            Err(object.to_string())
        }
    })
    .await
}

/// The definition of a kind of ours.
fn known(kind: &str) -> Option<&'static CustomResourceDefinition> {
    static ALL: LazyLock<Vec<CustomResourceDefinition>> = LazyLock::new(crds::all);
    ALL.iter()
        .find(|definition| definition.spec.names.kind == kind)
}

/// Whether the kind of this name lives in namespaces.
pub(crate) fn namespaced(kind: &str) -> bool {
    known(kind).is_some_and(|definition| definition.spec.scope == "Namespaced")
}

/// The way to the objects of a document's kind.
pub(crate) fn api(
    client: &Client,
    document: &Value,
    namespace: Option<&str>,
) -> Api<DynamicObject> {
    let api_version = document["apiVersion"]
        .as_str()
        .expect("a document has an apiVersion");
    let kind = document["kind"].as_str().expect("a document has a kind");
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let resource = match known(kind) {
        Some(known) => ApiResource::from_gvk_with_plural(
            &GroupVersionKind::gvk(group, version, kind),
            &known.spec.names.plural,
        ),
        None => ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind)),
    };
    match namespace.or(namespaced(kind).then_some("default")) {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    }
}

/// Creates the document without keeping it, in namespace `default` if its kind has namespaces; returns what would have been
/// stored, or the words of the refusal.
pub(crate) async fn dry_run(client: &Client, document: &Value) -> Result<Value, String> {
    let object: DynamicObject =
        serde_json::from_value(document.clone()).map_err(|error| error.to_string())?;
    let parameters = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    let stored = api(client, document, None)
        .create(&parameters, &object)
        .await
        .map_err(|error| error.to_string())?;
    serde_json::to_value(stored).map_err(|error| error.to_string())
}
