//! Keyed work queues.
//!
//! # Guarantees
//!
//! - A key that is added while it waits is worked on once; while it is worked on, once more afterwards.
//! - No key is worked on twice at once.
//! - Of two times at which a key is due, the earlier wins.
//! - A key that fails comes back after a delay that doubles each time, with jitter; success forgets that.
//! - What is urgent is taken before what may wait.
//! - After the shutdown signal nothing new is taken up; [`Queue::run`] returns when the running work has ended.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt::Debug;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::metrics::{Metrics, QueueLabels, QueueMetrics};

const FIRST_RETRY: Duration = Duration::from_millis(250);
const LONGEST_RETRY: Duration = Duration::from_secs(60);

/// What became of the work on a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Done, until the key is added again.
    Done,
    /// Done, and due again after this time.
    After(Duration),
    /// Failed; again after the key's own backoff.
    Retry,
    /// Failed; again after the key's own backoff, but not before this time.
    RetryAfter(Duration),
}

/// A queue of keys. Clones share the queue.
pub struct Queue<K> {
    inner: Arc<Inner<K>>,
}

impl<K> Clone for Queue<K> {
    fn clone(&self) -> Self {
        Self {
            inner: Arc::clone(&self.inner),
        }
    }
}

struct Inner<K> {
    state: Mutex<State<K>>,
    wake: Notify,
    labels: QueueLabels,
    metrics: QueueMetrics,
}

impl<K> Drop for Inner<K> {
    fn drop(&mut self) {
        // A member that left would otherwise be reported for ever.
        let QueueMetrics {
            depth,
            wait,
            work,
            retries,
        } = &self.metrics;
        depth.remove(&self.labels);
        wait.remove(&self.labels);
        work.remove(&self.labels);
        retries.remove(&self.labels);
    }
}

struct State<K> {
    urgent: VecDeque<K>,
    patient: VecDeque<K>,
    entries: HashMap<K, Entry>,
    due: BTreeMap<(Instant, u64), K>,
    sequence: u64,
}

/// What is known of a key; an entry without any of it is removed.
#[derive(Default)]
struct Entry {
    waiting: Option<Waiting>,
    running: bool,
    /// Added while running.
    again: Option<bool>,
    due: Option<(Instant, u64)>,
    failures: u32,
}

#[derive(Clone, Copy)]
struct Waiting {
    since: Instant,
    urgent: bool,
}

