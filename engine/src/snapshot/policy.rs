//! Propagation policies as decisions see them.

use std::sync::Arc;

use crds::policy::{ClusterPropagationPolicy, PropagationPolicy, PropagationSpec};
use crds::scope::{Object, Propagation};
use kube::ResourceExt;

use super::Name;
use crate::trace::PolicyRef;

/// Whether a policy lives in a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PolicyScope {
    /// `PropagationPolicy`; it comes before any of cluster scope.
    Namespaced,
    /// `ClusterPropagationPolicy`.
    Cluster,
}

impl PolicyScope {
    /// The label with the permanent id of such policies.
    pub fn id_label(self) -> &'static str {
        match self {
            Self::Namespaced => PropagationPolicy::PERMANENT_ID_LABEL,
            Self::Cluster => ClusterPropagationPolicy::PERMANENT_ID_LABEL,
        }
    }

    /// The finalizer that keeps such policies until nothing claims them any more.
    pub fn finalizer(self) -> &'static str {
        match self {
            Self::Namespaced => PropagationPolicy::FINALIZER,
            Self::Cluster => ClusterPropagationPolicy::FINALIZER,
        }
    }
}

/// A propagation policy of either scope.
#[derive(Clone, Debug, PartialEq)]
pub struct PolicyView {
    /// Its kind, namespace and name.
    pub policy: PolicyRef,
    /// Its scope.
    pub scope: PolicyScope,
    /// Its uid.
    pub uid: Name,
    /// Generation of its spec.
    pub generation: i64,
    /// Resource version of this sight of it.
    pub resource_version: Name,
    /// Its permanent id; `None` until somebody has stamped one.
    pub permanent_id: Option<Name>,
    /// Whether it is being deleted.
    pub deleting: bool,
    /// Its finalizers.
    pub finalizers: Vec<String>,
    /// What it wants.
    pub spec: Arc<PropagationSpec>,
}

impl PolicyView {
    /// Whether it carries what it needs before anything may claim to belong to it.
    pub fn is_stamped(&self) -> bool {
        self.permanent_id.is_some() && self.finalizers.iter().any(|f| f == self.scope.finalizer())
    }

    /// The view of a policy object of either scope.
    pub fn of<P: Propagation>(policy: &P) -> Self {
        let meta = policy.meta();
        Self {
            policy: PolicyRef::new(
                &P::kind(&()),
                meta.namespace.as_deref().unwrap_or_default(),
                meta.name.as_deref().unwrap_or_default(),
            ),
            scope: if <P as Object>::NAMESPACED {
                PolicyScope::Namespaced
            } else {
                PolicyScope::Cluster
            },
            uid: meta.uid.as_deref().unwrap_or_default().into(),
            generation: meta.generation.unwrap_or_default(),
            resource_version: meta.resource_version.as_deref().unwrap_or_default().into(),
            permanent_id: policy
                .labels()
                .get(P::PERMANENT_ID_LABEL)
                .filter(|id| !id.is_empty())
                .map(Name::from),
            deleting: meta.deletion_timestamp.is_some(),
            finalizers: policy.finalizers().to_vec(),
            spec: Arc::new(policy.spec().clone()),
        }
    }
}
