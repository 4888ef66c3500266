//! Which bindings a change may concern, without holding the bindings.

use std::collections::{BTreeMap, BTreeSet};

use crds::scope::Binding;
use crds::taints;
use engine::snapshot::{ClusterView, Name, Readiness};
use kube::runtime::reflector::ObjectRef;

/// What is kept of a binding: the clusters it is in, and those it is leaving.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) clusters: Box<[Name]>,
    pub(crate) leaving: Box<[Name]>,
}

impl Entry {
    /// What is kept of this binding; names are shared between bindings by way of `known`.
    pub(crate) fn of<B: Binding>(binding: &B, known: &mut BTreeSet<Name>) -> Self {
        let mut share = |name: &str| {
            if let Some(name) = known.get(name) {
                return name.clone();
            }
            let name = Name::from(name);
            known.insert(name.clone());
            name
        };
        let spec = binding.spec();
        Self {
            clusters: spec.clusters.iter().map(|target| share(&target.name)).collect(),
            leaving: spec.graceful_eviction_tasks.iter().map(|task| share(&task.from_cluster)).collect(),
        }
    }
}