impl<K: Clone + Eq + Hash + Debug + Send + Sync + 'static> Queue<K> {
    /// An empty queue; the name is its label in the metrics.
    pub fn new(name: impl Into<String>, metrics: &Metrics) -> Self {
        Self {
            inner: Arc::new(Inner {
                state: Mutex::new(State {
                    urgent: VecDeque::new(),
                    patient: VecDeque::new(),
                    entries: HashMap::new(),
                    due: BTreeMap::new(),
                    sequence: 0,
                }),
                wake: Notify::new(),
                labels: QueueLabels { name: name.into() },
                metrics: metrics.queues.clone(),
            }),
        }
    }

    /// Adds a key: work that moves workloads.
    pub fn add(&self, key: K) {
        self.put(key, true);
    }

    /// Adds a key that may wait until nothing urgent does: statuses, resyncs, start-up.
    pub fn add_patient(&self, key: K) {
        self.put(key, false);
    }

    /// Adds a key once the time has passed; an earlier time wins.
    pub fn add_after(&self, key: K, delay: Duration) {
        self.locked().schedule(key, Instant::now() + delay);
        self.inner.wake.notify_one();
    }

    /// How many keys wait.
    pub fn len(&self) -> usize {
        let state = self.locked();
        state.urgent.len() + state.patient.len()
    }

    /// Whether no key waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn put(&self, key: K, urgent: bool) {
        self.locked().put(key, urgent);
        self.gauge();
        self.inner.wake.notify_one();
    }

    /// Works until the shutdown signal, on at most `concurrency` keys at once.
    pub async fn run<F, W>(&self, concurrency: usize, shutdown: CancellationToken, work: F)
    where
        F: Fn(K) -> W + Send + Sync + 'static,
        W: Future<Output = Outcome> + Send + 'static,
    {
        let work = Arc::new(work);
        let mut running = JoinSet::new();
        loop {
            let next_due = self.locked().promote(Instant::now());
            while running.len() < concurrency {
                let Some((key, waited)) = self.locked().take() else {
                    break;
                };
                self.gauge();
                self.histogram(&self.inner.metrics.wait, waited);
                let (queue, work) = (self.clone(), Arc::clone(&work));
                running.spawn(async move {
                    // Ends the work on the key also when it panics: the key comes back, the others are not held up.
                    let mut done = Ended {
                        queue: &queue,
                        key: Some(key.clone()),
                        start: Instant::now(),
                    };
                    let outcome = work(key).await;
                    done.with(outcome);
                });
            }
            let sleep = async {
                match next_due {
                    Some(due) => tokio::time::sleep_until(due).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = shutdown.cancelled() => break,
                Some(_) = running.join_next() => {}
                () = self.inner.wake.notified() => {}
                () = sleep => {}
            }
        }
        while running.join_next().await.is_some() {}
    }

    fn gauge(&self) {
        let depth = i64::try_from(self.len()).unwrap_or(i64::MAX);
        self.inner
            .metrics
            .depth
            .get_or_create(&self.inner.labels)
            .set(depth);
    }

    fn histogram(
        &self,
        family: &prometheus_client::metrics::family::Family<
            QueueLabels,
            prometheus_client::metrics::histogram::Histogram,
            fn() -> prometheus_client::metrics::histogram::Histogram,
        >,
        took: Duration,
    ) {
        family
            .get_or_create(&self.inner.labels)
            .observe(took.as_secs_f64());
    }

    fn locked(&self) -> std::sync::MutexGuard<'_, State<K>> {
        self.inner
            .state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

struct Ended<'a, K: Clone + Eq + Hash + Debug + Send + Sync + 'static> {
    queue: &'a Queue<K>,
    key: Option<K>,
    start: Instant,
}

impl<K: Clone + Eq + Hash + Debug + Send + Sync + 'static> Ended<'_, K> {
    fn with(&mut self, outcome: Outcome) {
        let Some(key) = self.key.take() else { return };
        let inner = &self.queue.inner;
        self.queue
            .histogram(&inner.metrics.work, self.start.elapsed());
        if matches!(outcome, Outcome::Retry | Outcome::RetryAfter(_)) {
            inner.metrics.retries.get_or_create(&inner.labels).inc();
        }
        self.queue.locked().end(key, outcome, Instant::now());
        self.queue.gauge();
        inner.wake.notify_one();
    }
}

impl<K: Clone + Eq + Hash + Debug + Send + Sync + 'static> Drop for Ended<'_, K> {
    fn drop(&mut self) {
        if let Some(key) = &self.key {
            tracing::error!(
                ?key,
                "work on a key ended without an outcome; it is tried again"
            );
            self.with(Outcome::Retry);
        }
    }
}

impl<K: Clone + Eq + Hash> State<K> {
    fn put(&mut self, key: K, urgent: bool) {
        let entry = self.entries.entry(key.clone()).or_default();
        if entry.running {
            entry.again = Some(entry.again.unwrap_or(false) || urgent);
            return;
        }
        match &mut entry.waiting {
            Some(waiting) if !urgent || waiting.urgent => return,
            // It stays in the patient line too; `take` passes over it there.
            Some(waiting) => waiting.urgent = true,
            none => {
                *none = Some(Waiting {
                    since: Instant::now(),
                    urgent,
                });
            }
        }
        if urgent {
            self.urgent.push_back(key);
        } else {
            self.patient.push_back(key);
        }
    }

    fn schedule(&mut self, key: K, at: Instant) {
        self.sequence += 1;
        let new = (at, self.sequence);
        let entry = self.entries.entry(key.clone()).or_default();
        if let Some(old) = entry.due {
            if old.0 <= at {
                return;
            }
            self.due.remove(&old);
        }
        entry.due = Some(new);
        self.due.insert(new, key);
    }

    /// Makes what is due wait in line; returns when the next key is due.
    fn promote(&mut self, now: Instant) -> Option<Instant> {
        while let Some(first) = self.due.first_entry() {
            if first.key().0 > now {
                return Some(first.key().0);
            }
            let key = first.remove();
            if let Some(entry) = self.entries.get_mut(&key) {
                entry.due = None;
            }
            self.put(key, true);
        }
        None
    }

    fn take(&mut self) -> Option<(K, Duration)> {
        loop {
            let key = self
                .urgent
                .pop_front()
                .or_else(|| self.patient.pop_front())?;
            let Some(entry) = self.entries.get_mut(&key) else {
                continue;
            };
            // Taken from the urgent line before: this is its shadow in the patient one.
            let Some(waiting) = entry.waiting.take() else {
                continue;
            };
            entry.running = true;
            if let Some(due) = entry.due.take() {
                self.due.remove(&due);
            }
            return Some((key, waiting.since.elapsed()));
        }
    }

    fn end(&mut self, key: K, outcome: Outcome, now: Instant) {
        let Some(entry) = self.entries.get_mut(&key) else {
            return;
        };
        entry.running = false;
        let again = entry.again.take();
        let delay = match outcome {
            Outcome::Done => {
                entry.failures = 0;
                None
            }
            Outcome::After(delay) => {
                entry.failures = 0;
                Some(delay)
            }
            Outcome::Retry => Some(backoff(&mut entry.failures)),
            Outcome::RetryAfter(least) => Some(backoff(&mut entry.failures).max(least)),
        };
        // A failed key keeps its backoff whatever was added meanwhile: else a busy object would be retried without pause.
        let failed = matches!(outcome, Outcome::Retry | Outcome::RetryAfter(_));
        if let Some(delay) = delay {
            self.schedule(key.clone(), now + delay);
        }
        match again {
            Some(urgent) if !failed => self.put(key, urgent),
            _ => {
                if self
                    .entries
                    .get(&key)
                    .is_some_and(|e| e.due.is_none() && e.waiting.is_none() && e.failures == 0)
                {
                    self.entries.remove(&key);
                }
            }
        }
    }
}

fn backoff(failures: &mut u32) -> Duration {
    let doubled = FIRST_RETRY.saturating_mul(1 << (*failures).min(16));
    *failures = failures.saturating_add(1);
    doubled
        .min(LONGEST_RETRY)
        .mul_f64(rand::random_range(0.8..1.2))
}
