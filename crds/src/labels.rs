//! Labels of the contract.

/// On an object in a member: propagation put it there. Value [`TRUE`].
pub const MANAGED: &str = "karmada.io/managed";
/// On an object that the control plane itself needs. Value [`TRUE`].
pub const SYSTEM: &str = "karmada.io/system";
/// The value of the labels that are switches.
pub const TRUE: &str = "true";

/// On a namespaced policy, its templates and their bindings: which policy claims them.
pub const PROPAGATION_POLICY_PERMANENT_ID: &str = "propagationpolicy.karmada.io/permanent-id";
/// On a cluster-scoped policy, its templates and their bindings: which policy claims them.
pub const CLUSTER_PROPAGATION_POLICY_PERMANENT_ID: &str =
    "clusterpropagationpolicy.karmada.io/permanent-id";
/// On a namespaced binding, its Works and manifests: where they come from.
pub const RESOURCE_BINDING_PERMANENT_ID: &str = "resourcebinding.karmada.io/permanent-id";
/// On a cluster-scoped binding, its Works and manifests: where they come from.
pub const CLUSTER_RESOURCE_BINDING_PERMANENT_ID: &str =
    "clusterresourcebinding.karmada.io/permanent-id";
/// On a Work and its manifests in the member: where they come from.
pub const WORK_PERMANENT_ID: &str = "work.karmada.io/permanent-id";
/// On a multi-cluster service and what is made for it.
pub const MULTI_CLUSTER_SERVICE_PERMANENT_ID: &str = "multiclusterservice.karmada.io/permanent-id";
/// On what is made for a multi-cluster service: its name.
pub const MULTI_CLUSTER_SERVICE_NAME: &str = "multiclusterservice.karmada.io/name";
/// On what is made for a multi-cluster service: its namespace.
pub const MULTI_CLUSTER_SERVICE_NAMESPACE: &str = "multiclusterservice.karmada.io/namespace";

/// On an attached binding: what the label that leads back to a depending binding begins with.
pub const DEPENDED_BY_PREFIX: &str = "resourcebinding.karmada.io/depended-by-";
/// On a binding that another controller handles: which one.
pub const BINDING_MANAGED_BY: &str = "binding.karmada.io/managed-by";
/// On a template that another controller handles: which one.
pub const CLAIMED_BY: &str = "resourcetemplate.karmada.io/claimed-by";

/// On a Namespace: it is not copied to members. Value [`TRUE`].
pub const SKIP_AUTO_PROPAGATION: &str = "namespace.karmada.io/skip-auto-propagation";
/// On a template: the replicas of each member's copy are the member's own. Value [`TRUE`].
pub const RETAIN_REPLICAS: &str = "resourcetemplate.karmada.io/retain-replicas";
/// On any object: it cannot be deleted. Value [`DELETION_PROTECTION_ALWAYS`].
pub const DELETION_PROTECTED: &str = "resourcetemplate.karmada.io/deletion-protected";
/// The value that protects an object from deletion.
pub const DELETION_PROTECTION_ALWAYS: &str = "Always";

/// On endpoint slices and their Works: the service's name.
pub const SERVICE_NAME: &str = "endpointslice.karmada.io/name";
/// On endpoint slices and their Works: the service's namespace.
pub const SERVICE_NAMESPACE: &str = "endpointslice.karmada.io/namespace";
/// On endpoint slices and their Works: the controller that made them.
pub const ENDPOINT_SLICE_MANAGED_BY: &str = "endpointslice.karmada.io/managed-by";
/// The controller that collects endpoint slices from members.
pub const ENDPOINT_SLICE_CONTROLLER: &str = "endpointslice-controller.karmada.io";
/// The controller that hands endpoint slices to members.
pub const ENDPOINT_SLICE_DISPATCH_CONTROLLER: &str = "endpointslice-dispatch-controller.karmada.io";

/// On the Works of a quota: its name.
pub const FEDERATED_RESOURCE_QUOTA_NAME: &str = "federatedresourcequota.karmada.io/name";
/// On the Works of a quota: its namespace.
pub const FEDERATED_RESOURCE_QUOTA_NAMESPACE: &str = "federatedresourcequota.karmada.io/namespace";
/// On the RBAC objects that an installation makes.
pub const BOOTSTRAPPING: &str = "karmada.io/bootstrapping";
/// The value of [`BOOTSTRAPPING`].
pub const RBAC_DEFAULTS: &str = "rbac-defaults";
