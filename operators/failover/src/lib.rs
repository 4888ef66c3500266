//! Moves workloads away from clusters that are lost, or that somebody drains.
//!
//! | reads | writes |
//! |---|---|
//! | Clusters; the Lease by which cluster-health shows that it observes them; bindings of both kinds | `spec.gracefulEvictionTasks` of bindings; Events on bindings and templates |
//!
//! It asks for an eviction and ends it. Where copies go instead is decided by the scheduler, and a copy is kept until then.
//!
//! Field manager: `karmada-failover/evictions`.

mod binding;
mod index;
mod metrics;
mod world;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crds::work::{ClusterResourceBinding, ResourceBinding};
use engine::failover::{Budget, Limits};
use jiff::SignedDuration;
use kit::Runtime;

use binding::{Controller, Shared};
use metrics::Metrics;
use world::World;

/// When copies leave.
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    /// How long the loss of a cluster is tolerated where a placement has no toleration for it
    #[arg(long, env = "KARMADA_DEFAULT_TOLERATION", default_value = "5m", value_parser = duration)]
    pub default_toleration: Duration,
    /// How long a copy stays when its replacement does not become healthy
    #[arg(long, env = "KARMADA_GRACEFUL_EVICTION_TIMEOUT", default_value = "10m", value_parser = duration)]
    pub graceful_eviction_timeout: Duration,
    /// How old the last sign of life of cluster-health may be for a cluster to count as lost
    #[arg(long, env = "KARMADA_EVIDENCE_AGE", default_value = "1m", value_parser = duration)]
    pub evidence_age: Duration,
    /// How many bindings may be asked to leave in a second, after a burst of as many; 0 means two in an hour
    #[arg(long, env = "KARMADA_RESOURCE_EVICTION_RATE", default_value_t = 50.0, value_parser = rate)]
    pub resource_eviction_rate: f64,
}

impl Options {
    fn limits(&self) -> Limits {
        let signed = |time: Duration| SignedDuration::try_from(time).unwrap_or(SignedDuration::MAX);
        Limits {
            toleration: signed(self.default_toleration),
            grace: signed(self.graceful_eviction_timeout),
            evidence_age: signed(self.evidence_age),
        }
    }

    fn budget(&self) -> Budget {
        if self.resource_eviction_rate == 0.0 {
            return Budget::new(SignedDuration::from_mins(30), 1);
        }
        #[expect(
            clippy::cast_possible_truncation,
            reason = "`rate` refuses what does not fit"
        )]
        let burst = self.resource_eviction_rate.ceil() as i32;
        Budget::new(
            SignedDuration::from_secs_f64(1.0 / self.resource_eviction_rate),
            burst,
        )
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

fn rate(text: &str) -> Result<f64, String> {
    let rate: f64 = text.parse().map_err(|_| format!("`{text}` is no number"))?;
    let sensible = rate == 0.0 || (0.0001..=1_000_000.0).contains(&rate);
    if sensible {
        Ok(rate)
    } else {
        Err("a rate is 0, or between 0.0001 and 1000000 in a second".to_owned())
    }
}

/// Starts the operator; it ends with the runtime's shutdown. `lease_namespace` is where cluster-health shows its life.
pub fn start(runtime: &Runtime, options: &Options, lease_namespace: &str) {
    let metrics = Metrics::new();
    runtime
        .metrics
        .register(|registry| metrics.register(registry));
    let shared = Arc::new(Shared {
        world: Arc::new(World::default()),
        limits: options.limits(),
        budget: Mutex::new(options.budget()),
        metrics,
    });
    let bindings = Controller::watch::<ResourceBinding>(runtime, &shared, "ResourceBinding");
    let cluster_bindings =
        Controller::watch::<ClusterResourceBinding>(runtime, &shared, "ClusterResourceBinding");
    let (told, told_too) = (Arc::clone(&bindings), Arc::clone(&cluster_bindings));
    shared.world.watch(runtime, lease_namespace, move |news| {
        told.hear(news);
        told_too.hear(news);
    });

    // Nobody is judged by a fleet that is only half known.
    let (readiness, shutdown) = (runtime.readiness.clone(), runtime.shutdown.clone());
    runtime.spawn(async move {
        tokio::select! {
            () = readiness.ready() => {}
            () = shutdown.cancelled() => return,
        }
        tokio::join!(
            bindings.run::<ResourceBinding>(shutdown.clone()),
            cluster_bindings.run::<ClusterResourceBinding>(shutdown),
        );
    });
}
