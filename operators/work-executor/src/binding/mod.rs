//! Binding or namespace → one Work for each target.
//!
//! What is rendered is compared with what is stored; only differences are written. A Work is taken away for a reason of
//! [`engine::dispatch`] alone, and an orphan only after its binding was looked for once more.

mod apply;
mod render;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crds::work::ObjectReference;
use crds::{labels, namespaces};
use engine::dispatch::{Draft, Fate, Keep, Present, Situation, Target, fates, targets};
use engine::overrides::Conflict;
use engine::policy::selector::Identity;
use engine::snapshot::{Fleet, Name};
use kit::queue::Outcome;

use crate::hub::{Hub, namespace_kind};
use crate::key::{ObjectKey, Origin};
use crate::problem::Problem;
use crate::seen::{BindingSeen, TemplateSeen, WorkSeen};
use crate::world::template_of;

/// How long to wait for the first list of a kind before coming back; others wait for the place meanwhile.
const LIST: Duration = Duration::from_secs(3);

/// How long the scheduler may take to follow a new or changed template before what it wrote last is used.
const FOLLOWS: Duration = Duration::from_secs(2);

/// What is to be done about the Works of one origin.
#[derive(Default)]
pub(crate) struct Plan {
    /// Works as they should be, by target.
    pub(crate) drafts: Vec<(Target, Draft)>,
    /// Works that go.
    pub(crate) leaving: Vec<Arc<WorkSeen>>,
    /// What keeps clusters from their copies.
    pub(crate) problems: Vec<Problem>,
    /// Where override policies disagree, in words, and the clusters where they do.
    pub(crate) conflicts: BTreeMap<String, Vec<Name>>,
    /// The origin may go: nothing is left of it.
    pub(crate) finished: bool,
    /// Look again after this time.
    pub(crate) again: Option<Duration>,
}

impl Plan {
    fn take(&mut self, target: Target, (draft, conflicts): (Draft, Vec<Conflict>)) {
        for conflict in conflicts {
            self.conflicts
                .entry(conflict.to_string())
                .or_default()
                .push(target.cluster.clone());
        }
        self.drafts.push((target, draft));
    }
}

/// Works on one origin.
pub(crate) async fn bind(hub: Arc<Hub>, origin: Origin) -> Outcome {
    let timer = hub.metrics.sync_work();
    let outcome = match &origin {
        Origin::Binding { .. } => bind_binding(&hub, &origin).await,
        Origin::Namespace(name) => bind_namespace(&hub, &origin, name).await,
    };
    timer.stop(!matches!(outcome, Outcome::Retry | Outcome::RetryAfter(_)));
    outcome
}

async fn bind_binding(hub: &Hub, origin: &Origin) -> Outcome {
    let Some(binding) = hub.world.binding(origin) else {
        return apply::orphans(hub, origin).await;
    };
    // Cleaning up needs no template: its kind may be gone as well.
    let template = if binding.deleting || !binding.owned {
        None
    } else {
        match template(hub, &template_of(&binding)).await {
            Some(template) => template,
            None => return Outcome::Retry,
        }
    };
    let works = hub.world.works_of(origin);
    let fleet = hub.world.fleet();
    let plan = plan_binding(hub, origin, &binding, template.as_deref(), &works, &fleet);
    apply::apply(hub, origin, Some(&binding), plan, &works).await
}

/// `None` if the templates of the kind are not known yet; else the template, if it exists.
async fn template(hub: &Hub, object: &ObjectKey) -> Option<Option<Arc<TemplateSeen>>> {
    hub.templates.ensure(&object.gvk);
    let listed = hub.templates.synced(&object.gvk);
    let _ = tokio::time::timeout(LIST, listed).await;
    if !hub.templates.is_synced(&object.gvk) {
        return None;
    }
    let store = hub.templates.store(&object.gvk)?;
    Some(store.find(&object.namespace, &object.name))
}

