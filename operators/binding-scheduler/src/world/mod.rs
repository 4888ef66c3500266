//! What the scheduler has seen: fleet, policies, templates, bindings – and which of them a change concerns.
//!
//! Every change goes through a method that returns the keys to look at again, found by index. Nothing here does IO or takes decisions.
//! Answers to own writes are put in as well, so that a decision never rests on a sight older than the last write: a sight with an
//! older resource version than the one at hand is dropped.

mod claims;
mod dependents;
mod placements;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crds::names;
use engine::dependencies::{Dependent, Reference, refers};
use engine::interpret::Dependency;
use engine::policy::selector::strongest;
use engine::snapshot::{BindingView, ClusterView, Fleet, Name, PolicyView, TemplateView};
use engine::trace::PolicyRef;

use crate::key::{Gvk, Key, TemplateKey, identity};
use claims::Claims;
use dependents::{Concerned, Dependents};
use placements::Placements;

/// Everything seen so far.
#[derive(Debug, Default)]
pub struct World {
    fleet: Arc<Fleet>,
    policies: BTreeMap<PolicyRef, Arc<PolicyView>>,
    policies_by_kind: BTreeMap<Gvk, BTreeSet<PolicyRef>>,
    /// Namespace and name of override policies; those of cluster scope have an empty namespace.
    overrides: BTreeSet<(Name, Name)>,
    /// Policies whose override policies are missing, with the templates that wait.
    waiting: BTreeSet<TemplateKey>,
    templates: BTreeMap<Gvk, BTreeMap<(Name, Name), Arc<TemplateView>>>,
    /// By namespace and name of the binding.
    bindings: BTreeMap<(Name, Name), Arc<BindingView>>,
    /// The binding that says it is of a template, by template.
    binding_of: BTreeMap<TemplateKey, (Name, Name)>,
    kinds_of_bindings: BTreeMap<Gvk, usize>,
    claims: Claims,
    placements: Placements,
    dependents: Dependents,
    /// In what the bindings that depend on a template disagreed when it was last looked at.
    conflicts: BTreeMap<TemplateKey, Option<String>>,
    /// Kinds that may not be watched.
    forbidden: BTreeSet<Gvk>,
    /// Templates that wait for room or for a cluster.
    pending: BTreeSet<TemplateKey>,
    /// Kinds whose templates are all known.
    synced: BTreeSet<Gvk>,
}

/// A view that tells how new it is.
trait View {
    fn resource_version(&self) -> &Name;

    /// Whether the other says the same, even if it is newer.
    fn says_the_same(&self, other: &Self) -> bool;
}

macro_rules! view {
    ($($view:ident),+) => {
        $(impl View for $view {
            fn resource_version(&self) -> &Name {
                &self.resource_version
            }

            fn says_the_same(&self, other: &Self) -> bool {
                let resource_version = other.resource_version.clone();
                Self { resource_version, ..self.clone() } == *other
            }
        })+
    };
}

view!(TemplateView, BindingView, PolicyView);

/// All that is known about one template.
#[derive(Clone, Debug)]
pub struct Sight {
    /// The template, if it exists.
    pub template: Option<Arc<TemplateView>>,
    /// Its binding, if it exists.
    pub binding: Option<Arc<BindingView>>,
    /// The policies that might own it.
    pub policies: Vec<Arc<PolicyView>>,
    /// The bindings that depend on it.
    pub dependents: Vec<Dependent>,
    /// The clusters.
    pub fleet: Arc<Fleet>,
    /// Whether all templates of the kind are known, so that a missing one does not exist.
    pub synced: bool,
}

/// How new a sight is. API servers count resource versions upwards since Kubernetes 1.35 promises so; what is no number counts as new.
fn version(resource_version: &str) -> u64 {
    resource_version.parse().unwrap_or(u64::MAX)
}

