//! Ready means: every watch has delivered its first list.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;

/// What the process still waits for.
#[derive(Clone)]
pub struct Readiness {
    waiting: Arc<Mutex<BTreeSet<String>>>,
    changed: Arc<watch::Sender<()>>,
}

impl Default for Readiness {
    fn default() -> Self {
        Self {
            waiting: Arc::default(),
            changed: Arc::new(watch::channel(()).0),
        }
    }
}

/// One thing the process waits for; it is ready once every handle has been dropped.
#[derive(Debug)]
pub struct Handle {
    name: String,
    waiting: Arc<Mutex<BTreeSet<String>>>,
    changed: Arc<watch::Sender<()>>,
}

impl Readiness {
    /// Holds readiness back until the handle is dropped. Names are unique in a process.
    pub fn handle(&self, name: impl Into<String>) -> Handle {
        let name = name.into();
        self.locked().insert(name.clone());
        Handle {
            name,
            waiting: Arc::clone(&self.waiting),
            changed: Arc::clone(&self.changed),
        }
    }

    /// What is still waited for; empty when ready.
    pub fn waiting(&self) -> Vec<String> {
        self.locked().iter().cloned().collect()
    }

    /// Returns once nothing is waited for any more.
    pub async fn ready(&self) {
        let mut changed = self.changed.subscribe();
        while !self.locked().is_empty() {
            if changed.changed().await.is_err() {
                return;
            }
        }
    }

    fn locked(&self) -> std::sync::MutexGuard<'_, BTreeSet<String>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.waiting
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&self.name);
        self.changed.send_replace(());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn ready_when_the_last_handle_is_dropped() {
        let readiness = Readiness::default();
        let (a, b) = (readiness.handle("a"), readiness.handle("b"));
        assert_eq!(readiness.waiting(), ["a", "b"]);
        drop(a);
        assert_eq!(readiness.waiting(), ["b"]);
        let waiter = tokio::spawn({
            let readiness = readiness.clone();
            async move { readiness.ready().await }
        });
        drop(b);
        waiter.await.unwrap();
        assert!(readiness.waiting().is_empty());
    }
}