fn plan_binding(
    hub: &Hub,
    origin: &Origin,
    binding: &BindingSeen,
    template: Option<&TemplateSeen>,
    works: &[Arc<WorkSeen>],
    fleet: &Fleet,
) -> Plan {
    let situation = Situation {
        spec: &binding.spec,
        deleting: binding.deleting,
        owned: binding.owned,
        fleet,
        needed: &hub.world.needed_in(binding),
    };
    let mut plan = Plan {
        leaving: leaving(situation, works),
        finished: binding.deleting && binding.finalized && works.is_empty(),
        ..Plan::default()
    };
    // Without an owner nothing more is sent; without its template there is nothing to send.
    let Some(template) = template else {
        return plan;
    };
    let resource = &binding.spec.resource;
    if template.deleting
        || resource
            .uid
            .as_ref()
            .is_some_and(|uid| *uid != template.uid)
    {
        return plan;
    }
    let object = template.object();
    let interpreter = hub.interpreter();
    if render::follows(&binding.spec, &object, &interpreter)
        && binding.shares_its_claim_with(template)
    {
        hub.lagging.end(origin);
    } else {
        // Never a mix of two generations: replicas come from the binding, all else from the template.
        let left = FOLLOWS.saturating_sub(hub.lagging.elapsed(origin.clone()));
        if !left.is_zero() {
            plan.again = Some(left);
            plan.problems = hub.world.problems(origin);
            return plan;
        }
    }
    let policies = hub
        .world
        .overrides(resource.namespace.as_deref().unwrap_or_default());
    for target in targets(&binding.spec) {
        match fleet.get(&target.cluster) {
            // Nothing new goes where everything is on its way out.
            Some(cluster) if cluster.deleting => {}
            Some(cluster) => {
                let source = render::Source {
                    origin,
                    binding: Some(binding),
                    template: &object,
                    interpreter: &interpreter,
                    policies: &policies,
                };
                match source.draft(&target, cluster) {
                    Ok(draft) => plan.take(target, draft),
                    Err(problem) => plan.problems.push(problem),
                }
            }
            None => plan.problems.push(Problem {
                cluster: target.cluster.as_str().to_owned(),
                message: format!("cluster {} does not exist", target.cluster),
                overriding: false,
            }),
        }
    }
    plan
}

fn leaving(situation: Situation<'_>, works: &[Arc<WorkSeen>]) -> Vec<Arc<WorkSeen>> {
    let present: Vec<Present> = works
        .iter()
        .map(|work| Present {
            cluster: work.key.cluster.clone(),
            deleting: work.deleting,
            applied: work.applied(),
        })
        .collect();
    works
        .iter()
        .zip(fates(situation, &present))
        .filter_map(|(work, fate)| match fate {
            Fate::Goes(why) => {
                if !work.deleting {
                    tracing::info!(work = %work.key, ?why, "a Work goes");
                }
                Some(Arc::clone(work))
            }
            Fate::Stays(
                Keep::Wanted | Keep::Frozen | Keep::Needed | Keep::Evicting | Keep::AwaitsTarget,
            ) => None,
            Fate::Stays(Keep::AwaitsReplacement(clusters)) => {
                tracing::debug!(work = %work.key, ?clusters, "a Work waits for its replacement");
                None
            }
        })
        .filter(|work| !work.deleting)
        .collect()
}

async fn bind_namespace(hub: &Hub, origin: &Origin, name: &str) -> Outcome {
    let object = ObjectKey {
        gvk: namespace_kind(),
        namespace: "".into(),
        name: name.into(),
    };
    let Some(template) = template(hub, &object).await else {
        return Outcome::Retry;
    };
    let Some(template) = template else {
        return apply::orphans(hub, origin).await;
    };
    let works = hub.world.works_of(origin);
    let fleet = hub.world.fleet();
    let mut plan = Plan {
        leaving: works
            .iter()
            .filter(|work| !work.deleting && !fleet.contains_key(&work.key.cluster))
            .cloned()
            .collect(),
        ..Plan::default()
    };
    if !template.deleting && is_propagated(name, &template.labels) {
        let policies = hub.world.overrides("");
        let object = template.object();
        let interpreter = hub.interpreter();
        for cluster in fleet.values().filter(|cluster| !cluster.deleting) {
            let source = render::Source {
                origin,
                binding: None,
                template: &object,
                interpreter: &interpreter,
                policies: &policies,
            };
            let target = Target {
                cluster: cluster.name.clone(),
                replicas: None,
                suspended: false,
            };
            match source.draft(&target, cluster) {
                Ok(draft) => plan.take(target, draft),
                Err(problem) => plan.problems.push(problem),
            }
        }
    }
    apply::apply(hub, origin, None, plan, &works).await
}

/// Whether a namespace goes to every member.
fn is_propagated(name: &str, its_labels: &BTreeMap<String, String>) -> bool {
    !namespaces::is_reserved(name)
        && name != namespaces::DEFAULT
        && !name.starts_with("kube-")
        && its_labels
            .get(labels::SKIP_AUTO_PROPAGATION)
            .map(String::as_str)
            != Some(labels::TRUE)
}

/// What selectors look at in a template.
pub(crate) fn identity_of<'a>(
    resource: &'a ObjectReference,
    labels: &'a BTreeMap<String, String>,
) -> Identity<'a> {
    Identity {
        api_version: &resource.api_version,
        kind: &resource.kind,
        namespace: resource.namespace.as_deref().unwrap_or_default(),
        name: &resource.name,
        labels,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn namespaces_of_users_go_everywhere_unless_they_say_no() {
        let none = BTreeMap::new();
        assert!(is_propagated("shop", &none));
        for name in ["default", "kube-system", "karmada-system", "karmada-es-m1"] {
            assert!(!is_propagated(name, &none), "{name}");
        }
        let skipped = BTreeMap::from([(
            labels::SKIP_AUTO_PROPAGATION.to_owned(),
            labels::TRUE.to_owned(),
        )]);
        assert!(!is_propagated("shop", &skipped));
    }
}
