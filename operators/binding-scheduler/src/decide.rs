//! From a sight to a plan: who owns the template, and what its binding has to be. No IO, no clock of its own.

use engine::placement::RoomHints;
use engine::placement::binding::{Plan, Situation, plan};
use engine::policy::{Owner, decide_owner, missing_overrides};
use engine::snapshot::{Claim, Name};
use engine::trace::{Decision, Trace};
use jiff::Timestamp;

use crate::world::Sight;

/// The policy that owns the template, among those that might.
pub(crate) fn owner(sight: &Sight) -> Decision<Option<Owner>> {
    let Some(template) = &sight.template else {
        return Decision {
            want: None,
            trace: Trace::new(),
        };
    };
    decide_owner(template, claim(sight).as_ref(), &sight.policies)
}

/// The policy that the template belongs to so far. Users who replace a template whole wipe its marks; its binding still knows.
fn claim(sight: &Sight) -> Option<Claim> {
    let template = sight.template.as_ref()?;
    template.claim.claim().or_else(|| {
        let binding = sight.binding.as_ref()?;
        let same = binding.owner.as_ref() == Some(&template.uid);
        binding.claim.claim().filter(|_| same)
    })
}

/// What has to be written for the template.
pub(crate) fn binding(
    sight: &Sight,
    owner: Option<&Owner>,
    has_override: impl Fn(&Name, &str) -> bool,
    now: Timestamp,
    new_id: &str,
) -> Decision<Plan> {
    // Nothing is concluded from a template that is merely not known yet.
    if sight.template.is_none() && !sight.synced {
        return Decision {
            want: Plan::default(),
            trace: Trace::new(),
        };
    }
    let missing = match (owner, &sight.template) {
        (Some(owner), Some(template)) => missing_overrides(&owner.policy.spec, |name| {
            has_override(&template.namespace, name)
        }),
        _ => Vec::new(),
    };
    plan(&Situation {
        template: sight.template.as_deref(),
        binding: sight.binding.as_deref(),
        owner,
        missing_overrides: &missing,
        dependents: &sight.dependents,
        fleet: &sight.fleet,
        room: RoomHints::default(),
        now,
        new_id,
    })
}
