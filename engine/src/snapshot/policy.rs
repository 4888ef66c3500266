//! Propagation policies as decisions see them.

use std::sync::Arc;

use crds::policy::PropagationSpec;
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

/// A propagation policy of either scope.
#[derive(Clone, Debug)]
pub struct PolicyView {
    /// Its kind, namespace and name.
    pub policy: PolicyRef,
    /// Its scope.
    pub scope: PolicyScope,
    /// Its permanent id; `None` until somebody has stamped one.
    pub permanent_id: Option<Name>,
    /// Whether it is being deleted.
    pub deleting: bool,
    /// Whether it carries the finalizer that keeps it until its claims are gone.
    pub finalized: bool,
    /// What it wants.
    pub spec: Arc<PropagationSpec>,
}

impl PolicyView {
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
            permanent_id: policy
                .labels()
                .get(P::PERMANENT_ID_LABEL)
                .filter(|id| !id.is_empty())
                .map(Name::from),
            deleting: meta.deletion_timestamp.is_some(),
            finalized: policy.finalizers().iter().any(|f| f == P::FINALIZER),
            spec: Arc::new(policy.spec().clone()),
        }
    }
}
