//! Why a cluster runs a workload, or does not.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::snapshot::Name;

/// What keeps a cluster out of an affinity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AffinityMismatch {
    /// It is excluded by name.
    Excluded,
    /// It is not among the names.
    Names,
    /// Its labels differ.
    Labels,
    /// Its provider, region or zones differ.
    Fields,
    /// The affinity itself is malformed.
    Malformed(String),
}

/// Why an estimator gave no answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Silence {
    /// Not in time.
    Late,
    /// It could not be asked, or gave an error.
    Failed(String),
}

/// Why a cluster keeps what it runs although it would not be chosen now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum KeptBecause {
    /// No other cluster is fit.
    NoReplacement,
    /// The clusters that are fit lack room.
    NoRoomElsewhere,
}

/// Why a cluster runs a workload, or does not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "reason", rename_all_fields = "camelCase")]
pub enum PlacementReason {
    /// The cluster does not serve the kind.
    ApiMissing {
        /// apiVersion of the kind.
        api_version: String,
        /// The kind.
        kind: String,
    },
    /// It is not known whether the cluster serves the kind.
    ApiUnknown {
        /// apiVersion of the kind.
        api_version: String,
        /// The kind.
        kind: String,
    },
    /// A taint is not tolerated.
    UntoleratedTaint {
        /// Key of the taint.
        key: String,
        /// Value of the taint.
        value: String,
        /// Effect of the taint.
        effect: String,
    },
    /// The affinity does not select the cluster.
    AffinityMismatch {
        /// Which part of it.
        because: AffinityMismatch,
    },
    /// A cluster that the placement names does not exist.
    UnknownCluster,
    /// The cluster lacks a property that the placement spreads by.
    NoSpreadProperty {
        /// The property: provider, region or zone.
        field: String,
    },
    /// A graceful eviction from the cluster is pending.
    Evicting,
    /// The cluster is being deleted.
    BeingDeleted,
    /// Other clusters were preferred within the limits of the spread constraints.
    SpreadLimit {
        /// What the placement spreads by.
        field: String,
        /// The limit.
        max: usize,
    },
    /// Fewer groups than the spread constraint wants.
    TooFewGroups {
        /// What the placement spreads by.
        field: String,
        /// How many there are.
        found: usize,
        /// How many are wanted.
        min: usize,
    },
    /// The combination of spread constraints is not supported.
    SpreadUnsupported,
    /// Components cannot be divided, and the placement does not limit them to one cluster.
    ComponentsApart,
    /// All components run in the cluster.
    Together,
    /// No static weight names the cluster.
    NoWeight,
    /// No room for another replica.
    NoRoom,
    /// No room for all components.
    NoRoomTogether,
    /// Not needed: other clusters take all replicas.
    NotNeeded,
    /// Room for so many replicas.
    Room {
        /// How many.
        available: i64,
    },
    /// An estimator of room gave no answer, so the others decided.
    EstimatorSilent {
        /// The estimator.
        estimator: String,
        /// Why.
        because: Silence,
    },
    /// The clusters together lack room.
    NotEnoughRoom {
        /// Room in all candidates.
        available: i64,
        /// Replicas to place.
        wanted: i64,
    },
    /// All of the replicas run in the cluster.
    Duplicated {
        /// How many.
        replicas: i32,
    },
    /// So many of the replicas run in the cluster, by weight.
    Weighted {
        /// How many.
        replicas: i32,
        /// Weight of the cluster.
        weight: i64,
        /// Sum of all weights.
        sum: i64,
        /// How many it ran before.
        before: i32,
    },
    /// So many of the replicas run in the cluster, packed into few clusters.
    Packed {
        /// How many.
        replicas: i32,
        /// How many it ran before.
        before: i32,
    },
    /// The object is copied to the cluster; the kind has no replicas.
    Copied,
    /// The affinity no longer selects the cluster: its copy goes at once.
    Leaves,
    /// The copy stays for now.
    Kept {
        /// Why.
        because: KeptBecause,
    },
    /// A replacement is placed, so the copy may go.
    Replaced,
    /// The affinity term that was chosen among several.
    AffinityTerm {
        /// Its name.
        name: Name,
    },
    /// An affinity term that was tried without success.
    AffinityTermFailed {
        /// Its name.
        name: Name,
    },
    /// The present result still holds; nothing was divided anew.
    StillValid,
    /// An owner outside has suspended scheduling.
    Suspended,
    /// The binding is being deleted; a new one comes when it is gone.
    BindingBeingDeleted,
    /// A binding of that name belongs to another object, or to a template that has been deleted and made anew.
    BindingOfAnother,
    /// Another scheduler is responsible.
    OtherScheduler {
        /// Its name.
        name: String,
    },
}

