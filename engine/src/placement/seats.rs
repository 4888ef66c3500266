//! Hands out replicas by weight: the Sainte-Laguë method, with an upper bound for each cluster.
//!
//! The next replica goes to the cluster with the greatest `weight / (2·replicas + 1)`. So the division comes as close to the weights as
//! whole replicas can (by the squares of the differences), one replica more changes one cluster only, and light clusters are not starved:
//! 2 replicas by 2 : 1 are 1 and 1.
//!
//! Ties go to the cluster with fewer replicas, then to the one with the higher [`rank`], which each workload gives each cluster
//! by chance: one workload always divides the same way, and over many workloads no cluster is favoured.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// A cluster that takes part.
#[derive(Clone, Debug)]
pub(super) struct Party {
    pub(super) weight: i64,
    /// No more replicas than this.
    pub(super) cap: i64,
    /// Replicas so far.
    pub(super) seats: i64,
    /// The higher wins ties.
    pub(super) rank: u64,
}

/// By chance, but the same each time: a hash of the workload's uid and the cluster's name (FNV-1a, then mixed so that names that differ
/// in one letter differ in every bit). It does not depend on which other clusters there are.
pub(super) fn rank(uid: &str, cluster: &str) -> u64 {
    let bytes = uid.bytes().chain([0xff]).chain(cluster.bytes());
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let mixed = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    mixed ^ (mixed >> 33)
}

/// Hands out replicas until all parties together have `total`, and returns how many found no place.
///
/// Seats that a party has to begin with stay (at most one each, and at most `total` in all).
pub(super) fn allocate(total: i64, parties: &mut [Party]) -> i64 {
    prefill(total, parties);
    let mut rest = total - parties.iter().map(|party| party.seats).sum::<i64>();
    let mut heap: BinaryHeap<Claim> = parties
        .iter()
        .enumerate()
        .filter(|(_, party)| party.weight > 0 && party.seats < party.cap)
        .map(|(index, party)| Claim::new(index, party))
        .collect();
    while rest > 0 {
        let Some(next) = heap.pop() else {
            return rest;
        };
        let party = &mut parties[next.index];
        party.seats += 1;
        rest -= 1;
        if party.seats < party.cap {
            heap.push(Claim {
                seats: party.seats,
                ..next
            });
        }
    }
    rest.max(0)
}

/// Gives each party what it gets in any case, so that the number of steps does not grow with the number of replicas.
///
/// With the final divisor `d` a party has at least `weight/d − ½` seats, and `d ≤ sum / (total − parties/2)`. Seats to begin with take
/// at most one seat a party from the others, so `total − 2·parties` and one seat less is a safe start. Bounds only push replicas to
/// others, who get more, never less.
fn prefill(total: i64, parties: &mut [Party]) {
    let sum: i128 = parties.iter().map(|p| i128::from(p.weight.max(0))).sum();
    let spread = i128::from(total) - 2 * parties.len() as i128;
    if sum == 0 || spread <= 0 {
        return;
    }
    for party in parties {
        let sure = i128::from(party.weight.max(0)) * spread / sum - 1;
        let sure = i64::try_from(sure).unwrap_or(i64::MAX).clamp(0, party.cap);
        party.seats = party.seats.max(sure);
    }
}

/// A party's claim on the next seat; the greater wins.
struct Claim {
    index: usize,
    weight: i64,
    seats: i64,
    rank: u64,
}

impl Claim {
    fn new(index: usize, party: &Party) -> Self {
        Self {
            index,
            weight: party.weight,
            seats: party.seats,
            rank: party.rank,
        }
    }
}

impl Ord for Claim {
    fn cmp(&self, other: &Self) -> Ordering {
        let own = i128::from(self.weight) * (2 * i128::from(other.seats) + 1);
        let others = i128::from(other.weight) * (2 * i128::from(self.seats) + 1);
        own.cmp(&others)
            .then_with(|| other.seats.cmp(&self.seats))
            .then_with(|| self.rank.cmp(&other.rank))
            .then_with(|| other.index.cmp(&self.index))
    }
}

