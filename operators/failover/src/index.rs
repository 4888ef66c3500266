//! Which bindings a change may concern, without holding the bindings.

use std::collections::{BTreeMap, HashSet};

use crds::scope::Binding;
use engine::snapshot::Name;
use kit::Key;

/// What is kept of a binding.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The clusters it is in.
    pub(crate) clusters: Box<[Name]>,
    /// The clusters it is leaving.
    pub(crate) leaving: Box<[Name]>,
    /// What its user wants of it.
    generation: Option<i64>,
    /// Its version, if it is leaving a cluster: then its status matters too.
    version: Option<Box<str>>,
}

impl Entry {
    pub(crate) fn of<B: Binding>(binding: &B) -> Self {
        let spec = binding.spec();
        let meta = binding.meta();
        let version = meta.resource_version.as_deref().map(Into::into);
        Self {
            clusters: spec
                .clusters
                .iter()
                .map(|target| target.name.as_str().into())
                .collect(),
            leaving: spec
                .graceful_eviction_tasks
                .iter()
                .map(|task| task.from_cluster.as_str().into())
                .collect(),
            generation: meta.generation,
            version: version.filter(|_| !spec.graceful_eviction_tasks.is_empty()),
        }
    }

    fn names(&self) -> impl Iterator<Item = &Name> {
        self.clusters.iter().chain(&self.leaving)
    }
}

/// Bindings by the clusters they are in or leaving.
#[derive(Debug, Default)]
pub(crate) struct Index(BTreeMap<Name, HashSet<Key>>);

impl Index {
    /// Notes what became of a binding.
    pub(crate) fn change(&mut self, key: &Key, old: Option<&Entry>, new: Option<&Entry>) {
        for name in old.into_iter().flat_map(Entry::names) {
            if let Some(keys) = self.0.get_mut(name) {
                keys.remove(key);
                if keys.is_empty() {
                    self.0.remove(name);
                }
            }
        }
        for name in new.into_iter().flat_map(Entry::names) {
            self.0.entry(name.clone()).or_default().insert(key.clone());
        }
    }

    /// The bindings that are in the cluster or leaving it.
    pub(crate) fn of(&self, cluster: &str) -> impl Iterator<Item = &Key> {
        self.0.get(cluster).into_iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(clusters: &[&str], leaving: &[&str]) -> Entry {
        let names = |names: &[&str]| names.iter().map(|&name| name.into()).collect();
        Entry {
            clusters: names(clusters),
            leaving: names(leaving),
            ..Entry::default()
        }
    }

    #[test]
    fn bindings_are_found_by_the_clusters_they_are_in_or_leaving() {
        let mut index = Index::default();
        let key = Key::new(Some("a"), "web");
        let (first, second) = (entry(&["m1"], &[]), entry(&["m2"], &["m1"]));
        index.change(&key, None, Some(&first));
        index.change(&key, Some(&first), Some(&second));
        assert_eq!(index.of("m1").count(), 1);
        assert_eq!(index.of("m2").count(), 1);
        index.change(&key, Some(&second), None);
        assert!(index.0.is_empty());
    }
}
