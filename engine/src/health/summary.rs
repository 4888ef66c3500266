//! What a member has, and what is free in it, in the form of the Cluster's status.

use crds::Quantity as ApiQuantity;
use crds::cluster::{
    AllocatableModeling, ClusterSpec, NodeSummary, ResourceModel, ResourceSummary,
};

use super::requests::{Amounts, add};
use crate::quantity::Quantity;
use crate::snapshot::PODS;

/// What a member has and what its pods ask for, in sums.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Room {
    /// What the nodes offer together.
    pub allocatable: Amounts,
    /// What pods that have a node ask for, the pods counted as [`PODS`].
    pub allocated: Amounts,
    /// What pods that wait for a node ask for.
    pub allocating: Amounts,
    /// What is free on each node; needed only where the cluster defines resource models.
    pub free: Vec<Amounts>,
}

impl Room {
    /// Adds a node.
    pub fn add_node(&mut self, allocatable: &Amounts) {
        add(&mut self.allocatable, allocatable);
    }

    /// Adds `count` pods that ask for the same, on a node or waiting for one.
    pub fn add_pods(&mut self, requests: &Amounts, count: i64, on_node: bool) {
        let sum = if on_node {
            &mut self.allocated
        } else {
            &mut self.allocating
        };
        for (resource, amount) in requests {
            *sum.entry(resource.clone()).or_default() += *amount * count;
        }
        *sum.entry(PODS.to_owned()).or_default() += Quantity::from_units(count);
    }
}

/// The number of nodes, and of those that are ready.
pub fn node_summary(total: usize, ready: usize) -> NodeSummary {
    let count = |n: usize| Some(i32::try_from(n).unwrap_or(i32::MAX));
    NodeSummary {
        total_num: count(total),
        ready_num: count(ready),
    }
}

/// The sums in canonical form, and how many nodes of each of the cluster's resource models have room.
pub fn resource_summary(room: &Room, spec: &ClusterSpec) -> ResourceSummary {
    let amounts = |amounts: &Amounts| {
        amounts
            .iter()
            .map(|(resource, amount)| (resource.clone(), ApiQuantity::from(*amount)))
            .collect()
    };
    ResourceSummary {
        allocatable: amounts(&room.allocatable),
        allocated: amounts(&room.allocated),
        allocating: amounts(&room.allocating),
        allocatable_modelings: count_models(&spec.resource_models, &room.free),
    }
}

/// Each node counts once: for the highest grade whose every range it reaches. What is too small for any, the lowest takes in.
fn count_models(models: &[ResourceModel], nodes: &[Amounts]) -> Vec<AllocatableModeling> {
    let mut models: Vec<&ResourceModel> = models.iter().collect();
    models.sort_by_key(|model| model.grade);
    let mut counts = vec![0_i32; models.len()];
    for node in nodes {
        let grade = models.iter().rposition(|model| reaches(model, node));
        if let Some(count) = counts.get_mut(grade.unwrap_or(0)) {
            *count = count.saturating_add(1);
        }
    }
    models
        .iter()
        .zip(counts)
        .map(|(model, count)| AllocatableModeling {
            grade: model.grade,
            count,
        })
        .collect()
}

fn reaches(model: &ResourceModel, free: &Amounts) -> bool {
    model.ranges.iter().all(|range| {
        let free = free.get(&range.name).copied().unwrap_or_default();
        Quantity::try_from(&range.min).is_ok_and(|least| free >= least)
    })
}
