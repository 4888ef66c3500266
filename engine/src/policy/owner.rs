//! Who owns a template.
//!
//! The rules, strongest first (Karmada, "Resource propagating: priority and preemption"):
//! 1. The policy that has claimed the template keeps it as long as it exists and selects it;
//! 2. unless a policy with `preemption: Always` may take it over: one of the template's namespace takes from any policy of cluster
//!    scope, otherwise its priority has to be higher, within the same scope;
//! 3. among policies without such a history: those of the namespace before those of cluster scope, then the higher priority, then
//!    the closer match (name, labels, kind), then the alphabet.

use std::cmp::Reverse;
use std::sync::Arc;

use crds::labels::CLAIMED_BY;
use crds::policy::{PreemptionBehavior, PropagationSpec};

use super::selector::{Identity, MatchStrength, strongest};
use crate::snapshot::{Claim, PolicyScope, PolicyView, TemplateView};
use crate::trace::reason::PolicyReason;
use crate::trace::{Decision, Subject, Trace, Verdict};

/// The policy that owns a template.
#[derive(Clone, Debug)]
pub struct Owner {
    /// The policy.
    pub policy: Arc<PolicyView>,
    /// How closely it selects the template.
    pub strength: MatchStrength,
    /// Whether it took the template from another policy that still selects it.
    pub preempted: Option<Arc<PolicyView>>,
}

/// One of the policies that select the template.
struct Match<'a> {
    policy: &'a Arc<PolicyView>,
    strength: MatchStrength,
}

impl Match<'_> {
    /// Smaller is better.
    fn rank(&self) -> (PolicyScope, Reverse<i32>, Reverse<MatchStrength>, &str) {
        (
            self.policy.scope,
            Reverse(self.policy.spec.priority),
            Reverse(self.strength),
            &self.policy.policy.name,
        )
    }
}

/// Who owns a template, among these policies. The order in which they come does not matter.
///
/// `claim` is the policy that owns it so far. Users who replace a template whole wipe the marks of the claim, so the binding's claim
/// counts where the template's is missing.
pub fn decide_owner<'a>(
    template: &TemplateView,
    claim: Option<&Claim>,
    policies: impl IntoIterator<Item = &'a Arc<PolicyView>>,
) -> Decision<Option<Owner>> {
    let mut trace = Trace::new();
    if let Some(by) = template.labels.get(CLAIMED_BY) {
        trace.note(PolicyReason::HandledElsewhere { by: by.clone() });
        return Decision { want: None, trace };
    }
    let mut matches = select(template, policies, &mut trace);
    matches.sort_by(|a, b| a.rank().cmp(&b.rank()));

    let present = claim.and_then(|claim| matches.iter().position(|m| claim.is_of(m.policy)));
    if let (Some(claim), None) = (claim, present) {
        trace.push(
            Subject::Policy(claim.policy()),
            Verdict::Note(PolicyReason::ClaimReleased.into()),
        );
    }
    let winner = match present {
        Some(owner) => matches
            .iter()
            .position(|m| may_preempt(m, &matches[owner]))
            .unwrap_or(owner),
        None => 0,
    };
    let Some(best) = matches.get(winner) else {
        return Decision { want: None, trace };
    };

    for (index, m) in matches.iter().enumerate() {
        let strength = m.strength;
        let verdict = match present {
            _ if index != winner => {
                Verdict::Unfit(why_lost(m, best, present.map(|owner| &matches[owner])).into())
            }
            Some(owner) if owner != winner => {
                let owner = matches[owner].policy.policy.clone();
                Verdict::Fit(PolicyReason::Preempts { owner }.into())
            }
            Some(_) => Verdict::Fit(PolicyReason::ClaimKept { strength }.into()),
            None => Verdict::Fit(PolicyReason::BestMatch { strength }.into()),
        };
        trace.push(Subject::Policy(m.policy.policy.clone()), verdict);
    }
    Decision {
        want: Some(Owner {
            policy: Arc::clone(best.policy),
            strength: best.strength,
            preempted: present
                .filter(|owner| *owner != winner)
                .map(|owner| Arc::clone(matches[owner].policy)),
        }),
        trace,
    }
}

