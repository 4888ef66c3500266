//! One view on the namespaced and the cluster-scoped twin of a kind, so that no logic is written twice.

use crate::{
    annotations, finalizers, labels,
    policy::{
        ClusterOverridePolicy, ClusterPropagationPolicy, OverridePolicy, OverrideSpec,
        PropagationPolicy, PropagationSpec,
    },
    work::{ClusterResourceBinding, ResourceBinding, ResourceBindingSpec, ResourceBindingStatus},
};
use kube::Resource;
use serde::{Serialize, de::DeserializeOwned};
use std::fmt::Debug;

/// What every kind of the twins is.
pub trait Object:
    Resource<DynamicType = ()>
    + DeserializeOwned
    + Serialize
    + Clone
    + Debug
    + Default
    + Send
    + Sync
    + 'static
{
    /// Whether objects live in namespaces.
    const NAMESPACED: bool;
}

/// [`ResourceBinding`] and [`ClusterResourceBinding`].
pub trait Binding: Object {
    /// The label, on the binding and all that is made from it, that names the binding.
    const PERMANENT_ID_LABEL: &'static str;
    /// The annotation, on what is made from a binding, with the binding's name.
    const NAME_ANNOTATION: &'static str;
    /// The annotation, on what is made from a binding, with the binding's namespace.
    const NAMESPACE_ANNOTATION: Option<&'static str>;
    /// The finalizer that waits for the binding's Works to go.
    const FINALIZER: &'static str;

    /// Makes a binding with this name and spec, and nothing else.
    fn new(name: &str, spec: ResourceBindingSpec) -> Self;
    /// What is bound to which clusters.
    fn spec(&self) -> &ResourceBindingSpec;
    /// What is bound to which clusters, to change it.
    fn spec_mut(&mut self) -> &mut ResourceBindingSpec;
    /// How far it is.
    fn status(&self) -> Option<&ResourceBindingStatus>;
    /// How far it is, to change it.
    fn status_mut(&mut self) -> &mut Option<ResourceBindingStatus>;
}

/// [`PropagationPolicy`] and [`ClusterPropagationPolicy`].
pub trait Propagation: Object {
    /// The label, on the policy, its templates and their bindings, that names the policy.
    const PERMANENT_ID_LABEL: &'static str;
    /// The annotation, on templates and bindings, with the policy's name.
    const NAME_ANNOTATION: &'static str;
    /// The annotation, on templates and bindings, with the policy's namespace.
    const NAMESPACE_ANNOTATION: Option<&'static str>;
    /// The finalizer that waits for the policy's claims to go.
    const FINALIZER: &'static str;

    /// Makes a policy with this name and spec, and nothing else.
    fn new(name: &str, spec: PropagationSpec) -> Self;
    /// What is propagated where.
    fn spec(&self) -> &PropagationSpec;
    /// What is propagated where, to change it.
    fn spec_mut(&mut self) -> &mut PropagationSpec;
}

/// [`OverridePolicy`] and [`ClusterOverridePolicy`].
pub trait Override: Object {
    /// The annotation, on Works and manifests, with the overrides of such policies that were applied.
    const APPLIED_ANNOTATION: &'static str;

    /// Makes a policy with this name and spec, and nothing else.
    fn new(name: &str, spec: OverrideSpec) -> Self;
    /// What differs where.
    fn spec(&self) -> &OverrideSpec;
    /// What differs where, to change it.
    fn spec_mut(&mut self) -> &mut OverrideSpec;
}

macro_rules! object {
    ($($kind:ident),+) => {
        $(impl Object for $kind {
            const NAMESPACED: bool = $kind::KIND.namespaced;
        })+
    };
}

object!(
    ResourceBinding,
    ClusterResourceBinding,
    PropagationPolicy,
    ClusterPropagationPolicy,
    OverridePolicy,
    ClusterOverridePolicy
);

macro_rules! spec_accessors {
    ($kind:ident, $spec:ty) => {
        fn new(name: &str, spec: $spec) -> Self {
            $kind::new(name, spec)
        }
        fn spec(&self) -> &$spec {
            &self.spec
        }
        fn spec_mut(&mut self) -> &mut $spec {
            &mut self.spec
        }
    };
}

macro_rules! status_accessors {
    () => {
        fn status(&self) -> Option<&ResourceBindingStatus> {
            self.status.as_ref()
        }
        fn status_mut(&mut self) -> &mut Option<ResourceBindingStatus> {
            &mut self.status
        }
    };
}

impl Binding for ResourceBinding {
    const PERMANENT_ID_LABEL: &'static str = labels::RESOURCE_BINDING_PERMANENT_ID;
    const NAME_ANNOTATION: &'static str = annotations::RESOURCE_BINDING_NAME;
    const NAMESPACE_ANNOTATION: Option<&'static str> =
        Some(annotations::RESOURCE_BINDING_NAMESPACE);
    const FINALIZER: &'static str = finalizers::BINDING;

    spec_accessors!(ResourceBinding, ResourceBindingSpec);
    status_accessors!();
}

impl Binding for ClusterResourceBinding {
    const PERMANENT_ID_LABEL: &'static str = labels::CLUSTER_RESOURCE_BINDING_PERMANENT_ID;
    const NAME_ANNOTATION: &'static str = annotations::CLUSTER_RESOURCE_BINDING_NAME;
    const NAMESPACE_ANNOTATION: Option<&'static str> = None;
    const FINALIZER: &'static str = finalizers::CLUSTER_RESOURCE_BINDING;

    spec_accessors!(ClusterResourceBinding, ResourceBindingSpec);
    status_accessors!();
}

impl Propagation for PropagationPolicy {
    const PERMANENT_ID_LABEL: &'static str = labels::PROPAGATION_POLICY_PERMANENT_ID;
    const NAME_ANNOTATION: &'static str = annotations::PROPAGATION_POLICY_NAME;
    const NAMESPACE_ANNOTATION: Option<&'static str> =
        Some(annotations::PROPAGATION_POLICY_NAMESPACE);
    const FINALIZER: &'static str = finalizers::PROPAGATION_POLICY;

    spec_accessors!(PropagationPolicy, PropagationSpec);
}

impl Propagation for ClusterPropagationPolicy {
    const PERMANENT_ID_LABEL: &'static str = labels::CLUSTER_PROPAGATION_POLICY_PERMANENT_ID;
    const NAME_ANNOTATION: &'static str = annotations::CLUSTER_PROPAGATION_POLICY_NAME;
    const NAMESPACE_ANNOTATION: Option<&'static str> = None;
    const FINALIZER: &'static str = finalizers::CLUSTER_PROPAGATION_POLICY;

    spec_accessors!(ClusterPropagationPolicy, PropagationSpec);
}

impl Override for OverridePolicy {
    const APPLIED_ANNOTATION: &'static str = annotations::APPLIED_OVERRIDES;

    spec_accessors!(OverridePolicy, OverrideSpec);
}

impl Override for ClusterOverridePolicy {
    const APPLIED_ANNOTATION: &'static str = annotations::APPLIED_CLUSTER_OVERRIDES;

    spec_accessors!(ClusterOverridePolicy, OverrideSpec);
}
