//! Template + binding + cluster → the manifest for one member.
//!
//! The order is the contract's: what belongs to the control plane is taken away, the cluster's replicas are put in, then overrides of
//! cluster scope, then those of the namespace, then the marks by which the copy is known. The same input gives the same bytes.

use std::collections::BTreeMap;

use crds::policy::ConflictResolution;
use crds::{annotations, labels, names, namespaces};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::interpret::custom::Problem;
use crate::interpret::{self, Interpreter, Native, number, text};
use crate::overrides::{self, Applied, OverrideProblem, OverrideView};
use crate::policy::selector::Identity;
use crate::snapshot::ClusterView;

/// What a copy comes from, besides the template.
#[derive(Clone, Copy, Debug)]
pub enum Origin<'a> {
    /// A binding.
    Binding {
        /// Its namespace; empty for one of cluster scope.
        namespace: &'a str,
        /// Its name.
        name: &'a str,
        /// Its permanent id.
        id: &'a str,
    },
    /// No binding: namespaces are copied as they are.
    Namespace {
        /// The namespace's uid.
        uid: &'a str,
    },
}

/// Everything that decides what a copy looks like.
#[derive(Clone, Copy, Debug)]
pub struct RenderInput<'a, O> {
    /// What kinds mean.
    pub interpreter: &'a Interpreter,
    /// The time, for scripts that ask for it.
    pub now: Timestamp,
    /// The template, whole.
    pub template: &'a Value,
    /// What binds it.
    pub origin: Origin<'a>,
    /// The cluster.
    pub cluster: &'a ClusterView,
    /// The cluster's replicas; `None` for a kind without.
    pub replicas: Option<i32>,
    /// The replicas of all clusters in the binding's order, and which of them is this one: a Job's completions are shared by them.
    pub shares: Option<(&'a [i64], usize)>,
    /// What to do with an object that is there and not ours.
    pub conflict_resolution: ConflictResolution,
    /// All override policies that might apply: those of cluster scope and those of the template's namespace.
    pub overrides: O,
}

/// A Work's content and the marks on it.
#[derive(Clone, Debug, PartialEq)]
pub struct Rendered {
    /// The execution namespace of the cluster.
    pub namespace: String,
    /// The Work's name.
    pub name: String,
    /// The Work's labels.
    pub labels: BTreeMap<String, String>,
    /// The Work's annotations.
    pub annotations: BTreeMap<String, String>,
    /// What the member is to have.
    pub manifest: Value,
    /// What overrides did.
    pub applied: Applied,
}

/// Why there is no copy for a cluster.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RenderProblem {
    /// An override cannot be applied.
    #[error(transparent)]
    Override(#[from] OverrideProblem),
    /// A customization of the kind fails.
    #[error(transparent)]
    Customization(#[from] Problem),
}

/// Renders the copy for one cluster.
///
/// # Errors
/// Nothing must be sent to this cluster.
pub fn render<'a>(
    input: RenderInput<'a, impl IntoIterator<Item = &'a OverrideView>>,
) -> Result<Rendered, RenderProblem> {
    let RenderInput {
        interpreter,
        now,
        template,
        origin,
        cluster,
        replicas,
        shares,
        conflict_resolution,
        overrides,
    } = input;
    let mut manifest = template.clone();
    interpret::prune(&mut manifest);
    if let Some(replicas) = replicas {
        interpreter.revise(&mut manifest, replicas, now)?;
    }
    if let Some((weights, index)) = shares {
        share_completions(&mut manifest, weights, index);
    }
    let template_labels = string_map(template, "/metadata/labels");
    let identity = Identity {
        api_version: text(template, "/apiVersion"),
        kind: text(template, "/kind"),
        namespace: text(template, "/metadata/namespace"),
        name: text(template, "/metadata/name"),
        labels: &template_labels,
    };
    let chosen = overrides::select(overrides, identity, cluster);
    let applied = overrides::apply(&mut manifest, &chosen)?;

    let namespace = namespaces::execution(&cluster.name);
    let name = names::work(
        identity.kind,
        identity.name,
        Some(identity.namespace).filter(|ns| !ns.is_empty()),
    );
    let marks = Marks::new(origin, conflict_resolution, &applied, &cluster.name);
    marks.put_on(&mut manifest, template, &namespace, &name);
    Ok(Rendered {
        namespace,
        name,
        labels: marks.labels,
        annotations: marks.annotations,
        manifest,
        applied,
    })
}

/// A Job's completions are a total, so each cluster gets its share of them.
fn share_completions(manifest: &mut Value, weights: &[i64], index: usize) {
    if Native::of(manifest) != Native::Job || manifest.pointer("/spec/completions").is_none() {
        return;
    }
    let share = interpret::share(number(manifest, "/spec/completions"), weights, index);
    if let Some(spec) = manifest.get_mut("spec").and_then(Value::as_object_mut) {
        spec.insert("completions".to_owned(), json!(share));
    }
}

/// Marks that Work and manifest have in common.
struct Marks {
    labels: BTreeMap<String, String>,
    annotations: BTreeMap<String, String>,
}

