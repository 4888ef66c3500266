//! The closed set of reasons, one enum a room, with their words.
//!
//! Each reason has a CamelCase name (metric label, JSON), and a sentence part for people that can follow a subject:
//! "cluster m1 *had untolerated taint {k: v}*".

mod dependencies;
mod failover;
mod health;
mod placement;
mod policy;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use dependencies::DependencyReason;
pub use failover::FailoverReason;
pub use health::HealthReason;
pub use placement::{AffinityMismatch, KeptBecause, PlacementReason, Silence};
pub use policy::{MatchStrength, PolicyReason, SelectorMismatch};

/// A reason of any room.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Reason {
    /// Which policy owns a template.
    Policy(PolicyReason),
    /// Which clusters run it.
    Placement(PlacementReason),
    /// Which copies leave their cluster.
    Failover(FailoverReason),
    /// What goes along because something else needs it.
    Dependency(DependencyReason),
}

impl Reason {
    /// The CamelCase name.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Policy(reason) => reason.as_str(),
            Self::Placement(reason) => reason.as_str(),
            Self::Failover(reason) => reason.as_str(),
            Self::Dependency(reason) => reason.as_str(),
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Policy(reason) => reason.fmt(f),
            Self::Placement(reason) => reason.fmt(f),
            Self::Failover(reason) => reason.fmt(f),
            Self::Dependency(reason) => reason.fmt(f),
        }
    }
}

impl From<PolicyReason> for Reason {
    fn from(reason: PolicyReason) -> Self {
        Self::Policy(reason)
    }
}

impl From<PlacementReason> for Reason {
    fn from(reason: PlacementReason) -> Self {
        Self::Placement(reason)
    }
}

impl From<FailoverReason> for Reason {
    fn from(reason: FailoverReason) -> Self {
        Self::Failover(reason)
    }
}

impl From<DependencyReason> for Reason {
    fn from(reason: DependencyReason) -> Self {
        Self::Dependency(reason)
    }
}
