//! What all controllers share, and how a change of one object wakes those it concerns.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use crds::config::ResourceInterpreterCustomization;
use crds::scope::Binding;
use crds::work::Work;
use engine::dispatch::targets;
use engine::interpret::{Interpreter, Library};
use engine::snapshot::{Name, Readiness};
use kit::CancellationToken;
use kit::dynamic::{DynamicWatches, Kinds};
use kit::events::Recorder;
use kit::process::Runtime;
use kit::queue::Queue;
use kit::watch::{Change, Scope};
use kit::writer::Writer;
use kube::core::GroupVersionKind;

use crate::binding::identity_of;
use crate::execution::CopySeen;
use crate::key::{ObjectKey, Origin, WorkKey, gvk};
use crate::members::Members;
use crate::metrics::Metrics;
use crate::seen::{BindingSeen, ClusterSeen, OverrideSeen, TemplateSeen, WorkSeen};
use crate::since::Since;
use crate::world::{World, template_of};

/// When an override policy is deleted, its propagation policy often goes in the same breath: what it no longer changes is sent only when
/// the binding had the time to lose its owner.
const AFTER_OVERRIDE: Duration = Duration::from_secs(1);

/// What all controllers share.
pub(crate) struct Hub {
    pub(crate) world: World,
    /// What kinds mean.
    library: Mutex<Library>,
    /// Templates in full, kind by kind.
    pub(crate) templates: DynamicWatches<TemplateSeen>,
    /// Origins whose Works are looked at.
    pub(crate) origins: Queue<Origin>,
    /// Bindings whose status is looked at.
    pub(crate) reports: Queue<Origin>,
    /// Customizations whose authors have to be told something.
    pub(crate) faulty: Queue<Name>,
    pub(crate) members: Members,
    /// Writes Works and their status.
    pub(crate) works: Writer,
    /// Writes objects in members.
    pub(crate) execution: Writer,
    /// Writes what bindings and templates say.
    pub(crate) aggregate: Writer,
    pub(crate) recorder: Recorder,
    pub(crate) metrics: Metrics,
    /// Cancelled when everything has been listed: before that, what is missing means nothing.
    pub(crate) filled: CancellationToken,
    /// Works that are in trouble.
    pub(crate) troubled: Since<WorkKey>,
    /// Bindings whose status was written.
    pub(crate) reported: Since<Origin>,
    /// Works whose status is not as it is written.
    pub(crate) unwritten: Since<WorkKey>,
    /// Bindings whose status is not as it is written.
    pub(crate) unreported: Since<Origin>,
    /// Bindings whose copies are on their way.
    pub(crate) under_way: Since<Origin>,
    /// Bindings that want other replicas than their templates: the scheduler has to follow.
    pub(crate) lagging: Since<Origin>,
}

impl Hub {
    pub(crate) fn start(runtime: &Runtime) -> Arc<Self> {
        Arc::new_cyclic(|hub: &Weak<Self>| {
            let told = Weak::clone(hub);
            Self {
                world: World::default(),
                library: Mutex::default(),
                templates: DynamicWatches::new(
                    Kinds::new(runtime.client.clone()),
                    Scope::host().with_owners(),
                    runtime.shutdown.clone(),
                    |gvk, object| Some(TemplateSeen::of(gvk, object)),
                    move |gvk, change| {
                        if let Some(hub) = told.upgrade() {
                            hub.template_changed(gvk, &change);
                        }
                    },
                ),
                origins: Queue::new("bindings", &runtime.metrics),
                reports: Queue::new("statuses", &runtime.metrics),
                faulty: Queue::new("customizations", &runtime.metrics),
                members: Members::start(runtime, hub),
                works: runtime.writer("works"),
                execution: runtime.writer("execution"),
                aggregate: runtime.writer("aggregate"),
                recorder: runtime.recorder(),
                metrics: Metrics::register(&runtime.metrics),
                filled: CancellationToken::new(),
                troubled: Since::default(),
                reported: Since::default(),
                unwritten: Since::default(),
                unreported: Since::default(),
                under_way: Since::default(),
                lagging: Since::default(),
            }
        })
    }