impl World {
    /// All that is known about one template.
    pub fn sight(&self, key: &TemplateKey) -> Sight {
        let name = Name::from(names::binding(&key.name, &key.gvk.kind));
        let place = (key.namespace.clone(), name);
        let binding = self
            .bindings
            .get(&place)
            .or_else(|| self.bindings.get(self.binding_of.get(key)?))
            .cloned();
        let template = self.template(key);
        let dependents = template
            .as_ref()
            .map(|template| self.dependents.of(identity(template), &place))
            .unwrap_or_default();
        Sight {
            template,
            binding,
            dependents,
            policies: self.policies_for(key),
            fleet: Arc::clone(&self.fleet),
            synced: self.synced.contains(&key.gvk),
        }
    }

    fn template(&self, key: &TemplateKey) -> Option<Arc<TemplateView>> {
        self.templates
            .get(&key.gvk)?
            .get(&(key.namespace.clone(), key.name.clone()))
            .cloned()
    }

    fn policies_for(&self, key: &TemplateKey) -> Vec<Arc<PolicyView>> {
        self.policies_by_kind
            .get(&key.gvk)
            .into_iter()
            .flatten()
            .filter(|policy| policy.namespace.is_empty() || policy.namespace == key.namespace)
            .filter_map(|policy| self.policies.get(policy))
            .cloned()
            .collect()
    }

    /// Whether an override policy exists that a policy may mean by this name: in the template's namespace, or of cluster scope.
    pub fn has_override(&self, namespace: &Name, name: &str) -> bool {
        let name = Name::from(name);
        self.overrides.contains(&(namespace.clone(), name.clone()))
            || self.overrides.contains(&(Name::default(), name))
    }

    /// A policy.
    pub fn policy(&self, policy: &PolicyRef) -> Option<Arc<PolicyView>> {
        self.policies.get(policy).cloned()
    }

    /// The templates and bindings that say they belong to a policy.
    pub fn claims(&self, policy: &PolicyRef) -> Vec<TemplateKey> {
        self.claims.of(policy)
    }

    /// The kinds whose templates have to be watched: those that policies select, those of existing bindings, and those that templates
    /// refer to which take their dependencies along.
    pub fn kinds(&self) -> BTreeSet<Gvk> {
        self.policies_by_kind
            .keys()
            .chain(self.kinds_of_bindings.keys())
            .chain(self.dependents.kinds())
            .cloned()
            .collect()
    }

    /// All policies.
    pub fn policies(&self) -> impl Iterator<Item = &Arc<PolicyView>> {
        self.policies.values()
    }

    /// The templates that a policy selects.
    pub fn selected(&self, policy: &PolicyView) -> Vec<Arc<TemplateView>> {
        kinds_of(policy)
            .iter()
            .filter_map(|gvk| self.templates.get(gvk))
            .flat_map(BTreeMap::values)
            .filter(|template| selects(policy, template))
            .cloned()
            .collect()
    }

    /// The kinds that a policy selects and whose templates are not known (yet).
    pub fn unknown_kinds(&self, policy: &PolicyView) -> Vec<Gvk> {
        kinds_of(policy)
            .into_iter()
            .filter(|gvk| !self.synced.contains(gvk))
            .collect()
    }

    /// How many templates wait for room or for a cluster.
    pub fn pending(&self) -> usize {
        self.pending.len()
    }

    /// Remembers in what the bindings that depend on a template disagree. Says whether that is news: what is so when a template is first
    /// looked at, and asks for nothing to be written, was so before this process started.
    pub fn note_conflict(
        &mut self,
        key: &TemplateKey,
        conflict: Option<&String>,
        written: bool,
    ) -> bool {
        let old = self.conflicts.insert(key.clone(), conflict.cloned());
        let changed = match old {
            Some(old) => old.as_ref() != conflict,
            None => written,
        };
        changed && conflict.is_some()
    }

    /// The objects of a kind may not be watched. Returns the templates that refer to some and take their dependencies along.
    pub fn kind_forbidden(&mut self, gvk: &Gvk) -> Vec<Key> {
        if !self.forbidden.insert(gvk.clone()) {
            return Vec::new();
        }
        self.dependents
            .of_kind(gvk)
            .into_iter()
            .filter_map(|place| self.bindings.get(place))
            .map(|binding| Key::Template(TemplateKey::from(&binding.spec.resource)))
            .collect()
    }

