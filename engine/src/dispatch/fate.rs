//! Which copies stay and which go.

use std::collections::BTreeSet;

use crds::policy::PurgeMode;
use crds::work::ResourceBindingSpec;

use super::target::{Target, targets};
use crate::failover::is_selected;
use crate::snapshot::{Fleet, Name};

/// A Work that exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Present {
    /// Its cluster.
    pub cluster: Name,
    /// Whether it is being deleted.
    pub deleting: bool,
    /// Whether the member has what it says now.
    pub applied: bool,
}

/// What decides about the Works of a binding.
#[derive(Clone, Copy, Debug)]
pub struct Situation<'a> {
    /// The binding's spec.
    pub spec: &'a ResourceBindingSpec,
    /// Whether the binding is being deleted.
    pub deleting: bool,
    /// Whether somebody answers for it; see [`super::is_owned`].
    pub owned: bool,
    /// The clusters.
    pub fleet: &'a Fleet,
    /// Clusters in which there are still copies of those that depend on the binding's template.
    pub needed: &'a BTreeSet<Name>,
}

/// What becomes of a Work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It stays.
    Stays(Keep),
    /// It goes.
    Goes(Leave),
}

/// Why a Work stays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Keep {
    /// Its cluster is a target.
    Wanted,
    /// Nobody answers for the binding any more.
    Frozen,
    /// Copies of those that depend on it are still there.
    Needed,
    /// It leaves when its eviction task is over.
    Evicting,
    /// It leaves when these clusters have their copies.
    AwaitsReplacement(Vec<Name>),
    /// It leaves when there is any other target.
    AwaitsTarget,
}

/// Why a Work goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leave {
    /// The binding is being deleted.
    Deleted,
    /// The cluster does not exist any more.
    ClusterGone,
    /// The placement does not select the cluster.
    NotSelected,
    /// An eviction asked for it at once.
    Evicted,
    /// Every target has its copy.
    Replaced,
    /// No replica is wanted anywhere.
    NothingWanted,
}

/// What becomes of each Work, in the order in which they come in.
pub fn fates(situation: Situation<'_>, present: &[Present]) -> Vec<Fate> {
    let targets = targets(situation.spec);
    present
        .iter()
        .map(|work| fate(situation, &targets, work, present))
        .collect()
}

fn fate(situation: Situation<'_>, targets: &[Target], work: &Present, present: &[Present]) -> Fate {
    let Situation {
        spec,
        deleting,
        owned,
        fleet,
        needed,
    } = situation;
    if deleting {
        return Fate::Goes(Leave::Deleted);
    }
    if targets.iter().any(|target| target.cluster == work.cluster) {
        return Fate::Stays(Keep::Wanted);
    }
    let Some(cluster) = fleet.get(&work.cluster) else {
        return Fate::Goes(Leave::ClusterGone);
    };
    if !owned {
        return Fate::Stays(Keep::Frozen);
    }
    if needed.contains(&work.cluster) {
        return Fate::Stays(Keep::Needed);
    }
    let task = spec
        .graceful_eviction_tasks
        .iter()
        .find(|task| *work.cluster == *task.from_cluster.as_str());
    match task.map(|task| (task.suppress_deletion, task.purge_mode)) {
        None => {}
        Some((Some(false), _) | (None, Some(PurgeMode::Directly))) => {
            return Fate::Goes(Leave::Evicted);
        }
        Some((Some(true) | None, _)) => return Fate::Stays(Keep::Evicting),
    }
    match &spec.placement {
        // An attached binding has targets only as long as somebody depends on it.
        None => return Fate::Goes(Leave::NotSelected),
        Some(placement) if !is_selected(cluster, placement) => {
            return Fate::Goes(Leave::NotSelected);
        }
        Some(_) => {}
    }
    if targets.is_empty() {
        return if spec.replicas == Some(0) {
            Fate::Goes(Leave::NothingWanted)
        } else {
            Fate::Stays(Keep::AwaitsTarget)
        };
    }
    let missing: Vec<Name> = targets
        .iter()
        .filter(|target| {
            // A suspended target is not waited for: its user holds it back on purpose.
            !target.suspended
                && !present.iter().any(|other| {
                    other.cluster == target.cluster && other.applied && !other.deleting
                })
        })
        .map(|target| target.cluster.clone())
        .collect();
    if missing.is_empty() {
        Fate::Goes(Leave::Replaced)
    } else {
        Fate::Stays(Keep::AwaitsReplacement(missing))
    }
}
