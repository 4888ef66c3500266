//! What has been seen of the control plane, and what belongs together.
//!
//! Nothing here does IO or takes decisions. Answers to own writes are put in as well, so that no decision rests on a sight older than
//! the last write: of two sights of one object the newer stays.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use engine::snapshot::{Fleet, Name};
use kube::core::GroupVersionKind;

use crate::key::{ObjectKey, Origin, WorkKey, gvk};
use crate::problem::Problem;
use crate::seen::{BindingSeen, ClusterSeen, OverrideSeen, WorkSeen};

/// All of it. Locks are held for the moment of a look only.
#[derive(Default)]
pub(crate) struct World {
    state: RwLock<State>,
}

#[derive(Default)]
struct State {
    fleet: Arc<Fleet>,
    clusters: BTreeMap<Name, Arc<ClusterSeen>>,
    bindings: HashMap<Origin, Arc<BindingSeen>>,
    of_template: HashMap<ObjectKey, BTreeSet<Origin>>,
    /// The bindings that say a binding depends on them.
    dependencies: HashMap<Origin, BTreeSet<Origin>>,
    templates: Tally<()>,
    overrides: BTreeMap<(String, String), Arc<OverrideSeen>>,
    works: HashMap<WorkKey, Arc<WorkSeen>>,
    of_origin: HashMap<Origin, BTreeSet<WorkKey>>,
    copies: Tally<Name>,
    problems: HashMap<Origin, Vec<Problem>>,
}

/// How many objects need the watch of a kind somewhere.
struct Tally<P>(HashMap<(P, GroupVersionKind), usize>);

impl<P> Default for Tally<P> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<P: Clone + Eq + std::hash::Hash> Tally<P> {
    fn add(&mut self, place: &P, gvk: &GroupVersionKind) {
        *self.0.entry((place.clone(), gvk.clone())).or_default() += 1;
    }

    fn remove(&mut self, place: &P, gvk: &GroupVersionKind) {
        let key = (place.clone(), gvk.clone());
        if let Some(count) = self.0.get_mut(&key) {
            *count -= 1;
            if *count == 0 {
                self.0.remove(&key);
            }
        }
    }

    fn has(&self, place: &P, gvk: &GroupVersionKind) -> bool {
        self.0.contains_key(&(place.clone(), gvk.clone()))
    }
}

/// An object before and after a change; nothing of it if it was not news.
pub(crate) struct News<T> {
    pub(crate) old: Option<Arc<T>>,
    pub(crate) new: Option<Arc<T>>,
}

impl World {
    // Clusters.

    pub(crate) fn fleet(&self) -> Arc<Fleet> {
        Arc::clone(&self.read().fleet)
    }

    pub(crate) fn cluster(&self, name: &str) -> Option<Arc<ClusterSeen>> {
        self.read().clusters.get(name).cloned()
    }

    pub(crate) fn put_cluster(&self, name: &str, new: Option<Arc<ClusterSeen>>) {
        let mut state = self.write();
        let mut fleet = (*state.fleet).clone();
        if let Some(seen) = new {
            fleet.insert(name.into(), Arc::clone(&seen.view));
            state.clusters.insert(name.into(), seen);
        } else {
            fleet.remove(name);
            state.clusters.remove(name);
        }
        state.fleet = Arc::new(fleet);
    }

    // Bindings.

    pub(crate) fn binding(&self, origin: &Origin) -> Option<Arc<BindingSeen>> {
        self.read().bindings.get(origin).cloned()
    }

    pub(crate) fn put_binding(
        &self,
        origin: &Origin,
        new: Option<Arc<BindingSeen>>,
    ) -> Option<News<BindingSeen>> {
        let mut state = self.write();
        let old = state.bindings.get(origin).cloned();
        if let (Some(old), Some(new)) = (&old, &new)
            && old.uid == new.uid
            && old.version >= new.version
        {
            return None;
        }
        if let Some(old) = &old {
            let template = template_of(old);
            state.templates.remove(&(), &template.gvk);
            take_out(&mut state.of_template, &template, origin);
            for dependent in dependents(old) {
                take_out(&mut state.dependencies, &dependent, origin);
            }
        }
        if let Some(new) = &new {
            let template = template_of(new);
            state.templates.add(&(), &template.gvk);
            for dependent in dependents(new) {
                let all = state.dependencies.entry(dependent).or_default();
                all.insert(origin.clone());
            }
            state
                .of_template
                .entry(template)
                .or_default()
                .insert(origin.clone());
            state.bindings.insert(origin.clone(), Arc::clone(new));
        } else {
            state.bindings.remove(origin);
            state.problems.remove(origin);
        }
        Some(News { old, new })
    }

    /// Whether any binding has a template of this kind.
    pub(crate) fn is_bound(&self, gvk: &GroupVersionKind) -> bool {
        self.read().templates.has(&(), gvk)
    }

    /// The bindings of a template.
    pub(crate) fn bindings_of(&self, template: &ObjectKey) -> Vec<Origin> {
        self.read()
            .of_template
            .get(template)
            .into_iter()
            .flatten()
            .cloned()
            .collect()
    }

    /// The bindings that say this one depends on them.
    pub(crate) fn dependencies_of(&self, origin: &Origin) -> Vec<Origin> {
        let state = self.read();
        let all = state.dependencies.get(origin).into_iter().flatten();
        all.cloned().collect()
    }