    /// What templates refer to that take their dependencies along.
    pub fn references(&self) -> impl Iterator<Item = (TemplateKey, Arc<[Dependency]>)> {
        self.bindings
            .values()
            .filter(|binding| binding.spec.propagate_deps == Some(true))
            .filter_map(|binding| {
                let key = TemplateKey::from(&binding.spec.resource);
                Some((key, binding.dependencies.clone()?))
            })
    }

    /// Which of the kinds that a binding refers to may not be watched, with the names that are referred to.
    pub fn forbidden_for(&self, binding: &BindingView) -> BTreeMap<Gvk, Vec<String>> {
        let mut forbidden: BTreeMap<Gvk, Vec<String>> = BTreeMap::new();
        if self.forbidden.is_empty() || binding.spec.propagate_deps != Some(true) {
            return forbidden;
        }
        for dependency in binding.dependencies.iter().flat_map(|all| &**all) {
            let gvk = Gvk::new(&dependency.api_version, &dependency.kind);
            if self.forbidden.contains(&gvk) {
                let name = dependency.name.clone().unwrap_or_else(|| "*".to_owned());
                forbidden.entry(gvk).or_default().push(name);
            }
        }
        forbidden
    }

    /// All templates of a kind are known now; the bindings of missing ones have to be looked at.
    pub fn kind_synced(&mut self, gvk: &Gvk) -> Vec<Key> {
        self.forbidden.remove(gvk);
        if !self.synced.insert(gvk.clone()) {
            return Vec::new();
        }
        let bindings = self.binding_of.keys().filter(|key| key.gvk == *gvk);
        let policies = self.policies_by_kind.get(gvk).into_iter().flatten();
        bindings
            .cloned()
            .map(Key::Template)
            .chain(policies.cloned().map(Key::Policy))
            .collect()
    }

    /// A kind is no longer watched.
    pub fn forget_kind(&mut self, gvk: &Gvk) {
        self.synced.remove(gvk);
        self.forbidden.remove(gvk);
        for template in self.templates.remove(gvk).into_iter().flatten() {
            let key = TemplateKey::from(&*template.1);
            self.claims.template(&key, None);
        }
    }

    /// A template is there, or has changed.
    pub fn put_template(&mut self, template: Arc<TemplateView>) -> Vec<Key> {
        let key = TemplateKey::from(&*template);
        let claim = template.claim.claim().filter(|_| !template.deleting);
        let place = (key.namespace.clone(), key.name.clone());
        let all = self.templates.entry(key.gvk.clone()).or_default();
        if !put(all, place, template) {
            return Vec::new();
        }
        let lost = self
            .claims
            .template(&key, claim.map(|claim| claim.policy()));
        with_policy(key, lost)
    }

    /// A template is gone.
    pub fn remove_template(&mut self, key: &TemplateKey) -> Vec<Key> {
        let all = self.templates.get_mut(&key.gvk);
        let place = (key.namespace.clone(), key.name.clone());
        if all.is_none_or(|all| all.remove(&place).is_none()) {
            return Vec::new();
        }
        self.pending.remove(key);
        self.waiting.remove(key);
        self.conflicts.remove(key);
        let lost = self.claims.template(key, None);
        with_policy(key.clone(), lost)
    }

    /// A binding is there, or has changed.
    pub fn put_binding(&mut self, binding: Arc<BindingView>) -> Vec<Key> {
        let key = TemplateKey::from(&binding.spec.resource);
        let place = (binding.namespace.clone(), binding.name.clone());
        let old = self
            .bindings
            .get(&place)
            .map(|old| TemplateKey::from(&old.spec.resource));
        // What is on its way out holds no policy back, even if the way is long because a member does not answer.
        let claim = binding.claim.claim().filter(|_| !binding.deleting);
        let claim = claim.map(|claim| claim.policy());
        let new = Arc::clone(&binding);
        if !put(&mut self.bindings, place.clone(), binding) {
            return Vec::new();
        }
        if let Some(old) = old.filter(|old| *old != key) {
            self.unlink(&old, &place);
        }
        let linked = self.binding_of.insert(key.clone(), place.clone());
        if linked.is_none() {
            *self.kinds_of_bindings.entry(key.gvk.clone()).or_default() += 1;
        }
        self.placements.put(&key, &new.spec);
        self.dependents.list(&key, Some(&new));
        let lost = self.claims.binding(&key, claim);
        let mut keys = with_policy(key, lost);
        keys.extend(self.depended_on(&place));
        keys
    }

