//! Where copies are wanted.

use crds::labels;
use crds::work::ResourceBindingSpec;
use std::collections::BTreeMap;

use crate::snapshot::Name;

/// A cluster that gets a copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The cluster.
    pub cluster: Name,
    /// The replicas of its copy; `None` for a kind without replicas.
    pub replicas: Option<i32>,
    /// Whether nothing is sent there for now.
    pub suspended: bool,
}

/// Every cluster that gets a copy: those the scheduler chose, then those that a binding which depends on this one chose.
pub fn targets(spec: &ResourceBindingSpec) -> Vec<Target> {
    let required = spec
        .required_by
        .iter()
        .flat_map(|snapshot| &snapshot.clusters);
    let mut targets: Vec<Target> = Vec::with_capacity(spec.clusters.len());
    // What a depending binding chose says nothing about the replicas here.
    for (cluster, replicas) in spec
        .clusters
        .iter()
        .map(|target| (&target.name, target.replicas))
        .chain(required.map(|target| (&target.name, None)))
    {
        if targets
            .iter()
            .all(|target| *target.cluster != *cluster.as_str())
        {
            targets.push(Target {
                cluster: cluster.into(),
                replicas,
                suspended: is_suspended(spec, cluster),
            });
        }
    }
    targets
}

fn is_suspended(spec: &ResourceBindingSpec, cluster: &str) -> bool {
    spec.suspension.as_ref().is_some_and(|suspension| {
        suspension.dispatching == Some(true)
            || suspension
                .dispatching_on_clusters
                .as_ref()
                .is_some_and(|on| on.cluster_names.iter().any(|name| name == cluster))
    })
}

/// Whether somebody still answers for a binding: a policy, another controller, or a binding that depends on it.
///
/// When its policy is deleted, a binding and its copies stay as they are and nothing more is sent: what is sent last would be
/// the template without the overrides that went together with the policy.
pub fn is_owned(labels: &BTreeMap<String, String>, spec: &ResourceBindingSpec) -> bool {
    let names = |key: &str| labels.get(key).is_some_and(|value| !value.is_empty());
    names(labels::PROPAGATION_POLICY_PERMANENT_ID)
        || names(labels::CLUSTER_PROPAGATION_POLICY_PERMANENT_ID)
        || names(labels::BINDING_MANAGED_BY)
        || !spec.required_by.is_empty()
}
