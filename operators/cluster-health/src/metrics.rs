//! What Prometheus may know of the members.

use std::sync::atomic::AtomicU64;
use std::time::Duration;

use engine::health::{Amounts, Observation, Room};
use jiff::Timestamp;
use kit::metrics::latency;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use crate::member::Sight;

/// A number that belongs to a member.
type Number = Family<MemberLabel, Gauge<f64, AtomicU64>>;

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct MemberLabel {
    member_cluster: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ProbeLabels {
    member_cluster: String,
    result: &'static str,
}

/// All that [`found`] can say.
const RESULTS: [&str; 4] = ["healthy", "unhealthy", "unreachable", "uncollectable"];

fn found(observation: &Observation) -> &'static str {
    match observation {
        Observation::Healthy => RESULTS[0],
        Observation::Unhealthy(_) => RESULTS[1],
        Observation::Unreachable(_) => RESULTS[2],
        Observation::Uncollectable(_) => RESULTS[3],
    }
}

/// A resource of which there is so much, of which so much is taken.
#[derive(Debug)]
struct Resource {
    name: &'static str,
    allocatable: Number,
    allocated: Number,
}

/// The metrics, by Karmada's names where it has them.
#[derive(Debug)]
pub(crate) struct Metrics {
    ready: Number,
    nodes: Number,
    ready_nodes: Number,
    resources: [Resource; 3],
    heartbeat: Number,
    probes: Family<ProbeLabels, Counter>,
    probe_seconds: Histograms,
    sync_seconds: Histograms,
}

type Histograms = Family<MemberLabel, Histogram, fn() -> Histogram>;

impl Metrics {
    pub(crate) fn new() -> Self {
        let resource = |name| Resource {
            name,
            allocatable: Number::default(),
            allocated: Number::default(),
        };
        Self {
            ready: Number::default(),
            nodes: Number::default(),
            ready_nodes: Number::default(),
            resources: ["cpu", "memory", engine::snapshot::PODS].map(resource),
            heartbeat: Number::default(),
            probes: Family::default(),
            probe_seconds: Family::new_with_constructor(latency as fn() -> Histogram),
            sync_seconds: Family::new_with_constructor(latency as fn() -> Histogram),
        }
    }

    pub(crate) fn register(&self, registry: &mut Registry) {
        let [cpu, memory, pods] = &self.resources;
        for (name, help, number) in [
            (
                "cluster_ready_state",
                "Whether the member is ready: 1 if it is",
                &self.ready,
            ),
            ("cluster_node_number", "Nodes of the member", &self.nodes),
            (
                "cluster_ready_node_number",
                "Nodes of the member that are ready",
                &self.ready_nodes,
            ),
            (
                "cluster_cpu_allocatable_number",
                "Cores that the nodes offer",
                &cpu.allocatable,
            ),
            (
                "cluster_cpu_allocated_number",
                "Cores that pods with a node ask for",
                &cpu.allocated,
            ),
            (
                "cluster_memory_allocatable_bytes",
                "Memory that the nodes offer",
                &memory.allocatable,
            ),
            (
                "cluster_memory_allocated_bytes",
                "Memory that pods with a node ask for",
                &memory.allocated,
            ),
            (
                "cluster_pod_allocatable_number",
                "Pods that the nodes can run",
                &pods.allocatable,
            ),
            (
                "cluster_pod_allocated_number",
                "Pods with a node",
                &pods.allocated,
            ),
            (
                "cluster_last_heartbeat_timestamp_seconds",
                "When the member last answered that it is healthy",
                &self.heartbeat,
            ),
        ] {
            registry.register(name, help, number.clone());
        }
        registry.register(
            "cluster_probes",
            "Probes of the member by what they found",
            self.probes.clone(),
        );
        registry.register(
            "cluster_probe_duration_seconds",
            "How long probes took",
            self.probe_seconds.clone(),
        );
        registry.register(
            "cluster_sync_status_duration_seconds",
            "How long it took to bring what was seen of the member into its Cluster",
            self.sync_seconds.clone(),
        );
    }

    /// Counts a probe.
    pub(crate) fn probed(
        &self,
        member: &str,
        observation: &Observation,
        took: Duration,
        at: Timestamp,
    ) {
        let label = label(member);
        if *observation == Observation::Healthy {
            self.heartbeat
                .get_or_create(&label)
                .set(at.as_duration().as_secs_f64());
        }
        self.probe_seconds
            .get_or_create(&label)
            .observe(took.as_secs_f64());
        let probe = ProbeLabels {
            member_cluster: label.member_cluster,
            result: found(observation),
        };
        self.probes.get_or_create(&probe).inc();
    }

    /// Shows what was seen.
    pub(crate) fn seen(&self, member: &str, ready: bool, sight: &Sight) {
        let label = label(member);
        self.ready
            .get_or_create(&label)
            .set(if ready { 1.0 } else { 0.0 });
        if let Some((total, ready)) = sight.nodes {
            self.nodes.get_or_create(&label).set(count(total));
            self.ready_nodes.get_or_create(&label).set(count(ready));
        }
        if let Some(room) = &sight.room {
            self.show_room(&label, room);
        }
    }

    fn show_room(&self, label: &MemberLabel, room: &Room) {
        for resource in &self.resources {
            let amount = |amounts: &Amounts| {
                amounts
                    .get(resource.name)
                    .map_or(0.0, |amount| amount.as_f64())
            };
            resource
                .allocatable
                .get_or_create(label)
                .set(amount(&room.allocatable));
            resource
                .allocated
                .get_or_create(label)
                .set(amount(&room.allocated));
        }
    }

    /// Counts the time it took to bring what was seen into the Cluster.
    pub(crate) fn synced(&self, member: &str, took: Duration) {
        self.sync_seconds
            .get_or_create(&label(member))
            .observe(took.as_secs_f64());
    }

    /// Forgets a member that has left.
    pub(crate) fn forget(&self, member: &str) {
        let label = label(member);
        let resources = self
            .resources
            .iter()
            .flat_map(|one| [&one.allocatable, &one.allocated]);
        for number in [&self.ready, &self.nodes, &self.ready_nodes, &self.heartbeat]
            .into_iter()
            .chain(resources)
        {
            number.remove(&label);
        }
        self.probe_seconds.remove(&label);
        self.sync_seconds.remove(&label);
        for result in RESULTS {
            self.probes.remove(&ProbeLabels {
                member_cluster: member.to_owned(),
                result,
            });
        }
    }
}

fn label(member: &str) -> MemberLabel {
    MemberLabel {
        member_cluster: member.to_owned(),
    }
}

fn count(number: usize) -> f64 {
    f64::from(u32::try_from(number).unwrap_or(u32::MAX))
}
