//! Finalizers of the contract: each says whose cleanup an object waits for.

/// On a Cluster: its Works and execution namespace must go first.
pub const CLUSTER: &str = "karmada.io/cluster-controller";
/// On a Work: its objects in the member must go first.
pub const EXECUTION: &str = "karmada.io/execution-controller";
/// On a namespaced binding: its Works must go first.
pub const BINDING: &str = "karmada.io/binding-controller";
/// On a cluster-scoped binding: its Works must go first.
pub const CLUSTER_RESOURCE_BINDING: &str = "karmada.io/cluster-resource-binding-controller";
/// On a namespaced propagation policy: its claims must go first.
pub const PROPAGATION_POLICY: &str = "karmada.io/propagation-policy-controller";
/// On a cluster-scoped propagation policy: its claims must go first.
pub const CLUSTER_PROPAGATION_POLICY: &str = "karmada.io/cluster-propagation-policy-controller";
/// On a binding with dependencies: the attached bindings must be told first.
pub const BINDING_DEPENDENCIES_DISTRIBUTOR: &str = "karmada.io/binding-dependencies-distributor";
/// On a Work that collects endpoint slices.
pub const ENDPOINT_SLICE: &str = "karmada.io/endpointslice-controller";
/// On a multi-cluster service.
pub const MULTI_CLUSTER_SERVICE: &str = "karmada.io/multiclusterservice-controller";
/// On a Work that collects the endpoint slices of a multi-cluster service.
pub const MCS_ENDPOINT_SLICE_COLLECT: &str = "karmada.io/mcs-endpointslice-collect-controller";
/// On a Work that hands out the endpoint slices of a multi-cluster service.
pub const MCS_ENDPOINT_SLICE_DISPATCH: &str = "karmada.io/mcs-endpointslice-dispatch-controller";
