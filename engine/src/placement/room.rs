//! How much of a workload finds room in a cluster.
//!
//! Several [`Estimator`]s are asked, and the least of their opinions counts; having none is fine. If nobody has one, the cluster gets the
//! benefit of the doubt. Room is counted in units: replicas, or whole sets of components where a workload has several.
//!
//! Built in are [`Sums`], which sees the cluster as one large node, and [`ByNode`], which knows what is left on each. Estimators that have
//! to be asked over a network are asked before the decision, and come in as [`Estimates`].

use std::collections::BTreeMap;

use crds::Quantity as ApiQuantity;
use crds::work::{Component, ResourceBindingSpec, TargetCluster};

use super::assumed::{Assumed, Taken};
use super::estimates::Estimates;
use super::nodes::Nodes;
use super::request::Request;
use crate::quantity::Quantity;
use crate::snapshot::{ClusterView, PODS};
use crate::trace::reason::PlacementReason;
use crate::trace::{Subject, Trace, Verdict};

/// Amounts that a pod requests, by resource.
pub type Requests = [(String, Quantity)];

/// One of the components of a workload.
#[derive(Clone, Debug, PartialEq)]
pub struct ComponentNeed {
    /// Its name.
    pub name: String,
    /// How many replicas it has.
    pub replicas: i32,
    /// What each of them requests.
    pub requests: Vec<(String, Quantity)>,
}

/// What the workload of a binding needs room for, as exact amounts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Needs {
    /// What one replica requests.
    pub requests: Vec<(String, Quantity)>,
    /// The components, where the workload has several that stay together.
    pub components: Vec<ComponentNeed>,
    /// Replicas in all.
    pub replicas: Option<i32>,
}

impl Needs {
    /// What a binding says.
    pub fn of(spec: &ResourceBindingSpec) -> Self {
        let requirements = spec.replica_requirements.as_ref();
        let component = |component: &Component| ComponentNeed {
            name: component.name.clone(),
            replicas: component.replicas,
            requests: component
                .replica_requirements
                .as_ref()
                .map(|requirements| amounts(&requirements.resource_request))
                .unwrap_or_default(),
        };
        Self {
            requests: requirements
                .map(|requirements| amounts(&requirements.resource_request))
                .unwrap_or_default(),
            components: spec.components.iter().map(component).collect(),
            replicas: spec.replicas,
        }
    }

    /// The need for room that they make.
    pub fn need(&self) -> Need<'_> {
        if self.components.is_empty() {
            let wanted = i64::from(self.replicas.unwrap_or(0)).max(0);
            Need::replicas(&self.requests, wanted)
        } else {
            Need::set(&self.components)
        }
    }
}

/// Exact amounts; what cannot be read requests nothing (the API server refuses it anyway).
fn amounts(requests: &BTreeMap<String, ApiQuantity>) -> Vec<(String, Quantity)> {
    requests
        .iter()
        .filter_map(|(resource, amount)| Some((resource.clone(), Quantity::parse(&amount.0).ok()?)))
        .collect()
}

/// What a workload needs room for.
#[derive(Clone, Copy, Debug)]
pub struct Need<'a> {
    requests: &'a Requests,
    components: Option<&'a [ComponentNeed]>,
    wanted: i64,
}

/// What is known about room beside what the clusters say.
#[derive(Clone, Copy, Debug, Default)]
pub struct RoomHints<'a> {
    /// What was placed so lately that no report of a cluster contains it yet.
    pub assumed: Option<&'a Assumed>,
    /// Answers of estimators that were asked before the decision.
    pub estimates: Option<&'a Estimates>,
}

/// Somebody who can tell how much of a workload finds room in a cluster.
pub trait Estimator {
    /// How many units find room beside what was taken since the cluster's report; `None` for no opinion.
    fn estimate(
        &self,
        need: &Need<'_>,
        cluster: &ClusterView,
        taken: Option<&Taken>,
    ) -> Option<i64>;
}

/// Sees the cluster as one large node: what is allocatable, less what pods have or wait for.
#[derive(Clone, Copy, Debug)]
pub struct Sums;

/// Looks at what is certainly left on each node, so that what fits on none has no room, however much is left in all.
#[derive(Clone, Copy, Debug)]
pub struct ByNode;

impl<'a> Need<'a> {
    /// Room for replicas that request this much each.
    pub fn replicas(requests: &'a Requests, wanted: i64) -> Self {
        Self {
            requests,
            components: None,
            wanted,
        }
    }

    /// Room for one set of components.
    pub fn set(components: &'a [ComponentNeed]) -> Self {
        Self {
            requests: &[],
            components: Some(components),
            wanted: 1,
        }
    }

    /// What a request needs room for.
    pub fn of(request: &Request<'a>) -> Self {
        if request.components.is_empty() {
            let wanted = i64::from(request.replicas.unwrap_or(0)).max(0);
            Self::replicas(request.requests, wanted)
        } else {
            Self::set(request.components)
        }
    }

    /// Whether there is nothing to find room for.
    fn is_nothing(&self) -> bool {
        self.wanted == 0 || self.pods().all(|(count, _)| count == 0)
    }

    /// How many units are wanted; more room than that is of no interest.
    pub fn wanted(&self) -> i64 {
        self.wanted
    }

