//! The rules of placement, one story each.

use std::sync::Arc;

use crds::Toleration;
use crds::policy::{
    OverflowAffinity, ReplicaDivisionPreference, SpreadConstraint, SpreadFieldValue,
};

use super::story::{affinity, fleet};
use super::*;
use crate::snapshot::{ClusterView, Readiness};

const OK: &str = "Success";

#[test]
fn a_copy_goes_to_every_cluster_of_the_affinity() {
    fleet("m1, m2, m3").gives(OK, "m1 m2 m3");
    fleet("m1, m2, m3").names(&["m3", "m1"]).gives(OK, "m1 m3");
}

#[test]
fn duplicated_gives_each_cluster_all_replicas_whatever_the_room() {
    fleet("m1 room=0, m2 room=9")
        .replicas(5)
        .gives(OK, "m1:5 m2:5");
}

#[test]
fn no_cluster_fits_and_every_one_is_named_with_its_reason() {
    let decision = fleet("m1 taint=gpu, m2 noapi, m3, m4 unreachable")
        .names(&["m1", "m2", "m4", "m9"])
        .replicas(1)
        .told("NoClusterFit", "");
    assert_eq!(
        decision.condition(Some(3)).unwrap().message,
        "0/4 clusters are available: m1 had untolerated taint {gpu: } (NoSchedule); \
         m2 did not have the API resource apps/v1 Deployment; \
         m3 did not match the placement cluster affinity constraint: not among its cluster names; \
         m4 had untolerated taint {cluster.karmada.io/unreachable: } (NoSchedule); \
         m9 is named in the placement but does not exist."
    );
    let event = decision.event().unwrap();
    assert!(event.warning);
    assert_eq!(event.reason, "ScheduleBindingFailed");
}

#[test]
fn an_unknown_name_is_told_even_when_others_fit() {
    let decision = fleet("m1").names(&["m1", "m2"]).told(OK, "m1");
    let condition = decision.condition(None).unwrap();
    assert!(
        condition
            .message
            .contains("m2 is named in the placement but does not exist"),
        "{}",
        condition.message
    );
    assert_eq!(
        decision.event().unwrap().note,
        format!("{} Result: {{m1}}", condition.message)
    );
}

#[test]
fn a_toleration_lets_a_copy_into_a_tainted_cluster() {
    let mut story = fleet("m1 taint=gpu, m2");
    story.placement.cluster_tolerations = vec![Toleration {
        key: Some("gpu".into()),
        operator: Some("Exists".into()),
        ..Toleration::default()
    }];
    story.gives(OK, "m1 m2");
}

#[test]
fn what_runs_stays_in_a_cluster_that_gets_tainted_or_loses_its_list_of_apis() {
    fleet("m1 taint=gpu noapi, m2")
        .now("m1 m2")
        .gives(OK, "m1 m2");
    fleet("m1 unreachable, m2 room=9")
        .dynamic()
        .replicas(4)
        .now("m1:2 m2:2")
        .gives(OK, "m1:2 m2:2");
}

#[test]
fn a_tainted_cluster_keeps_its_replicas_but_gets_no_more() {
    fleet("m1 room=50 taint=cluster.karmada.io/unschedulable, m2 room=9")
        .dynamic()
        .replicas(8)
        .now("m1:2 m2:2")
        .gives(OK, "m1:2 m2:6");
}

#[test]
fn a_cordon_is_lifted_and_the_copy_comes_back() {
    let cordoned = "m1, m2 taint=cluster.karmada.io/unschedulable";
    fleet(cordoned).replicas(1).gives(OK, "m1:1");
    fleet("m1, m2")
        .replicas(1)
        .now("m1:1")
        .gives(OK, "m1:1 m2:1");
}

#[test]
fn a_cluster_that_the_affinity_drops_loses_its_copy_at_once() {
    fleet("m1, m2, m3")
        .names(&["m2"])
        .now("m1 m2")
        .gives(OK, "m2");
    fleet("m1 room=9, m2 room=0")
        .names(&["m2"])
        .dynamic()
        .replicas(3)
        .now("m1:3")
        .gives("Unschedulable", "");
    fleet("m1, m2 taint=gpu")
        .names(&["m2"])
        .now("m1")
        .gives("NoClusterFit", "");
}

#[test]
fn a_cluster_that_is_gone_or_going_loses_its_copy_at_once() {
    fleet("m1, m2").now("m1 m3").gives(OK, "m1 m2");
    fleet("m1 deleting, m2").now("m1 m2").gives(OK, "m2");
    fleet("m1 deleting").now("m1").gives("NoClusterFit", "");
}