/// The override policies that a policy waits for before a template is first propagated.
pub fn missing_overrides(spec: &PropagationSpec, exists: impl Fn(&str) -> bool) -> Vec<String> {
    let mut missing: Vec<String> = spec
        .dependent_overrides
        .iter()
        .filter(|name| !exists(name))
        .cloned()
        .collect();
    missing.sort();
    missing.dedup();
    missing
}

fn select<'a>(
    template: &TemplateView,
    policies: impl IntoIterator<Item = &'a Arc<PolicyView>>,
    trace: &mut Trace,
) -> Vec<Match<'a>> {
    let object = Identity {
        api_version: &template.api_version,
        kind: &template.kind,
        namespace: &template.namespace,
        name: &template.name,
        labels: &template.labels,
    };
    let mut policies: Vec<_> = policies.into_iter().collect();
    policies.sort_by(|a, b| (a.scope, &a.policy).cmp(&(b.scope, &b.policy)));
    let mut matches = Vec::new();
    for policy in policies {
        if policy.deleting {
            trace.unfit_policy(&policy.policy, PolicyReason::BeingDeleted);
            continue;
        }
        let selectors = &policy.spec.resource_selectors;
        match strongest(selectors, &policy.policy.namespace, object) {
            Ok(strength) => matches.push(Match { policy, strength }),
            Err(because) => {
                trace.unfit_policy(&policy.policy, PolicyReason::NotSelected { because });
            }
        }
    }
    matches
}

fn may_preempt(challenger: &Match<'_>, owner: &Match<'_>) -> bool {
    if challenger.policy.spec.preemption != PreemptionBehavior::Always {
        return false;
    }
    match (challenger.policy.scope, owner.policy.scope) {
        (PolicyScope::Namespaced, PolicyScope::Cluster) => true,
        (PolicyScope::Cluster, PolicyScope::Namespaced) => false,
        (PolicyScope::Namespaced, PolicyScope::Namespaced)
        | (PolicyScope::Cluster, PolicyScope::Cluster) => {
            challenger.policy.spec.priority > owner.policy.spec.priority
        }
    }
}

fn why_lost(loser: &Match<'_>, winner: &Match<'_>, owner: Option<&Match<'_>>) -> PolicyReason {
    let by = winner.policy.policy.clone();
    if let Some(owner) = owner {
        let is_owner = Arc::ptr_eq(owner.policy, loser.policy);
        let kept = Arc::ptr_eq(owner.policy, winner.policy);
        if kept && loser.policy.scope <= winner.policy.scope {
            return if loser.policy.spec.preemption == PreemptionBehavior::Always {
                PolicyReason::PreemptionNeedsPriority {
                    owners: winner.policy.spec.priority,
                    own: loser.policy.spec.priority,
                    owner: by,
                }
            } else {
                PolicyReason::AlreadyClaimed { owner: by }
            };
        }
        if is_owner {
            return PolicyReason::Preempted { by };
        }
    }
    if loser.policy.scope > winner.policy.scope {
        PolicyReason::NamespacedFirst { winner: by }
    } else if loser.policy.spec.priority < winner.policy.spec.priority {
        PolicyReason::LowerPriority {
            own: loser.policy.spec.priority,
            winner: by,
            higher: winner.policy.spec.priority,
        }
    } else if loser.strength < winner.strength {
        PolicyReason::WeakerMatch {
            own: loser.strength,
            winner: by,
            stronger: winner.strength,
        }
    } else {
        PolicyReason::LaterName { winner: by }
    }
}

#[cfg(test)]
#[path = "owner_tests.rs"]
mod tests;
