//! Situations in words, for the tests of placement.

use std::sync::Arc;

use crds::Taint;
use crds::policy::{
    ClusterPreferences, DynamicWeightFactor, Placement, ReplicaDivisionPreference,
    ReplicaSchedulingStrategy, ReplicaSchedulingType, SpreadConstraint, SpreadFieldValue,
    StaticClusterWeight,
};
use crds::work::GracefulEvictionTask;

use super::*;
use crate::quantity::Quantity;
use crate::snapshot::{ClusterView, Readiness, Room};

/// A cluster in words: `m1 room=5 region=eu taint=gpu label=phase:ready noapi unreachable deleting`.
fn cluster(words: &str) -> Arc<ClusterView> {
    let mut words = words.split_whitespace();
    let mut view = ClusterView {
        name: words.next().unwrap().into(),
        ready: Readiness::Ready,
        kinds: [("apps/v1".to_owned(), ["Deployment".to_owned()].into())].into(),
        kinds_complete: true,
        ..ClusterView::default()
    };
    for word in words {
        let (key, value) = word.split_once('=').unwrap_or((word, ""));
        match key {
            "room" => {
                let free = Quantity::from_units(value.parse().unwrap());
                view.room = Some(Room::new([("cpu".to_owned(), free)]));
            }
            "region" => view.region = value.into(),
            "zone" => view.zones = vec![value.into()],
            "label" => {
                let (key, value) = value.split_once(':').unwrap();
                view.labels.insert(key.into(), value.into());
            }
            "taint" => view.taints.push(Taint {
                key: value.into(),
                effect: "NoSchedule".into(),
                ..Taint::default()
            }),
            "noapi" => view.kinds.clear(),
            "unreachable" => view.ready = Readiness::Unreachable,
            "deleting" => view.deleting = true,
            other => panic!("{other}"),
        }
    }
    Arc::new(view)
}

/// A situation and what is asked for, built step by step.
pub(super) struct Story {
    pub(super) fleet: Fleet,
    pub(super) placement: Placement,
    pub(super) uid: String,
    pub(super) replicas: Option<i32>,
    pub(super) current: Vec<TargetCluster>,
    pub(super) evictions: Vec<GracefulEvictionTask>,
    pub(super) observed_affinity: Option<String>,
    pub(super) placement_unchanged: bool,
    pub(super) fresh: bool,
    pub(super) suspended: bool,
}

fn targets(words: &str) -> Vec<TargetCluster> {
    words
        .split_whitespace()
        .map(|word| match word.split_once(':') {
            Some((name, replicas)) => TargetCluster {
                name: name.into(),
                replicas: Some(replicas.parse().unwrap()),
                components: Vec::new(),
            },
            None => TargetCluster {
                name: word.into(),
                ..TargetCluster::default()
            },
        })
        .collect()
}

fn words(targets: &[TargetCluster]) -> String {
    let words: Vec<String> = targets
        .iter()
        .map(|target| match target.replicas {
            Some(replicas) => format!("{}:{replicas}", target.name),
            None => target.name.clone(),
        })
        .collect();
    words.join(" ")
}

pub(super) fn affinity(names: &[&str]) -> ClusterAffinity {
    ClusterAffinity {
        cluster_names: names.iter().map(|name| (*name).to_owned()).collect(),
        ..ClusterAffinity::default()
    }
}

/// Clusters, one a line or separated by commas.
pub(super) fn fleet(words: &str) -> Story {
    Story {
        fleet: words
            .split(',')
            .map(|words| cluster(words.trim()))
            .map(|view| (view.name.clone(), view))
            .collect(),
        placement: Placement::default(),
        // For this workload the clusters m1 to m7 win ties in the order of their names.
        uid: "uid-8700".into(),
        replicas: None,
        current: Vec::new(),
        evictions: Vec::new(),
        observed_affinity: None,
        placement_unchanged: true,
        fresh: false,
        suspended: false,
    }
}

impl Story {
    pub(super) fn replicas(mut self, replicas: i32) -> Self {
        self.replicas = Some(replicas);
        self
    }

    pub(super) fn now(mut self, current: &str) -> Self {
        self.current = targets(current);
        self
    }

    pub(super) fn names(mut self, names: &[&str]) -> Self {
        self.placement.cluster_affinity = Some(affinity(names));
        self
    }

