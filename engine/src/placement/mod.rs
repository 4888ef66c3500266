//! Which clusters run a workload, and with how many replicas.
//!
//! [`decide`] is one pass over the fleet:
//!
//! 1. **settled?** A result that still holds is left alone: nothing moves because the weather changed.
//! 2. **filter** – named checks say of each cluster whether it may run the workload.
//! 3. **select** – spread constraints pick groups and clusters among those.
//! 4. **divide** – the replicas are divided among the selected clusters.
//!
//! Several affinity groups are tried in their order, each through 2 to 4; the first that works is taken.
//!
//! What runs is precious. A cluster that the affinity no longer selects, or that no longer exists, loses its copy at once; for any
//! other cause (taint, missing API, eviction, lack of room) the present copies stay until a result without them exists. So a failed
//! decision never makes a bad situation worse, and deciding again on its own result changes nothing.

pub mod affinity;
mod assumed;
pub mod binding;
mod divide;
mod estimates;
mod filter;
mod nodes;
mod outcome;
mod request;
mod room;
mod seats;
mod select;
pub mod toleration;

use std::collections::BTreeSet;

use crds::policy::{ClusterAffinity, ClusterAffinityTerm};
use crds::work::TargetCluster;

pub use assumed::{Assumed, Before, BindingName, PATIENCE, Taken};
pub use estimates::{Answer, Estimates};
pub use outcome::{Outcome, Placed};
pub use request::{Mode, Request};
pub use room::{ByNode, ComponentNeed, Estimator, Need, Needs, Requests, RoomHints, Sums};

use crate::snapshot::{Fleet, Name};
use crate::trace::reason::{KeptBecause, PlacementReason};
use crate::trace::{Decision, Subject, Trace, Verdict};

use affinity::check_affinity;
use outcome::Failure;

/// Decides where a workload runs.
pub fn decide(request: &Request<'_>, fleet: &Fleet) -> Decision<Placed> {
    let mut trace = Trace::new();
    if request.suspended {
        trace.note(PlacementReason::Suspended);
        return Decision {
            want: Placed::unchanged(request, Outcome::Suspended),
            trace,
        };
    }
    note_unknown_names(request, fleet, &mut trace);
    if let Some(want) = settled(request, fleet) {
        trace.note(PlacementReason::StillValid);
        return Decision { want, trace };
    }

    let terms = Term::of(request);
    let mut failures = Vec::new();
    for term in &terms[first_term(request, &terms)..] {
        let mut attempt = Trace::new();
        match try_term(request, fleet, term, &mut attempt) {
            Ok(clusters) => {
                if let Some(name) = term.name {
                    trace.note(PlacementReason::AffinityTerm { name: name.into() });
                }
                trace.append(attempt);
                note_departures(request, fleet, &clusters, &mut trace);
                let want = Placed {
                    clusters,
                    outcome: Outcome::Success,
                    affinity: term.name.map(str::to_owned),
                    available: fleet.len(),
                };
                return Decision { want, trace };
            }
            Err(failure) => {
                if let Some(name) = term.name {
                    trace.note(PlacementReason::AffinityTermFailed { name: name.into() });
                }
                trace.append(attempt);
                failures.push(failure);
            }
        }
    }
    // The group that comes first is the one users want, so its failure is the one to tell.
    let failure = failures.into_iter().next().unwrap_or(Failure::NoCluster);
    let clusters = keep_what_runs(request, fleet, &failure, &mut trace);
    Decision {
        want: Placed {
            clusters,
            outcome: failure.into(),
            affinity: request.observed_affinity.map(str::to_owned),
            available: fleet.len(),
        },
        trace,
    }
}

/// One affinity to try: the placement's only one, or one of its ordered groups.
struct Term<'a> {
    name: Option<&'a str>,
    affinity: Option<&'a ClusterAffinity>,
    overflow: Vec<&'a ClusterAffinity>,
}

impl<'a> Term<'a> {
    fn of(request: &Request<'a>) -> Vec<Self> {
        let placement = request.placement;
        if placement.cluster_affinities.is_empty() {
            return vec![Self {
                name: None,
                affinity: placement.cluster_affinity.as_ref(),
                overflow: Vec::new(),
            }];
        }
        placement
            .cluster_affinities
            .iter()
            .map(|term| Self::named(request, term))
            .collect()
    }

    fn named(request: &Request<'a>, term: &'a ClusterAffinityTerm) -> Self {
        Self {
            name: Some(&term.affinity_name),
            affinity: Some(&term.affinity),
            // Overflow means "when there is no room left", which only a division by room can notice.
            overflow: if request.mode().needs_room() {
                term.overflow_affinities
                    .iter()
                    .map(|overflow| &overflow.affinity)
                    .collect()
            } else {
                Vec::new()
            },
        }
    }

    /// The affinities in the order in which they are filled.
    fn tiers(&self) -> impl Iterator<Item = Option<&'a ClusterAffinity>> + '_ {
        std::iter::once(self.affinity).chain(self.overflow.iter().map(|a| Some(*a)))
    }

    /// Whether any of its affinities selects the cluster.
    fn selects(&self, fleet: &Fleet, cluster: &str) -> bool {
        fleet.get(cluster).is_some_and(|view| {
            self.tiers()
                .any(|tier| tier.is_none_or(|affinity| check_affinity(affinity, view).is_ok()))
        })
    }
}

