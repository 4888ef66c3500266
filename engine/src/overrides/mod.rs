//! How copies differ by cluster.
//!
//! All `ClusterOverridePolicies` come first, then the `OverridePolicies` of the namespace; within a scope the weaker match first, then by name. What
//! is applied later wins, so a namespace's word is stronger than the cluster scope's, and the closest description the strongest.
//!
//! An overrider that cannot be applied stops the copy for that cluster: half an override is worse than none.

mod apply;
mod field;
mod image;
mod ledger;
mod patch;
mod select;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crds::policy::{OverrideSpec, Overriders};
use crds::scope::Override;
use serde::Serialize;

use crate::trace::PolicyRef;

pub use apply::apply;
pub use select::select;

/// An override policy as decisions see it.
#[derive(Clone, Debug, PartialEq)]
pub struct OverrideView {
    /// Its kind, namespace and name.
    pub policy: PolicyRef,
    /// What it says.
    pub spec: Arc<OverrideSpec>,
}

impl OverrideView {
    /// The view of a policy of either scope.
    pub fn of<O: Override>(policy: &O) -> Self {
        let meta = policy.meta();
        let namespace = if O::NAMESPACED {
            meta.namespace.as_deref().unwrap_or_default()
        } else {
            ""
        };
        Self {
            policy: PolicyRef::new(
                &O::kind(&()),
                namespace,
                meta.name.as_deref().unwrap_or_default(),
            ),
            spec: Arc::new(policy.spec().clone()),
        }
    }
}

/// One policy's rules for one cluster, in the order of application.
#[derive(Clone, Debug)]
pub struct Chosen<'a> {
    /// The policy.
    pub policy: &'a PolicyRef,
    /// The rules that mean the cluster, with their position in the policy.
    pub rules: Vec<(usize, &'a Overriders)>,
}

/// Who set a field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Source {
    /// The policy.
    pub policy: PolicyRef,
    /// The position of the rule in it, counted from 0.
    pub rule: usize,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, rule {}", self.policy, self.rule + 1)
    }
}

/// Two policies set the same field, or the same part of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Conflict {
    /// The field, as JSON pointer.
    pub pointer: String,
    /// Whose value it has.
    pub winner: Source,
    /// Whose value is gone.
    pub loser: Source,
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            pointer,
            winner,
            loser,
        } = self;
        write!(f, "{pointer}: {winner} wins over {loser}")
    }
}

/// What overrides did to a manifest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Applied {
    /// Who set each field that an override touched, by JSON pointer.
    pub provenance: BTreeMap<String, Source>,
    /// Where policies disagree.
    pub conflicts: Vec<Conflict>,
    /// The annotation that records what policies of cluster scope did; `None` if nothing.
    pub cluster_policies: Option<String>,
    /// The annotation that records what policies of the namespace did; `None` if nothing.
    pub policies: Option<String>,
}

/// An overrider that cannot be applied. The text names the policy, the rule, the field and what to look at.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{policy}, rule {}: {path}: {message}", .rule + 1)]
pub struct OverrideProblem {
    /// The policy.
    pub policy: PolicyRef,
    /// The position of the rule in it, counted from 0.
    pub rule: usize,
    /// The field.
    pub path: String,
    /// What is wrong.
    pub message: String,
}

#[cfg(test)]
mod tests;
