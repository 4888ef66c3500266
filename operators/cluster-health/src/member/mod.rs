//! One member, seen from here: a task that probes it, others that follow what it serves and what runs in it.
//!
//! Each member has tasks of its own, and each request a limit in time, so that a member that hangs holds nobody else.
//! Nothing is written here; what was seen lies in a [`Sight`] until somebody asks.

mod discovery;
mod follow;
mod inventory;
mod probe;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use engine::health::{ApiList, Observation, Room};
use jiff::Timestamp;
use kit::failure::root_cause;
use kube::Client;
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;

pub(crate) use discovery::Apis;
use inventory::{Nodes, Pods};

/// How members are looked at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Habits {
    /// How often a member is probed.
    pub(crate) interval: Duration,
    /// How long a probe may take.
    pub(crate) patience: Duration,
    /// How often version and APIs are asked for when nothing says that they changed.
    pub(crate) discovery_interval: Duration,
}

/// How soon what was seen should be looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Urgency {
    /// It may change what is believed of the member.
    Now,
    /// It is one of many small changes.
    Soon,
}

/// Who wants to know what is seen of a member.
pub(crate) trait Listener: Send + Sync + 'static {
    /// A probe was made.
    fn probed(&self, found: &Observation, took: Duration, at: Timestamp);
    /// Something was seen.
    fn wake(&self, urgency: Urgency);
}

/// What was seen of a member last.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sight {
    /// What the last probe found, and when.
    pub(crate) observation: Option<(Observation, Timestamp)>,
    /// Its version.
    pub(crate) version: Option<String>,
    /// What it serves.
    pub(crate) apis: Option<Apis>,
    /// How many nodes it has, and how many are ready.
    pub(crate) nodes: Option<(usize, usize)>,
    /// What is free in it.
    pub(crate) room: Option<Room>,
}

/// The tasks that look at one member; they end when this is dropped.
pub(crate) struct Lookout {
    shared: Arc<Shared>,
    _tasks: JoinSet<()>,
}

struct Shared {
    client: Client,
    habits: Habits,
    listener: Box<dyn Listener>,
    seen: Mutex<Seen>,
    look: Notify,
    discover: Notify,
    healthy: watch::Sender<bool>,
}

#[derive(Default)]
struct Seen {
    look_by: Option<Instant>,
    observation: Option<(Observation, Timestamp)>,
    version: Option<String>,
    apis: Option<Apis>,
    nodes: Option<Nodes>,
    pods: Option<Pods>,
}

impl Lookout {
    /// Begins to look at a member, at once.
    pub(crate) fn start(client: Client, habits: Habits, listener: impl Listener) -> Self {
        let shared = Arc::new(Shared {
            client,
            habits,
            listener: Box::new(listener),
            seen: Mutex::default(),
            look: Notify::new(),
            discover: Notify::new(),
            healthy: watch::Sender::new(false),
        });
        let mut tasks = JoinSet::new();
        tasks.spawn(keep_probing(Arc::clone(&shared)));
        tasks.spawn(follow::apis(Arc::clone(&shared)));
        tasks.spawn(follow::definitions(Arc::clone(&shared)));
        tasks.spawn(follow::nodes(Arc::clone(&shared)));
        tasks.spawn(follow::pods(Arc::clone(&shared)));
        Self {
            shared,
            _tasks: tasks,
        }
    }

    /// Probes the member no later than after this time, however long the interval.
    pub(crate) fn look_within(&self, time: Duration) {
        let by = Instant::now() + time;
        let mut seen = self.shared.seen();
        if seen.look_by.is_none_or(|earlier| by < earlier) {
            seen.look_by = Some(by);
            self.shared.look.notify_one();
        }
    }

    /// When the member was looked at last.
    pub(crate) fn seen_at(&self) -> Option<Timestamp> {
        self.shared.seen().observation.as_ref().map(|(_, at)| *at)
    }

    /// What was seen last; what is free on each node only if somebody wants to know.
    pub(crate) fn sight(&self, by_node: bool) -> Sight {
        let seen = self.shared.seen();
        let room = match (&seen.nodes, &seen.pods) {
            (Some(nodes), Some(pods)) => Some(inventory::room(nodes, pods, by_node)),
            _ => None,
        };
        Sight {
            observation: seen.observation.clone(),
            version: seen.version.clone(),
            apis: seen.apis.clone(),
            nodes: seen
                .nodes
                .as_ref()
                .map(|nodes| (nodes.total(), nodes.ready())),
            room,
        }
    }
}

impl Shared {
    /// A panic elsewhere leaves nothing half-done here: each change is one assignment, or a count that the next list
    /// replaces.
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn until_healthy(&self) {
        // The sender lives in `self`, so waiting cannot fail.
        let _ = self.healthy.subscribe().wait_for(|healthy| *healthy).await;
    }
}

async fn keep_probing(shared: Arc<Shared>) {
    loop {
        let start = Instant::now();
        let observation = probe::probe(&shared.client, shared.habits.patience).await;
        let now = Timestamp::now();
        let healthy = observation == Observation::Healthy;
        shared.listener.probed(&observation, start.elapsed(), now);
        {
            let mut seen = shared.seen();
            seen.observation = Some((observation, now));
            // Whoever asked for a look has got it.
            if seen.look_by.is_some_and(|by| by <= Instant::now()) {
                seen.look_by = None;
            }
        }
        shared
            .healthy
            .send_if_modified(|before| std::mem::replace(before, healthy) != healthy);
        shared.listener.wake(Urgency::Now);
        pause(&shared).await;
    }
}

/// Waits for the interval, or until somebody wants a look earlier.
async fn pause(shared: &Shared) {
    let regular = Instant::now() + shared.habits.interval;
    loop {
        let due = shared.seen().look_by.map_or(regular, |by| by.min(regular));
        tokio::select! {
            () = tokio::time::sleep_until(due) => return,
            () = shared.look.notified() => {}
        }
    }
}

/// What to say of the APIs when they could not be asked for.
fn unknown_apis(error: &discovery::Error) -> Apis {
    Apis {
        enablements: Vec::new(),
        list: ApiList::Empty(root_cause(error)),
    }
}
