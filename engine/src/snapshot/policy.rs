//! Propagation policies and templates as decisions see them.

use std::collections::BTreeMap;
use std::sync::Arc;

use crds::policy::PropagationSpec;
use crds::scope::{Object, Propagation};
use crds::{annotations, labels};
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

/// Which policy a template says it belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The policy's scope.
    pub scope: PolicyScope,
    /// The policy's namespace; empty for cluster scope.
    pub namespace: Name,
    /// The policy's name.
    pub name: Name,
    /// The policy's permanent id; empty if the template does not say it.
    pub permanent_id: Name,
}

impl Claim {
    /// Reads the claim from labels and annotations; a claim of a namespaced policy comes first.
    pub fn read(
        labels: &BTreeMap<String, String>,
        annotations: &BTreeMap<String, String>,
    ) -> Option<Self> {
        let text = |map: &BTreeMap<String, String>, key: &str| -> Option<Name> {
            map.get(key).filter(|text| !text.is_empty()).map(Name::from)
        };
        if let (Some(name), Some(namespace)) = (
            text(annotations, annotations::PROPAGATION_POLICY_NAME),
            text(annotations, annotations::PROPAGATION_POLICY_NAMESPACE),
        ) {
            return Some(Self {
                scope: PolicyScope::Namespaced,
                namespace,
                name,
                permanent_id: text(labels, labels::PROPAGATION_POLICY_PERMANENT_ID)
                    .unwrap_or_default(),
            });
        }
        text(annotations, annotations::CLUSTER_PROPAGATION_POLICY_NAME).map(|name| Self {
            scope: PolicyScope::Cluster,
            namespace: Name::default(),
            name,
            permanent_id: text(labels, labels::CLUSTER_PROPAGATION_POLICY_PERMANENT_ID)
                .unwrap_or_default(),
        })
    }

    /// The claim that a policy has on what it owns.
    pub fn of(policy: &PolicyView) -> Self {
        Self {
            scope: policy.scope,
            namespace: policy.policy.namespace.clone(),
            name: policy.policy.name.clone(),
            permanent_id: policy.permanent_id.clone().unwrap_or_default(),
        }
    }

    /// Whether this is a claim of that policy.
    pub fn is_of(&self, policy: &PolicyView) -> bool {
        self.scope == policy.scope
            && self.name == policy.policy.name
            && self.namespace == policy.policy.namespace
    }

    /// The policy as users name it.
    pub fn policy(&self) -> PolicyRef {
        PolicyRef {
            kind: match self.scope {
                PolicyScope::Namespaced => "PropagationPolicy".into(),
                PolicyScope::Cluster => "ClusterPropagationPolicy".into(),
            },
            namespace: self.namespace.clone(),
            name: self.name.clone(),
        }
    }

    /// The labels of the claim.
    pub fn labels(&self) -> BTreeMap<String, String> {
        let key = match self.scope {
            PolicyScope::Namespaced => labels::PROPAGATION_POLICY_PERMANENT_ID,
            PolicyScope::Cluster => labels::CLUSTER_PROPAGATION_POLICY_PERMANENT_ID,
        };
        BTreeMap::from([(key.to_owned(), String::from(&self.permanent_id))])
    }

    /// The annotations of the claim.
    pub fn annotations(&self) -> BTreeMap<String, String> {
        match self.scope {
            PolicyScope::Namespaced => BTreeMap::from([
                (
                    annotations::PROPAGATION_POLICY_NAMESPACE.to_owned(),
                    String::from(&self.namespace),
                ),
                (
                    annotations::PROPAGATION_POLICY_NAME.to_owned(),
                    String::from(&self.name),
                ),
            ]),
            PolicyScope::Cluster => BTreeMap::from([(
                annotations::CLUSTER_PROPAGATION_POLICY_NAME.to_owned(),
                String::from(&self.name),
            )]),
        }
    }

    /// Every label key that any claim uses.
    pub const LABEL_KEYS: [&str; 2] = [
        labels::PROPAGATION_POLICY_PERMANENT_ID,
        labels::CLUSTER_PROPAGATION_POLICY_PERMANENT_ID,
    ];

    /// Every annotation key that any claim uses.
    pub const ANNOTATION_KEYS: [&str; 3] = [
        annotations::PROPAGATION_POLICY_NAMESPACE,
        annotations::PROPAGATION_POLICY_NAME,
        annotations::CLUSTER_PROPAGATION_POLICY_NAME,
    ];
}

/// A template, reduced to what the choice of its owner looks at.
#[derive(Clone, Debug, Default)]
pub struct TemplateView {
    /// apiVersion.
    pub api_version: Name,
    /// Kind.
    pub kind: Name,
    /// Namespace; empty for cluster scope.
    pub namespace: Name,
    /// Name.
    pub name: Name,
    /// Labels, claims included.
    pub labels: BTreeMap<String, String>,
    /// The policy it says it belongs to.
    pub claim: Option<Claim>,
}
