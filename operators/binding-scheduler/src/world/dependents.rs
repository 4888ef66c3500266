//! Who depends on what: from each object that a binding refers to back to that binding.
//!
//! References by name are looked up by name, those by labels among the few of their kind and namespace, so that neither a new object nor
//! a changed binding is ever compared with everything.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use engine::dependencies::{Dependent, Reference, refers};
use engine::interpret::Dependency;
use engine::policy::selector::Identity;
use engine::snapshot::{BindingView, Name};

use crate::key::{Gvk, TemplateKey};

/// Namespace and name of a binding.
pub(super) type Place = (Name, Name);

/// The bindings that propagate their dependencies, by what they refer to.
#[derive(Debug, Default)]
pub(super) struct Dependents {
    stakes: BTreeMap<Place, Stake>,
    by_name: BTreeMap<TemplateKey, BTreeSet<Place>>,
    by_labels: BTreeMap<(Gvk, Name), BTreeSet<Place>>,
    /// How many bindings refer to a kind.
    kinds: BTreeMap<Gvk, usize>,
    /// Objects whose bindings list a binding as one that depends on them.
    listed: BTreeMap<Place, BTreeSet<TemplateKey>>,
    lists: BTreeMap<TemplateKey, Vec<Place>>,
}

/// A binding that propagates its dependencies.
#[derive(Clone, Debug, PartialEq)]
struct Stake {
    dependent: Dependent,
    /// What it refers to; `None` if it has not (yet) written that down.
    dependencies: Option<Arc<[Dependency]>>,
}

/// What a change of a binding concerns.
#[derive(Debug, Default)]
pub(super) struct Concerned {
    /// Objects, whether or not they exist.
    pub(super) objects: BTreeSet<TemplateKey>,
    /// References by labels.
    pub(super) labels: Vec<Dependency>,
}

impl Dependents {
    /// A binding is there, has changed or (`None`) is gone.
    pub(super) fn put(&mut self, place: &Place, binding: Option<&BindingView>) -> Concerned {
        let new = binding.and_then(|binding| {
            Some(Stake {
                dependent: Dependent::of(binding)?,
                dependencies: binding.dependencies.clone(),
            })
        });
        if self.stakes.get(place) == new.as_ref() {
            return Concerned::default();
        }
        let mut concerned = Concerned {
            objects: self.listed.get(place).cloned().unwrap_or_default(),
            labels: Vec::new(),
        };
        if let Some(old) = self.stakes.remove(place) {
            self.unlink(place, &old);
            concerned.take(&old);
        }
        if let Some(new) = new {
            self.link(place, &new);
            concerned.take(&new);
            self.stakes.insert(place.clone(), new);
        }
        concerned
    }

    fn link(&mut self, place: &Place, stake: &Stake) {
        for dependency in stake.dependencies.iter().flat_map(|all| &**all) {
            let _ = match aim(dependency) {
                Aim::Object(key) => self.by_name.entry(key).or_default().insert(place.clone()),
                Aim::Labels(kind) => self
                    .by_labels
                    .entry(kind)
                    .or_default()
                    .insert(place.clone()),
                Aim::Nothing => continue,
            };
        }
        for gvk in kinds(stake) {
            *self.kinds.entry(gvk).or_default() += 1;
        }
    }

    fn unlink(&mut self, place: &Place, stake: &Stake) {
        for dependency in stake.dependencies.iter().flat_map(|all| &**all) {
            match aim(dependency) {
                Aim::Object(key) => take_out(&mut self.by_name, &key, place),
                Aim::Labels(kind) => take_out(&mut self.by_labels, &kind, place),
                Aim::Nothing => {}
            }
        }
        for gvk in kinds(stake) {
            if let Some(count) = self.kinds.get_mut(&gvk) {
                *count -= 1;
                if *count == 0 {
                    self.kinds.remove(&gvk);
                }
            }
        }
    }

