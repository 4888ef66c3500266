//! How the replicas are divided among the selected clusters.
//!
//! By room (`Dynamic`, `Aggregated`) what runs stays: scaling up spreads only what is added, scaling down takes from each in proportion.
//! Only a request for a fresh result, or bounds that no longer hold, divide everything anew.

use std::cmp::Reverse;

use crds::work::TargetCluster;

use super::affinity::check_affinity;
use super::filter::Candidate;
use super::outcome::Failure;
use super::request::{Mode, Request, static_weight};
use super::seats::{Party, allocate, rank};
use super::select::{Selected, least_clusters, note_room};
use crate::trace::Trace;
use crate::trace::reason::PlacementReason;

/// The replicas of each selected cluster, by name of the cluster.
pub(super) fn divide(
    request: &Request<'_>,
    selected: &Selected<'_>,
    trace: &mut Trace,
) -> Result<Vec<TargetCluster>, Failure> {
    let mut targets = match (request.replicas, request.mode()) {
        (_, Mode::Together) => together(request, selected, trace),
        (None, _) => copy(request, selected, trace),
        (Some(replicas), Mode::Duplicated) => duplicate(replicas, selected, trace),
        (Some(replicas), Mode::Static(rules)) => {
            let weights: Vec<i64> = selected
                .clusters
                .iter()
                .map(|c| static_weight(rules, |affinity| check_affinity(affinity, c.view).is_ok()))
                .collect();
            by_weight(
                request,
                i64::from(replicas).max(0),
                selected,
                &weights,
                trace,
            )
        }
        (Some(replicas), Mode::Dynamic | Mode::Aggregated) => {
            by_room(request, i64::from(replicas).max(0), selected, trace)?
        }
    };
    targets.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(targets)
}

fn target(candidate: &Candidate<'_>, replicas: Option<i32>) -> TargetCluster {
    TargetCluster {
        name: candidate.name.to_string(),
        replicas,
        components: Vec::new(),
    }
}

fn copy(request: &Request<'_>, selected: &Selected<'_>, trace: &mut Trace) -> Vec<TargetCluster> {
    selected
        .clusters
        .iter()
        .map(|candidate| {
            trace.note_cluster(candidate.name, PlacementReason::Copied);
            TargetCluster {
                components: request.all_components(),
                ..target(candidate, None)
            }
        })
        .collect()
}

/// All components go to the best cluster; [`select`](super::select) leaves only those with room for all of them.
fn together(
    request: &Request<'_>,
    selected: &Selected<'_>,
    trace: &mut Trace,
) -> Vec<TargetCluster> {
    let best = selected.clusters.first();
    best.map(|candidate| {
        trace.note_cluster(candidate.name, PlacementReason::Together);
        TargetCluster {
            components: request.all_components(),
            ..target(candidate, None)
        }
    })
    .into_iter()
    .collect()
}

fn duplicate(replicas: i32, selected: &Selected<'_>, trace: &mut Trace) -> Vec<TargetCluster> {
    selected
        .clusters
        .iter()
        .map(|candidate| {
            trace.note_cluster(candidate.name, PlacementReason::Duplicated { replicas });
            target(candidate, Some(replicas))
        })
        .collect()
}

fn by_weight(
    request: &Request<'_>,
    total: i64,
    selected: &Selected<'_>,
    weights: &[i64],
    trace: &mut Trace,
) -> Vec<TargetCluster> {
    // If no rule names any of the clusters, they all weigh the same.
    let all_equal = weights.iter().all(|weight| *weight == 0);
    let weight_of = |index: usize| if all_equal { 1 } else { weights[index] };
    let sum: i64 = (0..weights.len())
        .map(weight_of)
        .fold(0, i64::saturating_add);
    let floors = heaviest(request, selected, least_clusters(request, total), weight_of);
    let shares = share(total, request.uid, selected, |index, _| {
        Some(Start {
            weight: weight_of(index),
            cap: i64::MAX,
            seats: i64::from(floors.contains(&index)),
        })
    });
    let mut targets = Vec::new();
    for (index, candidate) in selected.clusters.iter().enumerate() {
        let weight = weight_of(index);
        if weight == 0 {
            trace.unfit_cluster(candidate.name, PlacementReason::NoWeight);
            continue;
        }
        let replicas = shares.seats[index];
        trace.note_cluster(
            candidate.name,
            PlacementReason::Weighted {
                replicas: narrow(replicas),
                weight,
                sum,
                before: narrow(candidate.present.unwrap_or(0)),
            },
        );
        if keeps(total, replicas, candidate) {
            targets.push(target(candidate, Some(narrow(replicas))));
        }
    }
    targets
}