#[test]
fn an_eviction_moves_the_replicas_when_there_is_room_elsewhere() {
    fleet("m1, m2 room=9, m3 room=9")
        .dynamic()
        .replicas(4)
        .now("m1:2 m2:2")
        .evicting("m1")
        .gives(OK, "m2:3 m3:1");
}

#[test]
fn an_eviction_without_a_replacement_keeps_what_runs() {
    let decision = fleet("m1, m2 room=1")
        .dynamic()
        .replicas(4)
        .now("m1:2 m2:2")
        .evicting("m1")
        .told("Unschedulable", "m1:2 m2:2");
    assert_eq!(
        decision.condition(None).unwrap().message,
        "Clusters available replicas 3 are not enough to schedule 4: \
         m1 is in the process of eviction; m2 has room for 3 replicas."
    );
    fleet("m1")
        .names(&["m1"])
        .now("m1")
        .evicting("m1")
        .gives("NoClusterFit", "m1");
}

#[test]
fn an_eviction_of_one_copy_among_several_drops_it() {
    fleet("m1, m2")
        .replicas(3)
        .now("m1:3 m2:3")
        .evicting("m1")
        .gives(OK, "m2:3");
}

#[test]
fn static_weights_divide_by_weight_and_leave_out_who_has_none() {
    fleet("m1, m2, m3")
        .weights(&[(&["m1"], 1), (&["m2"], 2)])
        .replicas(9)
        .gives(OK, "m1:3 m2:6");
    fleet("m1, m2")
        .weights(&[(&["m1"], 2), (&["m2"], 1)])
        .replicas(2)
        .gives(OK, "m1:1 m2:1");
}

#[test]
fn the_highest_matching_weight_counts_and_without_any_all_are_equal() {
    fleet("m1, m2")
        .weights(&[(&["m1", "m2"], 1), (&["m1"], 3)])
        .replicas(4)
        .gives(OK, "m1:3 m2:1");
    fleet("m1, m2")
        .weights(&[(&["m7"], 5)])
        .replicas(4)
        .gives(OK, "m1:2 m2:2");
    fleet("m1, m2")
        .strategy(ReplicaDivisionPreference::Weighted, None)
        .replicas(4)
        .gives(OK, "m1:2 m2:2");
}

#[test]
fn changed_weights_divide_again_and_a_new_cluster_does_not() {
    let mut story = fleet("m1, m2")
        .weights(&[(&["m1"], 1), (&["m2"], 3)])
        .replicas(4)
        .now("m1:2 m2:2");
    story.gives(OK, "m1:2 m2:2");
    story.placement_unchanged = false;
    story.gives(OK, "m1:1 m2:3");
    fleet("m1, m2, m3")
        .strategy(ReplicaDivisionPreference::Weighted, None)
        .replicas(4)
        .now("m1:2 m2:2")
        .gives(OK, "m1:2 m2:2");
}

#[test]
fn dynamic_weights_follow_the_room_and_never_exceed_it() {
    fleet("m1 room=3, m2 room=6")
        .dynamic()
        .replicas(6)
        .gives(OK, "m1:2 m2:4");
    fleet("m1 room=1, m2 room=8")
        .dynamic()
        .replicas(9)
        .gives(OK, "m1:1 m2:8");
}

#[test]
fn replicas_spill_over_when_one_cluster_is_full() {
    fleet("m1 room=2, m2 room=9")
        .dynamic()
        .replicas(6)
        .now("m1:2 m2:1")
        .gives(OK, "m1:3 m2:3");
    fleet("m1 room=0, m2 room=9")
        .dynamic()
        .replicas(6)
        .now("m1:2 m2:1")
        .gives(OK, "m1:2 m2:4");
}

#[test]
fn scaling_up_moves_nothing_that_runs() {
    fleet("m1 room=1, m2 room=9")
        .dynamic()
        .replicas(8)
        .now("m1:4 m2:0")
        .gives(OK, "m1:4 m2:4");
}

#[test]
fn scaling_down_takes_from_each_in_proportion() {
    fleet("m1, m2")
        .dynamic()
        .replicas(4)
        .now("m1:6 m2:2")
        .gives(OK, "m1:3 m2:1");
    fleet("m1, m2")
        .aggregated()
        .replicas(3)
        .now("m1:4 m2:2")
        .gives(OK, "m1:2 m2:1");
}

