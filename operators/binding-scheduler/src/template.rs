//! What is kept of a template, and which objects can be one.

use std::collections::BTreeMap;

use crate::key::Gvk;
use crds::namespaces;
use engine::interpret::Replicas;
use engine::snapshot::{ClaimMarks, Name, TemplateView};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

/// What is kept of a template.
pub fn view(gvk: &Gvk, meta: &ObjectMeta, replicas: Replicas) -> TemplateView {
    let ObjectMeta {
        name,
        namespace,
        uid,
        generation,
        resource_version,
        creation_timestamp,
        deletion_timestamp,
        labels,
        annotations,
        ..
    } = meta;
    let text = |text: &Option<String>| Name::from(text.as_deref().unwrap_or_default());
    let labels = labels.clone().unwrap_or_default();
    let none = BTreeMap::new();
    TemplateView {
        api_version: gvk.api_version.clone(),
        kind: gvk.kind.clone(),
        namespace: text(namespace),
        name: text(name),
        uid: text(uid),
        resource_version: text(resource_version),
        version: generation.map_or_else(|| text(resource_version), |n| Name::from(n.to_string())),
        claim: ClaimMarks::read(&labels, annotations.as_ref().unwrap_or(&none)),
        labels,
        created: creation_timestamp.as_ref().map(|time| time.0),
        deleting: deletion_timestamp.is_some(),
        replicas: replicas.count,
        requirements: replicas.requirements,
    }
}

/// Whether objects of a kind can be templates. What runs the control plane itself, and what only records what happened, cannot.
pub fn can_be_template(gvk: &Gvk) -> bool {
    let (group, _) = gvk.api_version.split_once('/').unwrap_or(("", ""));
    let own = group == "karmada.io" || group.ends_with(".karmada.io");
    let record = matches!(
        (group, gvk.kind.as_str()),
        ("" | "events.k8s.io", "Event") | ("coordination.k8s.io", "Lease")
    );
    !own && !record
}

/// Whether what is in a namespace can be a template; an empty one stands for cluster scope.
pub fn can_hold_templates(namespace: &str) -> bool {
    !namespaces::is_reserved(namespace) && !namespace.starts_with("kube-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_control_planes_own_objects_are_no_templates() {
        for (api_version, kind, expected) in [
            ("apps/v1", "Deployment", true),
            ("v1", "ConfigMap", true),
            ("v1", "Event", false),
            ("coordination.k8s.io/v1", "Lease", false),
            ("work.karmada.io/v1alpha1", "Work", false),
            ("example.io/v1", "Event", true),
        ] {
            assert_eq!(
                can_be_template(&Gvk::new(api_version, kind)),
                expected,
                "{kind}"
            );
        }
        for (namespace, expected) in [
            ("default", true),
            ("", true),
            ("kube-system", false),
            ("karmada-system", false),
            ("karmada-es-m1", false),
        ] {
            assert_eq!(can_hold_templates(namespace), expected, "{namespace}");
        }
    }
}
