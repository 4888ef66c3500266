//! Which bindings a cluster may concern: by the placement they share, and by where they run.
//!
//! Thousands of bindings share a few placements, so a change of a cluster is checked against placements, not against bindings.

use std::collections::{BTreeMap, BTreeSet};

use crds::policy::{ClusterAffinity, Placement};
use crds::work::ResourceBindingSpec;
use engine::placement::affinity::check_affinity;
use engine::snapshot::{ClusterView, Name};

use crate::key::TemplateKey;

/// Bindings by placement and by target cluster.
#[derive(Debug, Default)]
pub(super) struct Placements {
    shared: Vec<Shared>,
    by_key: BTreeMap<TemplateKey, Vec<Name>>,
    by_cluster: BTreeMap<Name, BTreeSet<TemplateKey>>,
}

#[derive(Debug)]
struct Shared {
    placement: Placement,
    keys: BTreeSet<TemplateKey>,
}

impl Placements {
    /// A binding has this placement and these clusters now.
    pub(super) fn put(&mut self, key: &TemplateKey, spec: &ResourceBindingSpec) {
        self.remove(key);
        let Some(placement) = &spec.placement else {
            return;
        };
        match self.shared.iter_mut().find(|s| s.placement == *placement) {
            Some(shared) => {
                shared.keys.insert(key.clone());
            }
            None => self.shared.push(Shared {
                placement: placement.clone(),
                keys: BTreeSet::from([key.clone()]),
            }),
        }
        let clusters: Vec<Name> = spec.clusters.iter().map(|c| Name::from(&c.name)).collect();
        for cluster in &clusters {
            self.by_cluster
                .entry(cluster.clone())
                .or_default()
                .insert(key.clone());
        }
        self.by_key.insert(key.clone(), clusters);
    }

    /// A binding is gone.
    pub(super) fn remove(&mut self, key: &TemplateKey) {
        let Some(clusters) = self.by_key.remove(key) else {
            return;
        };
        for cluster in clusters {
            if let Some(keys) = self.by_cluster.get_mut(&cluster) {
                keys.remove(key);
                if keys.is_empty() {
                    self.by_cluster.remove(&cluster);
                }
            }
        }
        for shared in &mut self.shared {
            shared.keys.remove(key);
        }
        self.shared.retain(|shared| !shared.keys.is_empty());
    }

    /// Bindings that run in a cluster.
    pub(super) fn placed_in(&self, cluster: &str) -> impl Iterator<Item = TemplateKey> + '_ {
        self.by_cluster.get(cluster).into_iter().flatten().cloned()
    }

    /// Bindings whose placement means one of these clusters.
    pub(super) fn meaning(&self, clusters: &[&ClusterView]) -> BTreeSet<TemplateKey> {
        self.shared
            .iter()
            .filter(|shared| clusters.iter().any(|c| means(&shared.placement, c)))
            .flat_map(|shared| &shared.keys)
            .cloned()
            .collect()
    }
}

/// Whether any affinity of a placement selects the cluster, or names it: a name without a cluster is told in the condition, too.
fn means(placement: &Placement, cluster: &ClusterView) -> bool {
    let selects = |affinity: &ClusterAffinity| {
        check_affinity(affinity, cluster).is_ok()
            || affinity
                .cluster_names
                .iter()
                .any(|name| cluster.name == name.as_str())
    };
    if placement.cluster_affinities.is_empty() {
        return placement.cluster_affinity.as_ref().is_none_or(selects);
    }
    placement.cluster_affinities.iter().any(|term| {
        selects(&term.affinity)
            || term
                .overflow_affinities
                .iter()
                .any(|overflow| selects(&overflow.affinity))
    })
}
