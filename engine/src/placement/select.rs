//! Spread constraints: which of the candidates are used.
//!
//! A constraint by `cluster` bounds the number of clusters; one by region, zone, provider or label bounds the number of groups, of which
//! the best are taken. Present targets come first, then capacity, then the name. Where replicas need room, larger clusters (or more
//! groups) are taken in until there is enough. Fixed weights name their clusters themselves, so they ignore constraints, and what
//! is copied everywhere does not ask for room (both as in Karmada).

use std::collections::{BTreeMap, BTreeSet};

use crds::policy::{SpreadConstraint, SpreadFieldValue};

use super::filter::Candidate;
use super::outcome::Failure;
use super::request::{Mode, Request};
use crate::trace::reason::PlacementReason;
use crate::trace::{Subject, Trace, Verdict};

/// The clusters that are used, best first, and how widely the replicas have to be spread over them.
#[derive(Debug)]
pub(super) struct Selected<'a> {
    pub(super) clusters: Vec<Candidate<'a>>,
    /// Indexes into `clusters` of those that have to get a replica for the lower bounds to hold.
    pub(super) floors: Vec<usize>,
}

/// Lower and upper bound of a number of groups.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    min: usize,
    max: usize,
}

impl Bounds {
    const NONE: Self = Self {
        min: 1,
        max: usize::MAX,
    };

    /// Fewer replicas than groups cannot be spread over all of them, so they lower the lower bound.
    fn of(constraint: &SpreadConstraint, request: &Request<'_>) -> Self {
        let most = need(request).map_or(usize::MAX, |n| usize::try_from(n).unwrap_or(usize::MAX));
        let given = |groups: Option<i64>| {
            groups
                .filter(|n| *n > 0)
                .map(|n| usize::try_from(n).unwrap_or(usize::MAX))
        };
        let min = given(constraint.min_groups).unwrap_or(1);
        Self {
            min: min.min(most),
            max: given(constraint.max_groups).unwrap_or(usize::MAX).max(min),
        }
    }
}

/// What makes a group.
enum GroupBy<'a> {
    Field(SpreadFieldValue),
    Label(&'a str),
}

impl<'a> GroupBy<'a> {
    fn of(constraint: &'a SpreadConstraint) -> Self {
        match &constraint.spread_by_label {
            Some(label) => Self::Label(label),
            None => Self::Field(
                constraint
                    .spread_by_field
                    .unwrap_or(SpreadFieldValue::Cluster),
            ),
        }
    }

    fn name(&self) -> &str {
        match self {
            Self::Field(field) => field.as_str(),
            Self::Label(label) => label,
        }
    }

    /// The group of a cluster; a cluster that spans several zones is in a group with those that span the same.
    fn key(&self, candidate: &Candidate<'_>) -> String {
        let view = candidate.view;
        match self {
            Self::Field(SpreadFieldValue::Cluster) => candidate.name.to_string(),
            Self::Field(SpreadFieldValue::Region) => view.region.clone(),
            Self::Field(SpreadFieldValue::Provider) => view.provider.clone(),
            Self::Field(SpreadFieldValue::Zone) => {
                let mut zones = view.zones.clone();
                zones.sort();
                zones.join(",")
            }
            Self::Label(label) => view.labels.get(*label).cloned().unwrap_or_default(),
        }
    }
}

/// Whether these clusters are within all bounds.
pub(super) fn holds(request: &Request<'_>, clusters: &[Candidate<'_>]) -> bool {
    matches!(request.mode(), Mode::Static(_))
        || request
            .placement
            .spread_constraints
            .iter()
            .all(|constraint| {
                let bounds = Bounds::of(constraint, request);
                let group_by = GroupBy::of(constraint);
                let groups: BTreeSet<String> = clusters.iter().map(|c| group_by.key(c)).collect();
                (bounds.min..=bounds.max).contains(&groups.len())
            })
}

/// In how many clusters the placement wants a replica at least, as far as there are replicas.
pub(super) fn least_clusters(request: &Request<'_>, replicas: i64) -> usize {
    let constraints = request.placement.spread_constraints.iter();
    constraints
        .filter(|one| matches!(GroupBy::of(one), GroupBy::Field(SpreadFieldValue::Cluster)))
        .map(|constraint| Bounds::of(constraint, request).min)
        .max()
        .unwrap_or(0)
        .min(usize::try_from(replicas).unwrap_or(0))
}

