//! Pods on nodes: how many fit, and what is left when some are placed.

use std::borrow::Cow;

use super::room::Requests;
use crate::quantity::Quantity;
use crate::snapshot::NodeGroup;

/// Nodes in groups that have the same left, largest first.
#[derive(Clone, Debug)]
pub(super) struct Nodes<'a> {
    groups: Cow<'a, [NodeGroup]>,
}

impl<'a> Nodes<'a> {
    pub(super) fn new(groups: &'a [NodeGroup]) -> Self {
        Self {
            groups: Cow::Borrowed(groups),
        }
    }

    /// How many pods fit.
    pub(super) fn fits(&self, requests: &Requests) -> i64 {
        self.groups.iter().fold(0, |sum: i64, group| {
            sum.saturating_add(fits_on(group, requests).saturating_mul(group.count))
        })
    }

    /// Places pods as far as they fit, on the smallest nodes that they fit on; says how many were placed.
    pub(super) fn place(&mut self, requests: &Requests, count: i64) -> i64 {
        let mut rest = count;
        let mut index = self.groups.len();
        while index > 0 && rest > 0 {
            index -= 1;
            let group = &self.groups[index];
            let each = fits_on(group, requests);
            if each == 0 || group.count == 0 {
                continue;
            }
            let each = each.min(rest);
            let filled = group.count.min(rest / each);
            let partly = rest - filled * each;
            let mut split = Vec::with_capacity(3);
            let left = group.count - filled;
            if left > 0 && partly > 0 {
                split.push(with(group, left - 1, requests, 0));
                split.push(with(group, 1, requests, partly));
                rest = 0;
            } else {
                split.push(with(group, left, requests, 0));
                rest = partly;
            }
            split.push(with(group, filled, requests, each));
            split.retain(|group| group.count > 0);
            self.groups.to_mut().splice(index..=index, split);
        }
        count - rest
    }
}

/// How many pods fit on a node of the group, by the resources that it knows of.
fn fits_on(group: &NodeGroup, requests: &Requests) -> i64 {
    requests
        .iter()
        .filter_map(|(resource, amount)| group.free.get(resource)?.times(*amount))
        .min()
        .unwrap_or(i64::MAX)
}

/// So many nodes of the group with so many pods more on each.
fn with(group: &NodeGroup, count: i64, requests: &Requests, pods: i64) -> NodeGroup {
    let mut free = group.free.clone();
    if pods > 0 {
        for (resource, amount) in requests {
            if let Some(free) = free.get_mut(resource) {
                *free -= (*amount).max(Quantity::ZERO) * pods;
            }
        }
    }
    NodeGroup { free, count }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn group(count: i64, cpu: i64, memory: i64) -> NodeGroup {
        NodeGroup {
            free: [
                ("cpu".to_owned(), Quantity::from_units(cpu)),
                ("memory".to_owned(), Quantity::from_units(memory)),
            ]
            .into(),
            count,
        }
    }

    fn pod(cpu: i64, memory: i64) -> Vec<(String, Quantity)> {
        vec![
            ("cpu".to_owned(), Quantity::from_units(cpu)),
            ("memory".to_owned(), Quantity::from_units(memory)),
        ]
    }

    fn words(nodes: &Nodes<'_>) -> Vec<(i64, i64, i64)> {
        let units = |group: &NodeGroup, resource: &str| group.free[resource].value();
        nodes
            .groups
            .iter()
            .map(|group| (group.count, units(group, "cpu"), units(group, "memory")))
            .collect()
    }

    #[test]
    fn the_scarcest_resource_of_each_node_counts() {
        let groups = [group(2, 8, 3), group(3, 1, 9)];
        let nodes = Nodes::new(&groups);
        assert_eq!(nodes.fits(&pod(1, 1)), 2 * 3 + 3);
        assert_eq!(nodes.fits(&pod(2, 1)), 2 * 3);
        assert_eq!(nodes.fits(&pod(9, 1)), 0);
    }

    #[test]
    fn pods_go_to_the_smallest_nodes_and_split_a_group() {
        let groups = [group(2, 8, 8), group(3, 2, 2)];
        let mut nodes = Nodes::new(&groups);
        assert_eq!(nodes.place(&pod(1, 1), 3), 3);
        assert_eq!(words(&nodes), [(2, 8, 8), (1, 2, 2), (1, 1, 1), (1, 0, 0)]);
        assert_eq!(nodes.place(&pod(3, 3), 9), 4);
        assert_eq!(words(&nodes), [(2, 2, 2), (1, 2, 2), (1, 1, 1), (1, 0, 0)]);
    }

    proptest! {
        #[test]
        fn placing_takes_exactly_the_places_of_pods_of_the_same_size(
            groups in prop::collection::vec((0_i64..4, 0_i64..9, 0_i64..9), 0..4),
            cpu in 1_i64..4, memory in 0_i64..4, count in 0_i64..40,
        ) {
            let groups: Vec<_> = groups.into_iter().map(|(n, c, m)| group(n, c, m)).collect();
            let mut nodes = Nodes::new(&groups);
            let before = nodes.fits(&pod(cpu, memory));
            let placed = nodes.place(&pod(cpu, memory), count);
            prop_assert_eq!(placed, count.min(before));
            prop_assert_eq!(nodes.fits(&pod(cpu, memory)), before - placed);
            let number: i64 = nodes.groups.iter().map(|group| group.count).sum();
            prop_assert_eq!(number, groups.iter().map(|group| group.count).sum::<i64>());
        }
    }
}