    /// What one replica requests; `None` for a workload of components.
    pub(super) fn of_replica(&self) -> Option<&'a Requests> {
        self.components.is_none().then_some(self.requests)
    }

    /// What one replica of a component requests.
    pub(super) fn of_component(&self, name: &str) -> Option<&'a Requests> {
        let mut components = self.components?.iter();
        let component = components.find(|component| component.name == name)?;
        Some(&component.requests)
    }

    /// The pods of one unit: how many, and what each requests.
    pub fn pods(&self) -> impl Iterator<Item = (i64, &'a Requests)> + use<'a> {
        let single = self.of_replica().map(|requests| (1, requests));
        let components = self.components.into_iter().flatten().map(|component| {
            let replicas = i64::from(component.replicas).max(0);
            (replicas, component.requests.as_slice())
        });
        single.into_iter().chain(components)
    }
}

/// What components have to grow by, where they run already.
fn growth(components: &[ComponentNeed], target: &TargetCluster) -> Vec<ComponentNeed> {
    let running = |name: &str| {
        let component = target.components.iter().find(|one| one.name == name);
        component.map_or(0, |component| component.replicas)
    };
    components
        .iter()
        .map(|component| ComponentNeed {
            replicas: component.replicas - running(&component.name),
            ..component.clone()
        })
        .filter(|component| component.replicas > 0)
        .collect()
}

/// Room for so many more units, no more than are wanted. A set of components that runs in the cluster needs room only to grow.
pub(super) fn room(request: &Request<'_>, view: &ClusterView, trace: &mut Trace) -> i64 {
    let more;
    let need = match request.target(&view.name) {
        Some(target) if !request.components.is_empty() => {
            more = growth(request.components, target);
            Need::set(&more)
        }
        _ => Need::of(request),
    };
    if need.is_nothing() {
        return need.wanted;
    }
    let RoomHints { assumed, estimates } = request.room;
    if let Some(estimates) = estimates {
        for (estimator, because) in estimates.silent(&view.name) {
            trace.push(
                Subject::Cluster(view.name.clone()),
                Verdict::Unknown(
                    PlacementReason::EstimatorSilent {
                        estimator: estimator.to_string(),
                        because: because.clone(),
                    }
                    .into(),
                ),
            );
        }
    }
    let taken = assumed.and_then(|assumed| assumed.in_cluster(&view.name));
    let remote = estimates.map(|estimates| estimates as &dyn Estimator);
    let built_in: [&dyn Estimator; 2] = [&Sums, &ByNode];
    built_in
        .into_iter()
        .chain(remote)
        .filter_map(|estimator| estimator.estimate(&need, view, taken))
        .min()
        .unwrap_or(need.wanted)
        .clamp(0, need.wanted)
}

impl Estimator for Sums {
    /// A requested resource that the cluster does not list has no room.
    fn estimate(
        &self,
        need: &Need<'_>,
        cluster: &ClusterView,
        taken: Option<&Taken>,
    ) -> Option<i64> {
        let room = cluster.room.as_ref()?;
        let left = |resource: &str| {
            let free = room.free.get(resource).copied();
            let taken = taken.map_or(Quantity::ZERO, |taken| taken.sum(resource));
            free.map(|free| free - taken)
        };
        let pods: i64 = need.pods().map(|(count, _)| count).sum();
        let by_pods = left(PODS).and_then(|free| free.times(Quantity::from_units(pods)));
        let by_resource = need
            .pods()
            .flat_map(|(_, requests)| requests)
            .map(|(resource, _)| resource.as_str())
            .filter(|resource| *resource != PODS)
            .filter_map(|resource| {
                let of_unit = of_unit(need, resource);
                left(resource).unwrap_or(Quantity::ZERO).times(of_unit)
            })
            .min();
        [by_pods, by_resource].into_iter().flatten().min()
    }
}

/// What one unit requests of a resource.
fn of_unit(need: &Need<'_>, resource: &str) -> Quantity {
    need.pods()
        .flat_map(|(count, requests)| requests.iter().map(move |request| (count, request)))
        .filter(|(_, (name, amount))| name == resource && !amount.is_negative())
        .fold(Quantity::ZERO, |sum, (count, (_, amount))| {
            sum + *amount * count
        })
}

impl Estimator for ByNode {
    /// Resources that nothing is known about node by node do not count here.
    fn estimate(
        &self,
        need: &Need<'_>,
        cluster: &ClusterView,
        taken: Option<&Taken>,
    ) -> Option<i64> {
        let groups = &cluster.room.as_ref()?.nodes;
        let known = |requests: &Requests| {
            requests.iter().any(|(resource, amount)| {
                *amount > Quantity::ZERO && groups.iter().any(|g| g.free.contains_key(resource))
            })
        };
        if !need.pods().any(|(_, requests)| known(requests)) {
            return None;
        }
        let mut nodes = Nodes::new(groups);
        if let Some(taken) = taken {
            for (requests, count) in taken.pods() {
                // What fits on no node as far as we know takes nothing from any.
                nodes.place(requests, count);
            }
        }
        if let Some(requests) = need.of_replica() {
            return Some(nodes.fits(requests));
        }
        let all_placed = |nodes: &mut Nodes<'_>| {
            need.pods()
                .filter(|(_, requests)| known(requests))
                .all(|(count, requests)| nodes.place(requests, count) == count)
        };
        let mut sets = 0;
        while sets < need.wanted && all_placed(&mut nodes) {
            sets += 1;
        }
        Some(sets)
    }
}

#[cfg(test)]
#[path = "room_tests.rs"]
mod tests;
