//! Member clusters.

use std::sync::Arc;

use crds::cluster::{Cluster, ClusterSyncMode};
use engine::snapshot::ClusterView;
use kit::members::Access;

/// A member cluster.
#[derive(Debug, PartialEq)]
pub(crate) struct ClusterSeen {
    pub(crate) view: Arc<ClusterView>,
    pub(crate) access: Access,
    /// Whether its copies are brought to it from here, rather than fetched by an agent.
    pub(crate) pushed: bool,
}

impl ClusterSeen {
    pub(crate) fn of(cluster: &Cluster) -> Self {
        let mut view = ClusterView::from(cluster);
        // It changes all the time and nothing here depends on it.
        view.room = None;
        Self {
            view: Arc::new(view),
            access: Access::of(cluster),
            pushed: cluster.spec.sync_mode == ClusterSyncMode::Push,
        }
    }
}
