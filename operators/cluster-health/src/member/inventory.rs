//! The nodes and pods of a member, in sums.
//!
//! Members may run millions of pods, so no pod is kept: of each there are its uid, the node it is on, and the number of
//! a request class that it shares with all pods asking for the same (24 bytes in a hash table). Sums are made from the
//! classes.

use std::collections::{BTreeMap, HashMap};

use engine::health::{Amounts, PodParts, Room, pod_requests};
use engine::quantity::Quantity;
use engine::snapshot::PODS;
use serde::Deserialize;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

/// A pod, as much of it as is looked at.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct PodView {
    /// Name and uid.
    pub(super) metadata: ObjectMeta,
    /// What it asks for, and where it runs.
    #[serde(default)]
    pub(super) spec: PodSpec,
    /// How far it is.
    #[serde(default)]
    pub(super) status: PodStatus,
}

/// What a pod asks for, and where it runs.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct PodSpec {
    node_name: Option<String>,
    containers: Vec<Container>,
    init_containers: Vec<Container>,
    overhead: Option<Amounts>,
    resources: Option<Resources>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Container {
    resources: Resources,
    restart_policy: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Resources {
    requests: Amounts,
}

/// How far a pod is.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct PodStatus {
    phase: Option<String>,
}

impl PodView {
    /// A pod that has ended holds nothing any more.
    fn has_ended(&self) -> bool {
        matches!(self.status.phase.as_deref(), Some("Succeeded" | "Failed"))
    }

    fn requests(&self) -> Amounts {
        let init: Vec<(bool, &Amounts)> = self
            .spec
            .init_containers
            .iter()
            .map(|container| {
                let sidecar = container.restart_policy.as_deref() == Some("Always");
                (sidecar, &container.resources.requests)
            })
            .collect();
        let containers: Vec<&Amounts> = self
            .spec
            .containers
            .iter()
            .map(|container| &container.resources.requests)
            .collect();
        pod_requests(&PodParts {
            init: &init,
            containers: &containers,
            whole: self
                .spec
                .resources
                .as_ref()
                .map(|resources| &resources.requests),
            overhead: self.spec.overhead.as_ref(),
        })
    }
}

/// A node, as much of it as is looked at.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct NodeView {
    /// Its name.
    pub(super) metadata: ObjectMeta,
    /// Whether it takes pods.
    #[serde(default)]
    pub(super) spec: NodeSpec,
    /// What it offers, and whether it is ready.
    #[serde(default)]
    pub(super) status: NodeStatus,
}

/// Whether a node takes pods.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct NodeSpec {
    unschedulable: bool,
}

/// What a node offers, and whether it is ready.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct NodeStatus {
    allocatable: Amounts,
    conditions: Vec<NodeCondition>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct NodeCondition {
    r#type: String,
    status: String,
}

macro_rules! core_resource {
    ($view:ident, $kind:literal, $plural:literal, $scope:ident) => {
        impl kube::Resource for $view {
            type DynamicType = ();
            type Scope = kube::core::$scope;

            fn kind((): &()) -> std::borrow::Cow<'_, str> {
                $kind.into()
            }
            fn group((): &()) -> std::borrow::Cow<'_, str> {
                "".into()
            }
            fn version((): &()) -> std::borrow::Cow<'_, str> {
                "v1".into()
            }
            fn plural((): &()) -> std::borrow::Cow<'_, str> {
                $plural.into()
            }
            fn meta(&self) -> &ObjectMeta {
                &self.metadata
            }
            fn meta_mut(&mut self) -> &mut ObjectMeta {
                &mut self.metadata
            }
        }
    };
}

core_resource!(PodView, "Pod", "pods", NamespaceResourceScope);
core_resource!(NodeView, "Node", "nodes", ClusterResourceScope);

/// The sixteen bytes of a uid.
type Uid = [u8; 16];

/// A pod waits for a node.
const NO_NODE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    class: u32,
    node: u32,
}

/// Pods that ask for the same.
#[derive(Debug, Default)]
struct Class {
    requests: Amounts,
    on_nodes: u32,
    waiting: u32,
}

