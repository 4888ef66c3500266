//! A member cluster as decisions see it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crds::cluster::{Cluster, ResourceSummary};
use crds::{Taint, conditions, taints};

use super::Name;
use crate::quantity::Quantity;

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
                .map(Room::from),
        }
    }
}

/// What is free in a cluster: allocatable, less what is allocated or about to be.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Room {
    free: BTreeMap<String, Quantity>,
}

/// The resource that counts pods.
const PODS: &str = "pods";

impl Room {
    /// Free amounts by resource.
    pub fn new(free: impl IntoIterator<Item = (String, Quantity)>) -> Self {
        Self {
            free: free.into_iter().collect(),
        }
    }

    /// How many replicas find room, each of which is a pod and requests these resources; `None` if nothing limits them.
    ///
    /// A requested resource that the cluster does not list has no room.
    pub fn replicas<'a>(
        &self,
        requests: impl IntoIterator<Item = (&'a str, Quantity)>,
    ) -> Option<i64> {
        let pods = self.free.get(PODS).map(|free| free.value().max(0));
        let by_request = requests
            .into_iter()
            .filter(|(resource, _)| *resource != PODS)
            .filter_map(|(resource, amount)| {
                if amount.is_zero() || amount.is_negative() {
                    return None;
                }
                let free = self.free.get(resource).copied().unwrap_or(Quantity::ZERO);
                free.times(amount)
            })
            .min();
        [pods, by_request].into_iter().flatten().min()
    }
}

impl From<&ResourceSummary> for Room {
    fn from(summary: &ResourceSummary) -> Self {
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
        Self { free }
    }
}

#[cfg(test)]
mod tests {
    use crds::Quantity as ApiQuantity;

    use super::*;

    fn amounts(pairs: &[(&str, &str)]) -> BTreeMap<String, ApiQuantity> {
        pairs
            .iter()
            .map(|(k, v)| ((*k).to_owned(), ApiQuantity((*v).to_owned())))
            .collect()
    }

    fn room() -> Room {
        Room::from(&ResourceSummary {
            allocatable: amounts(&[("cpu", "4"), ("memory", "8Gi"), ("pods", "20")]),
            allocated: amounts(&[("cpu", "1"), ("memory", "2Gi"), ("pods", "5")]),
            allocating: amounts(&[("cpu", "500m"), ("pods", "1")]),
            ..ResourceSummary::default()
        })
    }

    fn replicas(requests: &[(&str, &str)]) -> Option<i64> {
        room().replicas(
            requests
                .iter()
                .map(|(resource, amount)| (*resource, Quantity::parse(amount).unwrap())),
        )
    }

    #[test]
    fn room_is_what_is_neither_allocated_nor_about_to_be() {
        assert_eq!(replicas(&[("cpu", "500m")]), Some(5));
        assert_eq!(replicas(&[("memory", "1Gi")]), Some(6));
        assert_eq!(replicas(&[("cpu", "500m"), ("memory", "2Gi")]), Some(3));
    }

    #[test]
    fn pods_limit_replicas_that_request_nothing() {
        assert_eq!(replicas(&[]), Some(14));
        assert_eq!(replicas(&[("cpu", "0")]), Some(14));
    }

    #[test]
    fn a_resource_the_cluster_does_not_have_has_no_room() {
        assert_eq!(replicas(&[("example.com/gpu", "1")]), Some(0));
    }

    #[test]
    fn an_overcommitted_cluster_has_no_room_rather_than_less_than_none() {
        let over = Room::new([("cpu".to_owned(), Quantity::parse("-1").unwrap())]);
        assert_eq!(over.replicas([("cpu", Quantity::from_units(1))]), Some(0));
    }

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