    /// The control plane's client.
    pub(crate) fn client(&self) -> &kube::Client {
        self.works.client()
    }

    /// Everything has been listed.
    pub(crate) fn fill(&self) {
        for origin in self.world.origins() {
            self.origins.add_patient(origin);
        }
        self.wake_faulty();
        self.filled.cancel();
    }

    // Customizations.

    /// What kinds mean, at the moment.
    pub(crate) fn interpreter(&self) -> Arc<Interpreter> {
        self.library
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .interpreter()
    }

    pub(crate) fn customization_changed(&self, change: &Change<ResourceInterpreterCustomization>) {
        let kinds = self
            .library
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .put(&change.key.name, change.new.as_ref());
        if !self.filled.is_cancelled() {
            return;
        }
        for (api_version, kind) in kinds {
            let of_kind = gvk(&api_version, &kind);
            self.members.look_again(&of_kind);
            let concerned = self.world.bindings(|binding| {
                binding.spec.resource.api_version == api_version
                    && binding.spec.resource.kind == kind
            });
            for origin in concerned {
                for work in self.world.works_of(&origin) {
                    let queue = self.members.queue(&work.key.cluster);
                    queue.add(work.key.name.clone());
                }
                self.origins.add_patient(origin.clone());
                self.reports.add_patient(origin);
            }
        }
        self.wake_faulty();
    }

    fn wake_faulty(&self) {
        for problem in self.interpreter().problems() {
            self.faulty.add(problem.customization.clone());
        }
    }

    /// A customization.
    pub(crate) fn customization(
        &self,
        name: &str,
    ) -> Option<Arc<ResourceInterpreterCustomization>> {
        self.library
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(name)
            .cloned()
    }

    // Clusters.

    pub(crate) fn cluster_changed(&self, change: &Change<ClusterSeen>) {
        let cluster = Name::from(&*change.key.name);
        self.world.put_cluster(&cluster, change.new.clone());
        let Some(new) = &change.new else {
            self.members.remove(&cluster);
            for work in self.world.works_in(&cluster, |_| true) {
                self.members.queue(&cluster).add(work.name);
            }
            self.wake_bound_to(&cluster, |hub, origin| {
                hub.origins.add(origin.clone());
                hub.reports.add_patient(origin);
            });
            return;
        };
        let reached_anew = self.members.set(&cluster, new.access.clone());
        let Some(old) = &change.old else {
            for namespace in self.namespaces() {
                self.origins.add_patient(namespace);
            }
            self.wake_bound_to(&cluster, |hub, origin| hub.origins.add_patient(origin));
            self.wake_unfinished(&cluster);
            return;
        };
        if reached_anew
            || old.view.ready != new.view.ready
            || old.view.kinds != new.view.kinds
            || old.pushed != new.pushed
        {
            self.wake_unfinished(&cluster);
        }
        if (old.view.ready == Readiness::Ready) != (new.view.ready == Readiness::Ready) {
            self.wake_bound_to(&cluster, |hub, origin| hub.reports.add_patient(origin));
        }
        let selected_anew = old.view.labels != new.view.labels
            || old.view.provider != new.view.provider
            || old.view.region != new.view.region
            || old.view.zones != new.view.zones
            || old.view.deleting != new.view.deleting;
        if selected_anew {
            self.wake_bound_to(&cluster, |hub, origin| hub.origins.add_patient(origin));
            for namespace in self.namespaces() {
                self.origins.add_patient(namespace);
            }
        }
    }

    pub(crate) fn credentials_changed(&self, cluster: &str) {
        self.wake_unfinished(cluster);
    }

    /// The Works that something may be done about now.
    fn wake_unfinished(&self, cluster: &str) {
        let queue = self.members.queue(cluster);
        for work in self
            .world
            .works_in(cluster, |work| work.deleting || !work.applied())
        {
            queue.add(work.name);
        }
    }

