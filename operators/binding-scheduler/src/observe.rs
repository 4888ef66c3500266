//! What is watched, and how it gets into the world.
//!
//! Fleet, policies, bindings and the names of override policies are watched all the time; templates only of kinds that a policy selects
//! or a binding is of, in full only where replicas or parts have to be read.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crds::cluster::Cluster;
use crds::config::ResourceInterpreterCustomization;
use crds::policy::{
    ClusterOverridePolicy, ClusterPropagationPolicy, OverridePolicy, PropagationPolicy,
};
use crds::scope::{Binding, Object, Propagation};
use crds::work::{ClusterResourceBinding, ResourceBinding};
use engine::interpret::{Interpreter, Library};
use engine::snapshot::{BindingView, ClusterView, PolicyView, TemplateView};
use engine::trace::PolicyRef;
use jiff::Timestamp;
use kit::dynamic::{DynamicWatches, Kinds};
use kit::queue::Queue;
use kit::readiness::Readiness;
use kit::store::Store;
use kit::watch::{self, Change, Scope};
use kit::{CancellationToken, Runtime};
use kube::Resource;
use kube::core::{DynamicObject, GroupVersionKind, PartialObjectMeta};
use serde::de::DeserializeOwned;
use tokio::sync::Notify;
use tracing::info;

use crate::key::{Gvk, Key, TemplateKey};
use crate::template::{can_be_template, can_hold_templates, view};
use crate::world::World;

/// The watches and what they fill.
pub(crate) struct Observer {
    shared: Shared,
    /// Kinds whose templates are read whole.
    whole: DynamicWatches<TemplateView>,
    /// Kinds of whose templates the metadata is enough.
    metadata: DynamicWatches<TemplateView>,
}

#[derive(Clone)]
struct Shared {
    world: Arc<Mutex<World>>,
    queue: Queue<Key>,
    meanings: Arc<Mutex<Meanings>>,
    /// Told when policies or bindings may have changed which kinds are needed.
    kinds_changed: Arc<Notify>,
}

/// What kinds mean.
#[derive(Default)]
struct Meanings {
    library: Library,
    /// Kinds whose templates have to be read again, because they mean something else now.
    changed: BTreeSet<Gvk>,
}

impl Shared {
    fn meanings(&self) -> MutexGuard<'_, Meanings> {
        self.meanings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn interpreter(&self) -> Arc<Interpreter> {
        self.meanings().library.interpreter()
    }

    fn world(&self) -> MutexGuard<'_, World> {
        self.world
            .lock()
            .expect("nobody panics while holding the world")
    }

    /// Changes the world and queues what the change concerns.
    fn put(&self, change: impl FnOnce(&mut World) -> Vec<Key>) {
        let keys = change(&mut self.world());
        for key in keys {
            self.queue.add(key);
        }
    }
}

impl Observer {
    pub(crate) fn new(
        runtime: &Runtime,
        kinds: &Kinds,
        world: Arc<Mutex<World>>,
        queue: Queue<Key>,
    ) -> Self {
        let shared = Shared {
            world,
            queue,
            meanings: Arc::default(),
            kinds_changed: Arc::default(),
        };
        let templates = |scope| {
            let (shared, reader) = (shared.clone(), shared.clone());
            DynamicWatches::new(
                kinds.clone(),
                scope,
                runtime.shutdown.clone(),
                move |gvk, object| read(&reader.interpreter(), gvk, object),
                move |gvk, change| shared.put(|world| take(world, gvk, change)),
            )
        };
        Self {
            whole: templates(Scope::host()),
            metadata: templates(Scope::host().metadata_only()),
            shared,
        }
    }

    /// Starts the watches that always run; `known` is ready when all of them have listed everything.
    pub(crate) fn watch_constants(&self, runtime: &Runtime, known: &Readiness) {
        self.watch(
            runtime,
            known,
            Scope::host(),
            |cluster: Cluster| Some(ClusterView::from(&cluster)),
            |world, change| match change.new {
                Some(cluster) => world.put_cluster(cluster),
                None => world.remove_cluster(&change.key.name),
            },
        );
        let shared = self.shared.clone();
        self.watch(
            runtime,
            known,
            Scope::host(),
            |customization: ResourceInterpreterCustomization| Some(customization),
            move |_, change| {
                let mut meanings = shared.meanings();
                let kinds = meanings.library.put(&change.key.name, change.new.as_ref());
                let kinds = kinds.iter().map(|(version, kind)| Gvk::new(version, kind));
                meanings.changed.extend(kinds);
                Vec::new()
            },
        );
        self.watch_policies::<PropagationPolicy>(runtime, known);
        self.watch_policies::<ClusterPropagationPolicy>(runtime, known);
        self.watch_bindings::<ResourceBinding>(runtime, known);
        self.watch_bindings::<ClusterResourceBinding>(runtime, known);
        self.watch_overrides::<OverridePolicy>(runtime, known);
        self.watch_overrides::<ClusterOverridePolicy>(runtime, known);
    }

