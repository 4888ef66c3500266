//! What is known of the objects of one kind: compact values instead of whole objects.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use kube::Resource;

/// Identifies an object among those of its kind.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// Its namespace; `None` for a kind of cluster scope.
    pub namespace: Option<Arc<str>>,
    /// Its name.
    pub name: Arc<str>,
}

impl Key {
    /// A key; an empty namespace means none.
    pub fn new(namespace: Option<&str>, name: &str) -> Self {
        Self {
            namespace: namespace.filter(|n| !n.is_empty()).map(Into::into),
            name: name.into(),
        }
    }

    /// The key of an object.
    pub fn of<K: Resource>(object: &K) -> Self {
        let meta = object.meta();
        Self::new(
            meta.namespace.as_deref(),
            meta.name.as_deref().unwrap_or_default(),
        )
    }

    /// The namespace, empty for none.
    pub fn namespace(&self) -> &str {
        self.namespace.as_deref().unwrap_or_default()
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "{namespace}/{}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

/// Values by key, filled by one watch and read by everybody.
#[derive(Debug)]
pub struct Store<V> {
    values: RwLock<HashMap<Key, Arc<V>>>,
}

impl<V> Default for Store<V> {
    fn default() -> Self {
        Self {
            values: RwLock::default(),
        }
    }
}

impl<V> Store<V> {
    /// The value of a key.
    pub fn get(&self, key: &Key) -> Option<Arc<V>> {
        self.read().get(key).cloned()
    }

    /// The value of a name in a namespace; an empty namespace means none.
    pub fn find(&self, namespace: &str, name: &str) -> Option<Arc<V>> {
        self.get(&Key::new(Some(namespace), name))
    }

    /// Everything, in no order.
    pub fn all(&self) -> Vec<(Key, Arc<V>)> {
        self.read()
            .iter()
            .map(|(key, value)| (key.clone(), Arc::clone(value)))
            .collect()
    }

    /// Every value that passes, in no order.
    pub fn select(&self, wanted: impl Fn(&Key, &V) -> bool) -> Vec<(Key, Arc<V>)> {
        self.read()
            .iter()
            .filter(|(key, value)| wanted(key, value))
            .map(|(key, value)| (key.clone(), Arc::clone(value)))
            .collect()
    }

    /// Every key, in no order.
    pub fn keys(&self) -> Vec<Key> {
        self.read().keys().cloned().collect()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.read().len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.read().is_empty()
    }

    /// Puts a value in; returns the former one. Watches do this; an operator may, with the answer to its own write, so that it does not
    /// act on stale sight until the watch has caught up.
    pub fn put(&self, key: Key, value: Arc<V>) -> Option<Arc<V>> {
        self.write().insert(key, value)
    }

    /// Takes a value out.
    pub fn remove(&self, key: &Key) -> Option<Arc<V>> {
        self.write().remove(key)
    }

    fn read(&self) -> RwLockReadGuard<'_, HashMap<Key, Arc<V>>> {
        self.values.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, HashMap<Key, Arc<V>>> {
        self.values.write().unwrap_or_else(PoisonError::into_inner)
    }
}
