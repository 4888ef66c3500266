//! The rules of division, over many workloads and over time.

use std::collections::BTreeMap;
use std::sync::Arc;

use crds::policy::SpreadFieldValue;
use proptest::prelude::*;

use super::story::{Story, fleet};
use super::*;
use crate::quantity::Quantity;
use crate::snapshot::{ClusterView, Room};

const OK: &str = "Success";

fn by_cluster(clusters: &[TargetCluster]) -> BTreeMap<String, i64> {
    clusters
        .iter()
        .map(|target| (target.name.clone(), i64::from(target.replicas.unwrap_or(0))))
        .collect()
}

/// Replicas that a cluster has more after than before, and less.
fn moved(before: &[TargetCluster], after: &[TargetCluster]) -> (i64, i64) {
    let (before, after) = (by_cluster(before), by_cluster(after));
    let of = |all: &BTreeMap<String, i64>, name: &str| all.get(name).copied().unwrap_or(0);
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    names.into_iter().fold((0, 0), |(more, less), name| {
        let change = of(&after, name) - of(&before, name);
        (more + change.max(0), less + (-change).max(0))
    })
}

#[test]
fn a_lower_bound_on_clusters_gives_each_a_replica_under_static_weights_too() {
    fleet("m1, m2")
        .weights(&[(&["m1"], 9), (&["m2"], 1)])
        .replicas(2)
        .gives(OK, "m1:2");
    fleet("m1, m2")
        .weights(&[(&["m1"], 9), (&["m2"], 1)])
        .spread(SpreadFieldValue::Cluster, 2, 2)
        .replicas(2)
        .gives(OK, "m1:1 m2:1");
    fleet("m1, m2, m3")
        .weights(&[(&["m1"], 9), (&["m2"], 1), (&["m3"], 5)])
        .spread(SpreadFieldValue::Cluster, 2, 0)
        .replicas(2)
        .gives(OK, "m1:1 m3:1");
    fleet("m1, m2")
        .weights(&[(&["m1"], 9), (&["m2"], 1)])
        .spread(SpreadFieldValue::Cluster, 2, 2)
        .replicas(1)
        .gives(OK, "m1:1");
}

#[test]
fn fixed_weights_name_their_clusters_so_no_upper_bound_counts() {
    fleet("m1, m2, m3")
        .weights(&[(&["m1", "m2", "m3"], 1)])
        .spread(SpreadFieldValue::Cluster, 1, 2)
        .replicas(3)
        .gives(OK, "m1:1 m2:1 m3:1");
}

#[test]
fn an_even_split_is_a_weighted_division_without_weights_and_stays_even() {
    let even = |replicas, now: &str| {
        fleet("m1, m2")
            .strategy(crds::policy::ReplicaDivisionPreference::Weighted, None)
            .replicas(replicas)
            .now(now)
    };
    even(2, "").gives(OK, "m1:1 m2:1");
    even(6, "m1:1 m2:1").gives(OK, "m1:3 m2:3");
    even(4, "m1:3 m2:3").gives(OK, "m1:2 m2:2");
}

#[test]
fn more_than_one_kind_of_group_is_refused_in_words() {
    let decision = fleet("m1 region=eu zone=a")
        .spread(SpreadFieldValue::Region, 1, 1)
        .spread(SpreadFieldValue::Zone, 1, 1)
        .told("SchedulerError", "");
    assert_eq!(
        decision.condition(None).unwrap().message,
        "The placement cannot be carried out: beside cluster, spreadConstraints can name one of region, zone, provider and a label, \
         not several."
    );
}

#[test]
fn no_replicas_go_nowhere_and_keep_what_is_there() {
    for story in [
        fleet("m1 room=9, m2 room=9").aggregated(),
        fleet("m1, m2").weights(&[(&["m1", "m2"], 1)]),
        fleet("m1 room=9, m2 room=9")
            .dynamic()
            .spread(SpreadFieldValue::Cluster, 2, 2),
    ] {
        let mut story = story.replicas(0);
        story.gives(OK, "");
        story = story.now("m1:2 m2:1");
        story.gives(OK, "m1:0 m2:0");
    }
}

