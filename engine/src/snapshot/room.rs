//! What is free in a member cluster: in sums, and node by node as far as it says so.

use std::collections::BTreeMap;

use crds::cluster::{ResourceModel, ResourceSummary};

use crate::quantity::Quantity;

/// The resource that counts pods.
pub const PODS: &str = "pods";

/// What is free in a cluster: allocatable, less what is allocated or about to be.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Room {
    /// In all nodes together.
    pub free: BTreeMap<String, Quantity>,
    /// In each node, in groups of nodes; empty if the cluster does not say.
    pub nodes: Vec<NodeGroup>,
}

/// Nodes that have the same left.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeGroup {
    /// What is certainly free on each of them. What is not listed is not known.
    pub free: BTreeMap<String, Quantity>,
    /// How many there are.
    pub count: i64,
}

impl Room {
    /// Free amounts by resource, of nodes that nothing is known about.
    pub fn new(free: impl IntoIterator<Item = (String, Quantity)>) -> Self {
        Self {
            free: free.into_iter().collect(),
            nodes: Vec::new(),
        }
    }

    /// What a cluster's status says of it. Nodes are known by their grades, and only if the models are the ones they were counted by.
    pub fn of(summary: &ResourceSummary, models: &[ResourceModel]) -> Self {
        let amount = |text: &str| Quantity::parse(text).ok();
        let mut free: BTreeMap<String, Quantity> = summary
            .allocatable
            .iter()
            .filter_map(|(resource, total)| Some((resource.clone(), amount(&total.0)?)))
            .collect();
        for used in [&summary.allocated, &summary.allocating] {
            for (resource, part) in used {
                if let (Some(rest), Some(part)) = (free.get_mut(resource), amount(&part.0)) {
                    *rest -= part;
                }
            }
        }
        Self {
            free,
            nodes: graded(summary, models).unwrap_or_default(),
        }
    }
}

/// The nodes by grade, largest first; `None` if some were counted by other models.
///
/// A node of a grade has at least the lower end of each of its ranges. The lowest grade takes in all that is smaller, so nothing is
/// certain there.
fn graded(summary: &ResourceSummary, models: &[ResourceModel]) -> Option<Vec<NodeGroup>> {
    let lowest = models.iter().map(|model| model.grade).min();
    let mut counted: Vec<_> = summary.allocatable_modelings.iter().collect();
    counted.sort_by_key(|one| std::cmp::Reverse(one.grade));
    let group = |one: &&crds::cluster::AllocatableModeling| {
        let model = models.iter().find(|model| model.grade == one.grade)?;
        let least = |text: &str| {
            if Some(one.grade) == lowest {
                Some(Quantity::ZERO)
            } else {
                Quantity::parse(text).ok()
            }
        };
        let free = model
            .ranges
            .iter()
            .map(|range| Some((range.name.clone(), least(&range.min.0)?)))
            .collect::<Option<_>>()?;
        Some(NodeGroup {
            free,
            count: i64::from(one.count).max(0),
        })
    };
    (counted.len() == models.len())
        .then(|| counted.iter().map(group).collect())
        .flatten()
}

#[cfg(test)]
mod tests {
    use crds::Quantity as ApiQuantity;
    use crds::cluster::{AllocatableModeling, ResourceModelRange};

    use super::*;

    fn amounts(pairs: &[(&str, &str)]) -> BTreeMap<String, ApiQuantity> {
        pairs
            .iter()
            .map(|(k, v)| ((*k).to_owned(), ApiQuantity((*v).to_owned())))
            .collect()
    }

    fn models(ranges: &[(i32, &str, &str)]) -> Vec<ResourceModel> {
        ranges
            .iter()
            .map(|(grade, min, max)| ResourceModel {
                grade: *grade,
                ranges: vec![ResourceModelRange {
                    name: "cpu".into(),
                    min: ApiQuantity((*min).to_owned()),
                    max: ApiQuantity((*max).to_owned()),
                }],
            })
            .collect()
    }

    fn counted(counts: &[(i32, i32)]) -> ResourceSummary {
        ResourceSummary {
            allocatable_modelings: counts
                .iter()
                .map(|(grade, count)| AllocatableModeling {
                    grade: *grade,
                    count: *count,
                })
                .collect(),
            ..ResourceSummary::default()
        }
    }

    #[test]
    fn room_is_what_is_neither_allocated_nor_about_to_be() {
        let room = Room::of(
            &ResourceSummary {
                allocatable: amounts(&[("cpu", "4"), ("memory", "8Gi"), ("pods", "20")]),
                allocated: amounts(&[("cpu", "1"), ("memory", "2Gi"), ("pods", "5")]),
                allocating: amounts(&[("cpu", "500m"), ("pods", "1")]),
                ..ResourceSummary::default()
            },
            &[],
        );
        let free: Vec<_> = room
            .free
            .iter()
            .map(|(resource, free)| format!("{resource}={free}"))
            .collect();
        assert_eq!(free, ["cpu=2500m", "memory=6Gi", "pods=14"]);
        assert_eq!(room.nodes, []);
    }

    #[test]
    fn nodes_have_at_least_the_lower_end_of_their_grade() {
        let models = models(&[(2, "4", "8"), (0, "1", "2"), (1, "2", "4")]);
        let room = Room::of(&counted(&[(0, 3), (1, 0), (2, 5)]), &models);
        let nodes: Vec<_> = room
            .nodes
            .iter()
            .map(|group| (group.count, group.free["cpu"].to_string()))
            .collect();
        assert_eq!(
            nodes,
            [
                (5, "4".to_owned()),
                (0, "2".to_owned()),
                (3, "0".to_owned())
            ]
        );
    }

    #[test]
    fn nodes_counted_by_other_models_are_not_known() {
        let models = models(&[(0, "0", "2"), (1, "2", "4")]);
        for counts in [&[(0, 3)][..], &[(0, 3), (7, 1)], &[]] {
            assert_eq!(Room::of(&counted(counts), &models).nodes, []);
        }
    }
}
