//! Takes keys from the queue and has them handled, a bounded number at a time.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use anyhow::Result;
use engine::placement::binding::{BindingChange, conflict_event};
use jiff::Timestamp;
use kit::queue::{Outcome, Queue};
use kit::readiness::Readiness;
use kit::{RequestError, Runtime};
use tokio::time::Instant;
use tracing::{debug, info, warn};
use uuid::Uuid;

use crate::apply::Applier;
use crate::decide;
use crate::forbidden::Forbidden;
use crate::key::{Key, TemplateKey};
use crate::metrics::Metrics;
use crate::observe::Observer;
use crate::policy::Policies;
use crate::unselected::Unselected;
use crate::world::World;
use crate::writes::Writes;

/// Keys handled at once. Each costs a few requests in a row, so this bounds the requests in flight, too.
const CONCURRENCY: usize = 32;

/// Starts scheduling; it goes on until the runtime's shutdown.
///
/// # Errors
///
/// None so far; what cannot be watched yet is tried again.
pub async fn run(runtime: Runtime) -> Result<()> {
    let metrics = Metrics::new();
    runtime
        .metrics
        .register(|registry| metrics.register(registry));
    let world = Arc::new(Mutex::new(World::default()));
    let queue = Queue::new("binding-scheduler", &runtime.metrics);
    let writes = Writes::new(&runtime);
    let observer = Arc::new(Observer::new(
        &runtime,
        &writes.kinds,
        Arc::clone(&world),
        queue.clone(),
    ));

    // Nothing is decided before fleet, policies and bindings are known: half of them would look like a loss.
    let known = Readiness::default();
    let ready = runtime.readiness.handle("fleet, policies and bindings");
    observer.watch_constants(&runtime, &known);
    tokio::select! {
        () = known.ready() => {}
        () = runtime.shutdown.cancelled() => return Ok(()),
    }
    info!("fleet, policies and bindings are known");
    drop(ready);

    let controller = Arc::new(Controller {
        policies: Policies::new(writes.clone(), Arc::clone(&world)),
        unselected: Unselected::new(writes.clone()),
        applier: Applier {
            writes: writes.clone(),
            world: Arc::clone(&world),
            queue: queue.clone(),
        },
        forbidden: Forbidden::new(writes, Arc::clone(&world)),
        world,
        metrics,
    });
    runtime.spawn(observer.watch_templates(runtime.shutdown.clone()));
    let shutdown = runtime.shutdown.clone();
    runtime.spawn(async move {
        queue
            .run(CONCURRENCY, shutdown, move |key| {
                let controller = Arc::clone(&controller);
                async move { controller.handle(&key).await }
            })
            .await;
    });
    Ok(())
}

struct Controller {
    world: Arc<Mutex<World>>,
    policies: Policies,
    unselected: Unselected,
    applier: Applier,
    forbidden: Forbidden,
    metrics: Metrics,
}

impl Controller {
    async fn handle(&self, key: &Key) -> Outcome {
        let result = match key {
            Key::Template(template) => match self.schedule(template).await {
                Ok(again) => self.forbidden.look(template).await.map(|()| again),
                error => error,
            },
            Key::Policy(policy) => self.policies.look_after(policy).await,
        };
        let done = |again: Option<_>| again.map_or(Outcome::Done, Outcome::After);
        result.map_or_else(
            |error| {
                warn!(
                    object = %key,
                    reason = error.failure().as_str(),
                    %error,
                    cause = error.message(),
                    "a request failed and is tried again"
                );
                error
                    .retry_after()
                    .map_or(Outcome::Retry, Outcome::RetryAfter)
            },
            done,
        )
    }

    /// Has the template scheduled. Returns when it has to be looked at again, if at all.
    async fn schedule(&self, key: &TemplateKey) -> Result<Option<Duration>, RequestError> {
        let start = Instant::now();
        let sight = self.world().sight(key);
        let matched = decide::owner(&sight);
        if sight.template.is_some() {
            self.metrics.matched(start.elapsed());
        }
        let mut owner = matched.want;
        if let Some(owner) = &mut owner {
            owner.policy = self.policies.stamp(&owner.policy).await?;
            if !owner.policy.is_stamped() {
                // It is going away; the change that says so brings the template back here.
                return Ok(None);
            }
        }

        let deciding = Instant::now();
        let decision = decide::binding(
            &sight,
            owner.as_ref(),
            |namespace, name| self.world().has_override(namespace, name),
            Timestamp::now(),
            &Uuid::new_v4().to_string(),
        );
        self.metrics.decided(deciding.elapsed());
        let mut plan = decision.want;
        {
            let mut world = self.world();
            let written = plan.binding != BindingChange::Keep;
            if world.note_conflict(key, plan.conflict.as_ref(), written) {
                plan.events
                    .extend(plan.conflict.as_deref().map(conflict_event));
            }
            world.note(key, plan.pending.is_some(), plan.waits_for_overrides);
            self.metrics.waiting(world.pending());
        }
        if plan.is_empty() {
            return match (&sight.template, &owner) {
                (Some(template), None) if sight.binding.is_none() => {
                    self.unselected.look(key, template, Timestamp::now()).await
                }
                _ => {
                    self.unselected.forget(key);
                    Ok(None)
                }
            };
        }
        debug!(object = %key, trace = %decision.trace.text(), "scheduling");
        let attempt = plan.attempt.clone();
        let binds = plan.template.is_some();
        let preempts = owner.is_some_and(|owner| owner.preempted.is_some());
        let result = self
            .applier
            .apply(
                key,
                sight.template.as_deref(),
                sight.binding.as_deref(),
                plan,
            )
            .await;
        if binds {
            self.metrics.bound(result.is_ok());
        }
        if preempts {
            self.metrics.preempted(result.is_ok());
        }
        if let (Ok(()), Some(attempt)) = (&result, attempt) {
            self.metrics.attempted(&attempt, start.elapsed());
        }
        result.map(|()| None)
    }

    fn world(&self) -> MutexGuard<'_, World> {
        self.world
            .lock()
            .expect("nobody panics while holding the world")
    }
}