    /// What a binding depends on, or did, if that or its clusters have changed.
    fn depended_on(&mut self, place: &(Name, Name)) -> Vec<Key> {
        let binding = self.bindings.get(place).cloned();
        let Concerned {
            mut objects,
            labels,
        } = self.dependents.put(place, binding.as_deref());
        for dependency in &labels {
            objects.extend(self.meant(dependency));
        }
        objects.into_iter().map(Key::Template).collect()
    }

    /// The templates that a reference by labels means.
    fn meant(&self, dependency: &Dependency) -> impl Iterator<Item = TemplateKey> {
        self.templates
            .get(&Gvk::new(&dependency.api_version, &dependency.kind))
            .into_iter()
            .flat_map(BTreeMap::values)
            .filter(|template| refers(dependency, identity(template)) == Reference::Yes)
            .map(|template| TemplateKey::from(&**template))
    }

    /// A binding is gone.
    pub fn remove_binding(&mut self, namespace: &str, name: &str) -> Vec<Key> {
        let place = (Name::from(namespace), Name::from(name));
        let Some(binding) = self.bindings.remove(&place) else {
            return Vec::new();
        };
        let key = TemplateKey::from(&binding.spec.resource);
        self.unlink(&key, &place);
        let lost = self.claims.binding(&key, None);
        let mut keys = with_policy(key, lost);
        keys.extend(self.depended_on(&place));
        keys
    }

    fn unlink(&mut self, key: &TemplateKey, place: &(Name, Name)) {
        if self.binding_of.get(key) != Some(place) {
            return;
        }
        self.binding_of.remove(key);
        self.placements.remove(key);
        self.dependents.list(key, None);
        self.pending.remove(key);
        if let Some(count) = self.kinds_of_bindings.get_mut(&key.gvk) {
            *count -= 1;
            if *count == 0 {
                self.kinds_of_bindings.remove(&key.gvk);
            }
        }
    }

    /// A policy is there, or has changed.
    pub fn put_policy(&mut self, policy: Arc<PolicyView>) -> Vec<Key> {
        let key = policy.policy.clone();
        let kinds = kinds_of(&policy);
        let old = self.policies.get(&key).cloned();
        if !put(&mut self.policies, key.clone(), policy) {
            return Vec::new();
        }
        for gvk in old.iter().flat_map(|old| kinds_of(old)) {
            self.unlink_policy(&gvk, &key);
        }
        for gvk in kinds {
            self.policies_by_kind
                .entry(gvk)
                .or_default()
                .insert(key.clone());
        }
        let new = self.policies.get(&key);
        self.concerned_by(&key, old.as_deref(), new.map(|new| &**new))
    }

    /// A policy is gone.
    pub fn remove_policy(&mut self, policy: &PolicyRef) -> Vec<Key> {
        let Some(old) = self.policies.remove(policy) else {
            return Vec::new();
        };
        for gvk in kinds_of(&old) {
            self.unlink_policy(&gvk, policy);
        }
        self.concerned_by(policy, Some(&old), None)
    }

    fn unlink_policy(&mut self, gvk: &Gvk, policy: &PolicyRef) {
        if let Some(policies) = self.policies_by_kind.get_mut(gvk) {
            policies.remove(policy);
            if policies.is_empty() {
                self.policies_by_kind.remove(gvk);
            }
        }
    }

