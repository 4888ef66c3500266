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
