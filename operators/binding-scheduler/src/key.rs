//! What the scheduler works on: one key is handled by one task at a time.

use std::fmt;

use crds::work::ObjectReference;
use engine::policy::selector::Identity;
use engine::snapshot::{Name, TemplateView};
use engine::trace::PolicyRef;
use kube::core::GroupVersionKind;

/// A kind of templates.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Gvk {
    /// Group and version, such as `apps/v1`.
    pub api_version: Name,
    /// Kind.
    pub kind: Name,
}

impl Gvk {
    /// The kind of that name in that group and version.
    pub fn new(api_version: &str, kind: &str) -> Self {
        Self {
            api_version: api_version.into(),
            kind: kind.into(),
        }
    }
}

impl From<&Gvk> for GroupVersionKind {
    fn from(gvk: &Gvk) -> Self {
        let (group, version) = gvk
            .api_version
            .split_once('/')
            .unwrap_or(("", &gvk.api_version));
        Self::gvk(group, version, &gvk.kind)
    }
}

impl From<&GroupVersionKind> for Gvk {
    fn from(gvk: &GroupVersionKind) -> Self {
        Self::new(&gvk.api_version(), &gvk.kind)
    }
}

impl fmt::Display for Gvk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.api_version, self.kind)
    }
}

/// A template, whether or not it exists.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TemplateKey {
    /// Its kind.
    pub gvk: Gvk,
    /// Its namespace; empty for cluster scope.
    pub namespace: Name,
    /// Its name.
    pub name: Name,
}

impl From<&TemplateView> for TemplateKey {
    fn from(template: &TemplateView) -> Self {
        Self {
            gvk: Gvk {
                api_version: template.api_version.clone(),
                kind: template.kind.clone(),
            },
            namespace: template.namespace.clone(),
            name: template.name.clone(),
        }
    }
}

impl From<&ObjectReference> for TemplateKey {
    fn from(reference: &ObjectReference) -> Self {
        Self {
            gvk: Gvk::new(&reference.api_version, &reference.kind),
            namespace: reference.namespace.as_deref().unwrap_or_default().into(),
            name: reference.name.as_str().into(),
        }
    }
}

impl fmt::Display for TemplateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.namespace.is_empty() {
            write!(f, "{} {}", self.gvk.kind, self.name)
        } else {
            write!(f, "{} {}/{}", self.gvk.kind, self.namespace, self.name)
        }
    }
}

/// What a task handles.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Key {
    /// A template and its binding.
    Template(TemplateKey),
    /// A policy: its permanent id, its finalizer, and whether it selects anything.
    Policy(PolicyRef),
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Template(template) => template.fmt(f),
            Self::Policy(policy) => policy.fmt(f),
        }
    }
}

/// What selectors look at in a template.
pub(crate) fn identity(template: &TemplateView) -> Identity<'_> {
    Identity {
        api_version: &template.api_version,
        kind: &template.kind,
        namespace: &template.namespace,
        name: &template.name,
        labels: &template.labels,
    }
}
