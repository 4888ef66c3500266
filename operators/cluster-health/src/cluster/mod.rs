//! The controller of Cluster objects.
//!
//! Flow: what the [`Lookout`] of a member saw → [`engine::health`] → status, then taints, of the Cluster. Before the first
//! of these the Cluster gets its finalizer and its execution namespace; when it is deleted, [`removal`] undoes both.
//!
//! Guarantees: nothing is written that is stored already; what a restart needs is in the Cluster object; a member that
//! hangs holds up nobody, because reconciling a Cluster never waits for the member. Pull-mode clusters get finalizer and
//! namespace only: their agent reports the rest.

mod apply;
mod observe;
mod patch;
mod removal;
mod status;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crds::cluster::{Cluster, ClusterSyncMode};
use engine::health::{
    Folded, History, Observation, Refresh, compare, decide_policy_taints, decide_readiness,
    decide_refresh, decide_taints, stamp_taints,
};
use engine::snapshot::ClusterView;
use engine::trace::{ConditionFact, ConditionStatus};
use jiff::{SignedDuration, Timestamp};
use kit::RequestError;
use kube::ResourceExt as _;
use tokio::time::Instant;

pub(crate) use apply::Applier;
pub(crate) use observe::Stores;

use crate::Settings;
use crate::member::{Listener, Lookout, Sight, Urgency};
use crate::metrics::Metrics;
use observe::Way;

/// How long many small changes are gathered before they are looked at.
const GATHERING: Duration = Duration::from_secs(1);

/// Asks for a Cluster to be reconciled after a while.
pub(crate) type Requeue = Arc<dyn Fn(&str, Duration) + Send + Sync>;

/// What the controller works with.
pub(crate) struct Controller {
    pub(crate) settings: Settings,
    pub(crate) stores: Stores,
    pub(crate) applier: Applier,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) requeue: Requeue,
    pub(crate) members: Mutex<HashMap<String, Arc<tokio::sync::Mutex<Member>>>>,
}

/// What is remembered of a member between two looks.
#[derive(Default)]
pub(crate) struct Member {
    /// The way to the member that the lookout goes.
    way: Option<Way>,
    lookout: Option<Lookout>,
    /// What was found without a lookout, because there is no way to the member.
    obstacle: Option<(Observation, Timestamp)>,
    history: History,
    /// The `Ready` condition that follows from the history, and the observation it was decided on.
    ready: Option<(ConditionFact, Timestamp)>,
    folded: Folded,
    removal_blocked: Option<ConditionFact>,
}

impl Controller {
    /// Brings one Cluster up to date; says when to do so again, if nothing happens before.
    pub(crate) async fn reconcile(&self, name: &str) -> Result<Option<Timestamp>, RequestError> {
        let Some(mut cluster) = self.stores.cluster(name) else {
            self.members().remove(name);
            self.stores.forget(name);
            self.metrics.forget(name);
            return Ok(None);
        };
        let member = Arc::clone(self.members().entry(name.to_owned()).or_default());
        let mut member = member.lock().await;
        let deleting = cluster.metadata.deletion_timestamp.is_some();
        if !deleting {
            let written = self.applier.finalizer(&cluster).await?;
            cluster = self.stores.updated(cluster, written);
            if self.stores.space(name).is_none() {
                self.applier.execution_namespace(&cluster).await?;
                self.stores.has_space(name);
            }
        }
        let report = if cluster.spec.sync_mode == ClusterSyncMode::Pull {
            *member = Member {
                removal_blocked: member.removal_blocked.take(),
                ..Member::default()
            };
            None
        } else {
            self.keep_lookout(&cluster, &mut member);
            let (reported, wake_at) = self.report(cluster, &mut member).await?;
            cluster = reported;
            wake_at
        };
        if !deleting {
            return Ok(report);
        }
        let removal = self.remove(cluster, &mut member).await?;
        Ok([report, removal].into_iter().flatten().min())
    }

    fn members(
        &self,
    ) -> std::sync::MutexGuard<'_, HashMap<String, Arc<tokio::sync::Mutex<Member>>>> {
        // Whoever panicked while holding it had only looked something up or put it in.
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes sure that somebody looks at the member, on the way its Cluster and Secret now describe.
    fn keep_lookout(&self, cluster: &Cluster, member: &mut Member) {
        let (way, client) = self.stores.way(cluster);
        if member.way.as_ref() == Some(&way) {
            return;
        }
        let conditions = cluster.status.iter().flat_map(|status| &status.conditions);
        let conditions: Vec<_> = conditions.cloned().collect();
        let restarted = member.way.is_none();
        let folded = member.folded;
        *member = Member {
            // What was seen on another way says nothing of this one; after a restart the object tells what was believed.
            history: if restarted {
                History::resume(&conditions)
            } else {
                History::default()
            },
            folded,
            removal_blocked: member.removal_blocked.take(),
            ..Member::default()
        };
        match (&way, client) {
            (_, Some(client)) => {
                let listener = ForMember {
                    name: cluster.name_any(),
                    metrics: Arc::clone(&self.metrics),
                    requeue: Arc::clone(&self.requeue),
                };
                member.lookout = Some(Lookout::start(client, self.settings.habits, listener));
            }
            (Way::Closed(error), None) => {
                // That is no fault of the moment, which might pass while it is watched: believe it at once.
                member.history = History::default();
                let why = Observation::Uncollectable(error.to_string());
                member.obstacle = Some((why, Timestamp::now()));
            }
            (Way::Open(_), None) => {}
        }
        member.way = Some(way);
    }