    /// The bindings that have or want a copy in a cluster.
    fn wake_bound_to(&self, cluster: &Name, wake: impl Fn(&Self, Origin)) {
        let targeting = self.world.bindings(|binding| {
            binding
                .spec
                .clusters
                .iter()
                .any(|target| target.name == cluster.as_str())
        });
        let copied = self
            .world
            .works_in(cluster, |work| work.origin.is_some())
            .into_iter()
            .filter_map(|key| self.world.work(&key)?.origin.clone());
        for origin in targeting.into_iter().chain(copied) {
            wake(self, origin);
        }
    }

    fn namespaces(&self) -> Vec<Origin> {
        self.templates
            .store(&namespace_kind())
            .into_iter()
            .flat_map(|store| store.keys())
            .map(|key| Origin::Namespace((&*key.name).into()))
            .collect()
    }

    // Bindings and templates.

    pub(crate) fn binding_changed(&self, change: &Change<BindingSeen>) {
        let origin = Origin::binding(change.key.namespace(), &change.key.name);
        self.put_binding(&origin, change.new.clone());
    }

    /// Puts in the answer to an own write.
    pub(crate) fn learn_binding<B: Binding>(&self, origin: &Origin, written: &B) {
        self.put_binding(origin, Some(Arc::new(BindingSeen::of(written))));
    }

    fn put_binding(&self, origin: &Origin, new: Option<Arc<BindingSeen>>) {
        let Some(news) = self.world.put_binding(origin, new) else {
            return;
        };
        if let Some(new) = &news.new {
            self.templates.ensure(&template_of(new).gvk);
        } else {
            for since in [
                &self.reported,
                &self.unreported,
                &self.under_way,
                &self.lagging,
            ] {
                since.end(origin);
            }
        }
        match (&news.old, &news.new) {
            (Some(old), Some(new)) if !new.differs_for_works(old) => {}
            (old, new) => {
                self.origins.add(origin.clone());
                if new.is_some() {
                    self.reports.add_patient(origin.clone());
                }
                if let Some(old) = old {
                    self.forget_template_kind(&template_of(old).gvk);
                }
            }
        }
    }

    fn forget_template_kind(&self, gone: &GroupVersionKind) {
        if !self.world.is_bound(gone) && *gone != namespace_kind() {
            self.templates
                .retain(|gvk| gvk != gone || self.world.is_bound(gvk));
        }
    }

    fn template_changed(&self, gvk: &GroupVersionKind, change: &Change<TemplateSeen>) {
        let template = ObjectKey {
            gvk: gvk.clone(),
            namespace: change.key.namespace().into(),
            name: (&*change.key.name).into(),
        };
        let only_status = matches!(
            (&change.old, &change.new),
            (Some(old), Some(new)) if !new.differs_beside_status(old)
        );
        for origin in self.world.bindings_of(&template) {
            if only_status {
                self.reports.add_patient(origin);
            } else {
                if change.old.is_none() {
                    self.reports.add_patient(origin.clone());
                }
                self.origins.add(origin);
            }
        }
        if *gvk == namespace_kind() && !only_status {
            self.origins.add(Origin::Namespace(template.name));
        }
    }

    // Override policies.