impl PartialOrd for Claim {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Claim {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Claim {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// In a tie the party that comes first wins.
    fn party(index: usize, weight: i64, cap: i64, seats: i64) -> Party {
        let rank = u64::MAX - u64::try_from(index).unwrap();
        Party {
            weight,
            cap,
            seats,
            rank,
        }
    }

    fn shares(total: i64, weights: &[i64]) -> Vec<i64> {
        let mut parties: Vec<Party> = weights
            .iter()
            .enumerate()
            .map(|(index, weight)| party(index, *weight, i64::MAX, 0))
            .collect();
        assert_eq!(allocate(total, &mut parties), 0);
        parties.iter().map(|party| party.seats).collect()
    }

    #[test]
    fn a_small_total_does_not_starve_the_lighter_cluster() {
        assert_eq!(shares(2, &[2, 1]), [1, 1]);
        assert_eq!(shares(3, &[2, 1]), [2, 1]);
        assert_eq!(shares(9, &[1, 2]), [3, 6]);
        assert_eq!(shares(7, &[5, 2]), [5, 2]);
    }

    #[test]
    fn the_textbook_example_of_the_method() {
        assert_eq!(shares(8, &[100_000, 80_000, 30_000, 20_000]), [3, 3, 1, 1]);
    }

    #[test]
    fn the_higher_rank_wins_a_tie() {
        assert_eq!(shares(3, &[1, 1]), [2, 1]);
        let mut turned = [party(1, 1, 9, 0), party(0, 1, 9, 0)];
        allocate(3, &mut turned);
        assert_eq!(turned.map(|party| party.seats), [1, 2]);
    }

    #[test]
    fn what_exceeds_the_bounds_is_left_over() {
        let mut parties = [party(0, 5, 2, 0), party(1, 0, 9, 0)];
        assert_eq!(allocate(4, &mut parties), 2);
    }

    #[test]
    fn two_thousand_million_replicas_take_no_time() {
        assert_eq!(
            shares(i64::from(i32::MAX), &[1, 1]),
            [1_073_741_824, 1_073_741_823]
        );
    }

    proptest! {
        #[test]
        fn one_replica_more_changes_one_cluster_only(
            total in 0_i64..200,
            weights in prop::collection::vec(1_i64..50, 1..8),
        ) {
            let before = shares(total, &weights);
            let after = shares(total + 1, &weights);
            let added: Vec<i64> = before.iter().zip(&after).map(|(b, a)| a - b).collect();
            prop_assert_eq!(added.iter().filter(|more| **more == 1).count(), 1);
            prop_assert!(added.iter().all(|more| (0..=1).contains(more)), "{:?}", added);
        }

        #[test]
        fn the_short_cut_changes_no_result(
            total in 0_i64..400,
            weights in prop::collection::vec((1_i64..50, 1_i64..100, any::<bool>()), 1..8),
        ) {
            let parties: Vec<Party> = weights
                .iter()
                .enumerate()
                .map(|(index, (weight, cap, start))| {
                    let seats = *start && i64::try_from(index).unwrap() < total;
                    party(index, *weight, *cap, i64::from(seats))
                })
                .collect();
            let mut fast = parties.clone();
            let left = allocate(total, &mut fast);
            let mut slow = parties;
            let mut rest = total - slow.iter().map(|p| p.seats).sum::<i64>();
            while rest > 0 {
                let best = (0..slow.len())
                    .filter(|i| slow[*i].seats < slow[*i].cap)
                    .max_by_key(|i| Claim::new(*i, &slow[*i]));
                let Some(best) = best else { break };
                slow[best].seats += 1;
                rest -= 1;
            }
            prop_assert_eq!(left, rest);
            let seats = |parties: &[Party]| parties.iter().map(|p| p.seats).collect::<Vec<_>>();
            prop_assert_eq!(seats(&fast), seats(&slow));
        }
    }
}
