//! Which clusters may run the workload: a chain of named checks, each of which leaves its reason.

use std::cmp::Reverse;

use crds::policy::{Placement, SpreadFieldValue};

use super::Term;
use super::affinity::check_affinity;
use super::request::Request;
use super::room::room;
use super::toleration::first_untolerated;
use crate::snapshot::{ClusterView, Fleet, Name};
use crate::trace::Trace;
use crate::trace::reason::PlacementReason;

/// A cluster that may run the workload.
#[derive(Clone, Debug)]
pub(super) struct Candidate<'a> {
    pub(super) name: &'a Name,
    pub(super) view: &'a ClusterView,
    /// Replicas it runs now, if it is a target.
    pub(super) present: Option<i64>,
    /// Room for so many more replicas.
    pub(super) room: i64,
    /// 0 for clusters of the affinity itself, more for those that take what overflows.
    pub(super) tier: usize,
}

impl Candidate<'_> {
    /// Replicas it could run in all.
    pub(super) fn capacity(&self) -> i64 {
        self.room.saturating_add(self.present.unwrap_or(0))
    }
}

/// The clusters that pass every check, best first: tier, present targets, capacity, name.
pub(super) fn candidates<'a>(
    request: &Request<'_>,
    fleet: &'a Fleet,
    term: &Term<'_>,
    trace: &mut Trace,
) -> Vec<Candidate<'a>> {
    let mut candidates: Vec<Candidate<'a>> = fleet
        .iter()
        .filter_map(|(name, view)| check(request, name, view, term, trace))
        .collect();
    candidates.sort_by_key(|candidate| {
        (
            candidate.tier,
            candidate.present.is_none(),
            Reverse(candidate.capacity()),
            candidate.name,
        )
    });
    candidates
}

fn check<'a>(
    request: &Request<'_>,
    name: &'a Name,
    view: &'a ClusterView,
    term: &Term<'_>,
    trace: &mut Trace,
) -> Option<Candidate<'a>> {
    // Who is not meant at all gets no further reasons: they would only distract.
    let tier = match tier(term, view) {
        Ok(tier) => tier,
        Err(reason) => {
            trace.unfit_cluster(name, reason);
            return None;
        }
    };
    let present = request.current_in(name);
    let taint = first_untolerated(
        &request.placement.cluster_tolerations,
        view.effective_taints(),
    );
    let tainted = taint.is_some();
    let reasons = [
        check_deletion(view),
        check_eviction(request, name),
        check_api(request, view, present.is_some()),
        // What runs in a tainted cluster may stay there; only new copies are kept away.
        taint
            .filter(|_| present.is_none())
            .map(|taint| PlacementReason::UntoleratedTaint {
                key: taint.key,
                value: taint.value.unwrap_or_default(),
                effect: taint.effect,
            }),
        check_spread_property(request.placement, view),
    ];
    let mut fit = true;
    for reason in reasons.into_iter().flatten() {
        trace.unfit_cluster(name, reason);
        fit = false;
    }
    if !fit {
        return None;
    }
    Some(Candidate {
        name,
        view,
        present,
        room: if tainted {
            0
        } else {
            room(request, view, trace)
        },
        tier,
    })
}

/// The tier of the first affinity that selects the cluster; the reason of the first one if none does.
fn tier(term: &Term<'_>, view: &ClusterView) -> Result<usize, PlacementReason> {
    let mut first = None;
    for (tier, affinity) in term.tiers().enumerate() {
        let Some(affinity) = affinity else {
            return Ok(tier);
        };
        match check_affinity(affinity, view) {
            Ok(()) => return Ok(tier),
            Err(because) => {
                first.get_or_insert(because);
            }
        }
    }
    Err(first.map_or(PlacementReason::Leaves, |because| {
        PlacementReason::AffinityMismatch { because }
    }))
}

fn check_deletion(view: &ClusterView) -> Option<PlacementReason> {
    view.deleting.then_some(PlacementReason::BeingDeleted)
}

fn check_eviction(request: &Request<'_>, name: &Name) -> Option<PlacementReason> {
    request.evicts(name).then_some(PlacementReason::Evicting)
}

/// What runs already proves that the cluster serves the kind, whatever its list says at the moment.
fn check_api(request: &Request<'_>, view: &ClusterView, present: bool) -> Option<PlacementReason> {
    if present {
        return None;
    }
    let api_version = request.api_version.to_owned();
    let kind = request.kind.to_owned();
    match view.serves(request.api_version, request.kind) {
        Some(true) => None,
        Some(false) => Some(PlacementReason::ApiMissing { api_version, kind }),
        None => Some(PlacementReason::ApiUnknown { api_version, kind }),
    }
}

fn check_spread_property(placement: &Placement, view: &ClusterView) -> Option<PlacementReason> {
    placement.spread_constraints.iter().find_map(|constraint| {
        let missing = |field: &str| {
            Some(PlacementReason::NoSpreadProperty {
                field: field.to_owned(),
            })
        };
        if let Some(label) = &constraint.spread_by_label {
            return if view.labels.contains_key(label) {
                None
            } else {
                missing(label)
            };
        }
        let field = constraint.spread_by_field?;
        let absent = match field {
            SpreadFieldValue::Cluster => false,
            SpreadFieldValue::Region => view.region.is_empty(),
            SpreadFieldValue::Provider => view.provider.is_empty(),
            SpreadFieldValue::Zone => view.zones.is_empty(),
        };
        if absent {
            missing(field.as_str())
        } else {
            None
        }
    })
}
