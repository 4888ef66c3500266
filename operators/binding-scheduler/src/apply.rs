//! The writes of a plan, in the one safe order: binding, then claim and status, then events.
//!
//! It may stop anywhere: what is missing is found and made up for by the next run.

use std::sync::{Arc, Mutex};

use crds::scope::Binding;
use crds::work::{ClusterResourceBinding, ObjectReference, ResourceBinding, ResourceBindingStatus};
use engine::placement::binding::{BindingChange, NewBinding, Plan, StatusWish};
use engine::snapshot::{BindingView, TemplateView};
use engine::trace::EventFact;
use kit::queue::Queue;
use kit::writer::Deletion;
use kit::{Failure, RequestError};
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use crate::key::{Key, TemplateKey};
use crate::world::World;
use crate::writes::Writes;

/// Carries plans out.
pub(crate) struct Applier {
    pub(crate) writes: Writes,
    pub(crate) world: Arc<Mutex<World>>,
    /// What a write concerns beside the template it was for.
    pub(crate) queue: Queue<Key>,
}

impl Applier {
    /// Writes what a plan says about a template and its binding.
    pub(crate) async fn apply(
        &self,
        key: &TemplateKey,
        template: Option<&TemplateView>,
        binding: Option<&BindingView>,
        plan: Plan,
    ) -> Result<(), RequestError> {
        if key.namespace.is_empty() {
            self.apply_to::<ClusterResourceBinding>(key, template, binding, plan)
                .await
        } else {
            self.apply_to::<ResourceBinding>(key, template, binding, plan)
                .await
        }
    }

    async fn apply_to<B: Binding>(
        &self,
        key: &TemplateKey,
        template: Option<&TemplateView>,
        binding: Option<&BindingView>,
        plan: Plan,
    ) -> Result<(), RequestError> {
        let Plan {
            binding: change,
            template: claim,
            status,
            events,
            attempt: _,
            conflict: _,
            pending: _,
            waits_for_overrides: _,
        } = plan;
        let written = match change {
            BindingChange::Keep => None,
            BindingChange::Create(new) => Some(self.create::<B>(key, *new).await?),
            BindingChange::Patch(patch) => {
                let name = binding
                    .map(|binding| binding.name.as_str())
                    .unwrap_or_default();
                Some(self.patch::<B>(key, name, &patch).await?)
            }
            BindingChange::Delete => {
                if let Some(binding) = binding {
                    self.delete::<B>(key, binding).await?;
                }
                None
            }
        };
        let now = written.as_deref().or(binding);
        let (claimed, stated) = tokio::join!(
            self.claim(key, claim),
            self.state::<B>(key, now, status.as_ref())
        );
        claimed?;
        stated?;
        for event in &events {
            self.tell(key, template, now, event).await?;
        }
        Ok(())
    }

    async fn create<B: Binding>(
        &self,
        key: &TemplateKey,
        new: NewBinding,
    ) -> Result<Arc<BindingView>, RequestError> {
        let NewBinding { meta, spec } = new;
        let name = meta.name.clone().unwrap_or_default();
        let mut object = B::new(&name, spec);
        *object.meta_mut() = meta;
        let target = self.writes.target::<B>(&key.namespace, &name);
        match self.writes.create(&target, &object).await {
            Ok(created) => Ok(self.seen::<B>(key, &created)),
            Err(error) if error.failure() == Failure::AlreadyExists => {
                // Someone was faster, or the watch is behind. Look at what is there before trying again.
                let present = self.writes.get(&target).await?;
                self.seen::<B>(key, &present);
                Err(error)
            }
            Err(error) => Err(error),
        }
    }

    async fn patch<B: Binding>(
        &self,
        key: &TemplateKey,
        name: &str,
        patch: &Value,
    ) -> Result<Arc<BindingView>, RequestError> {
        let target = self.writes.target::<B>(&key.namespace, name);
        let error = match self.writes.merge_patch(&target, patch).await {
            Ok(patched) => return Ok(self.seen::<B>(key, &patched)),
            Err(error) => error,
        };
        match error.failure() {
            Failure::NotFound => {
                self.gone(key, name);
            }
            Failure::Conflict => {
                let present = self.writes.get(&target).await?;
                self.seen::<B>(key, &present);
            }
            _ => {}
        }
        Err(error)
    }