/// How many of the remainders of these workloads each cluster gets.
fn remainders(clusters: usize, replicas: i32, uids: impl Iterator<Item = String>) -> Vec<i64> {
    let names: Vec<String> = (1..=clusters).map(|n| format!("member-{n}")).collect();
    let mut story = fleet(&names.join(", "))
        .strategy(crds::policy::ReplicaDivisionPreference::Weighted, None)
        .replicas(replicas);
    let sure = i64::from(replicas) / i64::try_from(clusters).unwrap();
    let mut extra = vec![0; clusters];
    for uid in uids {
        story.uid = uid;
        let placed = by_cluster(&story.decide().want.clusters);
        for (extra, name) in extra.iter_mut().zip(&names) {
            *extra += placed.get(name).copied().unwrap_or(0) - sure;
        }
    }
    extra
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn over_many_workloads_the_remainders_spread_evenly(
        clusters in 2_usize..7, replicas in 1_i32..20, seed in any::<u32>(),
    ) {
        let uids = (0..200_u32).map(|n| format!("{seed:08x}-0000-4000-8000-{n:012x}"));
        let extra = remainders(clusters, replicas, uids);
        let all = i64::try_from(clusters).unwrap();
        let fair = 200 * (i64::from(replicas) % all) / all;
        // Each workload gives a cluster its remainder or not: no more than five standard deviations of that (7.1 at most).
        prop_assert!(extra.iter().all(|extra| (extra - fair).abs() <= 36), "{extra:?}, fair is {fair}");
    }

    #[test]
    fn one_workload_divides_the_same_way_whatever_other_clusters_there_are(
        uid in any::<u64>(), replicas in 1_i32..9,
    ) {
        let weights: &[(&[&str], i64)] = &[(&["m1", "m2", "m3"], 1)];
        let mut small = fleet("m1, m2, m3").weights(weights).replicas(replicas);
        let mut large = fleet("a0, m1, m11, m2, m3, z9").weights(weights).replicas(replicas);
        small.uid = format!("uid-{uid}");
        large.uid.clone_from(&small.uid);
        prop_assert_eq!(small.decide().want.clusters, large.decide().want.clusters);
    }
}

/// Clusters with so much room in all; what the workload runs takes from it.
struct Fleet {
    rooms: Vec<i64>,
    story: Story,
}

impl Fleet {
    fn new(rooms: Vec<i64>, story: Story) -> Self {
        Self { rooms, story }
    }

    /// Scales the workload, and returns where it was before, and the decision.
    fn scale(&mut self, replicas: i32) -> (Vec<TargetCluster>, Decision<Placed>) {
        let before = self.story.current.clone();
        let placed = by_cluster(&before);
        for (index, room) in self.rooms.iter().enumerate() {
            let name = Name::from(format!("m{}", index + 1));
            let view = &self.story.fleet[&name];
            let free = room - placed.get(&*name).copied().unwrap_or(0);
            let view = ClusterView {
                room: Some(Room::new([("cpu".to_owned(), Quantity::from_units(free))])),
                ..(**view).clone()
            };
            self.story.fleet.insert(name, Arc::new(view));
        }
        self.story.replicas = Some(replicas);
        let decision = self.story.decide();
        self.story.current.clone_from(&decision.want.clusters);
        (before, decision)
    }

    fn room(&self, cluster: &str) -> i64 {
        self.rooms[cluster[1..].parse::<usize>().unwrap() - 1]
    }
}

