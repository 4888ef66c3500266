//! Keyed work queues.
//!
//! # Guarantees
//!
//! - A key that is added while it waits is worked on once; while it is worked on, once more afterwards.
//! - No key is worked on twice at once.
//! - Of two times at which a key is due, the earlier wins.
//! - A key that fails comes back after a delay that doubles each time, with jitter; success forgets that.
//! - Keys are taken by priority, the highest first; those of one priority in the order in which they came. A key that comes back by itself
//!   (after a failure, or at its time) has the priority it had.
//! - The work function itself is called for one key at a time, in that order; only the futures it returns run beside each other. So what
//!   it does before its first `await` – deciding – is ordered, and what comes after – writing – is not.
//! - Work that panics holds nobody up: its key comes back like one that failed.
//! - After the shutdown signal nothing new is taken up; [`Queue::run`] returns when the running work has ended.
//!
//! # Starvation
//!
//! A key waits for as long as keys of a higher priority keep coming: there is no ageing. Whoever gives priorities by what users ask for
//! has to put up with that, because it is what they ask for; what must not starve gets the priority [`URGENT`].

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt::Debug;
use std::hash::Hash;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::metrics::{Metrics, QueueLabels, QueueMetrics};

const FIRST_RETRY: Duration = Duration::from_millis(250);
const LONGEST_RETRY: Duration = Duration::from_secs(60);

/// The priority of work that moves workloads, where nobody asks for another.
pub const URGENT: i32 = 0;
/// The priority of what may wait until nothing else does: statuses, resyncs, start-up.
pub const PATIENT: i32 = i32::MIN;

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
    /// Keys by priority. A key whose priority was raised stays in its old line too; `take` passes over it there.
    lines: BTreeMap<i32, VecDeque<K>>,
    /// How many keys wait.
    depth: usize,
    longest_retry: Duration,
    entries: HashMap<K, Entry>,
    due: BTreeMap<(Instant, u64), K>,
    sequence: u64,
}

/// What is known of a key; an entry without any of it is removed.
#[derive(Default)]
struct Entry {
    waiting: Option<Waiting>,
    running: bool,
    /// The priority with which it was added while running.
    again: Option<i32>,
    due: Option<(Instant, u64)>,
    /// The priority with which it was taken last, and comes back.
    priority: i32,
    failures: u32,
}

#[derive(Clone, Copy)]
struct Waiting {
    since: Instant,
    priority: i32,
}

