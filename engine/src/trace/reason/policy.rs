//! Why a policy owns a template, or does not.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::trace::PolicyRef;

/// How closely a selector describes an object; a closer match wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum MatchStrength {
    /// Every object of the kind.
    All,
    /// By labels.
    Label,
    /// By name.
    Name,
}

impl fmt::Display for MatchStrength {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::All => "by kind alone",
            Self::Label => "by labels",
            Self::Name => "by name",
        })
    }
}

/// What keeps a selector from matching an object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SelectorMismatch {
    /// Other apiVersion or kind.
    Kind,
    /// Other namespace.
    Namespace,
    /// Other name.
    Name,
    /// Labels differ.
    Labels,
    /// The label selector itself is malformed.
    Malformed(String),
}

/// Why a policy owns a template, or does not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "reason", rename_all_fields = "camelCase")]
pub enum PolicyReason {
    /// It owns the template already and still selects it.
    ClaimKept {
        /// How it selects the template.
        strength: MatchStrength,
    },
    /// It is the best of those that select the template.
    BestMatch {
        /// How it selects the template.
        strength: MatchStrength,
    },
    /// It takes the template over from the present owner.
    Preempts {
        /// The owner so far.
        owner: PolicyRef,
    },
    /// It does not select the template.
    NotSelected {
        /// Why the closest of its selectors does not match.
        because: SelectorMismatch,
    },
    /// Another policy has a higher priority.
    LowerPriority {
        /// Its own priority.
        own: i32,
        /// The better policy.
        winner: PolicyRef,
        /// The better policy's priority.
        higher: i32,
    },
    /// Another policy of the same priority selects the template more closely.
    WeakerMatch {
        /// How it selects the template.
        own: MatchStrength,
        /// The better policy.
        winner: PolicyRef,
        /// How the better policy selects it.
        stronger: MatchStrength,
    },
    /// Everything else is equal, and another name comes first in the alphabet.
    LaterName {
        /// The better policy.
        winner: PolicyRef,
    },
    /// A policy of the template's own namespace comes before any of cluster scope.
    NamespacedFirst {
        /// The better policy.
        winner: PolicyRef,
    },
    /// Another policy owns the template, and this one may not take it over.
    AlreadyClaimed {
        /// The owner.
        owner: PolicyRef,
    },
    /// Another policy owns the template, and this one's priority is not higher.
    PreemptionNeedsPriority {
        /// The owner.
        owner: PolicyRef,
        /// The owner's priority.
        owners: i32,
        /// This policy's priority.
        own: i32,
    },
    /// It owned the template until another policy took it over.
    Preempted {
        /// The new owner.
        by: PolicyRef,
    },
    /// It is being deleted.
    BeingDeleted,
    /// Another controller is responsible for the template.
    HandledElsewhere {
        /// The controller.
        by: String,
    },
    /// Override policies it depends on do not exist yet.
    WaitsForOverrides {
        /// The missing names.
        missing: Vec<String>,
    },
    /// No object matches any of its selectors.
    SelectsNothing {
        /// What it selects, in words.
        selectors: Vec<String>,
    },
    /// No policy selects the template.
    NoneSelects,
    /// The control plane does not serve kinds that it selects.
    KindNotServed {
        /// The kinds.
        kinds: Vec<String>,
    },
    /// It selects templates, but all of them belong to other policies.
    OwnsNothing {
        /// How many it selects.
        selected: usize,
        /// One of them.
        template: String,
        /// Why it does not own that one.
        because: Box<PolicyReason>,
    },
    /// It is lazy: its change waits for the next change of the template.
    WaitsForTemplate,
    /// The owner so far is gone or no longer selects the template.
    ClaimReleased,
}