#[test]
fn scaling_to_zero_keeps_the_copies_and_scaling_up_again_uses_them() {
    fleet("m1 room=9, m2 room=9")
        .dynamic()
        .replicas(0)
        .now("m1:2 m2:1")
        .gives(OK, "m1:0 m2:0");
    fleet("m1 room=9, m2 room=9")
        .dynamic()
        .replicas(2)
        .now("m1:0 m2:0")
        .gives(OK, "m1:1 m2:1");
    fleet("m1, m2").dynamic().replicas(0).gives(OK, "");
}

#[test]
fn too_little_room_keeps_the_old_result_and_says_what_each_cluster_has() {
    let decision = fleet("m1 room=1, m2 room=2")
        .dynamic()
        .replicas(9)
        .now("m1:2")
        .told("Unschedulable", "m1:2");
    assert_eq!(
        decision.condition(None).unwrap().message,
        "Clusters available replicas 5 are not enough to schedule 9: \
         m1 has room for 3 replicas; m2 has room for 2 replicas."
    );
    fleet("m1 room=8, m2 room=2")
        .dynamic()
        .replicas(9)
        .now("m1:2")
        .gives(OK, "m1:8 m2:1");
}

#[test]
fn aggregated_packs_the_fewest_clusters_present_ones_first() {
    fleet("m1 room=3, m2 room=9, m3 room=5")
        .aggregated()
        .replicas(6)
        .gives(OK, "m2:6");
    fleet("m1 room=3, m2 room=9, m3 room=5")
        .aggregated()
        .replicas(5)
        .now("m1:3")
        .gives(OK, "m1:5");
    fleet("m1 room=3, m2 room=9, m3 room=5")
        .aggregated()
        .replicas(12)
        .gives(OK, "m2:8 m3:4");
}

#[test]
fn a_fresh_start_forgets_what_runs_where() {
    let mut story = fleet("m1 room=2, m2 room=8")
        .dynamic()
        .replicas(4)
        .now("m1:4");
    story.gives(OK, "m1:4");
    story.fresh = true;
    story.gives(OK, "m1:2 m2:2");
}

#[test]
fn affinity_groups_are_tried_in_order_and_the_one_in_use_is_kept() {
    let groups: &[(&str, &[&str])] = &[("local", &["m1"]), ("cloud", &["m2"])];
    let decision = fleet("m1 room=1, m2 room=9")
        .groups(groups)
        .dynamic()
        .replicas(4)
        .told(OK, "m2:4");
    assert_eq!(decision.want.affinity.as_deref(), Some("cloud"));
    let mut story = fleet("m1 room=9, m2 room=9")
        .groups(groups)
        .dynamic()
        .replicas(5)
        .now("m2:4");
    story.observed_affinity = Some("cloud".into());
    story.gives(OK, "m2:5");
    story.fresh = true;
    story.gives(OK, "m1:5");
}

#[test]
fn if_no_affinity_group_fits_the_first_failure_is_told_and_all_groups_keep_what_runs() {
    let decision = fleet("m1 room=1, m2 room=0")
        .groups(&[("local", &["m1"]), ("cloud", &["m2"])])
        .dynamic()
        .replicas(6)
        .now("m2:2")
        .told("Unschedulable", "m2:2");
    assert!(
        decision
            .condition(None)
            .unwrap()
            .message
            .starts_with("Clusters available replicas 1 "),
        "{:?}",
        decision.condition(None)
    );
}

#[test]
fn overflow_takes_what_the_group_itself_has_no_room_for() {
    let mut story = fleet("m1 room=3, m2 room=50")
        .groups(&[("own", &["m1"])])
        .dynamic()
        .replicas(5);
    story.placement.cluster_affinities[0].overflow_affinities = vec![OverflowAffinity {
        affinity_name: "burst".into(),
        affinity: affinity(&["m2"]),
    }];
    story.gives(OK, "m1:3 m2:2");
}

#[test]
fn spread_by_cluster_takes_the_best_up_to_the_bound() {
    fleet("m1, m2, m3")
        .spread(SpreadFieldValue::Cluster, 1, 2)
        .replicas(2)
        .gives(OK, "m1:2 m2:2");
    fleet("m1, m2, m3")
        .spread(SpreadFieldValue::Cluster, 1, 2)
        .replicas(2)
        .now("m3:2")
        .gives(OK, "m1:2 m3:2");
}

#[test]
fn an_upper_bound_of_zero_is_none() {
    fleet("m1, m2, m3")
        .spread(SpreadFieldValue::Cluster, 0, 0)
        .gives(OK, "m1 m2 m3");
}