/// Picks the clusters to use; candidates come best first.
pub(super) fn select<'a>(
    request: &Request<'_>,
    mut candidates: Vec<Candidate<'a>>,
    trace: &mut Trace,
) -> Result<Selected<'a>, Failure> {
    let constraints = &request.placement.spread_constraints;
    if request.mode() == Mode::Together && most_clusters(request) != 1 {
        return Err(unsupported(PlacementReason::ComponentsApart, trace));
    }
    if constraints.is_empty() || matches!(request.mode(), Mode::Static(_)) {
        return Ok(Selected {
            clusters: candidates,
            floors: Vec::new(),
        });
    }
    let mut by_cluster = Bounds::NONE;
    let mut by_group = None;
    for constraint in constraints {
        let bounds = Bounds::of(constraint, request);
        let group = GroupBy::of(constraint);
        if matches!(group, GroupBy::Field(SpreadFieldValue::Cluster)) {
            by_cluster = bounds;
            continue;
        }
        if by_group.replace((group, bounds)).is_some() {
            return Err(unsupported(PlacementReason::SpreadUnsupported, trace));
        }
    }

    let need = need(request);
    if need.is_some() {
        // A cluster without room cannot make up a group.
        candidates.retain(|candidate| {
            let has_room = candidate.capacity() > 0;
            if !has_room {
                let reason = match request.mode() {
                    Mode::Together => PlacementReason::NoRoomTogether,
                    _ => PlacementReason::NoRoom,
                };
                trace.unfit_cluster(candidate.name, reason);
            }
            has_room
        });
        if candidates.is_empty() {
            return Err(no_room(&[], need));
        }
    }
    let (clusters, floors) = match by_group {
        None => {
            let clusters = pick_clusters(candidates, by_cluster, need, trace)?;
            let floors = (0..clusters.len().min(by_cluster.min)).collect();
            (clusters, floors)
        }
        Some((group, bounds)) => {
            let clusters = pick_groups(candidates, &group, bounds, by_cluster, need, trace)?;
            let floors = group_floors(&clusters, &group, bounds.min, by_cluster.min);
            (clusters, floors)
        }
    };
    Ok(Selected { clusters, floors })
}

/// To how many clusters the placement limits the workload.
fn most_clusters(request: &Request<'_>) -> usize {
    let constraints = request.placement.spread_constraints.iter();
    constraints
        .filter(|one| matches!(GroupBy::of(one), GroupBy::Field(SpreadFieldValue::Cluster)))
        .map(|constraint| Bounds::of(constraint, request).max)
        .min()
        .unwrap_or(usize::MAX)
}

/// The placement asks for what does not exist, which only its author can change.
fn unsupported(reason: PlacementReason, trace: &mut Trace) -> Failure {
    trace.push(Subject::Whole, Verdict::Unfit(reason.into()));
    Failure::Unsupported
}

/// Units that need room in all; `None` if room does not matter.
fn need(request: &Request<'_>) -> Option<i64> {
    if request.mode() == Mode::Together {
        return Some(1);
    }
    request
        .replicas
        .filter(|replicas| *replicas > 0 && request.mode().needs_room())
        .map(i64::from)
}

