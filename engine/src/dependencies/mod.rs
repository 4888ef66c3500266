//! What goes to members because something else needs it there.
//!
//! A binding that propagates its dependencies writes down what its template refers to ([`record`]). Each object that is referred to has a
//! binding of its own, the attached one, which says who depends on it ([`required_by`]) and goes wherever those go. Its terms come from them
//! ([`terms`]), unless a policy of its own decides.
//!
//! What a binding has written down is all that decides who depends on what: it is there after a restart before any template is, so that
//! a template that is merely not known yet takes nothing away.

mod record;
mod refers;
mod terms;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crds::names;
use crds::policy::ConflictResolution;
use crds::work::{BindingSnapshot, TargetCluster};

pub use record::{read, record};
pub use refers::{Reference, refers};
pub use terms::{Terms, terms};

use crate::snapshot::{BindingView, Name};

/// A binding whose template needs an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dependent {
    /// The binding's namespace; empty for cluster scope.
    pub namespace: Name,
    /// The binding's name.
    pub name: Name,
    /// The binding's permanent id.
    pub id: Name,
    /// The clusters that were chosen for it.
    pub clusters: BTreeSet<Name>,
    /// What its policy says about objects that exist in a member already.
    pub conflict_resolution: ConflictResolution,
    /// Whether its copies stay when it goes.
    pub preserves: bool,
}

impl Dependent {
    /// The binding as one that others may depend on; `None` if it does not propagate dependencies.
    pub fn of(binding: &BindingView) -> Option<Self> {
        let spec = &binding.spec;
        (spec.propagate_deps == Some(true)).then(|| Self {
            namespace: binding.namespace.clone(),
            name: binding.name.clone(),
            id: binding.permanent_id.clone().unwrap_or_default(),
            clusters: spec.clusters.iter().map(|c| Name::from(&c.name)).collect(),
            conflict_resolution: spec.conflict_resolution,
            preserves: spec.preserve_resources_on_deletion == Some(true),
        })
    }

    /// The label that leads from an attached binding to this one.
    fn label(&self) -> String {
        names::depended_by_label(Some(&self.namespace), &self.name)
    }
}

impl fmt::Display for Dependent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.namespace.is_empty() {
            self.name.fmt(f)
        } else {
            write!(f, "{}/{}", self.namespace, self.name)
        }
    }
}

/// Who depends on an object, as its binding says it: by namespace and name, with nothing but the names of clusters.
///
/// How many replicas a dependent has says nothing about the object, and with the numbers in it each scaling would have to be written
/// down once for each dependency.
pub fn required_by(dependents: &[Dependent]) -> Vec<BindingSnapshot> {
    let mut snapshots: Vec<BindingSnapshot> = dependents
        .iter()
        .map(|dependent| BindingSnapshot {
            namespace: Some(dependent.namespace.to_string()).filter(|ns| !ns.is_empty()),
            name: dependent.name.to_string(),
            clusters: dependent
                .clusters
                .iter()
                .map(|cluster| TargetCluster {
                    name: cluster.to_string(),
                    ..TargetCluster::default()
                })
                .collect(),
        })
        .collect();
    snapshots.sort_by(|a, b| (&a.namespace, &a.name).cmp(&(&b.namespace, &b.name)));
    snapshots
}

/// The labels of an object's binding that lead to those who depend on it.
pub fn labels(dependents: &[Dependent]) -> BTreeMap<String, String> {
    dependents
        .iter()
        .map(|dependent| (dependent.label(), dependent.id.to_string()))
        .collect()
}

/// Whether neither a policy nor another controller has placed a binding, so that it goes only where those go who depend on its template.
pub fn is_unplaced(binding: &BindingView) -> bool {
    binding.managed_by.is_none() && binding.spec.placement.is_none()
}

/// Whether a binding is there because others depend on its template, and for nothing else.
pub fn is_attached(binding: &BindingView) -> bool {
    is_unplaced(binding)
        && (!binding.spec.required_by.is_empty() || !binding.depended_by.is_empty())
}

#[cfg(test)]
mod tests;