    /// Deletes a binding as it was decided about: one that has changed is looked at again.
    async fn delete<B: Binding>(
        &self,
        key: &TemplateKey,
        binding: &BindingView,
    ) -> Result<(), RequestError> {
        let target = self.writes.target::<B>(&key.namespace, &binding.name);
        let deletion = Deletion {
            uid: Some(binding.uid.to_string()),
            resource_version: Some(binding.resource_version.to_string()),
            foreground: false,
        };
        let Err(error) = self.writes.delete(&target, &deletion).await else {
            return Ok(());
        };
        match error.failure() {
            Failure::NotFound => {
                self.gone(key, &binding.name);
                return Ok(());
            }
            Failure::Conflict => {
                let present = self.writes.get(&target).await?;
                self.seen::<B>(key, &present);
            }
            _ => {}
        }
        Err(error)
    }

    /// Puts the answer of the API server into the world, so that the next decision rests on it.
    fn seen<B: Binding>(&self, key: &TemplateKey, object: &B) -> Arc<BindingView> {
        let view = Arc::new(BindingView::of(object));
        let concerned = self.world().put_binding(Arc::clone(&view));
        self.wake(key, concerned);
        view
    }

    fn gone(&self, key: &TemplateKey, name: &str) {
        let concerned = self.world().remove_binding(&key.namespace, name);
        self.wake(key, concerned);
    }

    /// Has looked at what a write concerns, except the template it was for, which is at hand.
    fn wake(&self, own: &TemplateKey, concerned: Vec<Key>) {
        for key in concerned {
            if !matches!(&key, Key::Template(key) if key == own) {
                self.queue.add(key);
            }
        }
    }

    async fn claim(&self, key: &TemplateKey, patch: Option<Value>) -> Result<(), RequestError> {
        let Some(patch) = patch else {
            return Ok(());
        };
        let Some(target) = self.writes.template_target(key).await? else {
            return Ok(());
        };
        match self.writes.merge_patch::<IgnoredAny>(&target, &patch).await {
            // A template that is gone has no claim.
            Err(error) if error.failure() == Failure::NotFound => Ok(()),
            result => result.map(|_| ()),
        }
    }

    async fn state<B: Binding>(
        &self,
        key: &TemplateKey,
        binding: Option<&BindingView>,
        wish: Option<&StatusWish>,
    ) -> Result<(), RequestError> {
        let (Some(binding), Some(wish)) = (binding, wish) else {
            return Ok(());
        };
        let Some(status) = wish.status(binding.generation) else {
            return Ok(());
        };
        let target = self.writes.target::<B>(&key.namespace, &binding.name);
        let intent = status_intent::<B>(&key.namespace, &binding.name, &status);
        match self.writes.apply_status::<B>(&target, &intent).await {
            Ok(written) => {
                self.seen(key, &written);
                Ok(())
            }
            Err(error) => {
                if error.failure() == Failure::NotFound {
                    self.gone(key, &binding.name);
                }
                Err(error)
            }
        }
    }

    async fn tell(
        &self,
        key: &TemplateKey,
        template: Option<&TemplateView>,
        binding: Option<&BindingView>,
        event: &EventFact,
    ) -> Result<(), RequestError> {
        let reference = match (template, binding) {
            (Some(template), _) => ObjectReference {
                uid: Some(template.uid.to_string()),
                ..reference(key)
            },
            (None, Some(binding)) => binding.spec.resource.clone(),
            (None, None) => reference(key),
        };
        self.writes.event(&reference, event).await
    }

    fn world(&self) -> std::sync::MutexGuard<'_, World> {
        self.world
            .lock()
            .expect("nobody panics while holding the world")
    }
}

fn reference(key: &TemplateKey) -> ObjectReference {
    ObjectReference {
        api_version: key.gvk.api_version.to_string(),
        kind: key.gvk.kind.to_string(),
        namespace: Some(key.namespace.to_string()).filter(|ns| !ns.is_empty()),
        name: key.name.to_string(),
        ..ObjectReference::default()
    }
}

/// Exactly the fields of the status that are the scheduler's.
fn status_intent<B: Binding>(namespace: &str, name: &str, status: &ResourceBindingStatus) -> Value {
    let mut metadata = json!({ "name": name });
    if !namespace.is_empty() {
        metadata["namespace"] = json!(namespace);
    }
    json!({
        "apiVersion": B::api_version(&()),
        "kind": B::kind(&()),
        "metadata": metadata,
        "status": status,
    })
}
