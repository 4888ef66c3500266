//! A word to the author of a template that refers to objects which the scheduler may not look at, as Secrets are unless the installation
//! allows it: they cannot go along, and in a member that shows only as pods that do not start.
//!
//! Only what is referred to since this process started is told: a restart tells nobody anything again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use crds::events;
use engine::interpret::Dependency;
use engine::trace::reason::DependencyReason;
use engine::trace::{EventFact, MAX_EVENT_NOTE, bounded};
use kit::RequestError;

use crate::key::TemplateKey;
use crate::world::World;
use crate::writes::Writes;

/// Tells authors, once for each template.
pub(crate) struct Forbidden {
    writes: Writes,
    world: Arc<Mutex<World>>,
    /// What templates referred to before this process started.
    before: Mutex<HashMap<TemplateKey, Arc<[Dependency]>>>,
}

impl Forbidden {
    /// Knows what is referred to already.
    pub(crate) fn new(writes: Writes, world: Arc<Mutex<World>>) -> Self {
        let before = lock(&world).references().collect();
        Self {
            writes,
            world,
            before: Mutex::new(before),
        }
    }

    /// Tells which of the objects that a template refers to cannot go along, if it is to take them along.
    pub(crate) async fn look(&self, key: &TemplateKey) -> Result<(), RequestError> {
        let (binding, forbidden) = {
            let world = lock(&self.world);
            let Some(binding) = world.sight(key).binding else {
                return Ok(());
            };
            let forbidden = world.forbidden_for(&binding);
            (binding, forbidden)
        };
        if forbidden.is_empty() || self.is_old(key, binding.dependencies.as_ref()) {
            return Ok(());
        }
        let reasons: Vec<String> = forbidden
            .into_iter()
            .map(|(gvk, names)| DependencyReason::KindForbidden {
                kind: gvk.kind.to_string(),
                names,
            })
            .map(|reason| reason.to_string())
            .collect();
        let event = EventFact {
            warning: true,
            reason: events::SYNC_SCHEDULE_RESULT_TO_DEPENDENCIES_FAILED.to_owned(),
            note: bounded(&reasons.join("; "), MAX_EVENT_NOTE),
        };
        self.writes.event(&binding.spec.resource, &event).await
    }

    fn is_old(&self, key: &TemplateKey, now: Option<&Arc<[Dependency]>>) -> bool {
        let mut before = self
            .before
            .lock()
            .expect("nobody panics while holding the list");
        if before.get(key) == now {
            return now.is_some();
        }
        before.remove(key);
        false
    }
}

fn lock(world: &Mutex<World>) -> MutexGuard<'_, World> {
    world.lock().expect("nobody panics while holding the world")
}
