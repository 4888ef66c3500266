//! What was placed so lately that no report of a cluster contains it yet.
//!
//! A cluster tells what its pods ask for; between a decision and the next report stand the writes, the way to the member, and the member's
//! own controllers. Whoever decides in that time counts the same room again, so what was decided is taken from the room at once:
//!
//! - a decision adds what it places in a cluster beyond what was there, and a failed write takes that back;
//! - when the copy is reported as running, its pods are there, so the next report of the cluster contains them: then it is dropped. A
//!   cluster that has nothing new to report for [`PATIENCE`] has the pods in its last report.
//!
//! Nothing of this is stored. After a restart, what bindings place but no member reports as running is assumed again; all else was in the
//! reports before, and counts once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crds::work::{AggregatedStatusItem, TargetCluster};
use jiff::{SignedDuration, Timestamp};

use super::room::{Need, Requests};
use crate::quantity::Quantity;
use crate::snapshot::{Name, PODS};

/// How long a cluster may take to report what runs in it. Reports are folded to one a minute, after ten seconds of changes.
pub const PATIENCE: SignedDuration = SignedDuration::from_secs(90);

/// Namespace and name of a binding; the namespace is empty for one of cluster scope.
pub type BindingName = (Name, Name);

/// What was placed lately, by cluster.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Assumed {
    clusters: BTreeMap<Name, InCluster>,
    /// Bindings that were seen, with the clusters where something of them is assumed.
    bindings: BTreeMap<BindingName, BTreeSet<Name>>,
    /// What is running and waits for the report of its cluster, oldest first.
    running: BTreeSet<(Timestamp, Name, BindingName)>,
}

/// What is assumed in one cluster.
#[derive(Clone, Debug, Default, PartialEq)]
struct InCluster {
    claims: BTreeMap<BindingName, Claim>,
    taken: Taken,
}

/// What is assumed of one binding in one cluster.
#[derive(Clone, Debug, Default, PartialEq)]
struct Claim {
    pods: Pods,
    /// Since when it is reported as running.
    running: Option<Timestamp>,
}

/// Pods by what each requests.
type Pods = BTreeMap<Arc<Requests>, i64>;

/// What is taken from the room of a cluster.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Taken {
    pods: Pods,
    sums: BTreeMap<String, Quantity>,
}

/// What was assumed of a binding before a decision.
#[derive(Clone, Debug, PartialEq)]
#[must_use = "a write that fails has to be taken back"]
pub struct Before {
    binding: BindingName,
    claims: Vec<(Name, Claim)>,
}

impl Taken {
    /// How much of a resource.
    pub fn sum(&self, resource: &str) -> Quantity {
        self.sums.get(resource).copied().unwrap_or(Quantity::ZERO)
    }

    /// The pods: what each requests, and how many.
    pub fn pods(&self) -> impl Iterator<Item = (&Requests, i64)> {
        self.pods
            .iter()
            .map(|(requests, count)| (&**requests, *count))
    }

    /// Takes more, or gives back.
    fn change(&mut self, pods: &Pods, sign: i64) {
        for (requests, count) in pods {
            let count = count * sign;
            let pods = self.pods.entry(Arc::clone(requests)).or_default();
            *pods += count;
            if *pods == 0 {
                self.pods.remove(requests);
            }
            for (resource, amount) in requests.iter().filter(|(name, _)| name != PODS) {
                self.add(resource, *amount * count);
            }
            self.add(PODS, Quantity::from_units(count));
        }
    }

    fn add(&mut self, resource: &str, amount: Quantity) {
        let sum = self.sum(resource) + amount;
        if sum.is_zero() {
            self.sums.remove(resource);
        } else {
            self.sums.insert(resource.to_owned(), sum);
        }
    }
}

impl Assumed {
    /// What is taken from a cluster; `None` if nothing is.
    pub fn in_cluster(&self, cluster: &str) -> Option<&Taken> {
        self.clusters.get(cluster).map(|one| &one.taken)
    }

    /// A decision moves a binding from the clusters before to those after.
    ///
    /// What a cluster gets beyond what it had is assumed on top of what is assumed already; what it loses is assumed no longer.
    pub fn decide(
        &mut self,
        binding: &BindingName,
        need: &Need<'_>,
        before: &[TargetCluster],
        after: &[TargetCluster],
    ) -> Before {
        let present = self.claims(binding);
        let undo = Before {
            binding: binding.clone(),
            claims: present.clone(),
        };
        self.bindings.entry(binding.clone()).or_default();
        let mut present: BTreeMap<Name, Claim> = present.into_iter().collect();
        for target in after {
            let cluster = Name::from(&target.name);
            let old = before.iter().find(|old| old.name == target.name);
            let had = old.map(|old| pods(need, old)).unwrap_or_default();
            let claim = present.remove(&cluster).unwrap_or_default();
            let mut pods = pods(need, target);
            let mut more = false;
            for (requests, count) in &mut pods {
                let added = *count - had.get(requests).copied().unwrap_or(0);
                more |= added > 0;
                let claimed = claim.pods.get(requests).copied().unwrap_or(0);
                *count = (claimed + added).max(0);
            }
            let running = claim.running.filter(|_| !more);
            self.set(binding, &cluster, Claim { pods, running });
        }
        for cluster in present.into_keys() {
            self.set(binding, &cluster, Claim::default());
        }
        undo
    }

