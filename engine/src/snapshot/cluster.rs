//! A member cluster as decisions see it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crds::cluster::Cluster;
use crds::{Taint, conditions, taints};

use super::{Name, Room};

/// All member clusters by name.
pub type Fleet = BTreeMap<Name, Arc<ClusterView>>;

/// A member cluster, reduced to what decisions look at. Two equal views lead to equal decisions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClusterView {
    /// Its name.
    pub name: Name,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Its provider; empty if unknown.
    pub provider: String,
    /// Its region; empty if unknown.
    pub region: String,
    /// Its zones.
    pub zones: Vec<String>,
    /// Its taints as they are written in the object.
    pub taints: Vec<Taint>,
    /// What its `Ready` condition says.
    pub ready: Readiness,
    /// Whether it is being deleted.
    pub deleting: bool,
    /// The kinds it serves, by apiVersion.
    pub kinds: BTreeMap<String, BTreeSet<String>>,
    /// Whether `kinds` is everything it serves. If not, a missing kind may well be served.
    pub kinds_complete: bool,
    /// What is free in it; `None` if it has not said so yet.
    pub room: Option<Room>,
}

/// What a cluster's `Ready` condition says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Readiness {
    /// True.
    Ready,
    /// False, or not reported yet.
    #[default]
    NotReady,
    /// Unknown: the cluster does not answer.
    Unreachable,
}

impl ClusterView {
    /// Its taints, and the one that its readiness implies where nobody has written it into the object yet.
    ///
    /// Who places by taints alone would otherwise place on a cluster in the moment between its failure and its taint.
    pub fn effective_taints(&self) -> impl Iterator<Item = Taint> + '_ {
        let implied = match self.ready {
            Readiness::Ready => None,
            Readiness::NotReady => Some(taints::NOT_READY),
            Readiness::Unreachable => Some(taints::UNREACHABLE),
        };
        let missing = implied.filter(|key| self.taints.iter().all(|taint| taint.key != *key));
        self.taints.iter().cloned().chain(missing.map(|key| Taint {
            key: key.to_owned(),
            effect: taints::NO_SCHEDULE.to_owned(),
            ..Taint::default()
        }))
    }

    /// Whether it serves a kind; `None` if it cannot be told.
    pub fn serves(&self, api_version: &str, kind: &str) -> Option<bool> {
        let listed = self
            .kinds
            .get(api_version)
            .is_some_and(|kinds| kinds.contains(kind));
        match (listed, self.kinds_complete) {
            (true, _) => Some(true),
            (false, true) => Some(false),
            (false, false) => None,
        }
    }
}

impl From<&Cluster> for ClusterView {
    fn from(cluster: &Cluster) -> Self {
        let meta = &cluster.metadata;
        let status = cluster.status.as_ref();
        let condition = |kind: &str| {
            status
                .into_iter()
                .flat_map(|status| &status.conditions)
                .find(|condition| condition.type_ == kind)
                .map(|condition| condition.status.as_str())
        };
        let mut kinds: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for api in status.into_iter().flat_map(|s| &s.api_enablements) {
            kinds
                .entry(api.group_version.clone())
                .or_default()
                .extend(api.resources.iter().map(|resource| resource.kind.clone()));
        }
        Self {
            name: meta.name.as_deref().unwrap_or_default().into(),
            labels: meta.labels.clone().unwrap_or_default(),
            provider: cluster.spec.provider.clone().unwrap_or_default(),
            region: cluster.spec.region.clone().unwrap_or_default(),
            zones: cluster.spec.zones().map(str::to_owned).collect(),
            taints: cluster.spec.taints.clone(),
            ready: match condition(conditions::READY) {
                Some(conditions::TRUE) => Readiness::Ready,
                Some(conditions::UNKNOWN) => Readiness::Unreachable,
                _ => Readiness::NotReady,
            },
            deleting: meta.deletion_timestamp.is_some(),
            // Objects of an older installation list their kinds without the condition.
            kinds_complete: match condition(conditions::COMPLETE_API_ENABLEMENTS) {
                Some(status) => status == conditions::TRUE,
                None => !kinds.is_empty(),
            },
            kinds,
            room: status
                .and_then(|status| status.resource_summary.as_ref())
                .map(|summary| Room::of(summary, &cluster.spec.resource_models)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_cluster_counts_as_tainted_before_anybody_has_written_the_taint() {
        let mut view = ClusterView {
            ready: Readiness::Unreachable,
            ..ClusterView::default()
        };
        let keys = |view: &ClusterView| -> Vec<String> {
            view.effective_taints().map(|taint| taint.key).collect()
        };
        assert_eq!(keys(&view), [taints::UNREACHABLE]);
        view.taints = vec![Taint {
            key: taints::UNREACHABLE.into(),
            effect: taints::NO_EXECUTE.into(),
            ..Taint::default()
        }];
        assert_eq!(keys(&view), [taints::UNREACHABLE], "once, not twice");
        view.ready = Readiness::Ready;
        view.taints.clear();
        assert!(keys(&view).is_empty());
    }

    #[test]
    fn an_incomplete_list_of_kinds_rules_nothing_out() {
        let mut view = ClusterView::default();
        assert_eq!(view.serves("apps/v1", "Deployment"), None);
        view.kinds
            .insert("apps/v1".into(), ["Deployment".to_owned()].into());
        assert_eq!(view.serves("apps/v1", "Deployment"), Some(true));
        assert_eq!(view.serves("apps/v1", "StatefulSet"), None);
        view.kinds_complete = true;
        assert_eq!(view.serves("apps/v1", "StatefulSet"), Some(false));
    }
}
