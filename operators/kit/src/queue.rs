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

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use tokio::sync::mpsc;

    fn queue() -> Queue<&'static str> {
        Queue::new("test", &Metrics::new("test"))
    }

    /// Runs the queue in the background; each call is told, and ends when allowed.
    fn start(
        queue: &Queue<&'static str>,
        concurrency: usize,
        outcome: impl Fn(&'static str) -> Outcome + Send + Sync + 'static,
    ) -> (
        mpsc::UnboundedReceiver<&'static str>,
        CancellationToken,
        tokio::task::JoinHandle<()>,
    ) {
        let (tell, told) = mpsc::unbounded_channel();
        let stop = CancellationToken::new();
        let (queue, token, outcome) = (queue.clone(), stop.clone(), Arc::new(outcome));
        let task = tokio::spawn(async move {
            queue
                .run(concurrency, token, move |key| {
                    let (tell, outcome) = (tell.clone(), Arc::clone(&outcome));
                    async move {
                        let _ = tell.send(key);
                        outcome(key)
                    }
                })
                .await;
        });
        (told, stop, task)
    }

    #[tokio::test(start_paused = true)]
    async fn a_key_added_twice_is_worked_on_once() {
        let queue = queue();
        queue.add("a");
        queue.add("a");
        queue.add("b");
        let (mut told, stop, task) = start(&queue, 1, |_| Outcome::Done);
        assert_eq!(told.recv().await, Some("a"));
        assert_eq!(told.recv().await, Some("b"));
        stop.cancel();
        task.await.unwrap();
        assert_eq!(told.recv().await, None);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_urgent_overtakes_and_is_not_done_twice() {
        let queue = queue();
        for key in ["slow1", "slow2", "both"] {
            queue.add_patient(key);
        }
        queue.add("fast");
        queue.add("both");
        let (mut told, stop, task) = start(&queue, 1, |_| Outcome::Done);
        for expected in ["fast", "both", "slow1", "slow2"] {
            assert_eq!(told.recv().await, Some(expected));
        }
        stop.cancel();
        task.await.unwrap();
        assert_eq!(told.recv().await, None);
    }

    #[tokio::test(start_paused = true)]
    async fn the_earlier_of_two_times_wins() {
        let queue = queue();
        queue.add_after("a", Duration::from_secs(10));
        queue.add_after("a", Duration::from_secs(3));
        queue.add_after("a", Duration::from_secs(7));
        let start_time = Instant::now();
        let (mut told, _stop, _task) = start(&queue, 1, |_| Outcome::Done);
        assert_eq!(told.recv().await, Some("a"));
        assert_eq!(start_time.elapsed(), Duration::from_secs(3));
        assert!(
            tokio::time::timeout(Duration::from_secs(60), told.recv())
                .await
                .is_err()
        );
    }

    #[tokio::test(start_paused = true)]
    async fn failures_come_back_ever_later_and_success_forgets_them() {
        let queue = queue();
        let calls = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&calls);
        queue.add("a");
        let (mut told, _stop, _task) = start(&queue, 1, move |_| {
            if counter.fetch_add(1, Ordering::Relaxed) < 3 {
                Outcome::Retry
            } else {
                Outcome::Done
            }
        });
        let mut pauses = Vec::new();
        told.recv().await;
        for _ in 0..3 {
            let before = Instant::now();
            told.recv().await;
            pauses.push(before.elapsed());
        }
        assert!(
            pauses[0] >= Duration::from_millis(200) && pauses[0] < Duration::from_millis(301),
            "{pauses:?}"
        );
        assert!(pauses[2] > pauses[1] && pauses[1] > pauses[0], "{pauses:?}");
        assert!(
            tokio::time::timeout(Duration::from_secs(600), told.recv())
                .await
                .is_err()
        );
        assert!(queue.locked().entries.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_busy_key_that_fails_is_not_retried_without_pause() {
        let queue = queue();
        queue.add("a");
        let busy = queue.clone();
        let (mut told, _stop, _task) = start(&queue, 4, move |key| {
            busy.add(key);
            Outcome::Retry
        });
        told.recv().await;
        let before = Instant::now();
        told.recv().await;
        assert!(before.elapsed() >= Duration::from_millis(200));
    }

    #[tokio::test(start_paused = true)]
    async fn no_key_runs_twice_at_once_and_a_change_meanwhile_is_not_lost() {
        let queue = queue();
        let (running, calls) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let stop = CancellationToken::new();
        let (r, c, q, s) = (
            Arc::clone(&running),
            Arc::clone(&calls),
            queue.clone(),
            stop.clone(),
        );
        queue.add("a");
        queue
            .run(8, stop.clone(), move |key| {
                let (r, c, q, s) = (Arc::clone(&r), Arc::clone(&c), q.clone(), s.clone());
                async move {
                    assert_eq!(r.fetch_add(1, Ordering::SeqCst), 0);
                    if c.fetch_add(1, Ordering::SeqCst) == 0 {
                        q.add(key);
                        tokio::time::sleep(Duration::from_secs(1)).await;
                    } else {
                        s.cancel();
                    }
                    r.fetch_sub(1, Ordering::SeqCst);
                    Outcome::Done
                }
            })
            .await;
        assert_eq!(calls.load(Ordering::SeqCst), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn work_that_panics_is_tried_again_and_holds_nobody_up() {
        let queue = queue();
        let calls = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&calls);
        queue.add("bad");
        queue.add("good");
        let (mut told, stop, task) = start(&queue, 1, move |key| {
            if key == "bad" {
                assert!(
                    counter.fetch_add(1, Ordering::Relaxed) > 0,
                    "the first time"
                );
            }
            Outcome::Done
        });
        for expected in ["bad", "good", "bad"] {
            assert_eq!(told.recv().await, Some(expected));
        }
        stop.cancel();
        task.await.unwrap();
    }
}
