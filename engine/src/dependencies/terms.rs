//! Under which terms an object is copied that has no policy of its own.

use crds::policy::ConflictResolution;

use super::Dependent;
use crate::trace::reason::DependencyReason;

/// The terms, and in what those who depend on the object disagree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Terms {
    /// Whether objects that exist in a member are taken over: if anybody asks for it.
    pub conflict_resolution: ConflictResolution,
    /// Whether the copies stay when the object goes: if anybody asks for it.
    pub preserves: bool,
    /// What had to be decided.
    pub conflicts: Vec<DependencyReason>,
}

/// The terms that those who depend on an object ask for. The result does not depend on their order.
pub fn terms(dependents: &[Dependent]) -> Terms {
    let mut conflicts = Vec::new();
    let mut decide = |asks: fn(&Dependent) -> bool, conflict: fn(Sides) -> DependencyReason| {
        let sides = Sides::of(dependents, asks);
        let asked = !sides.asking.is_empty();
        if asked && !sides.others.is_empty() {
            conflicts.push(conflict(sides));
        }
        asked
    };
    let overwrites = decide(
        |dependent| dependent.conflict_resolution == ConflictResolution::Overwrite,
        |sides| DependencyReason::ConflictingResolution {
            overwrite: sides.asking,
            abort: sides.others,
        },
    );
    let preserves = decide(
        |dependent| dependent.preserves,
        |sides| DependencyReason::ConflictingPreservation {
            preserve: sides.asking,
            remove: sides.others,
        },
    );
    Terms {
        conflict_resolution: if overwrites {
            ConflictResolution::Overwrite
        } else {
            ConflictResolution::Abort
        },
        preserves,
        conflicts,
    }
}

/// Those who ask for something, and those who do not.
struct Sides {
    asking: Vec<String>,
    others: Vec<String>,
}

impl Sides {
    fn of(dependents: &[Dependent], asks: fn(&Dependent) -> bool) -> Self {
        let names = |wanted: bool| {
            let mut names: Vec<String> = dependents
                .iter()
                .filter(|dependent| asks(dependent) == wanted)
                .map(Dependent::to_string)
                .collect();
            names.sort();
            names
        };
        Self {
            asking: names(true),
            others: names(false),
        }
    }
}