/// Groups are tried from the one in use, unless someone asked for a fresh start.
fn first_term(request: &Request<'_>, terms: &[Term<'_>]) -> usize {
    if request.fresh {
        return 0;
    }
    terms
        .iter()
        .position(|term| term.name.is_some() && term.name == request.observed_affinity)
        .unwrap_or(0)
}

fn try_term(
    request: &Request<'_>,
    fleet: &Fleet,
    term: &Term<'_>,
    trace: &mut Trace,
) -> Result<Vec<TargetCluster>, Failure> {
    let candidates = filter::candidates(request, fleet, term, trace);
    if candidates.is_empty() {
        return Err(Failure::NoCluster);
    }
    let selected = select::select(request, candidates, trace)?;
    divide::divide(request, &selected, trace)
}

/// The present result, if it still holds.
///
/// Replicas that are divided are not divided again merely because a cluster came, or has more room than before. What is
/// copied everywhere follows the fleet, so it is decided anew each time (and comes out the same if nothing changed).
fn settled(request: &Request<'_>, fleet: &Fleet) -> Option<Placed> {
    if request.mode() == Mode::Together {
        return settled_together(request, fleet);
    }
    let replicas = i64::from(request.replicas?);
    if request.fresh || !request.placement_unchanged || !request.mode().divides() {
        return None;
    }
    if request.current.is_empty() || request.current_sum() != replicas {
        return None;
    }
    let terms = Term::of(request);
    let term = &terms[first_term(request, &terms)];
    let mut unused = Trace::new();
    let running: Vec<_> = filter::candidates(request, fleet, term, &mut unused)
        .into_iter()
        .filter(|candidate| candidate.present.is_some())
        .collect();
    let all_fit = running.len() == request.current.len();
    let used: Vec<_> = running
        .into_iter()
        .filter(|candidate| replicas == 0 || candidate.present != Some(0))
        .collect();
    (all_fit && select::holds(request, &used)).then(|| Placed {
        affinity: term.name.map(str::to_owned),
        ..Placed::unchanged(request, Outcome::Success)
    })
}

/// The present result of components that stay together, if all of them run in one cluster that may run them.
fn settled_together(request: &Request<'_>, fleet: &Fleet) -> Option<Placed> {
    let [target] = request.current else {
        return None;
    };
    if request.fresh || !request.placement_unchanged || request.current_in(&target.name) != Some(1)
    {
        return None;
    }
    let terms = Term::of(request);
    let term = &terms[first_term(request, &terms)];
    let mut unused = Trace::new();
    filter::candidates(request, fleet, term, &mut unused)
        .iter()
        .any(|candidate| *candidate.name == target.name.as_str())
        .then(|| Placed {
            affinity: term.name.map(str::to_owned),
            ..Placed::unchanged(request, Outcome::Success)
        })
}

/// Whether any affinity of the placement still wants the copy in a cluster, which exists and is to stay.
fn still_wanted(request: &Request<'_>, fleet: &Fleet, cluster: &str) -> bool {
    fleet.get(cluster).is_some_and(|view| !view.deleting)
        && Term::of(request)
            .iter()
            .any(|term| term.selects(fleet, cluster))
}

fn keep_what_runs(
    request: &Request<'_>,
    fleet: &Fleet,
    failure: &Failure,
    trace: &mut Trace,
) -> Vec<TargetCluster> {
    let because = match failure {
        Failure::NoRoom { .. } => KeptBecause::NoRoomElsewhere,
        Failure::NoCluster | Failure::TooFewGroups | Failure::Unsupported => {
            KeptBecause::NoReplacement
        }
    };
    let mut kept: Vec<TargetCluster> = Vec::new();
    for target in request.current {
        let name = Name::from(&target.name);
        if still_wanted(request, fleet, &name) {
            trace.note_cluster(&name, PlacementReason::Kept { because });
            kept.push(target.clone());
        } else {
            trace.note_cluster(&name, PlacementReason::Leaves);
        }
    }
    kept.sort_by(|a, b| a.name.cmp(&b.name));
    kept
}

fn note_departures(
    request: &Request<'_>,
    fleet: &Fleet,
    clusters: &[TargetCluster],
    trace: &mut Trace,
) {
    for target in request.current {
        if clusters.iter().any(|cluster| cluster.name == target.name) {
            continue;
        }
        let name = Name::from(&target.name);
        let reason = if still_wanted(request, fleet, &name) {
            PlacementReason::Replaced
        } else {
            PlacementReason::Leaves
        };
        trace.note_cluster(&name, reason);
    }
}

/// A name that no cluster has is most often a typing error; it is told whether or not other clusters fit.
fn note_unknown_names(request: &Request<'_>, fleet: &Fleet, trace: &mut Trace) {
    let terms = Term::of(request);
    let named: BTreeSet<&str> = terms
        .iter()
        .flat_map(Term::tiers)
        .flatten()
        .flat_map(|affinity| &affinity.cluster_names)
        .map(String::as_str)
        .filter(|name| !fleet.contains_key(*name))
        .collect();
    for name in named {
        trace.push(
            Subject::Cluster(name.into()),
            Verdict::Unfit(PlacementReason::UnknownCluster.into()),
        );
    }
}

#[cfg(test)]
mod division_tests;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod story;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod together_tests;
