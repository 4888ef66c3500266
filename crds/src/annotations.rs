//! Annotations of the contract.

/// On a template and its binding: the namespace of the policy that claims them.
pub const PROPAGATION_POLICY_NAMESPACE: &str = "propagationpolicy.karmada.io/namespace";
/// On a template and its binding: the name of the policy that claims them.
pub const PROPAGATION_POLICY_NAME: &str = "propagationpolicy.karmada.io/name";
/// On a template and its binding: the name of the cluster-scoped policy that claims them.
pub const CLUSTER_PROPAGATION_POLICY_NAME: &str = "clusterpropagationpolicy.karmada.io/name";
/// On a Work and its manifests: the namespace of their binding.
pub const RESOURCE_BINDING_NAMESPACE: &str = "resourcebinding.karmada.io/namespace";
/// On a Work and its manifests: the name of their binding.
pub const RESOURCE_BINDING_NAME: &str = "resourcebinding.karmada.io/name";
/// On a Work and its manifests: the name of their cluster-scoped binding.
pub const CLUSTER_RESOURCE_BINDING_NAME: &str = "clusterresourcebinding.karmada.io/name";
/// On an object in a member: the namespace of its Work.
pub const WORK_NAMESPACE: &str = "work.karmada.io/namespace";
/// On an object in a member: the name of its Work.
pub const WORK_NAME: &str = "work.karmada.io/name";

/// On a template, a Work and its manifests: what happens to an object that already exists in the member.
pub const CONFLICT_RESOLUTION: &str = "work.karmada.io/conflict-resolution";
/// The value of [`CONFLICT_RESOLUTION`] that takes the object over.
pub const CONFLICT_RESOLUTION_OVERWRITE: &str = "overwrite";
/// The value of [`CONFLICT_RESOLUTION`] that leaves the object alone.
pub const CONFLICT_RESOLUTION_ABORT: &str = "abort";

/// On a manifest: the uid of its template.
pub const TEMPLATE_UID: &str = "resourcetemplate.karmada.io/uid";
/// On a manifest: the generation of its template.
pub const TEMPLATE_GENERATION: &str = "resourcetemplate.karmada.io/generation";
/// On a manifest: the keys of the labels that propagation owns, sorted and joined by commas.
pub const MANAGED_LABELS: &str = "resourcetemplate.karmada.io/managed-labels";
/// On a manifest: the keys of the annotations that propagation owns, sorted and joined by commas.
pub const MANAGED_ANNOTATIONS: &str = "resourcetemplate.karmada.io/managed-annotations";

/// On a binding: the placement last scheduled, as JSON.
pub const APPLIED_PLACEMENT: &str = "policy.karmada.io/applied-placement";
/// On a Work and its manifests: the overrides applied, as JSON.
pub const APPLIED_OVERRIDES: &str = "policy.karmada.io/applied-overrides";
/// On a Work and its manifests: the overrides of cluster-scoped policies applied, as JSON.
pub const APPLIED_CLUSTER_OVERRIDES: &str = "policy.karmada.io/applied-cluster-overrides";
/// On a binding: what its template depends on, as JSON.
pub const DEPENDENCIES: &str = "resourcebinding.karmada.io/dependencies";

/// On an endpoint slice: the cluster it comes from.
pub const ENDPOINT_SLICE_PROVISION_CLUSTER: &str = "endpointslice.karmada.io/provision-cluster";
/// On what is made for a multi-cluster service: its name.
pub const MULTI_CLUSTER_SERVICE_NAME: &str = "multiclusterservice.karmada.io/name";
/// On what is made for a multi-cluster service: its namespace.
pub const MULTI_CLUSTER_SERVICE_NAMESPACE: &str = "multiclusterservice.karmada.io/namespace";
/// On an object that a search returns: the member it was cached from.
pub const CACHED_FROM_CLUSTER: &str = "resource.karmada.io/cached-from-cluster";
/// On metrics that a query returns: the member they come from.
pub const QUERY_FROM_CLUSTER: &str = "resource.karmada.io/query-from-cluster";
