//! The life of a policy: its permanent id and finalizer when it is first seen, its end when nothing claims it any more, and a word to
//! its author when it has no effect.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use crds::events;
use crds::policy::{ClusterPropagationPolicy, PropagationPolicy, ResourceSelector};
use crds::work::ObjectReference;
use engine::snapshot::{PolicyScope, PolicyView};
use engine::trace::reason::PolicyReason;
use engine::trace::{EventFact, MAX_EVENT_NOTE, PolicyRef, Reason, Verdict, bounded};
use kit::{Failure, RequestError};
use serde_json::{Map, Value, json};
use tokio::time::Instant;
use uuid::Uuid;

use crate::key::{Gvk, TemplateKey};
use crate::world::World;
use crate::writes::{Target, Writes};

/// For so long a new or changed policy may be without effect before its author is told: templates often come after their policy.
const PATIENCE: Duration = Duration::from_secs(10);

/// Writes policies' metadata.
pub(crate) struct Policies {
    writes: Writes,
    world: Arc<Mutex<World>>,
    /// One at a time, so that templates that come together do not each stamp their policy.
    stamping: tokio::sync::Mutex<()>,
    /// The generation of each policy that was looked at, and since when it is new.
    looks: Mutex<BTreeMap<PolicyRef, Look>>,
}

#[derive(Clone, Copy, Debug)]
struct Look {
    generation: i64,
    /// Since when; `None` once its effect is known.
    since: Option<Instant>,
}

impl Policies {
    /// Knows the policies that exist already: about those, nobody is told anything again.
    pub(crate) fn new(writes: Writes, world: Arc<Mutex<World>>) -> Self {
        let looks = lock(&world)
            .policies()
            .map(|policy| {
                let look = Look {
                    generation: policy.generation,
                    since: None,
                };
                (policy.policy.clone(), look)
            })
            .collect();
        Self {
            writes,
            world,
            stamping: tokio::sync::Mutex::default(),
            looks: Mutex::new(looks),
        }
    }

    /// Gives a policy its permanent id and its finalizer, if it lacks one of them.
    pub(crate) async fn stamp(
        &self,
        policy: &Arc<PolicyView>,
    ) -> Result<Arc<PolicyView>, RequestError> {
        if policy.is_stamped() {
            return Ok(Arc::clone(policy));
        }
        let _one_at_a_time = self.stamping.lock().await;
        let now = lock(&self.world).policy(&policy.policy);
        let policy = now.unwrap_or_else(|| Arc::clone(policy));
        if policy.is_stamped() || policy.deleting {
            return Ok(policy);
        }
        let patch = stamp_patch(&policy, &Uuid::new_v4().to_string());
        let target = self.target(&policy);
        let stamped = match policy.scope {
            PolicyScope::Namespaced => {
                let written = self.writes.merge_patch(&target, &patch).await?;
                PolicyView::of::<PropagationPolicy>(&written)
            }
            PolicyScope::Cluster => {
                let written = self.writes.merge_patch(&target, &patch).await?;
                PolicyView::of::<ClusterPropagationPolicy>(&written)
            }
        };
        let stamped = Arc::new(stamped);
        lock(&self.world).put_policy(Arc::clone(&stamped));
        Ok(stamped)
    }

    /// Looks after a policy. Returns when it has to be looked at again, if at all.
    pub(crate) async fn look_after(
        &self,
        key: &PolicyRef,
    ) -> Result<Option<Duration>, RequestError> {
        let Some(policy) = lock(&self.world).policy(key) else {
            self.looks().remove(key);
            return Ok(None);
        };
        if policy.deleting {
            self.let_go(&policy).await?;
            return Ok(None);
        }
        // Early, so that the first template does not have to wait for it.
        let policy = self.stamp(&policy).await?;
        if let Some(wait) = self.patience(&policy) {
            return Ok(Some(wait));
        }
        let unknown = lock(&self.world).unknown_kinds(&policy);
        let unserved = self.unserved(&unknown).await?;
        let Some(problem) = self.problem(&policy, &unserved) else {
            return Ok(None);
        };
        self.tell(&policy, &problem).await?;
        Ok(None)
    }

    /// Removes the finalizer once nothing claims to belong to the policy any more.
    async fn let_go(&self, policy: &PolicyView) -> Result<(), RequestError> {
        let finalizer = policy.scope.finalizer();
        let unknown = lock(&self.world).unknown_kinds(policy);
        let unserved = self.unserved(&unknown).await?;
        let held =
            unknown.len() > unserved.len() || !lock(&self.world).claims(&policy.policy).is_empty();
        let place = policy.finalizers.iter().position(|f| f == finalizer);
        let (false, Some(place)) = (held, place) else {
            return Ok(());
        };
        let entry = format!("/metadata/finalizers/{place}");
        let patch = serde_json::from_value(json!([
            { "op": "test", "path": entry, "value": finalizer },
            { "op": "remove", "path": entry },
        ]))
        .expect("this is a JSON patch");
        match self.writes.json_patch(&self.target(policy), patch).await {
            Err(error) if error.failure() == Failure::NotFound => Ok(()),
            result => result,
        }
    }