impl<K: Clone + Eq + Hash + Debug + Send + Sync + 'static> Queue<K> {
    /// An empty queue; the name is its label in the metrics.
    pub fn new(name: impl Into<String>, metrics: &Metrics) -> Self {
        Self {
            inner: Arc::new(Inner {
                state: Mutex::new(State {
                    lines: BTreeMap::new(),
                    depth: 0,
                    longest_retry: LONGEST_RETRY,
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

    /// The same queue with another bound on the delay after a failure.
    #[must_use]
    pub fn longest_retry(self, longest: Duration) -> Self {
        self.locked().longest_retry = longest;
        self
    }

    /// Adds a key: work that moves workloads.
    pub fn add(&self, key: K) {
        self.add_at(key, URGENT);
    }

    /// Adds a key that may wait until nothing else does.
    pub fn add_patient(&self, key: K) {
        self.add_at(key, PATIENT);
    }

    /// Adds a key with a priority; of two priorities the higher wins.
    pub fn add_at(&self, key: K, priority: i32) {
        let depth = self.locked().put(key, priority);
        self.gauge(depth);
        self.inner.wake.notify_one();
    }

    /// Adds a key once the time has passed; an earlier time wins.
    pub fn add_after(&self, key: K, delay: Duration) {
        self.locked().schedule(key, Instant::now() + delay);
        self.inner.wake.notify_one();
    }

    /// How many keys wait.
    pub fn len(&self) -> usize {
        self.locked().depth
    }

    /// Whether no key waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Works until the shutdown signal, on at most `concurrency` keys at once. `work` is called for one key at a time, by priority.
    pub async fn run<F, W>(&self, concurrency: usize, shutdown: CancellationToken, work: F)
    where
        F: Fn(K) -> W + Send + Sync + 'static,
        W: Future<Output = Outcome> + Send + 'static,
    {
        let mut running = JoinSet::new();
        loop {
            let next_due = self.locked().promote(Instant::now());
            while running.len() < concurrency {
                let Some((key, waited, depth)) = self.locked().take() else {
                    break;
                };
                self.gauge(depth);
                self.histogram(&self.inner.metrics.wait, waited);
                // Ends the work on the key also when it panics: the key comes back, the others are not held up.
                let mut done = Ended {
                    queue: self.clone(),
                    key: Some(key.clone()),
                    start: Instant::now(),
                };
                if let Ok(work) = catch_unwind(AssertUnwindSafe(|| work(key))) {
                    running.spawn(async move {
                        let outcome = work.await;
                        done.with(outcome);
                    });
                }
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

    fn gauge(&self, depth: usize) {
        let depth = i64::try_from(depth).unwrap_or(i64::MAX);
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

struct Ended<K: Clone + Eq + Hash + Debug + Send + Sync + 'static> {
    queue: Queue<K>,
    key: Option<K>,
    start: Instant,
}

impl<K: Clone + Eq + Hash + Debug + Send + Sync + 'static> Ended<K> {
    fn with(&mut self, outcome: Outcome) {
        let Some(key) = self.key.take() else { return };
        let inner = &self.queue.inner;
        self.queue
            .histogram(&inner.metrics.work, self.start.elapsed());
        if matches!(outcome, Outcome::Retry | Outcome::RetryAfter(_)) {
            inner.metrics.retries.get_or_create(&inner.labels).inc();
        }
        let depth = self.queue.locked().end(key, outcome, Instant::now());
        self.queue.gauge(depth);
        inner.wake.notify_one();
    }
}

impl<K: Clone + Eq + Hash + Debug + Send + Sync + 'static> Drop for Ended<K> {
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
    /// Returns how many keys wait then, as the others that change it do.
    fn put(&mut self, key: K, priority: i32) -> usize {
        let entry = self.entries.entry(key.clone()).or_default();
        if entry.running {
            entry.again = Some(entry.again.map_or(priority, |again| again.max(priority)));
            return self.depth;
        }
        match &mut entry.waiting {
            Some(waiting) if waiting.priority >= priority => return self.depth,
            Some(waiting) => waiting.priority = priority,
            none => {
                *none = Some(Waiting {
                    since: Instant::now(),
                    priority,
                });
                self.depth += 1;
            }
        }
        self.lines.entry(priority).or_default().push_back(key);
        self.depth
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
            let entry = self.entries.entry(key.clone()).or_default();
            entry.due = None;
            let priority = entry.priority;
            self.put(key, priority);
        }
        None
    }

    /// The next key, how long it waited, and how many wait still.
    fn take(&mut self) -> Option<(K, Duration, usize)> {
        loop {
            let mut line = self.lines.last_entry()?;
            let priority = *line.key();
            let Some(key) = line.get_mut().pop_front() else {
                line.remove();
                continue;
            };
            let Some(entry) = self.entries.get_mut(&key) else {
                continue;
            };
            // What was taken from another line before has left its shadow here.
            let Some(waiting) = entry.waiting.take_if(|w| w.priority == priority) else {
                continue;
            };
            entry.running = true;
            entry.priority = priority;
            self.depth -= 1;
            if let Some(due) = entry.due.take() {
                self.due.remove(&due);
            }
            return Some((key, waiting.since.elapsed(), self.depth));
        }
    }

    fn end(&mut self, key: K, outcome: Outcome, now: Instant) -> usize {
        let longest = self.longest_retry;
        let Some(entry) = self.entries.get_mut(&key) else {
            return self.depth;
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
            Outcome::Retry => Some(backoff(&mut entry.failures, longest)),
            Outcome::RetryAfter(least) => Some(backoff(&mut entry.failures, longest).max(least)),
        };
        // A failed key keeps its backoff whatever was added meanwhile: else a busy object would be retried without pause.
        let failed = matches!(outcome, Outcome::Retry | Outcome::RetryAfter(_));
        if let Some(delay) = delay {
            self.schedule(key.clone(), now + delay);
        }
        match again {
            Some(priority) if !failed => self.put(key, priority),
            _ => {
                if self
                    .entries
                    .get(&key)
                    .is_some_and(|e| e.due.is_none() && e.waiting.is_none() && e.failures == 0)
                {
                    self.entries.remove(&key);
                }
                self.depth
            }
        }
    }
}

fn backoff(failures: &mut u32, longest: Duration) -> Duration {
    let doubled = FIRST_RETRY.saturating_mul(1 << (*failures).min(16));
    *failures = failures.saturating_add(1);
    doubled.min(longest).mul_f64(rand::random_range(0.8..1.2))
}