fn no_room(clusters: &[Candidate<'_>], need: Option<i64>) -> Failure {
    Failure::NoRoom {
        available: capacity(clusters),
        wanted: need.unwrap_or(0),
    }
}

fn capacity(clusters: &[Candidate<'_>]) -> i64 {
    clusters
        .iter()
        .fold(0, |sum: i64, c| sum.saturating_add(c.capacity()))
}

fn enough(clusters: &[Candidate<'_>], need: Option<i64>) -> bool {
    need.is_none_or(|need| capacity(clusters) >= need)
}

/// The best clusters up to the upper bound; if they lack room, the worst of them give way to larger ones.
fn pick_clusters<'a>(
    mut candidates: Vec<Candidate<'a>>,
    bounds: Bounds,
    need: Option<i64>,
    trace: &mut Trace,
) -> Result<Vec<Candidate<'a>>, Failure> {
    if candidates.len() < bounds.min {
        return Err(too_few("cluster", candidates.len(), bounds.min, trace));
    }
    let mut rest = candidates.split_off(candidates.len().min(bounds.max));
    for worst in (0..candidates.len()).rev() {
        if enough(&candidates, need) {
            break;
        }
        let Some(largest) = (0..rest.len()).max_by_key(|i| (rest[*i].capacity(), usize::MAX - i))
        else {
            break;
        };
        if rest[largest].capacity() > candidates[worst].capacity() {
            std::mem::swap(&mut candidates[worst], &mut rest[largest]);
        }
    }
    for candidate in &rest {
        trace.unfit_cluster(
            candidate.name,
            PlacementReason::SpreadLimit {
                field: "cluster".to_owned(),
                max: bounds.max,
            },
        );
    }
    if enough(&candidates, need) {
        Ok(candidates)
    } else {
        note_room(&candidates, trace);
        Err(no_room(&candidates, need))
    }
}

/// The best groups: as few as the lower bound allows, more – up to the upper bound – if clusters or room are lacking. Then, within
/// the groups, the best cluster of each, and the best of the rest.
fn pick_groups<'a>(
    candidates: Vec<Candidate<'a>>,
    group_by: &GroupBy<'_>,
    bounds: Bounds,
    by_cluster: Bounds,
    need: Option<i64>,
    trace: &mut Trace,
) -> Result<Vec<Candidate<'a>>, Failure> {
    let mut groups: BTreeMap<String, Vec<Candidate<'a>>> = BTreeMap::new();
    for candidate in candidates {
        let key = group_by.key(&candidate);
        groups.entry(key).or_default().push(candidate);
    }
    // Each group takes at least one cluster, so the bound on clusters is one on groups, too.
    let possible = groups.len().min(by_cluster.max);
    if possible < bounds.min {
        return Err(too_few(group_by.name(), possible, bounds.min, trace));
    }
    let mut ranked: Vec<(String, Vec<Candidate<'a>>)> = groups.into_iter().collect();
    ranked.sort_by_key(|(name, clusters)| {
        let present = clusters.iter().filter(|c| c.present.is_some()).count();
        let capacity = need.map_or(0, |_| capacity(clusters));
        std::cmp::Reverse((
            present,
            capacity,
            clusters.len(),
            std::cmp::Reverse(name.clone()),
        ))
    });

    let lacking = |groups: &[(String, Vec<Candidate<'a>>)]| {
        let clusters: usize = groups.iter().map(|(_, clusters)| clusters.len()).sum();
        let room = groups
            .iter()
            .fold(0, |sum: i64, (_, c)| sum.saturating_add(capacity(c)));
        clusters < by_cluster.min || need.is_some_and(|need| room < need)
    };
    let most = bounds.max.min(possible);
    // Groups that run copies stay: leaving one to save a group would move what runs for nothing.
    let running = ranked
        .iter()
        .filter(|(_, clusters)| clusters.iter().any(|c| c.present.is_some()))
        .count();
    let mut taken = bounds.min.max(running).min(most);
    while taken < most && lacking(&ranked[..taken]) {
        taken += 1;
    }
    if lacking(&ranked[..taken]) {
        // The best groups do not do; the widest ones may.
        ranked.sort_by_key(|(name, clusters)| {
            let capacity = need.map_or(0, |_| capacity(clusters));
            std::cmp::Reverse((capacity, clusters.len(), std::cmp::Reverse(name.clone())))
        });
    }
    let rest = ranked.split_off(taken);
    for candidate in rest.iter().flat_map(|(_, clusters)| clusters) {
        trace.unfit_cluster(
            candidate.name,
            PlacementReason::SpreadLimit {
                field: group_by.name().to_owned(),
                max: taken,
            },
        );
    }
    let found: usize = ranked.iter().map(|(_, clusters)| clusters.len()).sum();
    if found < by_cluster.min {
        return Err(too_few("cluster", found, by_cluster.min, trace));
    }

    let mut first = Vec::new();
    let mut others = Vec::new();
    for (_, clusters) in ranked {
        let mut clusters = clusters.into_iter();
        first.extend(clusters.next());
        others.extend(clusters);
    }
    others.sort_by_key(|c| (c.present.is_none(), std::cmp::Reverse(c.capacity()), c.name));
    // The best cluster of each group is fixed; the bound on clusters limits the others.
    let seats = by_cluster.max.saturating_sub(first.len());
    let fixed = capacity(&first);
    let others = if seats == 0 {
        for candidate in &others {
            trace.unfit_cluster(
                candidate.name,
                PlacementReason::SpreadLimit {
                    field: "cluster".to_owned(),
                    max: by_cluster.max,
                },
            );
        }
        Vec::new()
    } else {
        let bounds = Bounds { min: 0, max: seats };
        let need = need.map(|need| need.saturating_sub(fixed).max(0));
        pick_clusters(others, bounds, need, trace)?
    };
    first.extend(others);
    if enough(&first, need) {
        Ok(first)
    } else {
        note_room(&first, trace);
        Err(no_room(&first, need))
    }
}

/// One cluster in each of as many groups as there must be, then the best of the others until there are enough clusters.
fn group_floors(
    clusters: &[Candidate<'_>],
    group_by: &GroupBy<'_>,
    min_groups: usize,
    min_clusters: usize,
) -> Vec<usize> {
    let mut seen = BTreeSet::new();
    let mut floors: Vec<usize> = (0..clusters.len())
        .filter(|index| seen.insert(group_by.key(&clusters[*index])))
        .take(min_groups)
        .collect();
    for index in 0..clusters.len() {
        if floors.len() >= min_clusters {
            break;
        }
        if !floors.contains(&index) {
            floors.push(index);
        }
    }
    floors
}

fn too_few(field: &str, found: usize, min: usize, trace: &mut Trace) -> Failure {
    trace.push(
        Subject::Whole,
        Verdict::Unfit(
            PlacementReason::TooFewGroups {
                field: field.to_owned(),
                found,
                min,
            }
            .into(),
        ),
    );
    Failure::TooFewGroups
}

pub(super) fn note_room(clusters: &[Candidate<'_>], trace: &mut Trace) {
    for candidate in clusters {
        trace.note_cluster(
            candidate.name,
            PlacementReason::Room {
                available: candidate.capacity(),
            },
        );
    }
}
