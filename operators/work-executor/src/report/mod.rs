//! Works → status of the binding → status of the template.
//!
//! Statuses come after the forward path, and folded: what changes again in a moment is written once.

mod apply;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crds::conditions::{FULLY_APPLIED_FAILED, TRUE};
use crds::work::{AggregatedStatusItem, ResourceHealth, WorkStatus};
use engine::dispatch::{Pace, Target, targets, wait};
use engine::snapshot::{Fleet, Name, Readiness};
use engine::status::binding::{Report, summarize};
use engine::trace::{ConditionFact, ConditionStatus};
use kit::queue::Outcome;

use crate::hub::Hub;
use crate::key::Origin;
use crate::problem::Problem;
use crate::seen::{BindingSeen, WorkSeen};

/// How long copies may be on their way before the binding says that they are not there.
const UNDER_WAY: Duration = Duration::from_secs(5);

/// Works on the status of one binding.
pub(crate) async fn report(hub: Arc<Hub>, origin: Origin) -> Outcome {
    let Some(binding) = hub.world.binding(&origin) else {
        return Outcome::Done;
    };
    // Nobody waits for what a binding says that goes, and its template is gone.
    if binding.deleting {
        return Outcome::Done;
    }
    let works = hub.world.works_of(&origin);
    let problems = hub.world.problems(&origin);
    let fleet = hub.world.fleet();
    let wanted = targets(&binding.spec);
    if wanted.is_empty() && works.is_empty() && binding.aggregated().is_empty() {
        // Not placed yet; the scheduler says why.
        return Outcome::Done;
    }
    let (items, fact) = summary(&binding, &wanted, &works, &problems, &fleet);
    let since = hub.reported.get(&origin);
    let behind = fact.status != ConditionStatus::True;
    if behind && !is_failed(&items) && !problems_stand(&problems) {
        // Under way is no failure.
        let left = UNDER_WAY.saturating_sub(hub.under_way.elapsed(origin.clone()));
        if !left.is_zero() {
            return Outcome::After(left);
        }
    }
    if !behind {
        hub.under_way.end(&origin);
    }
    let old = binding.aggregated();
    if old == items && says(&binding, &fact) {
        hub.unreported.end(&origin);
        hub.aggregate.unchanged("resourcebindings");
        return apply::template(&hub, &binding, &items).await;
    }
    let differs = hub.unreported.elapsed(origin.clone());
    let delay = wait(pace(&old, &items), differs, since);
    if !delay.is_zero() {
        return Outcome::After(delay);
    }
    if let Err(error) = apply::binding(&hub, &origin, &binding, &items, &fact).await {
        tracing::warn!(%origin, error = %error.message(), "{error}");
        return Outcome::Retry;
    }
    hub.unreported.end(&origin);
    apply::tell(&hub, &binding, &fact, &problems).await;
    apply::template(&hub, &binding, &items).await
}

fn summary(
    binding: &BindingSeen,
    wanted: &[Target],
    works: &[Arc<WorkSeen>],
    problems: &[Problem],
    fleet: &Fleet,
) -> (Vec<AggregatedStatusItem>, ConditionFact) {
    let works: BTreeMap<&Name, &WorkSeen> = works
        .iter()
        .map(|work| (&work.key.cluster, &**work))
        .collect();
    let leaving = works
        .keys()
        .filter(|cluster| {
            fleet.contains_key(**cluster)
                && wanted.iter().all(|target| target.cluster != ***cluster)
        })
        .map(|cluster| ((*cluster).clone(), false));
    let clusters: Vec<(Name, bool)> = wanted
        .iter()
        .map(|target| (target.cluster.clone(), true))
        .chain(leaving)
        .collect();
    let statuses: Vec<Option<WorkStatus>> = clusters
        .iter()
        .map(|(cluster, _)| works.get(cluster).map(|work| current(work)))
        .collect();
    let reports: Vec<Report<'_>> = clusters
        .iter()
        .zip(&statuses)
        .map(|((cluster, wanted), status)| Report {
            cluster,
            wanted: *wanted,
            answers: fleet
                .get(cluster)
                .is_some_and(|view| view.ready == Readiness::Ready),
            problem: problems
                .iter()
                .find(|problem| problem.cluster == **cluster)
                .map(|problem| problem.message.as_str()),
            status: status.as_ref(),
        })
        .collect();
    summarize(&reports, Some(binding.generation))
}

/// What a Work says of what it is now: that an older state of it was applied is no longer of interest.
fn current(work: &WorkSeen) -> WorkStatus {
    let mut status = work.status();
    status.conditions.retain(|condition| {
        condition.type_ != crds::conditions::APPLIED
            || condition
                .observed_generation
                .is_none_or(|generation| generation >= work.generation || work.suspended)
    });
    status
}

/// Whether any copy is known to have failed.
fn is_failed(items: &[AggregatedStatusItem]) -> bool {
    items.iter().any(|item| {
        item.applied_message
            .as_ref()
            .is_some_and(|message| !message.is_empty())
    })
}

fn problems_stand(problems: &[Problem]) -> bool {
    !problems.is_empty()
}

fn says(binding: &BindingSeen, fact: &ConditionFact) -> bool {
    binding.fully_applied.as_ref().is_some_and(|condition| {
        condition.status == fact.status.as_str()
            && condition.reason == fact.reason
            && condition.message == fact.message
            && condition.observed_generation == fact.observed_generation
    })
}

/// Whether the binding said before that something failed.
fn said_failed(binding: &BindingSeen) -> bool {
    binding.fully_applied.as_ref().is_some_and(|condition| {
        condition.status != TRUE && condition.reason == FULLY_APPLIED_FAILED
    })
}

fn pace(old: &[AggregatedStatusItem], new: &[AggregatedStatusItem]) -> Pace {
    let is = |items: &[AggregatedStatusItem], health| {
        items.iter().any(|item| item.health == Some(health))
    };
    let was_well = !old.is_empty()
        && old
            .iter()
            .all(|item| item.health == Some(ResourceHealth::Healthy));
    let sick = is(new, ResourceHealth::Unhealthy);
    if sick && !was_well && !is_failed(new) {
        Pace::Moving
    } else {
        Pace::Settled
    }
}
