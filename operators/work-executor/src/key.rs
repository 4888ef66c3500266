//! What the controllers work on.

use std::fmt;

use crds::namespaces;
use engine::snapshot::Name;
use kube::core::GroupVersionKind;

/// What Works are made from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Origin {
    /// A binding of either scope; the namespace is empty for the cluster-scoped one.
    Binding {
        /// Its namespace.
        namespace: Name,
        /// Its name.
        name: Name,
    },
    /// A namespace, which every member gets.
    Namespace(Name),
}

impl Origin {
    /// The binding of that namespace and name; an empty namespace means cluster scope.
    pub(crate) fn binding(namespace: &str, name: &str) -> Self {
        Self::Binding {
            namespace: namespace.into(),
            name: name.into(),
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Binding { namespace, name } if namespace.is_empty() => {
                write!(f, "ClusterResourceBinding {name}")
            }
            Self::Binding { namespace, name } => write!(f, "ResourceBinding {namespace}/{name}"),
            Self::Namespace(name) => write!(f, "Namespace {name}"),
        }
    }
}

/// A Work.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct WorkKey {
    /// The cluster whose execution namespace it is in.
    pub(crate) cluster: Name,
    /// Its name.
    pub(crate) name: Name,
}

impl WorkKey {
    /// The Work of that name for that cluster.
    pub(crate) fn new(cluster: &str, name: &str) -> Self {
        Self {
            cluster: cluster.into(),
            name: name.into(),
        }
    }

    /// The Work of that namespace and name; `None` if it is in no execution namespace, so that it is for nobody.
    pub(crate) fn of(namespace: &str, name: &str) -> Option<Self> {
        namespaces::cluster_of_execution(namespace).map(|cluster| Self::new(cluster, name))
    }

    /// The namespace it is in.
    pub(crate) fn namespace(&self) -> String {
        namespaces::execution(&self.cluster)
    }
}

impl fmt::Display for WorkKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Work {}/{}", self.namespace(), self.name)
    }
}

/// An object in a member, or a template on the control plane.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ObjectKey {
    /// Its kind.
    pub(crate) gvk: GroupVersionKind,
    /// Its namespace; empty for cluster scope.
    pub(crate) namespace: Name,
    /// Its name.
    pub(crate) name: Name,
}

impl ObjectKey {
    /// The object a manifest describes; `None` if it names no kind or no object.
    pub(crate) fn of(manifest: &serde_json::Value) -> Option<Self> {
        let text = |pointer: &str| {
            manifest
                .pointer(pointer)
                .and_then(serde_json::Value::as_str)
        };
        let name = text("/metadata/name").filter(|name| !name.is_empty())?;
        Some(Self {
            gvk: gvk(text("/apiVersion")?, text("/kind")?),
            namespace: text("/metadata/namespace").unwrap_or_default().into(),
            name: name.into(),
        })
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.namespace.is_empty() {
            write!(f, "{} {}", self.gvk.kind, self.name)
        } else {
            write!(f, "{} {}/{}", self.gvk.kind, self.namespace, self.name)
        }
    }
}

/// A kind from the two strings that objects carry.
pub(crate) fn gvk(api_version: &str, kind: &str) -> GroupVersionKind {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    GroupVersionKind::gvk(group, version, kind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn manifest_names_its_object() {
        let key = ObjectKey::of(&json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "web", "namespace": "a"},
        }))
        .unwrap();
        assert_eq!(key.to_string(), "Deployment a/web");
        assert_eq!(key.gvk, GroupVersionKind::gvk("apps", "v1", "Deployment"));
        assert_eq!(
            gvk("v1", "Secret"),
            GroupVersionKind::gvk("", "v1", "Secret")
        );
        assert_eq!(ObjectKey::of(&json!({"kind": "Secret"})), None);
    }

    #[test]
    fn only_works_in_execution_namespaces_are_for_a_member() {
        let key = WorkKey::of("karmada-es-m1", "web-1").unwrap();
        assert_eq!((&*key.cluster, &*key.namespace()), ("m1", "karmada-es-m1"));
        assert_eq!(WorkKey::of("default", "web-1"), None);
    }
}
