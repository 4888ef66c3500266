//! Watches of members that note when an object was first seen, changed and gone, on this process's own clock.
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use futures::TryStreamExt;
use kube::api::{ApiResource, DynamicObject};
use kube::runtime::watcher::{self, Event};
use kube::{Api, ResourceExt};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::plane::Plane;

/// What can be seen of an object in a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sight {
    /// It exists.
    Present,
    /// Its annotation `bench` has the value `updated`.
    Updated,
    /// It is gone.
    Gone,
}

type Seen = BTreeMap<(usize, String, Sight), Instant>;

/// Watches one kind of one namespace in all members. Watches end when it is dropped.
pub struct Sightings {
    seen: Arc<Mutex<Seen>>,
    changed: watch::Receiver<u64>,
    members: usize,
    _watches: JoinSet<()>,
}

impl Sightings {
    /// Starts the watches.
    pub fn start(plane: &Plane, namespace: &str, kind: &ApiResource) -> Self {
        let seen = Arc::new(Mutex::new(Seen::new()));
        let (tick, changed) = watch::channel(0);
        let mut watches = JoinSet::new();
        for (index, member) in plane.members.iter().enumerate() {
            let api: Api<DynamicObject> =
                Api::namespaced_with(member.client.clone(), namespace, kind);
            let seen = Arc::clone(&seen);
            let tick = tick.clone();
            watches.spawn(async move {
                let stream = watcher::watcher(api, watcher::Config::default());
                let note = |object: &DynamicObject, gone: bool| {
                    let now = Instant::now();
                    let sight = if gone {
                        Sight::Gone
                    } else if object
                        .annotations()
                        .get("bench")
                        .is_some_and(|v| v == "updated")
                    {
                        Sight::Updated
                    } else {
                        Sight::Present
                    };
                    seen.lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .entry((index, object.name_any(), sight))
                        .or_insert(now);
                    tick.send_modify(|n| *n += 1);
                };
                let ended = stream
                    .try_for_each(|event| {
                        match event {
                            Event::Apply(object) | Event::InitApply(object) => note(&object, false),
                            Event::Delete(object) => note(&object, true),
                            Event::Init | Event::InitDone => {}
                        }
                        futures::future::ready(Ok(()))
                    })
                    .await;
                // A broken watch shows as a scenario that runs into its limit; its cause is worth a line.
                if let Err(error) = ended {
                    crate::report::note(&format!("watch of a member ended: {error}"));
                }
            });
        }
        Self {
            seen,
            changed,
            members: plane.members.len(),
            _watches: watches,
        }
    }

    /// Waits until every member has shown `sight` for every name; returns for each name the time of each member.
    pub async fn all(
        &mut self,
        names: &[String],
        sight: Sight,
        limit: Duration,
    ) -> Result<BTreeMap<String, Vec<Instant>>> {
        let deadline = tokio::time::Instant::now() + limit;
        loop {
            let (found, missing) = self.collect(names, sight);
            if missing.is_empty() {
                return Ok(found);
            }
            let change = tokio::time::timeout_at(deadline, self.changed.changed()).await;
            if !matches!(change, Ok(Ok(()))) {
                bail!(
                    "{} of {} objects were not {sight:?} in all members within {} s, first: {}",
                    missing.len(),
                    names.len(),
                    limit.as_secs(),
                    missing[0]
                );
            }
        }
    }

    fn collect(
        &self,
        names: &[String],
        sight: Sight,
    ) -> (BTreeMap<String, Vec<Instant>>, Vec<String>) {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let mut found = BTreeMap::new();
        let mut missing = Vec::new();
        for name in names {
            let times: Vec<Instant> = (0..self.members)
                .filter_map(|m| seen.get(&(m, name.clone(), sight)).copied())
                .collect();
            if times.len() == self.members {
                found.insert(name.clone(), times);
            } else {
                missing.push(name.clone());
            }
        }
        (found, missing)
    }
}