/// So many clusters of those with weight, the heaviest first.
fn heaviest(
    request: &Request<'_>,
    selected: &Selected<'_>,
    count: usize,
    weight_of: impl Fn(usize) -> i64,
) -> Vec<usize> {
    let mut indexes: Vec<usize> = (0..selected.clusters.len())
        .filter(|index| weight_of(*index) > 0)
        .collect();
    indexes.sort_by_key(|index| {
        let rank = rank(request.uid, selected.clusters[*index].name);
        Reverse((weight_of(*index), rank))
    });
    indexes.truncate(count);
    indexes
}

/// A cluster that gets no replica is no target – except that scaling to zero removes no copy.
fn keeps(total: i64, replicas: i64, candidate: &Candidate<'_>) -> bool {
    replicas > 0 || (total == 0 && candidate.present.is_some())
}

fn by_room(
    request: &Request<'_>,
    total: i64,
    selected: &Selected<'_>,
    trace: &mut Trace,
) -> Result<Vec<TargetCluster>, Failure> {
    let clusters = &selected.clusters;
    let floors = &selected.floors[..selected
        .floors
        .len()
        .min(usize::try_from(total).unwrap_or(0))];
    let running: i64 = clusters.iter().filter_map(|c| c.present).sum();
    // Clusters that the lower bounds want to have a replica and that have none yet; if what is added does not suffice for
    // them, something has to move.
    let bare = floors
        .iter()
        .filter(|index| clusters[**index].present.unwrap_or(0) == 0)
        .count();
    let added = usize::try_from(total - running).unwrap_or(0);

    let result = if request.fresh || bare > added {
        scale_up(request, total, selected, floors, |_| 0)
    } else if running > total {
        Some(scale_down(request, total, selected, floors))
    } else {
        scale_up(request, total, selected, floors, |c| c.present.unwrap_or(0))
    };
    let Some(result) = result else {
        note_room(clusters, trace);
        return Err(Failure::NoRoom {
            available: clusters
                .iter()
                .fold(0, |sum: i64, c| sum.saturating_add(c.capacity())),
            wanted: total,
        });
    };

    let mut targets = Vec::new();
    for (candidate, replicas) in clusters.iter().zip(&result.seats) {
        let before = narrow(candidate.present.unwrap_or(0));
        let reason = match request.mode() {
            _ if *replicas == 0 && candidate.capacity() == 0 => PlacementReason::NoRoom,
            _ if *replicas == 0 => PlacementReason::NotNeeded,
            Mode::Aggregated => PlacementReason::Packed {
                replicas: narrow(*replicas),
                before,
            },
            _ => PlacementReason::Weighted {
                replicas: narrow(*replicas),
                weight: candidate.capacity(),
                sum: result.sum,
                before,
            },
        };
        trace.note_cluster(candidate.name, reason);
        if keeps(total, *replicas, candidate) {
            targets.push(target(candidate, Some(narrow(*replicas))));
        }
    }
    Ok(targets)
}

