//! What Prometheus may know of evictions.

use std::time::Duration;

use engine::trace::reason::FailoverReason;
use kit::metrics::latency;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

/// Which of the two controllers, as Karmada calls them.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Controller {
    name: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Processed {
    name: &'static str,
    result: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Left {
    member_cluster: String,
    resource_kind: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Held {
    member_cluster: String,
    reason: &'static str,
}

/// The metrics, by Karmada's names where it has them.
#[derive(Debug)]
pub(crate) struct Metrics {
    queue_depth: Family<Controller, Gauge>,
    processed: Family<Processed, Counter>,
    latency: Family<Controller, Histogram, fn() -> Histogram>,
    left: Family<Left, Counter>,
    held: Family<Held, Gauge>,
}

impl Metrics {
    pub(crate) fn new() -> Self {
        Self {
            queue_depth: Family::default(),
            processed: Family::default(),
            latency: Family::new_with_constructor(latency as fn() -> Histogram),
            left: Family::default(),
            held: Family::default(),
        }
    }

    pub(crate) fn register(&self, registry: &mut Registry) {
        registry.register(
            "eviction_queue_depth",
            "Bindings that wait to be looked at",
            self.queue_depth.clone(),
        );
        registry.register(
            "eviction_processing",
            "Decisions on evictions that were carried out, or not",
            self.processed.clone(),
        );
        registry.register(
            "eviction_processing_latency_seconds",
            "How long it took to decide on the evictions of a binding and to write them",
            self.latency.clone(),
        );
        registry.register(
            "eviction_kind",
            "Copies that were asked to leave the member, by kind",
            self.left.clone(),
        );
        registry.register(
            "eviction_held_bindings",
            "Bindings that should leave the member but are held back, by the reason",
            self.held.clone(),
        );
    }

    /// Shows how many bindings wait.
    pub(crate) fn waiting(&self, name: &'static str, bindings: usize) {
        let bindings = i64::try_from(bindings).unwrap_or(i64::MAX);
        self.queue_depth
            .get_or_create(&Controller { name })
            .set(bindings);
    }

    /// Counts a decision that was carried out, or not.
    pub(crate) fn processed(&self, name: &'static str, success: bool, took: Duration) {
        let result = if success { "success" } else { "error" };
        self.processed
            .get_or_create(&Processed { name, result })
            .inc();
        self.latency
            .get_or_create(&Controller { name })
            .observe(took.as_secs_f64());
    }

    /// Counts a copy that was asked to leave.
    pub(crate) fn left(&self, cluster: &str, kind: &str) {
        let left = Left {
            member_cluster: cluster.to_owned(),
            resource_kind: kind.to_owned(),
        };
        self.left.get_or_create(&left).inc();
    }

    /// One binding more is held back, or one less.
    pub(crate) fn held(&self, cluster: &str, reason: &FailoverReason, more: bool) {
        let held = Held {
            member_cluster: cluster.to_owned(),
            reason: reason.as_str(),
        };
        let gauge = self.held.get_or_create(&held);
        if more {
            gauge.inc()
        } else {
            gauge.dec()
        };
    }
}