impl PlacementReason {
    /// The CamelCase name.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::ApiMissing { .. } => "APIMissing",
            Self::ApiUnknown { .. } => "APIUnknown",
            Self::UntoleratedTaint { .. } => "UntoleratedTaint",
            Self::AffinityMismatch { .. } => "AffinityMismatch",
            Self::UnknownCluster => "UnknownCluster",
            Self::NoSpreadProperty { .. } => "NoSpreadProperty",
            Self::Evicting => "Evicting",
            Self::BeingDeleted => "ClusterBeingDeleted",
            Self::SpreadLimit { .. } => "SpreadLimit",
            Self::TooFewGroups { .. } => "TooFewGroups",
            Self::SpreadUnsupported => "SpreadUnsupported",
            Self::ComponentsApart => "ComponentsApart",
            Self::Together => "Together",
            Self::NoWeight => "NoWeight",
            Self::NoRoom => "NoRoom",
            Self::NoRoomTogether => "NoRoomTogether",
            Self::NotNeeded => "NotNeeded",
            Self::Room { .. } => "Room",
            Self::EstimatorSilent { .. } => "EstimatorSilent",
            Self::NotEnoughRoom { .. } => "NotEnoughRoom",
            Self::Duplicated { .. } => "Duplicated",
            Self::Weighted { .. } => "Weighted",
            Self::Packed { .. } => "Packed",
            Self::Copied => "Copied",
            Self::Leaves => "Leaves",
            Self::Kept { .. } => "Kept",
            Self::Replaced => "Replaced",
            Self::AffinityTerm { .. } => "AffinityTerm",
            Self::AffinityTermFailed { .. } => "AffinityTermFailed",
            Self::StillValid => "StillValid",
            Self::Suspended => "Suspended",
            Self::BindingBeingDeleted => "BindingBeingDeleted",
            Self::BindingOfAnother => "BindingOfAnother",
            Self::OtherScheduler { .. } => "OtherScheduler",
        }
    }
}

impl fmt::Display for PlacementReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ApiMissing { api_version, kind } => {
                write!(f, "did not have the API resource {api_version} {kind}")
            }
            Self::ApiUnknown { api_version, kind } => write!(
                f,
                "does not say yet whether it has the API resource {api_version} {kind}"
            ),
            Self::UntoleratedTaint { key, value, effect } => {
                write!(f, "had untolerated taint {{{key}: {value}}} ({effect})")
            }
            Self::AffinityMismatch { because } => {
                f.write_str("did not match the placement cluster affinity constraint: ")?;
                match because {
                    AffinityMismatch::Excluded => f.write_str("excluded by name"),
                    AffinityMismatch::Names => f.write_str("not among its cluster names"),
                    AffinityMismatch::Labels => f.write_str("labels differ"),
                    AffinityMismatch::Fields => f.write_str("provider, region or zone differs"),
                    AffinityMismatch::Malformed(why) => write!(f, "malformed, {why}"),
                }
            }
            Self::UnknownCluster => f.write_str("is named in the placement but does not exist"),
            Self::NoSpreadProperty { field } => write!(f, "did not have {field} property"),
            Self::Evicting => f.write_str("is in the process of eviction"),
            Self::BeingDeleted => f.write_str("is being deleted"),
            Self::SpreadLimit { field, max } => {
                write!(f, "is beyond the spread limit of {max} by {field}")
            }
            Self::TooFewGroups { field, found, min } => write!(
                f,
                "spread by {field} wants at least {min}, but only {found} are available"
            ),
            Self::SpreadUnsupported => f.write_str(
                "beside cluster, spreadConstraints can name one of region, zone, provider and a label, not several",
            ),
            Self::ComponentsApart => f.write_str(
                "a workload of several components stays in one cluster, so a placement that divides needs a spreadConstraint by cluster with maxGroups 1",
            ),
            Self::Together => f.write_str("runs all components"),
            Self::NoWeight => f.write_str("has no static weight"),
            Self::NoRoom => f.write_str("has no room for another replica"),
            Self::NoRoomTogether => f.write_str("has no room for all components"),
            Self::NotNeeded => f.write_str("is not needed, other clusters take all replicas"),
            Self::Room { available } => write!(f, "has room for {available} replicas"),
            Self::EstimatorSilent { estimator, because } => {
                write!(f, "was not estimated by {estimator}: ")?;
                match because {
                    Silence::Late => f.write_str("no answer in time"),
                    Silence::Failed(why) => f.write_str(why),
                }
            }
            Self::NotEnoughRoom { available, wanted } => write!(
                f,
                "Clusters available replicas {available} are not enough to schedule {wanted}."
            ),
            Self::Duplicated { replicas } => write!(f, "runs all {replicas} replicas"),
            Self::Weighted {
                replicas,
                weight,
                sum,
                before,
            } => write!(
                f,
                "runs {replicas} replicas (before {before}) by weight {weight} of {sum}"
            ),
            Self::Packed { replicas, before } => write!(
                f,
                "runs {replicas} replicas (before {before}), packed into few clusters"
            ),
            Self::Copied => f.write_str("gets a copy"),
            Self::Leaves => {
                f.write_str("is no longer selected by the placement, its copy is removed")
            }
            Self::Kept { because } => {
                f.write_str("keeps its copy: ")?;
                f.write_str(match because {
                    KeptBecause::NoReplacement => "no other cluster is available",
                    KeptBecause::NoRoomElsewhere => "other clusters lack room",
                })
            }
            Self::Replaced => f.write_str("is replaced by other clusters"),
            Self::AffinityTerm { name } => write!(f, "affinity group {name} is used"),
            Self::AffinityTermFailed { name } => write!(f, "affinity group {name} does not fit"),
            Self::StillValid => f.write_str("the present result still holds"),
            Self::Suspended => f.write_str("scheduling is suspended"),
            Self::BindingBeingDeleted => f.write_str("the binding is being deleted"),
            Self::BindingOfAnother => f.write_str("the binding belongs to another object"),
            Self::OtherScheduler { name } => write!(f, "scheduler {name} is responsible"),
        }
    }
}
