//! What estimators said that were asked before the decision.

use std::collections::BTreeMap;

use super::assumed::Taken;
use super::room::{Estimator, Need};
use crate::snapshot::{ClusterView, Name};
use crate::trace::reason::Silence;

/// Answers by cluster and estimator.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Estimates {
    by_cluster: BTreeMap<Name, BTreeMap<Name, Answer>>,
}

/// What an estimator said of a cluster.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// Room for so many units.
    Units(i64),
    /// It has no opinion.
    NoOpinion,
    /// There was no answer.
    Silent(Silence),
}

impl Estimates {
    /// Notes an answer; of two by the same estimator the later counts.
    pub fn put(&mut self, cluster: Name, estimator: Name, answer: Answer) {
        self.by_cluster
            .entry(cluster)
            .or_default()
            .insert(estimator, answer);
    }

    /// Estimators that gave no answer, and why.
    pub(super) fn silent(&self, cluster: &str) -> impl Iterator<Item = (&Name, &Silence)> {
        let answers = self.by_cluster.get(cluster).into_iter().flatten();
        answers.filter_map(|(estimator, answer)| match answer {
            Answer::Silent(because) => Some((estimator, because)),
            Answer::Units(_) | Answer::NoOpinion => None,
        })
    }
}

impl Estimator for Estimates {
    /// What was taken since was told to the estimators, so it is in their answers.
    fn estimate(&self, _: &Need<'_>, cluster: &ClusterView, _: Option<&Taken>) -> Option<i64> {
        let answers = self.by_cluster.get(&cluster.name).into_iter().flatten();
        answers
            .filter_map(|(_, answer)| match answer {
                Answer::Units(units) => Some(*units),
                Answer::NoOpinion | Answer::Silent(_) => None,
            })
            .min()
    }
}