    pub(super) fn groups(mut self, groups: &[(&str, &[&str])]) -> Self {
        self.placement.cluster_affinities = groups
            .iter()
            .map(|(name, clusters)| ClusterAffinityTerm {
                affinity_name: (*name).into(),
                affinity: affinity(clusters),
                overflow_affinities: Vec::new(),
            })
            .collect();
        self
    }

    pub(super) fn evicting(mut self, cluster: &str) -> Self {
        self.evictions.push(GracefulEvictionTask {
            from_cluster: cluster.into(),
            reason: "TaintUntolerated".into(),
            producer: "TaintManager".into(),
            ..GracefulEvictionTask::default()
        });
        self
    }

    pub(super) fn spread(mut self, field: SpreadFieldValue, min: i64, max: i64) -> Self {
        self.placement.spread_constraints.push(SpreadConstraint {
            spread_by_field: Some(field),
            spread_by_label: None,
            min_groups: Some(min),
            max_groups: Some(max),
        });
        self
    }

    pub(super) fn strategy(
        mut self,
        preference: ReplicaDivisionPreference,
        weights: Option<ClusterPreferences>,
    ) -> Self {
        self.placement.replica_scheduling = Some(ReplicaSchedulingStrategy {
            replica_scheduling_type: ReplicaSchedulingType::Divided,
            replica_division_preference: Some(preference),
            weight_preference: weights,
        });
        self
    }

    pub(super) fn weights(self, weights: &[(&[&str], i64)]) -> Self {
        let list = weights
            .iter()
            .map(|(names, weight)| StaticClusterWeight {
                target_cluster: affinity(names),
                weight: *weight,
            })
            .collect();
        self.strategy(
            ReplicaDivisionPreference::Weighted,
            Some(ClusterPreferences {
                static_weight_list: list,
                dynamic_weight: None,
            }),
        )
    }

    pub(super) fn dynamic(self) -> Self {
        self.strategy(
            ReplicaDivisionPreference::Weighted,
            Some(ClusterPreferences {
                static_weight_list: Vec::new(),
                dynamic_weight: Some(DynamicWeightFactor::AvailableReplicas),
            }),
        )
    }

    pub(super) fn aggregated(self) -> Self {
        self.strategy(ReplicaDivisionPreference::Aggregated, None)
    }

    pub(super) fn decide(&self) -> Decision<Placed> {
        decide(
            &Request {
                placement: &self.placement,
                api_version: "apps/v1",
                kind: "Deployment",
                uid: &self.uid,
                replicas: self.replicas,
                requests: &[("cpu".to_owned(), Quantity::from_units(1))],
                components: &[],
                room: RoomHints::default(),
                current: &self.current,
                evictions: &self.evictions,
                observed_affinity: self.observed_affinity.as_deref(),
                placement_unchanged: self.placement_unchanged,
                fresh: self.fresh,
                suspended: self.suspended,
            },
            &self.fleet,
        )
    }

    /// The result in words and its reason.
    #[track_caller]
    pub(super) fn gives(&self, reason: &str, expected: &str) {
        let Decision { .. } = self.told(reason, expected);
    }

    /// Like [`Story::gives`], with the decision. Deciding on the result again has to change nothing.
    #[track_caller]
    pub(super) fn told(&self, reason: &str, expected: &str) -> Decision<Placed> {
        let decision = self.decide();
        let trace = decision.trace.text();
        assert_eq!(words(&decision.want.clusters), expected, "\n{trace}");
        assert_eq!(decision.want.outcome.reason(), reason, "\n{trace}");
        let success = decision.want.outcome == Outcome::Success;
        let again = Self {
            fleet: self.fleet.clone(),
            placement: self.placement.clone(),
            uid: self.uid.clone(),
            replicas: self.replicas,
            current: decision.want.clusters.clone(),
            evictions: self.evictions.clone(),
            observed_affinity: decision.want.affinity.clone(),
            placement_unchanged: self.placement_unchanged || success,
            fresh: self.fresh && !success,
            suspended: self.suspended,
        }
        .decide();
        assert_eq!(
            again.want.clusters, decision.want.clusters,
            "again\n{trace}"
        );
        assert_eq!(again.condition(None), decision.condition(None), "again");
        decision
    }
}
