//! Watches the health of member clusters and reports it on their Cluster objects.
//!
//! | reads | writes |
//! |---|---|
//! | Clusters, Secrets in `karmada-cluster`, execution namespaces, `ClusterTaintPolicies`; bindings and Works only when a Cluster is deleted | Cluster: status, health taints and those of taint policies, finalizer; execution namespaces; the Lease that says that members are observed; Events on Clusters |
//! | of each member: `/readyz`, version, APIs, nodes and pods in sums | nothing |
//!
//! Field manager: `karmada-cluster-health/cluster`.

mod cluster;
mod member;
mod metrics;
mod observation;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use engine::health::{Folding, Thresholds};
use jiff::{SignedDuration, Timestamp};
use kit::queue::{Outcome, Queue};
use kit::{Failure, Runtime};

use cluster::{Applier, Controller, Stores};
use member::Habits;
use metrics::Metrics;

/// Clusters that are brought up to date at once; none of them waits for its member meanwhile.
const CONCURRENCY: usize = 16;

/// How the health of members is judged.
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    /// How often a member is probed
    #[arg(long, env = "KARMADA_CLUSTER_STATUS_UPDATE_FREQUENCY", default_value = "10s", value_parser = duration)]
    pub cluster_status_update_frequency: Duration,
    /// How long a probe may take; an API server without its storage says so after four seconds
    #[arg(long, env = "KARMADA_CLUSTER_PROBE_TIMEOUT", default_value = "8s", value_parser = duration)]
    pub cluster_probe_timeout: Duration,
    /// How long a member must be failing until it counts as not ready
    #[arg(long, env = "KARMADA_CLUSTER_FAILURE_THRESHOLD", default_value = "30s", value_parser = duration)]
    pub cluster_failure_threshold: Duration,
    /// How long a member must be well until it counts as ready again
    #[arg(long, env = "KARMADA_CLUSTER_SUCCESS_THRESHOLD", default_value = "30s", value_parser = duration)]
    pub cluster_success_threshold: Duration,
    /// How often version and APIs of a member are asked for when nothing says that they changed
    #[arg(long, env = "KARMADA_CLUSTER_DISCOVERY_INTERVAL", default_value = "1m", value_parser = duration)]
    pub cluster_discovery_interval: Duration,
    /// The least time between two reports of changed numbers, such as free resources
    #[arg(long, env = "KARMADA_CLUSTER_SUMMARY_INTERVAL", default_value = "1m", value_parser = duration)]
    pub cluster_summary_interval: Duration,
    /// How long the removal of a Cluster waits for a member that does not answer
    #[arg(long, env = "KARMADA_CLUSTER_REMOVAL_PATIENCE", default_value = "2m", value_parser = duration)]
    pub cluster_removal_patience: Duration,
}

/// The options in the terms of those who use them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) habits: Habits,
    pub(crate) thresholds: Thresholds,
    pub(crate) folding: Folding,
    pub(crate) removal_patience: SignedDuration,
}

impl From<&Options> for Settings {
    fn from(options: &Options) -> Self {
        let signed = |time: Duration| SignedDuration::try_from(time).unwrap_or(SignedDuration::MAX);
        let interval = signed(options.cluster_summary_interval);
        Self {
            habits: Habits {
                interval: options.cluster_status_update_frequency,
                patience: options.cluster_probe_timeout,
                discovery_interval: options.cluster_discovery_interval,
            },
            thresholds: Thresholds {
                failure: signed(options.cluster_failure_threshold),
                success: signed(options.cluster_success_threshold),
            },
            folding: Folding {
                settle: Folding::default().settle.min(interval),
                interval,
            },
            removal_patience: signed(options.cluster_removal_patience),
        }
    }
}

/// Durations as Go writes them: `90s`, `1m30s`.
fn duration(text: &str) -> Result<Duration, String> {
    let duration: kube::core::Duration = text
        .parse()
        .map_err(|_| format!("`{text}` is no duration such as 30s or 1m30s"))?;
    if duration.is_negative() {
        return Err("a duration cannot be negative here".to_owned());
    }
    Ok(duration.into())
}

/// Starts the operator; it ends with the runtime's shutdown. `lease_namespace` is where the sign of life goes.
pub fn start(runtime: &Runtime, options: &Options, lease_namespace: String) {
    let queue: Queue<String> = Queue::new("cluster", &runtime.metrics);
    let metrics = Arc::new(Metrics::new());
    runtime
        .metrics
        .register(|registry| metrics.register(registry));

    let tell = queue.clone();
    let stores = Stores::watch(runtime, move |name| tell.add(name.to_owned()));
    let again = queue.clone();
    let writer = runtime.writer("cluster");
    let controller = Arc::new(Controller {
        settings: Settings::from(options),
        stores,
        applier: Applier::new(writer.clone(), runtime.recorder()),
        metrics,
        requeue: Arc::new(move |name, after| {
            if after.is_zero() {
                again.add(name.to_owned());
            } else {
                again.add_after(name.to_owned(), after);
            }
        }),
        members: Mutex::new(HashMap::new()),
    });

    // Members are judged by their Clusters, Secrets and namespaces: none may be missing because it is not listed yet.
    let (readiness, shutdown) = (runtime.readiness.clone(), runtime.shutdown.clone());
    let observing = Arc::clone(&controller);
    runtime.spawn(async move {
        tokio::select! {
            () = readiness.ready() => {}
            () = shutdown.cancelled() => return,
        }
        let sign = observation::keep(
            Arc::clone(&observing),
            writer,
            lease_namespace,
            shutdown.clone(),
        );
        let work = queue.run(CONCURRENCY, shutdown.clone(), move |name: String| {
            let controller = Arc::clone(&observing);
            async move { reconcile(&controller, &name).await }
        });
        tokio::join!(sign, work);
        controller.stop();
    });
}

async fn reconcile(controller: &Controller, name: &str) -> Outcome {
    match controller.reconcile(name).await {
        Ok(None) => Outcome::Done,
        Ok(Some(time)) => {
            let left = time.duration_since(Timestamp::now());
            Outcome::After(Duration::try_from(left).unwrap_or_default())
        }
        // Somebody changed the Cluster meanwhile: look again as soon as the watch has told.
        Err(error) if error.failure() == Failure::Conflict => Outcome::RetryAfter(Duration::ZERO),
        Err(error) => {
            tracing::warn!(cluster = name, error = error.message(), doing = %error, "a Cluster could not be brought up to date");
            match error.retry_after() {
                Some(time) => Outcome::RetryAfter(time),
                None => Outcome::Retry,
            }
        }
    }
}