impl PolicyReason {
    /// The CamelCase name.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::ClaimKept { .. } => "ClaimKept",
            Self::BestMatch { .. } => "BestMatch",
            Self::Preempts { .. } => "Preempts",
            Self::NotSelected { .. } => "NotSelected",
            Self::LowerPriority { .. } => "LowerPriority",
            Self::WeakerMatch { .. } => "WeakerMatch",
            Self::LaterName { .. } => "LaterName",
            Self::NamespacedFirst { .. } => "NamespacedFirst",
            Self::AlreadyClaimed { .. } => "AlreadyClaimed",
            Self::PreemptionNeedsPriority { .. } => "PreemptionNeedsPriority",
            Self::Preempted { .. } => "Preempted",
            Self::BeingDeleted => "PolicyBeingDeleted",
            Self::HandledElsewhere { .. } => "HandledElsewhere",
            Self::WaitsForOverrides { .. } => "WaitsForOverrides",
            Self::SelectsNothing { .. } => "SelectsNothing",
            Self::NoneSelects => "NoneSelects",
            Self::KindNotServed { .. } => "KindNotServed",
            Self::OwnsNothing { .. } => "OwnsNothing",
            Self::WaitsForTemplate => "WaitsForTemplate",
            Self::ClaimReleased => "ClaimReleased",
        }
    }
}

impl fmt::Display for PolicyReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ClaimKept { strength } => {
                write!(f, "owns the template already and selects it {strength}")
            }
            Self::BestMatch { strength } => {
                write!(
                    f,
                    "selects the template {strength}, and no policy is better"
                )
            }
            Self::Preempts { owner } => write!(f, "takes the template over from {owner}"),
            Self::NotSelected { because } => match because {
                SelectorMismatch::Kind => f.write_str("selects other kinds"),
                SelectorMismatch::Namespace => f.write_str("selects another namespace"),
                SelectorMismatch::Name => f.write_str("selects other names"),
                SelectorMismatch::Labels => f.write_str("selects other labels"),
                SelectorMismatch::Malformed(why) => {
                    write!(f, "has a malformed label selector: {why}")
                }
            },
            Self::LowerPriority {
                own,
                winner,
                higher,
            } => write!(f, "has priority {own}, but {winner} has {higher}"),
            Self::WeakerMatch {
                own,
                winner,
                stronger,
            } => write!(f, "selects {own}, but {winner} selects {stronger}"),
            Self::LaterName { winner } => write!(f, "comes after {winner} in the alphabet"),
            Self::NamespacedFirst { winner } => {
                write!(
                    f,
                    "comes after {winner}, which is in the template's namespace"
                )
            }
            Self::AlreadyClaimed { owner } => write!(
                f,
                "the template is claimed by {owner}, and preemption is Never"
            ),
            Self::PreemptionNeedsPriority { owner, owners, own } => write!(
                f,
                "the template is claimed by {owner} with priority {owners}, and {own} is not higher"
            ),
            Self::Preempted { by } => write!(f, "lost the template to {by}"),
            Self::BeingDeleted => f.write_str("is being deleted"),
            Self::HandledElsewhere { by } => write!(f, "the template is handled by {by}"),
            Self::WaitsForOverrides { missing } => write!(
                f,
                "waits for override policies that do not exist: {}",
                missing.join(", ")
            ),
            Self::SelectsNothing { selectors } => {
                write!(
                    f,
                    "selects nothing: there is no {}",
                    selectors.join(", no ")
                )
            }
            Self::NoneSelects => f.write_str("no policy selects it, so no member cluster gets it"),
            Self::KindNotServed { kinds } => write!(
                f,
                "selects kinds that the control plane does not serve: {}",
                kinds.join(", ")
            ),
            Self::OwnsNothing {
                selected,
                template,
                because,
            } => write!(
                f,
                "selects {selected} templates and owns none of them; {template}: {because}"
            ),
            Self::WaitsForTemplate => f.write_str("waits for a change of the template"),
            Self::ClaimReleased => f.write_str("no longer owns the template"),
        }
    }
}