    /// The write of a decision failed: what was assumed before is assumed again.
    pub fn undo(&mut self, before: Before) {
        let Before { binding, claims } = before;
        for (cluster, _) in self.claims(&binding) {
            self.set(&binding, &cluster, Claim::default());
        }
        for (cluster, claim) in claims {
            self.set(&binding, &cluster, claim);
        }
    }

    /// A binding says where it is placed, and what members report of it.
    pub fn observe(
        &mut self,
        binding: &BindingName,
        need: &Need<'_>,
        clusters: &[TargetCluster],
        reports: &[AggregatedStatusItem],
        now: Timestamp,
    ) {
        let runs = |target: &TargetCluster| {
            let report = reports.iter().find(|one| one.cluster_name == target.name);
            report.is_some_and(|report| is_running(target, report))
        };
        if !self.bindings.contains_key(binding) {
            let waiting: Vec<_> = clusters.iter().filter(|one| !runs(one)).cloned().collect();
            let _ = self.decide(binding, need, &[], &waiting);
            return;
        }
        for target in clusters.iter().filter(|target| runs(target)) {
            let cluster = Name::from(&target.name);
            let claim = self.clusters.get(&cluster);
            let claim = claim.and_then(|one| one.claims.get(binding));
            if let Some(claim) = claim.filter(|claim| claim.running.is_none()) {
                let running = Claim {
                    running: Some(now),
                    ..claim.clone()
                };
                self.set(binding, &cluster, running);
            }
        }
    }

    /// A binding is gone.
    pub fn forget(&mut self, binding: &BindingName) {
        for (cluster, _) in self.claims(binding) {
            self.set(binding, &cluster, Claim::default());
        }
        self.bindings.remove(binding);
    }

    /// A cluster has reported anew what is free in it: what was running before is in the report.
    pub fn cluster_reported(&mut self, cluster: &Name) {
        let claims = self.clusters.get(cluster).into_iter();
        let done: Vec<BindingName> = claims
            .flat_map(|one| &one.claims)
            .filter(|(_, claim)| claim.running.is_some())
            .map(|(binding, _)| binding.clone())
            .collect();
        for binding in done {
            self.set(&binding, cluster, Claim::default());
        }
    }

    /// Drops what has been running for so long that the cluster would have told if its last report did not contain it.
    pub fn expire(&mut self, now: Timestamp) {
        while let Some((since, cluster, binding)) = self.running.first().cloned() {
            if now.duration_since(since) < PATIENCE {
                return;
            }
            self.set(&binding, &cluster, Claim::default());
        }
    }

    fn claims(&self, binding: &BindingName) -> Vec<(Name, Claim)> {
        let clusters = self.bindings.get(binding).into_iter().flatten();
        clusters
            .filter_map(|cluster| {
                let claim = self.clusters.get(cluster)?.claims.get(binding)?;
                Some((cluster.clone(), claim.clone()))
            })
            .collect()
    }

    /// Replaces what is assumed of a binding in a cluster; a claim of nothing is none.
    fn set(&mut self, binding: &BindingName, cluster: &Name, mut claim: Claim) {
        claim.pods.retain(|_, count| *count > 0);
        let since = |claim: &Claim| Some((claim.running?, cluster.clone(), binding.clone()));
        let one = self.clusters.entry(cluster.clone()).or_default();
        if let Some(old) = one.claims.remove(binding) {
            one.taken.change(&old.pods, -1);
            if let Some(entry) = since(&old) {
                self.running.remove(&entry);
            }
        }
        let clusters = self.bindings.entry(binding.clone()).or_default();
        if claim.pods.is_empty() {
            clusters.remove(cluster);
        } else {
            clusters.insert(cluster.clone());
            self.running.extend(since(&claim));
            one.taken.change(&claim.pods, 1);
            one.claims.insert(binding.clone(), claim);
        }
        if one.claims.is_empty() {
            self.clusters.remove(cluster);
        }
    }
}

/// The pods that a target stands for.
fn pods(need: &Need<'_>, target: &TargetCluster) -> Pods {
    let mut pods = Pods::new();
    let mut add = |requests: &Requests, count: i32| {
        *pods.entry(Arc::from(requests)).or_default() += i64::from(count.max(0));
    };
    if let Some(requests) = need.of_replica() {
        add(requests, target.replicas.unwrap_or(0));
    }
    for component in &target.components {
        if let Some(requests) = need.of_component(&component.name) {
            add(requests, component.replicas);
        }
    }
    pods
}

/// Whether the pods of a copy exist: it was applied, and its status, if it counts replicas, counts all of them.
fn is_running(target: &TargetCluster, report: &AggregatedStatusItem) -> bool {
    let counted = report
        .status
        .as_ref()
        .and_then(|status| status.get("replicas"));
    let missing = counted
        .and_then(serde_json::Value::as_i64)
        .is_some_and(|count| count < i64::from(target.replicas.unwrap_or(0)));
    report.applied == Some(true) && !missing
}

#[cfg(test)]
#[path = "assumed_tests.rs"]
mod tests;