/// Five clusters, a division by room, bounds on the number of clusters, and replicas over time.
fn scalings() -> impl Strategy<Value = (Vec<i64>, bool, usize, usize, Vec<i32>)> {
    (
        prop::collection::vec(0_i64..60, 5),
        any::<bool>(),
        1_usize..4,
        0_usize..3,
        prop::collection::vec(0_i32..150, 1..8),
    )
        .prop_map(|(rooms, packed, min, more, steps)| (rooms, packed, min, min + more, steps))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn bounds_hold_at_every_number_of_replicas_and_no_more_moves_than_must(
        (rooms, packed, min, max, steps) in scalings(),
    ) {
        let story = fleet("m1, m2, m3, m4, m5");
        let story = if packed { story.aggregated() } else { story.dynamic() };
        let bounds = i64::try_from(min).unwrap()..=i64::try_from(max).unwrap();
        let story = story.spread(SpreadFieldValue::Cluster, *bounds.start(), *bounds.end());
        let mut world = Fleet::new(rooms, story);
        for replicas in steps {
            let (before, decision) = world.scale(replicas);
            let told = decision.trace.text();
            let after = &decision.want.clusters;
            if decision.want.outcome != Outcome::Success {
                prop_assert_eq!(after, &before, "a failure moves nothing\n{}", told);
                continue;
            }
            let total = i64::from(replicas);
            let used = by_cluster(after);
            let used: BTreeMap<_, _> = used.iter().filter(|(_, count)| **count > 0).collect();
            prop_assert_eq!(used.values().copied().sum::<i64>(), total, "{}", told);
            prop_assert!(used.iter().all(|(name, count)| **count <= world.room(name)), "{}", told);
            if total > 0 {
                prop_assert!(used.len() <= max, "{} clusters\n{}", used.len(), told);
                prop_assert!(used.len() >= min.min(usize::try_from(replicas).unwrap()), "{}", told);
            }

            // What must move: where all present clusters stay, only what is added or removed.
            let was: i64 = by_cluster(&before).values().sum();
            let (more, less) = moved(&before, after);
            let all_stay = before.iter().all(|old| old.replicas == Some(0) || used.contains_key(&old.name));
            if all_stay && used.len() > min {
                prop_assert_eq!((more, less), ((total - was).max(0), (was - total).max(0)), "{}", told);
            }
            // One that leaves gave way to the upper bound: those that stay would not have had room with any others.
            let present = before.iter().filter(|old| old.replicas != Some(0));
            let kept: Vec<_> = present.clone().map(|old| old.name.clone()).collect();
            if total > was && kept.len() <= max && !all_stay {
                let own: i64 = kept.iter().map(|name| world.room(name)).sum();
                let mut others: Vec<i64> = (1..=5)
                    .map(|n| format!("m{n}"))
                    .filter(|name| !kept.contains(name))
                    .map(|name| world.room(&name))
                    .collect();
                others.sort_unstable_by(|a, b| b.cmp(a));
                let others: i64 = others.iter().take(max - kept.len()).sum();
                prop_assert!(own + others < total, "a cluster left for nothing\n{}", told);
            }
        }
    }

    #[test]
    fn a_change_of_replicas_by_fixed_weights_moves_nothing_else(
        weights in prop::collection::vec(1_i64..20, 2..6), steps in prop::collection::vec(0_i32..60, 1..8),
    ) {
        let names: Vec<String> = (1..=weights.len()).map(|n| format!("m{n}")).collect();
        let lists: Vec<[&str; 1]> = names.iter().map(|name| [name.as_str()]).collect();
        let rules: Vec<(&[&str], i64)> = lists.iter().map(|list| &list[..]).zip(weights).collect();
        let mut story = fleet(&names.join(", ")).weights(&rules);
        for replicas in steps {
            let was: i64 = by_cluster(&story.current).values().sum();
            story.replicas = Some(replicas);
            let decision = story.decide();
            let (more, less) = moved(&story.current, &decision.want.clusters);
            let change = i64::from(replicas) - was;
            prop_assert_eq!((more, less), (change.max(0), (-change).max(0)), "{}", decision.trace.text());
            story.current = decision.want.clusters;
        }
    }
}