    /// Where there are still copies of those that depend on a binding.
    pub(crate) fn needed_in(&self, binding: &BindingSeen) -> BTreeSet<Name> {
        let state = self.read();
        dependents(binding)
            .filter_map(|dependent| state.of_origin.get(&dependent))
            .flatten()
            .map(|work| work.cluster.clone())
            .collect()
    }

    /// Every binding for which `wanted` holds.
    pub(crate) fn bindings(&self, wanted: impl Fn(&BindingSeen) -> bool) -> Vec<Origin> {
        self.read()
            .bindings
            .iter()
            .filter(|(_, binding)| wanted(binding))
            .map(|(origin, _)| origin.clone())
            .collect()
    }

    // Override policies.

    pub(crate) fn put_override(&self, namespace: &str, name: &str, new: Option<Arc<OverrideSeen>>) {
        let key = (namespace.to_owned(), name.to_owned());
        let mut state = self.write();
        match new {
            Some(policy) => {
                state.overrides.insert(key, policy);
            }
            None => {
                state.overrides.remove(&key);
            }
        }
    }

    /// The policies of cluster scope, then those of the namespace.
    pub(crate) fn overrides(&self, namespace: &str) -> Vec<Arc<OverrideSeen>> {
        self.read()
            .overrides
            .iter()
            .filter(|((of, _), _)| of.is_empty() || of == namespace)
            .map(|(_, policy)| Arc::clone(policy))
            .collect()
    }

    // Works.

    pub(crate) fn work(&self, key: &WorkKey) -> Option<Arc<WorkSeen>> {
        self.read().works.get(key).cloned()
    }

    /// The Works made from an origin, by cluster.
    pub(crate) fn works_of(&self, origin: &Origin) -> Vec<Arc<WorkSeen>> {
        let state = self.read();
        state
            .of_origin
            .get(origin)
            .into_iter()
            .flatten()
            .filter_map(|key| state.works.get(key).cloned())
            .collect()
    }

    /// The Works of a cluster for which `wanted` holds.
    pub(crate) fn works_in(
        &self,
        cluster: &str,
        wanted: impl Fn(&WorkSeen) -> bool,
    ) -> Vec<WorkKey> {
        self.read()
            .works
            .values()
            .filter(|work| work.key.cluster == *cluster && wanted(work))
            .map(|work| work.key.clone())
            .collect()
    }

    pub(crate) fn put_work(
        &self,
        key: &WorkKey,
        new: Option<Arc<WorkSeen>>,
    ) -> Option<News<WorkSeen>> {
        let mut state = self.write();
        let old = state.works.get(key).cloned();
        if let (Some(old), Some(new)) = (&old, &new)
            && old.uid == new.uid
            && old.version >= new.version
        {
            return None;
        }
        if let Some(old) = &old {
            for object in &old.objects {
                state.copies.remove(&key.cluster, &object.gvk);
            }
            if let Some(origin) = &old.origin {
                take_out(&mut state.of_origin, origin, key);
            }
        }
        if let Some(new) = &new {
            for object in &new.objects {
                state.copies.add(&key.cluster, &object.gvk);
            }
            if let Some(origin) = &new.origin {
                state
                    .of_origin
                    .entry(origin.clone())
                    .or_default()
                    .insert(key.clone());
            }
            state.works.insert(key.clone(), Arc::clone(new));
        } else {
            state.works.remove(key);
        }
        Some(News { old, new })
    }

    /// Whether any Work puts an object of this kind into this cluster.
    pub(crate) fn is_copied(&self, cluster: &Name, gvk: &GroupVersionKind) -> bool {
        self.read().copies.has(cluster, gvk)
    }

    /// Origins that no longer exist but have Works.
    pub(crate) fn origins(&self) -> Vec<Origin> {
        self.read().of_origin.keys().cloned().collect()
    }

    // Problems with making Works.

    pub(crate) fn problems(&self, origin: &Origin) -> Vec<Problem> {
        self.read()
            .problems
            .get(origin)
            .cloned()
            .unwrap_or_default()
    }

    /// Returns whether they differ from those known before.
    pub(crate) fn put_problems(&self, origin: &Origin, problems: &[Problem]) -> bool {
        let mut state = self.write();
        let old = if problems.is_empty() {
            state.problems.remove(origin)
        } else {
            state.problems.insert(origin.clone(), problems.to_vec())
        };
        old.unwrap_or_default() != problems
    }

    fn read(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The bindings that depend on a binding.
fn dependents(binding: &BindingSeen) -> impl Iterator<Item = Origin> {
    binding.spec.required_by.iter().map(|snapshot| {
        let namespace = snapshot.namespace.as_deref().unwrap_or_default();
        Origin::binding(namespace, &snapshot.name)
    })
}

fn take_out<K: Eq + std::hash::Hash, V: Ord>(
    index: &mut HashMap<K, BTreeSet<V>>,
    key: &K,
    value: &V,
) {
    if let Some(values) = index.get_mut(key) {
        values.remove(value);
        if values.is_empty() {
            index.remove(key);
        }
    }
}

/// The template of a binding.
pub(crate) fn template_of(binding: &BindingSeen) -> ObjectKey {
    let resource = &binding.spec.resource;
    ObjectKey {
        gvk: gvk(&resource.api_version, &resource.kind),
        namespace: resource.namespace.as_deref().unwrap_or_default().into(),
        name: resource.name.as_str().into(),
    }
}
