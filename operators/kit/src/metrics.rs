//! The process's metrics, in Prometheus' text format.
//!
//! Names are Karmada's where it has one. A counter's name gets `_total` when it is printed, so it is registered without.

use std::sync::{Arc, Mutex, PoisonError};

use prometheus_client::encoding::{EncodeLabelSet, prometheus_text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

/// Seconds, for anything from a local request to a slow member.
pub const LATENCY_BUCKETS: [f64; 14] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0,
];

/// A histogram of seconds with [`LATENCY_BUCKETS`].
pub fn latency() -> Histogram {
    Histogram::new(LATENCY_BUCKETS)
}

/// The registry of the process, and the families that kit itself fills.
#[derive(Clone)]
pub struct Metrics {
    registry: Arc<Mutex<Registry>>,
    pub(crate) requests: RequestMetrics,
    pub(crate) writes: WriteMetrics,
    pub(crate) queues: QueueMetrics,
}

/// Labels of a request.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct RequestLabels {
    pub(crate) server: &'static str,
    pub(crate) verb: &'static str,
    pub(crate) resource: String,
}

/// Labels of an answer.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct AnswerLabels {
    pub(crate) server: &'static str,
    pub(crate) verb: &'static str,
    pub(crate) resource: String,
    pub(crate) code: u16,
}

#[derive(Clone)]
pub(crate) struct RequestMetrics {
    pub(crate) seconds: Family<RequestLabels, Histogram, fn() -> Histogram>,
    pub(crate) answers: Family<AnswerLabels, Counter>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct WriteLabels {
    pub(crate) resource: String,
    pub(crate) outcome: &'static str,
}

#[derive(Clone)]
pub(crate) struct WriteMetrics {
    pub(crate) writes: Family<WriteLabels, Counter>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct QueueLabels {
    pub(crate) name: String,
}

#[derive(Clone)]
pub(crate) struct QueueMetrics {
    pub(crate) depth: Family<QueueLabels, Gauge>,
    pub(crate) wait: Family<QueueLabels, Histogram, fn() -> Histogram>,
    pub(crate) work: Family<QueueLabels, Histogram, fn() -> Histogram>,
    pub(crate) retries: Family<QueueLabels, Counter>,
}

impl Metrics {
    /// A registry with kit's own families.
    pub fn new(component: &'static str) -> Self {
        let requests = RequestMetrics {
            seconds: Family::new_with_constructor(latency as fn() -> Histogram),
            answers: Family::default(),
        };
        let writes = WriteMetrics {
            writes: Family::default(),
        };
        let queues = QueueMetrics {
            depth: Family::default(),
            wait: Family::new_with_constructor(latency as fn() -> Histogram),
            work: Family::new_with_constructor(latency as fn() -> Histogram),
            retries: Family::default(),
        };
        let mut registry = Registry::default();
        registry.register(
            "karmada_api_request_duration_seconds",
            "Time until an API server's answer began, by server (host or member), verb and resource",
            requests.seconds.clone(),
        );
        registry.register(
            "karmada_api_requests",
            "Answers of API servers, by server (host or member), verb, resource and code; code 0 means none came",
            requests.answers.clone(),
        );
        registry.register(
            "karmada_writes",
            "Writes by resource and outcome: sent, unchanged (not sent because nothing differs) or failed",
            writes.writes.clone(),
        );
        registry.register(
            "workqueue_depth",
            "Keys that wait in a queue",
            queues.depth.clone(),
        );
        registry.register(
            "workqueue_queue_duration_seconds",
            "Time a key waited before it was taken up",
            queues.wait.clone(),
        );
        registry.register(
            "workqueue_work_duration_seconds",
            "Time the work on a key took",
            queues.work.clone(),
        );
        registry.register(
            "workqueue_retries",
            "Keys taken up again after a failure",
            queues.retries.clone(),
        );
        registry.register(
            "karmada_build_info",
            "What runs here; always 1",
            BuildInfo::gauge(component),
        );
        Self {
            registry: Arc::new(Mutex::new(registry)),
            requests,
            writes,
            queues,
        }
    }

    /// Registers an operator's own families.
    pub fn register(&self, families: impl FnOnce(&mut Registry)) {
        families(&mut self.registry.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// The exposition, format 0.0.4.
    ///
    /// # Errors
    ///
    /// If a family cannot be printed, which is a mistake in its labels.
    pub fn text(&self) -> Result<String, std::fmt::Error> {
        let mut text = String::new();
        prometheus_text::encode(
            &mut text,
            &self.registry.lock().unwrap_or_else(PoisonError::into_inner),
        )?;
        Ok(text)
    }
}

/// Karmada's name for it is a gauge with the version in its labels.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct BuildInfo {
    git_version: &'static str,
    component: &'static str,
    platform: String,
}

impl BuildInfo {
    fn gauge(component: &'static str) -> Family<Self, Gauge> {
        let family = Family::<Self, Gauge>::default();
        let info = Self {
            git_version: concat!("v", env!("CARGO_PKG_VERSION")),
            component,
            platform: format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH),
        };
        family.get_or_create(&info).set(1);
        family
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_printed_with_their_suffix_once() {
        let metrics = Metrics::new("test");
        metrics
            .writes
            .writes
            .get_or_create(&WriteLabels {
                resource: "works".into(),
                outcome: "sent",
            })
            .inc();
        let text = metrics.text().unwrap();
        assert!(
            text.contains("karmada_writes_total{resource=\"works\",outcome=\"sent\"} 1"),
            "{text}"
        );
        assert!(!text.contains("_total_total"), "{text}");
        assert!(text.contains("karmada_build_info{"), "{text}");
    }
}
