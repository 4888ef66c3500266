//! Hands out replicas by weight: the Sainte-Laguë method, with an upper bound for each cluster.
//!
//! The next replica goes to the cluster with the greatest `weight / (2·replicas + 1)`. Ties go to the one with fewer replicas, then
//! by name – ascending for one half of all workloads and descending for the other, so that over many workloads no cluster is
//! favoured by its name.

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
}

/// In which order names win ties.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tie {
    Ascending,
    Descending,
}

impl Tie {
    /// By the parity of the FNV-1a hash of the workload's uid.
    pub(super) fn of(uid: &str) -> Self {
        let hash = uid.bytes().fold(0x811c_9dc5_u32, |hash, byte| {
            (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
        });
        if hash.is_multiple_of(2) {
            Self::Ascending
        } else {
            Self::Descending
        }
    }
}

/// Hands out replicas until all parties together have `total`, and returns how many found no place.
///
/// Parties come sorted by name. Seats that a party has to begin with stay (at most one each, and at most `total` in all).
pub(super) fn allocate(total: i64, parties: &mut [Party], tie: Tie) -> i64 {
    prefill(total, parties);
    let mut rest = total - parties.iter().map(|party| party.seats).sum::<i64>();
    let mut heap: BinaryHeap<Claim> = parties
        .iter()
        .enumerate()
        .filter(|(_, party)| party.weight > 0 && party.seats < party.cap)
        .map(|(index, party)| Claim::new(index, party, tie))
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
    /// Rank by name; greater wins.
    rank: usize,
}

impl Claim {
    fn new(index: usize, party: &Party, tie: Tie) -> Self {
        Self {
            index,
            weight: party.weight,
            seats: party.seats,
            rank: match tie {
                Tie::Ascending => usize::MAX - index,
                Tie::Descending => index,
            },
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

    fn shares(total: i64, weights: &[(&'static str, i64)], tie: Tie) -> Vec<i64> {
        let mut parties: Vec<Party> = weights
            .iter()
            .map(|(_, weight)| Party {
                weight: *weight,
                cap: i64::MAX,
                seats: 0,
            })
            .collect();
        assert_eq!(allocate(total, &mut parties, tie), 0);
        parties.iter().map(|party| party.seats).collect()
    }

    #[test]
    fn a_small_total_does_not_starve_the_lighter_cluster() {
        assert_eq!(shares(2, &[("a", 2), ("b", 1)], Tie::Ascending), [1, 1]);
        assert_eq!(shares(3, &[("a", 2), ("b", 1)], Tie::Ascending), [2, 1]);
        assert_eq!(shares(9, &[("a", 1), ("b", 2)], Tie::Ascending), [3, 6]);
        assert_eq!(shares(7, &[("a", 5), ("b", 2)], Tie::Ascending), [5, 2]);
    }

    #[test]
    fn the_textbook_example_of_the_method() {
        let parties = [("a", 100_000), ("b", 80_000), ("c", 30_000), ("d", 20_000)];
        assert_eq!(shares(8, &parties, Tie::Ascending), [3, 3, 1, 1]);
    }

    #[test]
    fn the_remainder_of_equal_weights_depends_on_the_workload() {
        let equal = [("a", 1), ("b", 1)];
        assert_eq!(shares(3, &equal, Tie::Ascending), [2, 1]);
        assert_eq!(shares(3, &equal, Tie::Descending), [1, 2]);
        let ascending = (0..1000)
            .filter(|n| Tie::of(&format!("uid-{n}")) == Tie::Ascending)
            .count();
        assert!((400..600).contains(&ascending), "{ascending} of 1000");
    }

    #[test]
    fn what_exceeds_the_bounds_is_left_over() {
        let mut parties = vec![
            Party {
                weight: 5,
                cap: 2,
                seats: 0,
            },
            Party {
                weight: 0,
                cap: 9,
                seats: 0,
            },
        ];
        assert_eq!(allocate(4, &mut parties, Tie::Ascending), 2);
    }

    #[test]
    fn two_thousand_million_replicas_take_no_time() {
        assert_eq!(
            shares(i64::from(i32::MAX), &[("a", 1), ("b", 1)], Tie::Ascending),
            [1_073_741_824, 1_073_741_823]
        );
    }

    proptest! {
        #[test]
        fn the_short_cut_changes_no_result(
            total in 0_i64..400,
            weights in prop::collection::vec((1_i64..50, 1_i64..100, any::<bool>()), 1..8),
        ) {
            let parties: Vec<Party> = weights
                .iter()
                .enumerate()
                .map(|(index, (weight, cap, start))| Party {
                    weight: *weight,
                    cap: *cap,
                    seats: i64::from(*start && i64::try_from(index).unwrap() < total),
                })
                .collect();
            let mut fast = parties.clone();
            let left = allocate(total, &mut fast, Tie::Ascending);
            let mut slow = parties;
            let mut rest = total - slow.iter().map(|p| p.seats).sum::<i64>();
            while rest > 0 {
                let best = (0..slow.len())
                    .filter(|i| slow[*i].seats < slow[*i].cap)
                    .max_by_key(|i| Claim::new(*i, &slow[*i], Tie::Ascending));
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