impl Class {
    fn count(&mut self, node: u32) -> &mut u32 {
        if node == NO_NODE {
            &mut self.waiting
        } else {
            &mut self.on_nodes
        }
    }
}

/// All pods of a member.
#[derive(Debug, Default)]
pub(super) struct Pods {
    places: HashMap<Uid, Place>,
    classes: Vec<Class>,
    class_numbers: BTreeMap<Vec<(String, i128)>, u32>,
    free_classes: Vec<u32>,
    loads: Vec<Load>,
    node_numbers: HashMap<String, u32>,
}

/// What the pods on one node ask for, the pods counted as `pods`.
type Load = Amounts;

impl Pods {
    /// Takes in a pod as it is now; says whether that changes a sum.
    pub(super) fn apply(&mut self, pod: &PodView) -> bool {
        let Some(uid) = uid(&pod.metadata) else {
            return false;
        };
        if pod.has_ended() {
            return self.remove(uid);
        }
        let node = match pod.spec.node_name.as_deref() {
            Some(name) if !name.is_empty() => self.node(name),
            _ => NO_NODE,
        };
        let class = self.class(pod.requests());
        let place = Place { class, node };
        let before = self.places.insert(uid, place);
        if before == Some(place) {
            return false;
        }
        *self.classes[class as usize].count(node) += 1;
        self.load(place, 1);
        if let Some(before) = before {
            self.leave(before);
        }
        true
    }

    /// Forgets a pod that was deleted; says whether that changes a sum.
    pub(super) fn delete(&mut self, pod: &PodView) -> bool {
        uid(&pod.metadata).is_some_and(|uid| self.remove(uid))
    }

    fn remove(&mut self, uid: Uid) -> bool {
        let place = self.places.remove(&uid);
        if let Some(place) = place {
            self.leave(place);
        }
        place.is_some()
    }

    /// Adds a pod to the load of its node, or takes it off.
    fn load(&mut self, place: Place, sign: i64) {
        let Some(load) = self.loads.get_mut(place.node as usize) else {
            return;
        };
        let pod = Quantity::from_units(1);
        let requests = &self.classes[place.class as usize].requests;
        let requests = requests
            .iter()
            .map(|(name, amount)| (name.as_str(), *amount));
        for (resource, amount) in requests.chain([(PODS, pod)]) {
            match load.get_mut(resource) {
                Some(sum) => *sum += amount * sign,
                None => {
                    load.insert(resource.to_owned(), amount * sign);
                }
            }
        }
        load.retain(|_, sum| !sum.is_zero());
    }

    fn leave(&mut self, place: Place) {
        self.load(place, -1);
        let class = &mut self.classes[place.class as usize];
        *class.count(place.node) -= 1;
        if class.on_nodes == 0 && class.waiting == 0 {
            let requests = std::mem::take(&mut class.requests);
            self.class_numbers.remove(&key(&requests));
            self.free_classes.push(place.class);
        }
    }

    fn class(&mut self, requests: Amounts) -> u32 {
        let key = key(&requests);
        if let Some(number) = self.class_numbers.get(&key) {
            return *number;
        }
        let class = Class {
            requests,
            ..Class::default()
        };
        let number = if let Some(number) = self.free_classes.pop() {
            self.classes[number as usize] = class;
            number
        } else {
            self.classes.push(class);
            u32::try_from(self.classes.len() - 1).expect("a cluster has fewer than 2³² pods")
        };
        self.class_numbers.insert(key, number);
        number
    }

    fn node(&mut self, name: &str) -> u32 {
        if let Some(number) = self.node_numbers.get(name) {
            return *number;
        }
        let number = u32::try_from(self.loads.len()).expect("a cluster has fewer than 2³² nodes");
        self.loads.push(Load::new());
        self.node_numbers.insert(name.to_owned(), number);
        number
    }

    /// What the pods on a node ask for.
    fn on_node(&self, name: &str) -> Option<&Load> {
        let number = self.node_numbers.get(name)?;
        self.loads.get(*number as usize)
    }
}

