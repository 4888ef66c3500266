//! What a pod asks of its node.

use std::collections::BTreeMap;

use crate::quantity::Quantity;

/// Amounts by resource name.
pub type Amounts = BTreeMap<String, Quantity>;

/// The parts of a pod that ask for resources.
#[derive(Clone, Copy, Debug, Default)]
pub struct PodParts<'a> {
    /// Requests of the init containers in their order, and whether each is a sidecar (it restarts always, so it keeps
    /// running beside what follows).
    pub init: &'a [(bool, &'a Amounts)],
    /// Requests of the containers.
    pub containers: &'a [&'a Amounts],
    /// Requests of the pod as a whole; where given they stand for those of its containers.
    pub whole: Option<&'a Amounts>,
    /// What running the pod costs on top.
    pub overhead: Option<&'a Amounts>,
}

/// What the pod asks of its node, as the Kubernetes scheduler counts it: what its containers and sidecars need
/// together, or the most that any init container needs beside the sidecars started before it, whichever is more.
pub fn pod_requests(parts: &PodParts<'_>) -> Amounts {
    let mut sidecars = Amounts::new();
    let mut starting = Amounts::new();
    for (is_sidecar, requests) in parts.init {
        if *is_sidecar {
            add(&mut sidecars, requests);
            raise(&mut starting, &sidecars);
        } else {
            let mut peak = sidecars.clone();
            add(&mut peak, requests);
            raise(&mut starting, &peak);
        }
    }
    let mut requests = sidecars;
    for container in parts.containers {
        add(&mut requests, container);
    }
    raise(&mut requests, &starting);
    if let Some(whole) = parts.whole {
        for (resource, amount) in whole {
            requests.insert(resource.clone(), *amount);
        }
    }
    if let Some(overhead) = parts.overhead {
        add(&mut requests, overhead);
    }
    requests.retain(|_, amount| !amount.is_zero());
    requests
}

pub(super) fn add(sum: &mut Amounts, more: &Amounts) {
    for (resource, amount) in more {
        *sum.entry(resource.clone()).or_default() += *amount;
    }
}

fn raise(most: &mut Amounts, other: &Amounts) {
    for (resource, amount) in other {
        let most = most.entry(resource.clone()).or_default();
        if amount > most {
            *most = *amount;
        }
    }
}
