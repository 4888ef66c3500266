//! For how long something has been so.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// The moments since which things are so.
pub(crate) struct Since<K>(Mutex<HashMap<K, Instant>>);

impl<K> Default for Since<K> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Eq + Hash> Since<K> {
    /// It is so from now on, whatever was before.
    pub(crate) fn begin(&self, key: K) {
        self.locked().insert(key, Instant::now());
    }

    /// For how long it has been so; from now on if it was not.
    pub(crate) fn elapsed(&self, key: K) -> Duration {
        self.locked()
            .entry(key)
            .or_insert_with(Instant::now)
            .elapsed()
    }

    /// For how long it has been so, if it is.
    pub(crate) fn get(&self, key: &K) -> Option<Duration> {
        self.locked().get(key).map(Instant::elapsed)
    }

    /// It is not so any more.
    pub(crate) fn end(&self, key: &K) {
        self.locked().remove(key);
    }

    /// Ends what does not pass.
    pub(crate) fn retain(&self, stays: impl Fn(&K) -> bool) {
        self.locked().retain(|key, _| stays(key));
    }

    fn locked(&self) -> MutexGuard<'_, HashMap<K, Instant>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