fn key(requests: &Amounts) -> Vec<(String, i128)> {
    requests
        .iter()
        .map(|(resource, amount)| (resource.clone(), amount.nanos()))
        .collect()
}

/// The uid as bytes. The API server makes RFC 4122 uids; anything else is no pod of its.
fn uid(meta: &ObjectMeta) -> Option<Uid> {
    let digits: String = meta.uid.as_deref()?.chars().filter(|c| *c != '-').collect();
    let number = u128::from_str_radix(&digits, 16).ok()?;
    Some(number.to_be_bytes())
}

#[derive(Debug, PartialEq, Eq)]
struct Node {
    allocatable: Amounts,
    ready: bool,
    unschedulable: bool,
}

impl Node {
    /// What is free for more pods beside those on it; nothing on a node that takes none.
    fn free(&self, load: Option<&Load>) -> Amounts {
        if !self.ready || self.unschedulable {
            return Amounts::new();
        }
        let mut free = self.allocatable.clone();
        for (resource, amount) in load.into_iter().flatten() {
            if let Some(free) = free.get_mut(resource) {
                *free -= *amount;
            }
        }
        if free.get(PODS).is_some_and(|pods| *pods <= Quantity::ZERO) {
            return Amounts::new();
        }
        free
    }
}

/// All nodes of a member.
#[derive(Debug, Default)]
pub(super) struct Nodes(BTreeMap<String, Node>);