#[test]
fn too_few_clusters_for_the_lower_bound_fit_nowhere() {
    let decision = fleet("m1, m2 taint=gpu")
        .spread(SpreadFieldValue::Cluster, 2, 3)
        .told("NoClusterFit", "");
    assert_eq!(
        decision.condition(None).unwrap().message,
        "0/2 clusters are available: spread by cluster wants at least 2, but only 1 are available; \
         m2 had untolerated taint {gpu: } (NoSchedule)."
    );
}

#[test]
fn the_upper_bound_holds_when_scaling_up_and_larger_clusters_come_in() {
    fleet("m1 room=10, m2 room=10, m3 room=100")
        .spread(SpreadFieldValue::Cluster, 1, 2)
        .aggregated()
        .replicas(90)
        .now("m1:5 m2:5")
        .gives(OK, "m1:14 m3:76");
}

#[test]
fn the_lower_bound_gives_every_cluster_a_replica() {
    fleet("m1 room=50, m2 room=1, m3 room=1")
        .spread(SpreadFieldValue::Cluster, 3, 3)
        .dynamic()
        .replicas(4)
        .gives(OK, "m1:2 m2:1 m3:1");
    fleet("m1 room=50, m2 room=40")
        .spread(SpreadFieldValue::Cluster, 2, 2)
        .aggregated()
        .replicas(3)
        .gives(OK, "m1:2 m2:1");
}

#[test]
fn the_lower_bound_survives_scaling_down() {
    fleet("m1 room=9, m2 room=9")
        .spread(SpreadFieldValue::Cluster, 2, 2)
        .dynamic()
        .replicas(2)
        .now("m1:9 m2:1")
        .gives(OK, "m1:1 m2:1");
}

#[test]
fn spread_by_region_takes_a_cluster_of_each() {
    let eu_us = "m1 region=eu, m2 region=eu, m3 region=us, m4 region=ap";
    fleet(eu_us)
        .spread(SpreadFieldValue::Cluster, 2, 2)
        .spread(SpreadFieldValue::Region, 2, 2)
        .gives(OK, "m1 m4");
    fleet(eu_us)
        .spread(SpreadFieldValue::Cluster, 2, 2)
        .spread(SpreadFieldValue::Region, 2, 2)
        .now("m3")
        .gives(OK, "m1 m3");
}

#[test]
fn spread_by_region_spills_into_another_region_for_room() {
    fleet("m1 region=eu room=3, m2 region=us room=2, m3 region=ap room=1")
        .spread(SpreadFieldValue::Region, 1, 2)
        .spread(SpreadFieldValue::Cluster, 1, 5)
        .dynamic()
        .replicas(5)
        .gives(OK, "m1:3 m2:2");
}

#[test]
fn a_cluster_without_the_property_cannot_be_spread_by_it() {
    let decision = fleet("m1 region=eu, m2")
        .spread(SpreadFieldValue::Region, 2, 2)
        .spread(SpreadFieldValue::Cluster, 1, 9)
        .told("NoClusterFit", "");
    assert!(
        decision
            .condition(None)
            .unwrap()
            .message
            .contains("m2 did not have region property"),
        "{:?}",
        decision.condition(None)
    );
}

#[test]
fn spread_by_label_makes_groups_of_its_values() {
    let mut story = fleet("m1 label=rack:a, m2 label=rack:a, m3 label=rack:b, m4");
    story.placement.spread_constraints = vec![SpreadConstraint {
        spread_by_label: Some("rack".into()),
        min_groups: Some(2),
        max_groups: Some(2),
        ..SpreadConstraint::default()
    }];
    story.gives(OK, "m1 m2 m3");
}

#[test]
fn spread_by_two_kinds_of_groups_is_refused() {
    fleet("m1 region=eu zone=a")
        .spread(SpreadFieldValue::Region, 1, 1)
        .spread(SpreadFieldValue::Zone, 1, 1)
        .now("m1")
        .gives("SchedulerError", "m1");
}

#[test]
fn suspended_scheduling_decides_nothing() {
    let mut story = fleet("m1, m2").names(&["m1"]).now("m2");
    story.suspended = true;
    let decision = story.told("Suspended", "m2");
    assert_eq!(decision.condition(None), None);
    assert_eq!(decision.event(), None);
}

#[test]
fn a_cluster_that_lists_no_kinds_yet_says_so() {
    let mut story = fleet("m1");
    story.fleet = [(
        Name::from("m1"),
        Arc::new(ClusterView {
            name: "m1".into(),
            ready: Readiness::Ready,
            ..ClusterView::default()
        }),
    )]
    .into();
    let decision = story.told("NoClusterFit", "");
    assert!(
        decision
            .condition(None)
            .unwrap()
            .message
            .contains("does not say yet")
    );
}