    /// Writes what was seen; returns the Cluster as it is then, and when more is to be written.
    async fn report(
        &self,
        mut cluster: Arc<Cluster>,
        member: &mut Member,
    ) -> Result<(Arc<Cluster>, Option<Timestamp>), RequestError> {
        let start = Instant::now();
        let name = cluster.name_any();
        let by_node = !cluster.spec.resource_models.is_empty();
        let sight = member.lookout.as_ref().map_or_else(
            || Sight {
                observation: member.obstacle.clone(),
                ..Sight::default()
            },
            |lookout| lookout.sight(by_node),
        );
        let Some(ready) = self.believe(&sight, member) else {
            return Ok((cluster, None));
        };
        self.metrics
            .seen(&name, ready.status == ConditionStatus::True, &sight);

        let now = Timestamp::now();
        let stored = cluster.status.clone().unwrap_or_default();
        let wanted = status::compose(&stored, &cluster.spec, ready.clone(), &sight, now);
        let change = compare(&stored, &wanted);
        let (refresh, folded) = decide_refresh(change, member.folded, &self.settings.folding, now);
        let wake_at = match refresh {
            Refresh::Never => None,
            Refresh::At(time) => Some(time),
            Refresh::Now => {
                let written = self.applier.status(&cluster, &stored, &wanted).await?;
                cluster = self.stores.updated(cluster, written);
                self.metrics.synced(&name, start.elapsed());
                None
            }
        };
        member.folded = folded;

        let conditions = &wanted.conditions;
        let taints = decide_taints(&cluster.spec.taints, Some(&ready), now);
        let view = ClusterView::from(&*cluster);
        let taints = decide_policy_taints(
            taints,
            &view,
            conditions,
            &self.stores.taint_policies(),
            now,
        );
        let taints = stamp_taints(taints, now);
        let written = self.applier.taints(&cluster, &taints, &ready).await?;
        Ok((self.stores.updated(cluster, written), wake_at))
    }

    /// The `Ready` condition after the last observation. Each observation counts once, at the time it was made, however
    /// often the Cluster is reconciled in between.
    fn believe(&self, sight: &Sight, member: &mut Member) -> Option<ConditionFact> {
        let (observation, at) = sight.observation.as_ref()?;
        if let Some((ready, decided)) = &member.ready
            && decided == at
        {
            return Some(ready.clone());
        }
        let decided =
            decide_readiness(&member.history, observation, &self.settings.thresholds, *at);
        if let (Some(lookout), Some(due)) = (&member.lookout, decided.wake_at) {
            lookout.look_within(
                Duration::try_from(due.duration_since(Timestamp::now())).unwrap_or_default(),
            );
        }
        member.history = decided.history;
        member.ready = Some((decided.condition.clone(), *at));
        Some(decided.condition)
    }

    /// Ends all looking at members.
    pub(crate) fn stop(&self) {
        self.members().clear();
    }

    /// Whether every member in push mode was looked at lately, so that what Clusters say is worth something.
    pub(crate) fn observes_all(&self, within: SignedDuration) -> bool {
        let now = Timestamp::now();
        let members: Vec<_> = self.members().values().cloned().collect();
        members.iter().all(|member| {
            // Being reconciled is being looked after.
            let Ok(member) = member.try_lock() else {
                return true;
            };
            let Some(lookout) = &member.lookout else {
                return true;
            };
            lookout
                .seen_at()
                .is_some_and(|seen| now.duration_since(seen) <= within)
        })
    }
}

/// Passes on what the lookout of one member sees.
struct ForMember {
    name: String,
    metrics: Arc<Metrics>,
    requeue: Requeue,
}

impl Listener for ForMember {
    fn probed(&self, found: &Observation, took: Duration, at: Timestamp) {
        self.metrics.probed(&self.name, found, took, at);
    }

    fn wake(&self, urgency: Urgency) {
        let after = match urgency {
            Urgency::Now => Duration::ZERO,
            Urgency::Soon => GATHERING,
        };
        (self.requeue)(&self.name, after);
    }
}