    /// What it owns, what it selects, and what it selected before.
    fn concerned_by(
        &self,
        policy: &PolicyRef,
        old: Option<&PolicyView>,
        new: Option<&PolicyView>,
    ) -> Vec<Key> {
        let mut keys: BTreeSet<TemplateKey> = self.claims.of(policy).into_iter().collect();
        for view in old.into_iter().chain(new) {
            keys.extend(self.selected(view).iter().map(|t| TemplateKey::from(&**t)));
        }
        keys.into_iter()
            .map(Key::Template)
            .chain([Key::Policy(policy.clone())])
            .collect()
    }

    /// An override policy is there or gone.
    pub fn put_override(&mut self, namespace: &str, name: &str, exists: bool) -> Vec<Key> {
        let place = (Name::from(namespace), Name::from(name));
        let changed = if exists {
            self.overrides.insert(place)
        } else {
            self.overrides.remove(&place)
        };
        if changed && exists {
            self.waiting.iter().cloned().map(Key::Template).collect()
        } else {
            Vec::new()
        }
    }

    /// A cluster is there, or has changed.
    pub fn put_cluster(&mut self, cluster: Arc<ClusterView>) -> Vec<Key> {
        let name = cluster.name.clone();
        let old = Arc::make_mut(&mut self.fleet).insert(name.clone(), cluster);
        let new = self.fleet.get(&name);
        self.concerned_by_cluster(&name, old.as_deref(), new.map(|new| &**new))
    }

    /// A cluster is gone.
    pub fn remove_cluster(&mut self, name: &str) -> Vec<Key> {
        let old = Arc::make_mut(&mut self.fleet).remove(name);
        self.concerned_by_cluster(name, old.as_deref(), None)
    }

    /// Bindings whose placement may mean the cluster, before or now, and those placed there. More or less room concerns only those that
    /// wait for some.
    fn concerned_by_cluster(
        &self,
        name: &str,
        old: Option<&ClusterView>,
        new: Option<&ClusterView>,
    ) -> Vec<Key> {
        if old == new {
            return Vec::new();
        }
        let only_room = match (old, new) {
            (Some(old), Some(new)) => {
                let mut with_new_room = old.clone();
                with_new_room.room.clone_from(&new.room);
                with_new_room == *new
            }
            _ => false,
        };
        let sights: Vec<&ClusterView> = old.into_iter().chain(new).collect();
        let mut keys = self.placements.meaning(&sights);
        if only_room {
            keys.retain(|key| self.pending.contains(key));
        } else {
            keys.extend(self.placements.placed_in(name));
        }
        keys.into_iter().map(Key::Template).collect()
    }

    /// Remembers whether a template waits for room or a cluster, and whether for override policies.
    pub fn note(&mut self, key: &TemplateKey, pending: bool, waiting: bool) {
        for (set, is_in) in [(&mut self.pending, pending), (&mut self.waiting, waiting)] {
            if is_in {
                set.insert(key.clone());
            } else {
                set.remove(key);
            }
        }
    }
}

/// Puts a sight in unless a newer one is there; says whether it tells anything new.
fn put<K: Ord, T: View>(all: &mut BTreeMap<K, Arc<T>>, place: K, new: Arc<T>) -> bool {
    match all.get_mut(&place) {
        Some(old) if version(old.resource_version()) > version(new.resource_version()) => false,
        Some(old) => {
            let is_news = !old.says_the_same(&new);
            *old = new;
            is_news
        }
        None => {
            all.insert(place, new);
            true
        }
    }
}

/// The key, and the policy that lost it, which may be waiting for that.
fn with_policy(key: TemplateKey, lost: Option<PolicyRef>) -> Vec<Key> {
    lost.map(Key::Policy)
        .into_iter()
        .chain([Key::Template(key)])
        .collect()
}

fn kinds_of(policy: &PolicyView) -> BTreeSet<Gvk> {
    policy
        .spec
        .resource_selectors
        .iter()
        .map(|selector| Gvk::new(&selector.api_version, &selector.kind))
        .collect()
}

fn selects(policy: &PolicyView, template: &TemplateView) -> bool {
    let selectors = &policy.spec.resource_selectors;
    strongest(selectors, &policy.policy.namespace, identity(template)).is_ok()
}

#[cfg(test)]
mod tests;