    /// How long to wait before the effect of a new or changed policy can be told; zero never, `None` if it is time – or if it was told.
    fn patience(&self, policy: &PolicyView) -> Option<Duration> {
        let now = Instant::now();
        let mut looks = self.looks();
        let look = looks
            .entry(policy.policy.clone())
            .and_modify(|look| {
                if look.generation != policy.generation {
                    *look = Look {
                        generation: policy.generation,
                        since: Some(now),
                    };
                }
            })
            .or_insert(Look {
                generation: policy.generation,
                since: Some(now),
            });
        let left = (look.since? + PATIENCE).saturating_duration_since(now);
        (!left.is_zero()).then_some(left)
    }

    /// Why a policy has no effect, if it has none and nobody was told yet.
    fn problem(&self, policy: &PolicyView, unserved: &[Gvk]) -> Option<PolicyReason> {
        let is_new = self
            .looks()
            .get_mut(&policy.policy)
            .and_then(|look| look.since.take())
            .is_some();
        if !is_new {
            return None;
        }
        let world = lock(&self.world);
        if !unserved.is_empty() {
            return Some(PolicyReason::KindNotServed {
                kinds: unserved.iter().map(ToString::to_string).collect(),
            });
        }
        let selected = world.selected(policy);
        let Some(template) = selected.first() else {
            let selectors = policy.spec.resource_selectors.iter();
            return Some(PolicyReason::SelectsNothing {
                selectors: selectors
                    .map(|s| describe(s, &policy.policy.namespace))
                    .collect(),
            });
        };
        if !world.claims(&policy.policy).is_empty() {
            return None;
        }
        let key = TemplateKey::from(&**template);
        let sight = world.sight(&key);
        let decision = crate::decide::owner(&sight);
        let because = decision
            .trace
            .about_policy(&policy.policy)
            .find_map(|verdict| match (verdict, verdict.reason()) {
                (Verdict::Unfit(_), Reason::Policy(reason)) => Some(reason.clone()),
                _ => None,
            })?;
        Some(PolicyReason::OwnsNothing {
            selected: selected.len(),
            template: key.to_string(),
            because: Box::new(because),
        })
    }

    async fn tell(&self, policy: &PolicyView, problem: &PolicyReason) -> Result<(), RequestError> {
        let PolicyRef {
            kind,
            namespace,
            name,
        } = &policy.policy;
        let about = ObjectReference {
            api_version: PropagationPolicy::KIND.api_version(),
            kind: kind.to_string(),
            namespace: Some(namespace.to_string()).filter(|ns| !ns.is_empty()),
            name: name.to_string(),
            uid: Some(policy.uid.to_string()),
            resource_version: None,
        };
        let event = EventFact {
            warning: true,
            reason: events::APPLY_POLICY_FAILED.to_owned(),
            note: bounded(&format!("{} {problem}", policy.policy), MAX_EVENT_NOTE),
        };
        self.writes.event(&about, &event).await
    }

    /// Which of these kinds the control plane does not serve: there is nothing of them.
    async fn unserved(&self, kinds: &[Gvk]) -> Result<Vec<Gvk>, RequestError> {
        let mut unserved = Vec::new();
        for gvk in kinds {
            if self.writes.kinds.find(&gvk.into()).await?.is_none() {
                unserved.push(gvk.clone());
            }
        }
        Ok(unserved)
    }

    fn target(&self, policy: &PolicyView) -> Target {
        let PolicyRef {
            namespace, name, ..
        } = &policy.policy;
        match policy.scope {
            PolicyScope::Namespaced => self.writes.target::<PropagationPolicy>(namespace, name),
            PolicyScope::Cluster => self.writes.target::<ClusterPropagationPolicy>("", name),
        }
    }

    fn looks(&self) -> MutexGuard<'_, BTreeMap<PolicyRef, Look>> {
        self.looks
            .lock()
            .expect("nobody panics while holding the looks")
    }
}

fn lock(world: &Mutex<World>) -> MutexGuard<'_, World> {
    world.lock().expect("nobody panics while holding the world")
}

/// What a policy lacks, under the resource version at which it lacked it: finalizers are a list, which a patch replaces whole.
fn stamp_patch(policy: &PolicyView, id: &str) -> Value {
    let mut metadata = Map::new();
    metadata.insert(
        "resourceVersion".to_owned(),
        json!(policy.resource_version.as_str()),
    );
    if policy.permanent_id.is_none() {
        metadata.insert("labels".to_owned(), json!({ policy.scope.id_label(): id }));
    }
    let finalizer = policy.scope.finalizer();
    if !policy.finalizers.iter().any(|f| f == finalizer) {
        let mut all = policy.finalizers.clone();
        all.push(finalizer.to_owned());
        metadata.insert("finalizers".to_owned(), json!(all));
    }
    json!({ "metadata": metadata })
}

/// A selector in words: `apps/v1 Deployment web in default`.
fn describe(selector: &ResourceSelector, policy_namespace: &str) -> String {
    let mut words = format!("{} {}", selector.api_version, selector.kind);
    if let Some(name) = &selector.name {
        words.push(' ');
        words.push_str(name);
    } else if selector.label_selector.is_some() {
        words.push_str(" with such labels");
    }
    let namespace = selector.namespace.as_deref().unwrap_or(policy_namespace);
    if !namespace.is_empty() {
        words.push_str(" in ");
        words.push_str(namespace);
    }
    words
}