    fn watch_policies<P: Propagation>(&self, runtime: &Runtime, known: &Readiness) {
        self.watch(
            runtime,
            known,
            Scope::host(),
            |policy: P| Some(PolicyView::of(&policy)),
            |world, change| match change.new {
                Some(policy) => world.put_policy(policy),
                None => world.remove_policy(&PolicyRef::new(
                    &P::kind(&()),
                    change.key.namespace(),
                    &change.key.name,
                )),
            },
        );
    }

    fn watch_bindings<B: Binding>(&self, runtime: &Runtime, known: &Readiness) {
        self.watch(
            runtime,
            known,
            Scope::host(),
            |binding: B| Some(BindingView::of(&binding)),
            |world, change| match change.new {
                Some(binding) => world.put_binding(binding),
                None => world.remove_binding(change.key.namespace(), &change.key.name),
            },
        );
    }

    fn watch_overrides<O: Object>(&self, runtime: &Runtime, known: &Readiness) {
        self.watch(
            runtime,
            known,
            Scope::host().metadata_only(),
            |_: PartialObjectMeta<O>| Some(()),
            |world, change| {
                let exists = change.new.is_some();
                world.put_override(change.key.namespace(), &change.key.name, exists)
            },
        );
    }

    fn watch<K, V>(
        &self,
        runtime: &Runtime,
        known: &Readiness,
        scope: Scope,
        compact: impl Fn(K) -> Option<V> + Send + 'static,
        take: impl Fn(&mut World, Change<V>) -> Vec<Key> + Send + 'static,
    ) where
        K: Resource<DynamicType = ()> + DeserializeOwned + Send + 'static,
        V: PartialEq + Send + Sync + 'static,
    {
        let shared = self.shared.clone();
        runtime.spawn(watch::run(
            runtime.client.clone(),
            scope,
            Arc::new(Store::default()),
            Some(known.handle(K::kind(&()))),
            runtime.shutdown.clone(),
            compact,
            move |change| {
                shared.put(|world| take(world, change));
                shared.kinds_changed.notify_one();
            },
        ));
    }

    /// Starts and stops the watches of templates as policies and bindings come and go, until `shutdown`.
    pub(crate) async fn watch_templates(self: Arc<Self>, shutdown: CancellationToken) {
        let mut running: BTreeSet<Gvk> = BTreeSet::new();
        loop {
            let mut wanted = self.shared.world().kinds();
            wanted.retain(can_be_template);
            for gvk in std::mem::take(&mut self.shared.meanings().changed) {
                if running.remove(&gvk) {
                    info!(kind = %gvk, "its customization changed, so its templates are read again");
                    self.shared.world().forget_kind(&gvk);
                }
            }
            let is_wanted = |gvk: &GroupVersionKind| {
                let gvk = Gvk::from(gvk);
                wanted.contains(&gvk) && running.contains(&gvk)
            };
            self.whole.retain(is_wanted);
            self.metadata.retain(is_wanted);
            for gvk in running.difference(&wanted) {
                info!(kind = %gvk, "stopped watching templates");
                self.shared.world().forget_kind(gvk);
            }
            for gvk in wanted.difference(&running) {
                info!(kind = %gvk, "watching templates");
                self.watches_of(gvk).ensure(&gvk.into());
                tokio::spawn(Arc::clone(&self).await_kind(gvk.clone()));
            }
            running = wanted;
            tokio::select! {
                () = self.shared.kinds_changed.notified() => {}
                () = shutdown.cancelled() => return,
            }
        }
    }

    fn watches_of(&self, gvk: &Gvk) -> &DynamicWatches<TemplateView> {
        let interpreter = self.shared.interpreter();
        if interpreter.looks_into(&gvk.api_version, &gvk.kind) {
            &self.whole
        } else {
            &self.metadata
        }
    }

    async fn await_kind(self: Arc<Self>, gvk: Gvk) {
        let watches = self.watches_of(&gvk);
        let kind = GroupVersionKind::from(&gvk);
        tokio::select! {
            () = watches.synced(&kind) => {}
            () = watches.forbidden(&kind) => {
                self.shared.put(|world| world.kind_forbidden(&gvk));
                watches.synced(&kind).await;
            }
        }
        if watches.is_synced(&kind) {
            self.shared.put(|world| world.kind_synced(&gvk));
        }
    }
}

fn read(
    interpreter: &Interpreter,
    gvk: &GroupVersionKind,
    object: DynamicObject,
) -> Option<TemplateView> {
    let namespace = object.metadata.namespace.as_deref().unwrap_or_default();
    if !can_hold_templates(namespace) {
        return None;
    }
    Some(view(&gvk.into(), object, interpreter, Timestamp::now()))
}

fn take(world: &mut World, gvk: &GroupVersionKind, change: Change<TemplateView>) -> Vec<Key> {
    match change.new {
        Some(template) => world.put_template(template),
        None => world.remove_template(&TemplateKey {
            gvk: gvk.into(),
            namespace: change.key.namespace().into(),
            name: (&*change.key.name).into(),
        }),
    }
}