    pub(crate) fn override_changed(&self, change: &Change<OverrideSeen>) {
        let (namespace, name) = (change.key.namespace(), &change.key.name);
        self.world.put_override(namespace, name, change.new.clone());
        let policies = [&change.old, &change.new];
        let selects = |object: engine::policy::selector::Identity<'_>| {
            policies
                .iter()
                .filter_map(|policy| policy.as_ref())
                .any(|policy| policy.may_select(object))
        };
        let mut concerned = self
            .world
            .bindings(|binding| selects(identity_of(&binding.spec.resource, &BTreeMap::new())));
        if namespace.is_empty() {
            concerned.extend(self.namespaces());
        }
        for origin in concerned {
            if change.new.is_none() {
                self.origins.add_after(origin, AFTER_OVERRIDE);
            } else {
                self.origins.add_patient(origin);
            }
        }
    }

    // Works and copies.

    pub(crate) fn work_changed(&self, change: &Change<WorkSeen>) {
        if let Some(key) = WorkKey::of(change.key.namespace(), &change.key.name) {
            self.put_work(&key, change.new.clone());
        }
    }

    /// Puts in the answer to an own write.
    pub(crate) fn learn_work(&self, written: &Work) {
        let Some(seen) = WorkSeen::of(written) else {
            return;
        };
        let key = seen.key.clone();
        // The answer to the removal of the last finalizer is an object that is gone already.
        let gone = seen.deleting
            && written
                .metadata
                .finalizers
                .as_ref()
                .is_none_or(Vec::is_empty);
        if !gone {
            self.put_work(&key, Some(Arc::new(seen)));
        }
    }

    fn put_work(&self, key: &WorkKey, new: Option<Arc<WorkSeen>>) {
        let Some(news) = self.world.put_work(key, new) else {
            return;
        };
        let (old, new) = (news.old.as_deref(), news.new.as_deref());
        let for_member = match (old, new) {
            (Some(old), Some(new)) => new.differs_for_member(old),
            _ => true,
        };
        if for_member {
            self.members.queue(&key.cluster).add(key.name.clone());
        }
        if new.is_none_or(WorkSeen::applied) {
            self.troubled.end(key);
        }
        if let Some(old) = old.filter(|_| new.is_none()) {
            for object in &old.objects {
                if !self.world.is_copied(&key.cluster, &object.gvk) {
                    self.members
                        .forget_kinds(&key.cluster, |gvk| self.world.is_copied(&key.cluster, gvk));
                }
            }
        }
        if new.is_none()
            && self.world.cluster(&key.cluster).is_none()
            && self.world.works_in(&key.cluster, |_| true).is_empty()
        {
            self.members.end_queue(&key.cluster);
            self.unwritten.retain(|work| work.cluster != key.cluster);
        }
        let Some(origin) = new.or(old).and_then(|work| work.origin.clone()) else {
            return;
        };
        let reports_anew = match (old, new) {
            (Some(old), Some(new)) => new.differs_in_status(old),
            _ => true,
        };
        if reports_anew && matches!(origin, Origin::Binding { .. }) {
            self.reports.add_patient(origin.clone());
        }
        let changes_fates = match (old, new) {
            // One that goes may come again; one that is applied may be what another waits for.
            (Some(_), None) => true,
            (Some(old), Some(new)) => {
                new.deleting != old.deleting
                    || (new.applied() && !old.applied() && self.has_leavers(&origin))
                    || new.generation != old.generation
                    || new.labels != old.labels
                    || new.annotations != old.annotations
            }
            (None, _) => self.filled.is_cancelled() && self.is_orphan(&origin),
        };
        if new.is_none() {
            // What it needed there may go as well.
            for dependency in self.world.dependencies_of(&origin) {
                self.origins.add(dependency);
            }
        }
        if changes_fates {
            self.origins.add(origin);
        }
    }

    /// Whether some copies of a binding are in clusters that are no targets.
    fn has_leavers(&self, origin: &Origin) -> bool {
        self.world
            .binding(origin)
            .is_some_and(|binding| self.world.works_of(origin).len() > targets(&binding.spec).len())
    }

    fn is_orphan(&self, origin: &Origin) -> bool {
        matches!(origin, Origin::Binding { .. }) && self.world.binding(origin).is_none()
    }

    pub(crate) fn copy_changed(&self, cluster: &Name, change: &Change<CopySeen>) {
        let work = change
            .new
            .as_ref()
            .or(change.old.as_ref())
            .and_then(|copy| copy.work());
        if let Some(work) = work {
            self.members.queue(cluster).add_patient(work.into());
        }
    }

    /// A namespace came into being in a member: what waited for it can go there.
    pub(crate) fn namespace_is_there(&self, work: &WorkKey, namespace: &str) {
        let queue = self.members.queue(&work.cluster);
        let waiting = self.world.works_in(&work.cluster, |other| {
            !other.applied()
                && other
                    .objects
                    .iter()
                    .any(|object| *object.namespace == *namespace)
        });
        for other in waiting {
            queue.add(other.name);
        }
    }
}

/// The kind of namespaces.
pub(crate) fn namespace_kind() -> GroupVersionKind {
    gvk("v1", "Namespace")
}
