//! A trace in words: for a condition, an event, a terminal.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::{Reason, Subject, Trace, Verdict, bounded};
use crate::snapshot::Name;

/// The API server takes 32 KiB; a message that long helps nobody and is stored and watched by everybody.
pub const MAX_CONDITION_MESSAGE: usize = 4096;

/// The API server refuses a longer event note.
pub const MAX_EVENT_NOTE: usize = 1024;

/// How many clusters a message names for one reason before it only counts them.
const NAMED_CLUSTERS: usize = 16;

/// The clusters that were ruled out, grouped by reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterSummary {
    groups: Vec<(String, Vec<Name>)>,
}

impl ClusterSummary {
    /// How many clusters are ruled out.
    pub fn len(&self) -> usize {
        self.groups.iter().map(|(_, clusters)| clusters.len()).sum()
    }

    /// Whether no cluster is ruled out.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }
}

impl std::fmt::Display for ClusterSummary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (index, (reason, clusters)) in self.groups.iter().enumerate() {
            if index > 0 {
                f.write_str("; ")?;
            }
            let named: Vec<&str> = clusters
                .iter()
                .take(NAMED_CLUSTERS)
                .map(Name::as_str)
                .collect();
            f.write_str(&named.join(", "))?;
            if clusters.len() > NAMED_CLUSTERS {
                write!(f, " and {} more", clusters.len() - NAMED_CLUSTERS)?;
            }
            write!(f, " {reason}")?;
        }
        Ok(())
    }
}

impl Trace {
    /// Every cluster that was ruled out, with the first reason that ruled it out, grouped by reason.
    pub fn ruled_out(&self) -> ClusterSummary {
        self.clusters_where(Verdict::is_unfit)
    }

    /// Every cluster with a verdict of this sort, with the first such reason, grouped by reason.
    ///
    /// Groups come in the order of their smallest cluster name, clusters in alphabetical order, whatever order the trace has.
    pub fn clusters_where(&self, counts: impl Fn(&Verdict) -> bool) -> ClusterSummary {
        let mut first: BTreeMap<&Name, &Reason> = BTreeMap::new();
        for step in &self.steps {
            if let Subject::Cluster(name) = &step.subject
                && counts(&step.verdict)
            {
                first.entry(name).or_insert(step.verdict.reason());
            }
        }
        let mut groups: Vec<(String, Vec<Name>)> = Vec::new();
        let mut index: BTreeMap<String, usize> = BTreeMap::new();
        for (name, reason) in first {
            let words = reason.to_string();
            let at = *index.entry(words.clone()).or_insert_with(|| {
                groups.push((words, Vec::new()));
                groups.len() - 1
            });
            groups[at].1.push(name.clone());
        }
        ClusterSummary { groups }
    }

    /// A condition message: the headline, then every cluster that was ruled out and why, in at most [`MAX_CONDITION_MESSAGE`] bytes.
    pub fn message(&self, headline: &str) -> String {
        let summary = self.ruled_out();
        if summary.is_empty() {
            return bounded(headline, MAX_CONDITION_MESSAGE);
        }
        bounded(&format!("{headline}: {summary}."), MAX_CONDITION_MESSAGE)
    }

    /// An event note: like [`Trace::message`], in at most [`MAX_EVENT_NOTE`] bytes.
    pub fn note_text(&self, headline: &str) -> String {
        bounded(&self.message(headline), MAX_EVENT_NOTE)
    }

    /// Every step on a line of its own, for a terminal.
    pub fn text(&self) -> String {
        let mut out = String::new();
        for step in &self.steps {
            let mark = match step.verdict {
                Verdict::Fit(_) => "✓",
                Verdict::Unfit(_) => "✗",
                Verdict::Unknown(_) => "?",
                Verdict::Note(_) => "·",
            };
            let reason = step.verdict.reason();
            // Writing to a String cannot fail.
            let _ = match &step.subject {
                Subject::Whole => writeln!(out, "{mark} {reason}"),
                subject => writeln!(out, "{mark} {subject} {reason}"),
            };
        }
        out
    }
}
