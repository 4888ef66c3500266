//! Who set which field, and whose value is gone.

use std::collections::BTreeMap;

use super::{Conflict, Source};

/// How much of a field's value a change decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent<'a> {
    /// All of it.
    Whole,
    /// One part, for example the tag of an image or a path in a document; the rest is as it was.
    Part(&'a str),
    /// It only grows or shrinks, as a list does that gets another item.
    Amended,
}

/// Keeps book of changes in the order in which they are made.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    pub(super) provenance: BTreeMap<String, Source>,
    pub(super) conflicts: Vec<Conflict>,
    /// By field: the last to set all of it (no part) and each part since then.
    setters: BTreeMap<String, Vec<(Option<String>, Source)>>,
}

impl Ledger {
    /// Writes a change down. It is a conflict if it takes away what another policy has set.
    pub(super) fn note(&mut self, pointer: &str, extent: Extent<'_>, source: &Source) {
        self.provenance.insert(pointer.to_owned(), source.clone());
        let part = match extent {
            Extent::Amended => return,
            Extent::Whole => None,
            Extent::Part(part) => Some(part),
        };
        let setters = self.setters.entry(pointer.to_owned()).or_default();
        let overwritten = setters.extract_if(.., |(earlier, _)| {
            part.is_none() || earlier.as_deref() == part
        });
        for (_, loser) in overwritten {
            if loser.policy != source.policy {
                self.conflicts.push(Conflict {
                    pointer: pointer.to_owned(),
                    winner: source.clone(),
                    loser,
                });
            }
        }
        setters.push((part.map(str::to_owned), source.clone()));
    }
}