impl Marks {
    fn new(
        origin: Origin<'_>,
        conflict_resolution: ConflictResolution,
        applied: &Applied,
        cluster: &str,
    ) -> Self {
        let mut marks = Self {
            labels: BTreeMap::new(),
            annotations: BTreeMap::new(),
        };
        let id = match origin {
            Origin::Binding {
                namespace: "",
                name,
                id,
            } => {
                marks.label(labels::CLUSTER_RESOURCE_BINDING_PERMANENT_ID, id);
                marks.annotate(annotations::CLUSTER_RESOURCE_BINDING_NAME, name);
                id
            }
            Origin::Binding {
                namespace,
                name,
                id,
            } => {
                marks.label(labels::RESOURCE_BINDING_PERMANENT_ID, id);
                marks.annotate(annotations::RESOURCE_BINDING_NAMESPACE, namespace);
                marks.annotate(annotations::RESOURCE_BINDING_NAME, name);
                id
            }
            Origin::Namespace { uid } => uid,
        };
        marks.label(labels::WORK_PERMANENT_ID, &work_id(id, cluster));
        marks.annotate(
            annotations::CONFLICT_RESOLUTION,
            match conflict_resolution {
                ConflictResolution::Abort => annotations::CONFLICT_RESOLUTION_ABORT,
                ConflictResolution::Overwrite => annotations::CONFLICT_RESOLUTION_OVERWRITE,
            },
        );
        for (key, value) in [
            (
                annotations::APPLIED_CLUSTER_OVERRIDES,
                &applied.cluster_policies,
            ),
            (annotations::APPLIED_OVERRIDES, &applied.policies),
        ] {
            if let Some(value) = value {
                marks.annotate(key, value);
            }
        }
        marks
    }

    fn label(&mut self, key: &str, value: &str) {
        self.labels.insert(key.to_owned(), value.to_owned());
    }

    fn annotate(&mut self, key: &str, value: &str) {
        self.annotations.insert(key.to_owned(), value.to_owned());
    }

    /// Marks the manifest too, and with what only a copy has: whose template it is, and which labels and annotations are ours to remove later.
    fn put_on(
        &self,
        manifest: &mut Value,
        template: &Value,
        work_namespace: &str,
        work_name: &str,
    ) {
        let mut labels = string_map(manifest, "/metadata/labels");
        labels.extend(self.labels.clone());
        labels.insert(labels::MANAGED.to_owned(), labels::TRUE.to_owned());

        let mut annotations = string_map(manifest, "/metadata/annotations");
        // The template may say for itself what happens to an object that is there already.
        let own = annotations.get(annotations::CONFLICT_RESOLUTION).cloned();
        annotations.extend(self.annotations.clone());
        if let Some(own) = own {
            annotations.insert(annotations::CONFLICT_RESOLUTION.to_owned(), own);
        }
        let mut mark = |key: &str, value: &str| {
            if !value.is_empty() {
                annotations.insert(key.to_owned(), value.to_owned());
            }
        };
        mark(annotations::WORK_NAMESPACE, work_namespace);
        mark(annotations::WORK_NAME, work_name);
        mark(annotations::TEMPLATE_UID, text(template, "/metadata/uid"));
        if let Some(generation) = template.pointer("/metadata/generation") {
            mark(annotations::TEMPLATE_GENERATION, &generation.to_string());
        }
        for record in [
            annotations::MANAGED_LABELS,
            annotations::MANAGED_ANNOTATIONS,
        ] {
            annotations.insert(record.to_owned(), String::new());
        }
        annotations.insert(annotations::MANAGED_LABELS.to_owned(), keys(&labels));
        annotations.insert(
            annotations::MANAGED_ANNOTATIONS.to_owned(),
            keys(&annotations),
        );

        if let Some(metadata) = manifest.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.insert("labels".to_owned(), object(labels));
            metadata.insert("annotations".to_owned(), object(annotations));
        }
    }
}

fn keys(map: &BTreeMap<String, String>) -> String {
    map.keys().map(String::as_str).collect::<Vec<_>>().join(",")
}

fn object(map: BTreeMap<String, String>) -> Value {
    Value::Object(
        map.into_iter()
            .map(|(key, value)| (key, Value::String(value)))
            .collect::<Map<_, _>>(),
    )
}

fn string_map(object: &Value, pointer: &str) -> BTreeMap<String, String> {
    object
        .pointer(pointer)
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())))
        .collect()
}

/// The permanent id of the Work that takes a binding to a cluster, in the form of a UUID.
///
/// It is made from both and not at random: the manifest carries it too, and is written in the same request that creates the Work.
fn work_id(origin: &str, cluster: &str) -> String {
    // FNV-1a with 128 bits.
    let mut hash: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    for byte in origin.bytes().chain([0]).chain(cluster.bytes()) {
        hash = (hash ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
    }
    let hex = format!("{hash:032x}");
    // Version 8: the bits are the application's own.
    format!(
        "{}-{}-8{}-a{}-{}",
        &hex[..8],
        &hex[8..12],
        &hex[13..16],
        &hex[17..20],
        &hex[20..]
    )
}

#[cfg(test)]
mod tests;
