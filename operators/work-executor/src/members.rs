//! The members: for each a client, a queue, and watches of what was put there.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use crds::labels;
use engine::snapshot::Name;
use kit::CancellationToken;
use kit::dynamic::{DynamicWatches, Kinds};
use kit::members::{Access, Member, MemberError, MemberQueues, Pool};
use kit::process::Runtime;
use kit::queue::Queue;
use kit::watch::Scope;

use crate::execution::{self, Baseline, CopySeen};
use crate::hub::Hub;
use crate::key::{ObjectKey, WorkKey};
use crate::since::Since;

/// How many Works of one member are worked on at once.
const CONCURRENCY: usize = 6;

/// All members.
pub(crate) struct Members {
    pool: Arc<Pool>,
    queues: MemberQueues<Name>,
    states: Mutex<HashMap<Name, Arc<MemberState>>>,
    /// When the status of a Work was last written.
    pub(crate) written: Since<WorkKey>,
    hub: Weak<Hub>,
    shutdown: CancellationToken,
}

/// One member, reached with one set of credentials.
pub(crate) struct MemberState {
    pub(crate) member: Member,
    /// What of ours is in it.
    pub(crate) copies: DynamicWatches<CopySeen>,
    /// What was applied by this process.
    baselines: Mutex<HashMap<ObjectKey, Baseline>>,
}

impl Members {
    pub(crate) fn start(runtime: &Runtime, hub: &Weak<Hub>) -> Self {
        let (told, working) = (Weak::clone(hub), Weak::clone(hub));
        Self {
            pool: Pool::start(runtime, move |cluster| {
                if let Some(hub) = told.upgrade() {
                    hub.credentials_changed(cluster);
                }
            }),
            queues: MemberQueues::new("works", runtime, CONCURRENCY, move |cluster, name| {
                execution::execute(working.upgrade(), cluster, name)
            }),
            states: Mutex::default(),
            written: Since::default(),
            hub: Weak::clone(hub),
            shutdown: runtime.shutdown.clone(),
        }
    }

    /// The queue of a member's Works, by name.
    pub(crate) fn queue(&self, cluster: &str) -> Queue<Name> {
        self.queues.of(cluster)
    }

    /// Nothing is left of a member that is gone.
    pub(crate) fn end_queue(&self, cluster: &str) {
        self.queues.remove(cluster);
        self.written.retain(|work| work.cluster != *cluster);
    }

    /// A Cluster exists or has changed. Returns whether it is reached in another way than before.
    pub(crate) fn set(&self, cluster: &str, access: Access) -> bool {
        self.pool.set(cluster, access)
    }

    /// A Cluster is gone.
    pub(crate) fn remove(&self, cluster: &str) {
        self.pool.remove(cluster);
        locked(&self.states).remove(cluster);
        self.written.retain(|work| work.cluster != *cluster);
    }

    /// A member as it is reached now.
    pub(crate) fn state(&self, cluster: &Name) -> Result<Arc<MemberState>, MemberError> {
        let member = self.pool.member(cluster)?;
        let mut states = locked(&self.states);
        if let Some(state) = states.get(cluster)
            && state.member.revision == member.revision
        {
            return Ok(Arc::clone(state));
        }
        let state = Arc::new(self.look_at(cluster, member));
        states.insert(cluster.clone(), Arc::clone(&state));
        Ok(state)
    }

    fn look_at(&self, cluster: &Name, member: Member) -> MemberState {
        let (reader, teller) = (Weak::clone(&self.hub), Weak::clone(&self.hub));
        let (of, told_of) = (cluster.clone(), cluster.clone());
        let copies = DynamicWatches::new(
            Kinds::new(member.client.clone()),
            Scope::member().labels(format!("{}={}", labels::MANAGED, labels::TRUE)),
            self.shutdown.clone(),
            move |gvk, object| {
                let hub = reader.upgrade()?;
                Some(CopySeen::of(
                    &hub.world,
                    &hub.interpreter(),
                    &of,
                    gvk,
                    object,
                ))
            },
            move |_, change| {
                if let Some(hub) = teller.upgrade() {
                    hub.copy_changed(&told_of, &change);
                }
            },
        );
        MemberState {
            member,
            copies,
            baselines: Mutex::default(),
        }
    }

    /// Looks at all copies of a kind again, because it means something else now.
    pub(crate) fn look_again(&self, gone: &kube::core::GroupVersionKind) {
        for state in locked(&self.states).values() {
            state.copies.retain(|gvk| gvk != gone);
        }
    }

    /// Stops watching kinds of which nothing is in the member any more.
    pub(crate) fn forget_kinds(
        &self,
        cluster: &Name,
        wanted: impl Fn(&kube::core::GroupVersionKind) -> bool,
    ) {
        if let Some(state) = locked(&self.states).get(cluster) {
            state.copies.retain(wanted);
        }
    }
}

impl MemberState {
    pub(crate) fn baseline(&self, object: &ObjectKey) -> Option<Baseline> {
        locked(&self.baselines).get(object).cloned()
    }

    pub(crate) fn note_baseline(&self, object: &ObjectKey, baseline: Baseline) {
        locked(&self.baselines).insert(object.clone(), baseline);
    }

    pub(crate) fn forget_baseline(&self, object: &ObjectKey) {
        locked(&self.baselines).remove(object);
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
