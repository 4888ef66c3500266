//! What the queue guarantees, in paused time.

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

#[tokio::test(start_paused = true)]
async fn keys_are_taken_by_priority_and_in_their_order_within_one() {
    let queue = queue();
    for (key, priority) in [
        ("low", -5),
        ("first", 10),
        ("second", 10),
        ("raised", -9),
        ("middle", 0),
        ("raised", 99),
        ("second", -1),
    ] {
        queue.add_at(key, priority);
    }
    queue.add_patient("last");
    assert_eq!(queue.len(), 6);
    let (mut told, stop, task) = start(&queue, 1, |_| Outcome::Done);
    for expected in ["raised", "first", "second", "middle", "low", "last"] {
        assert_eq!(told.recv().await, Some(expected));
    }
    stop.cancel();
    task.await.unwrap();
    assert_eq!(told.recv().await, None);
    assert!(queue.locked().entries.is_empty() && queue.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_shadow_in_a_higher_line_lends_nobody_its_priority() {
    let queue = queue();
    queue.add_at("a", 5);
    queue.add_at("a", 9);
    let taken = queue.locked().take().map(|(key, ..)| key);
    assert_eq!(taken, Some("a"));
    queue.locked().end("a", Outcome::Done, Instant::now());
    queue.add_at("b", 1);
    queue.add_at("a", 0);
    let mut order = Vec::new();
    while let Some((key, ..)) = queue.locked().take() {
        order.push(key);
    }
    assert_eq!(order, ["b", "a"]);
}

#[tokio::test(start_paused = true)]
async fn a_key_comes_back_with_the_priority_it_had() {
    let queue = queue();
    queue.add_at("low", -5);
    queue.locked().take();
    let now = Instant::now();
    let later = Outcome::After(Duration::from_secs(1));
    queue.locked().end("low", later, now);
    queue.locked().promote(now + Duration::from_secs(1));
    queue.add_at("middle", -1);
    let mut order = Vec::new();
    while let Some((key, ..)) = queue.locked().take() {
        order.push(key);
    }
    assert_eq!(order, ["middle", "low"]);
}

#[tokio::test(start_paused = true)]
async fn deciding_is_done_one_key_at_a_time_by_priority_while_writing_goes_on() {
    let queue = queue();
    for (key, priority) in [("c", 1), ("a", 3), ("b", 2)] {
        queue.add_at(key, priority);
    }
    let (decided, mut decisions) = mpsc::unbounded_channel();
    let (written, mut writes) = mpsc::unbounded_channel();
    let stop = CancellationToken::new();
    let token = stop.clone();
    let running = tokio::spawn({
        let queue = queue.clone();
        async move {
            queue
                .run(8, token, move |key| {
                    decided.send(key).unwrap();
                    let written = written.clone();
                    async move {
                        // The first decision takes longest to write.
                        let pause = if key == "a" { 3 } else { 1 };
                        tokio::time::sleep(Duration::from_secs(pause)).await;
                        written.send(key).unwrap();
                        Outcome::Done
                    }
                })
                .await;
        }
    });
    for expected in ["a", "b", "c"] {
        assert_eq!(decisions.recv().await, Some(expected));
    }
    assert_eq!(writes.recv().await, Some("b"));
    assert_eq!(writes.recv().await, Some("c"));
    assert_eq!(writes.recv().await, Some("a"));
    stop.cancel();
    running.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_decision_that_panics_stops_nobody_and_comes_back() {
    let queue = queue();
    let calls = Arc::new(AtomicUsize::new(0));
    let (tell, mut told) = mpsc::unbounded_channel();
    queue.add_at("bad", 1);
    queue.add("good");
    let stop = CancellationToken::new();
    let token = stop.clone();
    let running = tokio::spawn({
        let queue = queue.clone();
        async move {
            queue
                .run(1, token, move |key| {
                    assert!(
                        key != "bad" || calls.fetch_add(1, Ordering::Relaxed) > 0,
                        "the first time"
                    );
                    tell.send(key).unwrap();
                    std::future::ready(Outcome::Done)
                })
                .await;
        }
    });
    assert_eq!(told.recv().await, Some("good"));
    assert_eq!(told.recv().await, Some("bad"));
    stop.cancel();
    running.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_hundred_failing_keys_delay_a_good_one_not_at_all() {
    let queue = Queue::new("test", &Metrics::new("test")).longest_retry(Duration::from_secs(10));
    for key in 0..100 {
        queue.add(key);
    }
    let (tell, mut told) = mpsc::unbounded_channel();
    let stop = CancellationToken::new();
    let (token, start) = (stop.clone(), Instant::now());
    let running = tokio::spawn({
        let queue = queue.clone();
        async move {
            queue
                .run(4, token, move |key: u32| {
                    let tell = tell.clone();
                    async move {
                        if key < 100 {
                            return Outcome::Retry;
                        }
                        tell.send(start.elapsed()).unwrap();
                        Outcome::Done
                    }
                })
                .await;
        }
    });
    // While they fail again and again, good keys go straight through.
    let mut then = Duration::ZERO;
    for key in 100..160 {
        let before = start.elapsed();
        queue.add(key);
        then = told.recv().await.unwrap();
        assert_eq!(then, before, "a good key waited");
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    assert!(then > Duration::from_secs(50));
    // And none of the bad ones is later than the longest delay, with its jitter.
    let latest = queue.locked().due.last_key_value().unwrap().0.0;
    assert!(latest <= Instant::now() + Duration::from_secs(12));
    stop.cancel();
    running.await.unwrap();
}