impl Nodes {
    /// Takes in a node as it is now; says whether that changes a sum.
    pub(super) fn apply(&mut self, view: NodeView) -> bool {
        let Some(name) = view.metadata.name else {
            return false;
        };
        let ready = view
            .status
            .conditions
            .iter()
            .any(|one| one.r#type == "Ready" && one.status == "True");
        let node = Node {
            allocatable: view.status.allocatable,
            ready,
            unschedulable: view.spec.unschedulable,
        };
        let changed = self.0.get(&name) != Some(&node);
        self.0.insert(name, node);
        changed
    }

    /// Forgets a node that was deleted; says whether that changes a sum.
    pub(super) fn delete(&mut self, view: &NodeView) -> bool {
        view.metadata
            .name
            .as_ref()
            .is_some_and(|name| self.0.remove(name).is_some())
    }

    /// How many there are.
    pub(super) fn total(&self) -> usize {
        self.0.len()
    }

    /// How many are ready.
    pub(super) fn ready(&self) -> usize {
        self.0.values().filter(|node| node.ready).count()
    }
}

/// What the nodes have and the pods ask for; what is free node by node only if somebody wants to know.
pub(super) fn room(nodes: &Nodes, pods: &Pods, by_node: bool) -> Room {
    let mut room = Room::default();
    for node in nodes.0.values() {
        room.add_node(&node.allocatable);
    }
    for class in &pods.classes {
        for (count, on_node) in [(class.on_nodes, true), (class.waiting, false)] {
            if count > 0 {
                room.add_pods(&class.requests, i64::from(count), on_node);
            }
        }
    }
    if by_node {
        let free = |(name, node): (&String, &Node)| node.free(pods.on_node(name));
        room.free = nodes.0.iter().map(free).collect();
    }
    room
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn pod(number: u32, node: Option<&str>, cpu: &str, phase: &str) -> PodView {
        serde_json::from_value(json!({
            "metadata": {"name": format!("p{number}"), "uid": format!("6f1c2d3e-0000-4000-8000-{number:012x}")},
            "spec": {
                "nodeName": node,
                "containers": [{"name": "c", "image": "x", "resources": {"requests": {"cpu": cpu}, "limits": {"cpu": "9"}}}],
            },
            "status": {"phase": phase},
        }))
        .unwrap()
    }

    fn node(name: &str, cpu: &str, ready: &str) -> NodeView {
        serde_json::from_value(json!({
            "metadata": {"name": name},
            "status": {"allocatable": {"cpu": cpu, "pods": "10"}, "conditions": [{"type": "Ready", "status": ready}]},
        }))
        .unwrap()
    }

    fn sums(room: &Room) -> Value {
        serde_json::to_value([&room.allocatable, &room.allocated, &room.allocating]).unwrap()
    }

    #[test]
    fn sums_follow_pods_and_nodes() {
        let (mut nodes, mut pods) = (Nodes::default(), Pods::default());
        assert!(nodes.apply(node("n1", "4", "True")));
        assert!(nodes.apply(node("n2", "4", "False")));
        assert!(!nodes.apply(node("n2", "4", "False")), "nothing new");
        assert_eq!((nodes.total(), nodes.ready()), (2, 1));

        assert!(pods.apply(&pod(1, None, "500m", "Pending")));
        assert!(pods.apply(&pod(2, Some("n1"), "500m", "Running")));
        assert!(pods.apply(&pod(3, Some("n2"), "1", "Running")));
        assert!(
            !pods.apply(&pod(3, Some("n2"), "1", "Running")),
            "nothing new"
        );
        let two = json!({"cpu": "8", "pods": "20"});
        assert_eq!(
            sums(&room(&nodes, &pods, false)),
            json!([two, {"cpu": "1500m", "pods": "2"}, {"cpu": "500m", "pods": "1"}])
        );

        assert!(
            pods.apply(&pod(1, Some("n1"), "500m", "Running")),
            "it got a node"
        );
        assert!(
            pods.apply(&pod(3, Some("n2"), "1", "Succeeded")),
            "it ended"
        );
        assert!(
            !pods.delete(&pod(3, Some("n2"), "1", "Succeeded")),
            "it was forgotten before"
        );
        assert!(pods.delete(&pod(2, Some("n1"), "500m", "Running")));
        assert_eq!(
            sums(&room(&nodes, &pods, false)),
            json!([two, {"cpu": "500m", "pods": "1"}, {}])
        );
        assert_eq!(free(&nodes, &pods), ["3500m", "none"], "n2 is not ready");
        assert!(nodes.delete(&node("n2", "4", "False")));
        assert_eq!(nodes.total(), 1);
    }

    /// The CPU that is free on each node.
    fn free(nodes: &Nodes, pods: &Pods) -> Vec<String> {
        let free = |free: &Amounts| {
            free.get("cpu")
                .map_or("none".to_owned(), Quantity::to_string)
        };
        room(nodes, pods, true).free.iter().map(free).collect()
    }

    #[test]
    fn every_node_has_what_its_own_pods_leave() {
        let (mut nodes, mut pods) = (Nodes::default(), Pods::default());
        for name in ["n1", "n2", "n3"] {
            nodes.apply(node(name, "4", "True"));
        }
        for number in 0..10 {
            pods.apply(&pod(number, Some("n1"), "100m", "Running"));
        }
        pods.apply(&pod(10, Some("n2"), "3", "Running"));
        assert_eq!(
            free(&nodes, &pods),
            ["none", "1", "4"],
            "n1 has ten pods, and takes no more"
        );

        pods.apply(&pod(0, Some("n1"), "100m", "Succeeded"));
        pods.delete(&pod(10, Some("n2"), "3", "Running"));
        assert_eq!(free(&nodes, &pods), ["3100m", "4", "4"]);
        assert!(
            pods.on_node("n2").is_some_and(Amounts::is_empty),
            "nothing is left over"
        );

        let mut cordoned = node("n3", "4", "True");
        cordoned.spec.unschedulable = true;
        assert!(nodes.apply(cordoned));
        assert_eq!(free(&nodes, &pods), ["3100m", "4", "none"]);
    }

    #[test]
    fn a_class_nobody_is_in_is_used_again() {
        let mut pods = Pods::default();
        for cpu in 1..100 {
            pods.apply(&pod(1, Some("n1"), &format!("{cpu}m"), "Running"));
        }
        assert!(
            pods.classes.len() <= 2,
            "{} classes for one pod",
            pods.classes.len()
        );
        assert_eq!(pods.class_numbers.len(), 1);
    }

    #[test]
    fn a_pod_takes_less_than_a_hundred_bytes() {
        let entry = size_of::<Uid>() + size_of::<Place>() + 1;
        // A hash table is at worst 7/16 full, just after it has grown.
        assert!(entry * 16 / 7 <= 100, "{entry} bytes an entry");
    }
}