/// Every cluster keeps `kept` of its replicas; the rest is spread by room, tier by tier. `None` if there is not enough room.
fn scale_up(
    request: &Request<'_>,
    total: i64,
    selected: &Selected<'_>,
    floors: &[usize],
    kept: impl Fn(&Candidate<'_>) -> i64,
) -> Option<Shares> {
    let clusters = &selected.clusters;
    let base: Vec<i64> = clusters.iter().map(&kept).collect();
    let room = |index: usize| clusters[index].capacity() - base[index];
    let mut rest = total - base.iter().sum::<i64>();
    let mut seats = base.clone();

    // Bounds on the spread first: one replica in each cluster that has to have one.
    for index in floors {
        if rest > 0 && seats[*index] == 0 && room(*index) > 0 {
            seats[*index] = 1;
            rest -= 1;
        }
    }
    let tiers: std::collections::BTreeSet<usize> = clusters.iter().map(|c| c.tier).collect();
    for tier in tiers {
        let left = |index: usize, seats: &[i64]| room(index) - (seats[index] - base[index]);
        let in_tier: Vec<usize> = (0..clusters.len())
            .filter(|index| clusters[*index].tier == tier && left(*index, &seats) > 0)
            .collect();
        let tier_room: i64 = in_tier.iter().fold(0, |sum: i64, index| {
            sum.saturating_add(left(*index, &seats))
        });
        let take = rest.min(tier_room);
        let chosen = match request.mode() {
            Mode::Aggregated => fewest(&in_tier, take, |index| left(index, &seats)),
            _ => in_tier,
        };
        let shares = share(take, request.uid, selected, |index, _| {
            chosen.contains(&index).then(|| Start {
                weight: left(index, &seats),
                cap: left(index, &seats),
                seats: 0,
            })
        });
        for (seat, more) in seats.iter_mut().zip(shares.seats) {
            *seat += more;
        }
        rest -= take;
    }
    let sum = clusters
        .iter()
        .fold(0, |sum: i64, c| sum.saturating_add(c.capacity()));
    (rest == 0).then_some(Shares { seats, sum })
}

/// The first clusters – present ones come first, then the largest – that together have room.
fn fewest(clusters: &[usize], needed: i64, room: impl Fn(usize) -> i64) -> Vec<usize> {
    let mut found = 0_i64;
    clusters
        .iter()
        .copied()
        .take_while(|index| {
            let wanted = found < needed;
            found = found.saturating_add(room(*index));
            wanted
        })
        .collect()
}

/// Each cluster keeps its part of fewer replicas, in proportion to what it runs.
fn scale_down(
    request: &Request<'_>,
    total: i64,
    selected: &Selected<'_>,
    floors: &[usize],
) -> Shares {
    let mut shares = share(total, request.uid, selected, |index, candidate| {
        let running = candidate.present.filter(|replicas| *replicas > 0)?;
        Some(Start {
            weight: running,
            cap: running,
            seats: i64::from(floors.contains(&index)),
        })
    });
    shares.sum = selected.clusters.iter().filter_map(|c| c.present).sum();
    shares
}

/// Replicas by index of the cluster, and the sum of the weights.
struct Shares {
    seats: Vec<i64>,
    sum: i64,
}

struct Start {
    weight: i64,
    cap: i64,
    seats: i64,
}

fn share(
    total: i64,
    uid: &str,
    selected: &Selected<'_>,
    start: impl Fn(usize, &Candidate<'_>) -> Option<Start>,
) -> Shares {
    let (indexes, mut parties): (Vec<usize>, Vec<Party>) = selected
        .clusters
        .iter()
        .enumerate()
        .filter_map(|(index, candidate)| {
            let Start { weight, cap, seats } = start(index, candidate)?;
            let party = Party {
                weight,
                cap,
                seats,
                rank: rank(uid, candidate.name),
            };
            Some((index, party))
        })
        .unzip();
    allocate(total, &mut parties);
    let sum = parties
        .iter()
        .fold(0, |sum: i64, party| sum.saturating_add(party.weight));
    let mut seats = vec![0; selected.clusters.len()];
    for (index, party) in indexes.into_iter().zip(parties) {
        seats[index] = party.seats;
    }
    Shares { seats, sum }
}

/// Replicas never exceed the template's, which are an `i32`.
fn narrow(replicas: i64) -> i32 {
    i32::try_from(replicas).unwrap_or(i32::MAX)
}
