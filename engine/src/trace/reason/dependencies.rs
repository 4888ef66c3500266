//! Why an object goes along with others, and under which terms.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What is worth knowing about an object that others depend on, or about what a template depends on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "reason", rename_all_fields = "camelCase")]
pub enum DependencyReason {
    /// Some of those who depend on it want objects in members taken over, some do not.
    ConflictingResolution {
        /// The bindings that ask for it.
        overwrite: Vec<String>,
        /// The bindings that do not.
        abort: Vec<String>,
    },
    /// Some of those who depend on it want copies to stay when they go, some do not.
    ConflictingPreservation {
        /// The bindings that ask for it.
        preserve: Vec<String>,
        /// The bindings that do not.
        remove: Vec<String>,
    },
    /// The scheduler may not look at objects of a kind that the template refers to.
    KindForbidden {
        /// The kind.
        kind: String,
        /// The names that the template refers to.
        names: Vec<String>,
    },
}

impl DependencyReason {
    /// The CamelCase name.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::ConflictingResolution { .. } => "ConflictingResolution",
            Self::ConflictingPreservation { .. } => "ConflictingPreservation",
            Self::KindForbidden { .. } => "KindForbidden",
        }
    }
}

/// How many names a sentence takes before it only counts them.
const NAMED: usize = 5;

impl fmt::Display for DependencyReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ConflictingResolution { overwrite, abort } => write!(
                f,
                "conflictResolution is Overwrite, as {} has it, although {} has Abort; make them agree, or give this object a policy of its own",
                list(overwrite),
                list(abort)
            ),
            Self::ConflictingPreservation { preserve, remove } => write!(
                f,
                "preserveResourcesOnDeletion is true, as {} has it, although {} has not; make them agree, or give this object a policy of its own",
                list(preserve),
                list(remove)
            ),
            Self::KindForbidden { kind, names } => {
                write!(
                    f,
                    "{kind} {} cannot go along: binding-scheduler has no permission to watch {kind} objects",
                    list(names)
                )?;
                if kind == "Secret" {
                    f.write_str("; the component config/components/propagate-secrets gives it")
                } else {
                    f.write_str("; docs/permissions.md tells how to give it")
                }
            }
        }
    }
}

fn list(names: &[String]) -> String {
    match names.len().checked_sub(NAMED) {
        None | Some(0) => names.join(", "),
        Some(more) => format!("{} and {more} more", names[..NAMED].join(", ")),
    }
}
