//! Why a decision is what it is.
//!
//! Every decision of the engine is a [`Decision`]: what is wanted, and the [`Trace`] that led there. Conditions, events, metric labels
//! and what the command line explains are all rendered from that one trace, so they cannot disagree.
//!
//! Words live in [`reason`]: a room that needs a new reason adds a variant to its own enum there; no sentence about a decision is
//! written anywhere else. Reasons never hold what changes from run to run (attempt counts, clock readings, generated names),
//! because a condition made of them would be written again and again.

pub mod fact;
pub mod reason;
mod render;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use fact::{ConditionFact, ConditionStatus, EventFact, bounded};
pub use reason::Reason;
pub use render::{ClusterSummary, MAX_CONDITION_MESSAGE, MAX_EVENT_NOTE};

use crate::snapshot::Name;

/// A decision and the reasons for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[must_use = "a decision does nothing until it is applied"]
pub struct Decision<T> {
    /// What is wanted.
    pub want: T,
    /// Why.
    pub trace: Trace,
}

impl<T> Decision<T> {
    /// The same reasons for another result.
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Decision<U> {
        Decision {
            want: f(self.want),
            trace: self.trace,
        }
    }
}

/// The steps of a decision, in the order in which they were taken.
///
/// A check that passed leaves no step: whoever is not mentioned by a check passed it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trace {
    /// The steps.
    pub steps: Vec<Step>,
}

/// One thing found out on the way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// What it is about.
    pub subject: Subject,
    /// What was found.
    pub verdict: Verdict,
}

/// What a step is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Subject {
    /// The decision as a whole.
    Whole,
    /// A member cluster.
    Cluster(Name),
    /// A policy of any kind.
    Policy(PolicyRef),
    /// A group of clusters, for example a region or an affinity term.
    Group(Name),
}

/// A policy, as users name it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PolicyRef {
    /// Its kind, for example `PropagationPolicy`.
    pub kind: Name,
    /// Its namespace; empty for a policy of cluster scope.
    #[serde(default, skip_serializing_if = "str_is_empty")]
    pub namespace: Name,
    /// Its name.
    pub name: Name,
}

fn str_is_empty(name: &Name) -> bool {
    name.is_empty()
}

impl PolicyRef {
    /// A policy of that kind; an empty namespace means cluster scope.
    pub fn new(kind: &str, namespace: &str, name: &str) -> Self {
        Self {
            kind: kind.into(),
            namespace: namespace.into(),
            name: name.into(),
        }
    }
}

impl fmt::Display for PolicyRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.namespace.is_empty() {
            write!(f, "{} {}", self.kind, self.name)
        } else {
            write!(f, "{} {}/{}", self.kind, self.namespace, self.name)
        }
    }
}

/// What a step found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Verdict {
    /// The subject is fit; the reason is worth knowing.
    Fit(Reason),
    /// The subject is ruled out.
    Unfit(Reason),
    /// It could not be found out; the decision went on without.
    Unknown(Reason),
    /// A remark that rules nothing in or out, for example the arithmetic of a division.
    Note(Reason),
}

impl Verdict {
    /// The reason inside.
    pub fn reason(&self) -> &Reason {
        match self {
            Self::Fit(reason)
            | Self::Unfit(reason)
            | Self::Unknown(reason)
            | Self::Note(reason) => reason,
        }
    }

    /// Whether the subject is ruled out.
    pub fn is_unfit(&self) -> bool {
        matches!(self, Self::Unfit(_))
    }
}

impl Trace {
    /// A trace without steps.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a step.
    pub fn push(&mut self, subject: Subject, verdict: Verdict) {
        self.steps.push(Step { subject, verdict });
    }

    /// Records that a cluster is ruled out.
    pub fn unfit_cluster(&mut self, cluster: &Name, reason: impl Into<Reason>) {
        self.push(
            Subject::Cluster(cluster.clone()),
            Verdict::Unfit(reason.into()),
        );
    }

    /// Records a remark about a cluster.
    pub fn note_cluster(&mut self, cluster: &Name, reason: impl Into<Reason>) {
        self.push(
            Subject::Cluster(cluster.clone()),
            Verdict::Note(reason.into()),
        );
    }

    /// Records that a policy is ruled out.
    pub fn unfit_policy(&mut self, policy: &PolicyRef, reason: impl Into<Reason>) {
        self.push(
            Subject::Policy(policy.clone()),
            Verdict::Unfit(reason.into()),
        );
    }

    /// Records a remark about the decision as a whole.
    pub fn note(&mut self, reason: impl Into<Reason>) {
        self.push(Subject::Whole, Verdict::Note(reason.into()));
    }

    /// Appends the steps of a later part of the decision.
    pub fn append(&mut self, mut later: Trace) {
        self.steps.append(&mut later.steps);
    }

    /// The steps about one cluster.
    pub fn about_cluster<'a>(&'a self, cluster: &'a str) -> impl Iterator<Item = &'a Verdict> {
        self.steps
            .iter()
            .filter_map(move |step| match &step.subject {
                Subject::Cluster(name) if name == cluster => Some(&step.verdict),
                _ => None,
            })
    }

    /// The steps about one policy.
    pub fn about_policy<'a>(&'a self, policy: &'a PolicyRef) -> impl Iterator<Item = &'a Verdict> {
        self.steps
            .iter()
            .filter_map(move |step| match &step.subject {
                Subject::Policy(other) if other == policy => Some(&step.verdict),
                _ => None,
            })
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole => f.write_str("decision"),
            Self::Cluster(name) => write!(f, "cluster {name}"),
            Self::Policy(policy) => policy.fmt(f),
            Self::Group(name) => write!(f, "group {name}"),
        }
    }
}

#[cfg(test)]
mod tests;