    /// The binding of an object lists these bindings as ones that depend on the object.
    pub(super) fn list(&mut self, object: &TemplateKey, binding: Option<&BindingView>) {
        for place in self.lists.remove(object).unwrap_or_default() {
            take_out(&mut self.listed, &place, object);
        }
        let places: Vec<Place> = binding
            .iter()
            .flat_map(|binding| &binding.spec.required_by)
            .map(|snapshot| {
                let namespace = snapshot.namespace.as_deref().unwrap_or_default();
                (namespace.into(), snapshot.name.as_str().into())
            })
            .collect();
        if places.is_empty() {
            return;
        }
        for place in &places {
            self.listed
                .entry(place.clone())
                .or_default()
                .insert(object.clone());
        }
        self.lists.insert(object.clone(), places);
    }

    /// The bindings that depend on an object. One that is listed already stays so long as it cannot be told whether it does.
    pub(super) fn of(&self, object: Identity<'_>, own: &Place) -> Vec<Dependent> {
        let key = TemplateKey {
            gvk: Gvk::new(object.api_version, object.kind),
            namespace: object.namespace.into(),
            name: object.name.into(),
        };
        let listed = self.lists.get(&key).map_or(&[][..], Vec::as_slice);
        let kind = (key.gvk.clone(), key.namespace.clone());
        let mut candidates: BTreeSet<&Place> = listed.iter().collect();
        candidates.extend(self.by_name.get(&key).into_iter().flatten());
        candidates.extend(self.by_labels.get(&kind).into_iter().flatten());
        candidates
            .into_iter()
            .filter(|place| *place != own)
            .filter_map(|place| {
                let stake = self.stakes.get(place)?;
                let depends = match stake.refers(object) {
                    Reference::Yes => true,
                    Reference::No => false,
                    Reference::Unclear => listed.contains(place),
                };
                depends.then(|| stake.dependent.clone())
            })
            .collect()
    }

    /// The bindings that refer to objects of a kind.
    pub(super) fn of_kind(&self, gvk: &Gvk) -> BTreeSet<&Place> {
        let named = self.by_name.iter().filter(|(key, _)| key.gvk == *gvk);
        let labelled = self.by_labels.iter().filter(|((of, _), _)| of == gvk);
        named
            .map(|(_, places)| places)
            .chain(labelled.map(|(_, places)| places))
            .flatten()
            .collect()
    }

    /// The kinds that bindings refer to.
    pub(super) fn kinds(&self) -> impl Iterator<Item = &Gvk> {
        self.kinds.keys()
    }
}

impl Stake {
    fn refers(&self, object: Identity<'_>) -> Reference {
        let Some(dependencies) = &self.dependencies else {
            return Reference::Unclear;
        };
        let mut found = Reference::No;
        for dependency in &**dependencies {
            match refers(dependency, object) {
                Reference::Yes => return Reference::Yes,
                Reference::Unclear => found = Reference::Unclear,
                Reference::No => {}
            }
        }
        found
    }
}

impl Concerned {
    fn take(&mut self, stake: &Stake) {
        for dependency in stake.dependencies.iter().flat_map(|all| &**all) {
            match aim(dependency) {
                Aim::Object(key) => {
                    self.objects.insert(key);
                }
                Aim::Labels(_) => self.labels.push(dependency.clone()),
                Aim::Nothing => {}
            }
        }
    }
}

/// What a reference is looked up by.
enum Aim {
    Object(TemplateKey),
    Labels((Gvk, Name)),
    Nothing,
}

fn aim(dependency: &Dependency) -> Aim {
    let gvk = gvk(dependency);
    let namespace = Name::from(dependency.namespace.as_deref().unwrap_or_default());
    match (
        dependency.name.as_deref().filter(|name| !name.is_empty()),
        &dependency.label_selector,
    ) {
        (Some(name), _) => Aim::Object(TemplateKey {
            gvk,
            namespace,
            name: name.into(),
        }),
        (None, Some(_)) => Aim::Labels((gvk, namespace)),
        (None, None) => Aim::Nothing,
    }
}

fn gvk(dependency: &Dependency) -> Gvk {
    Gvk::new(&dependency.api_version, &dependency.kind)
}

fn kinds(stake: &Stake) -> BTreeSet<Gvk> {
    let all = stake.dependencies.iter().flat_map(|all| &**all);
    all.map(gvk).collect()
}

fn take_out<K: Ord, V: Ord>(index: &mut BTreeMap<K, BTreeSet<V>>, key: &K, value: &V) {
    if let Some(values) = index.get_mut(key) {
        values.remove(value);
        if values.is_empty() {
            index.remove(key);
        }
    }
}
