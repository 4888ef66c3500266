//! `ClusterTaintPolicy`: taints that follow a cluster's conditions.

use crds::policy::{ClusterTaintPolicy, MatchCondition, MatchConditionOperator, PolicyTaint};
use crds::{Condition, Taint, Time, taints};
use jiff::Timestamp;

use super::taints::whole_seconds;
use crate::placement::affinity::check_affinity;
use crate::snapshot::ClusterView;

/// The taints a cluster should have after all policies that mean it, oldest policy first, so that the youngest has the
/// last word; policies of the same age go by name.
///
/// A policy adds its taints when all its `addOnConditions` hold and removes them when all its `removeOnConditions` do;
/// without conditions it never adds or never removes. A condition that the cluster does not have matches nothing.
/// A taint that is there keeps its `timeAdded`. Taints of a deleted policy stay, as in Karmada.
pub fn decide_policy_taints(
    present: Vec<Taint>,
    cluster: &ClusterView,
    conditions: &[Condition],
    policies: &[ClusterTaintPolicy],
    now: Timestamp,
) -> Vec<Taint> {
    let mut ordered: Vec<&ClusterTaintPolicy> = policies
        .iter()
        .filter(|policy| match &policy.spec.target_clusters {
            Some(affinity) => check_affinity(affinity, cluster).is_ok(),
            None => true,
        })
        .collect();
    ordered.sort_by_key(|policy| {
        let created = policy.metadata.creation_timestamp.as_ref();
        (created.map(|time| time.0), policy.metadata.name.clone())
    });
    ordered.into_iter().fold(present, |mut decided, policy| {
        let spec = &policy.spec;
        if hold(&spec.add_on_conditions, conditions) {
            for wanted in &spec.taints {
                add(&mut decided, wanted, now);
            }
        }
        if hold(&spec.remove_on_conditions, conditions) {
            decided.retain(|taint| !spec.taints.iter().any(|unwanted| same(taint, unwanted)));
        }
        decided
    })
}

fn hold(wanted: &[MatchCondition], conditions: &[Condition]) -> bool {
    !wanted.is_empty()
        && wanted.iter().all(|wanted| {
            let found = conditions
                .iter()
                .find(|condition| condition.type_ == wanted.condition_type);
            found.is_some_and(|found| {
                let listed = wanted.status_values.contains(&found.status);
                match wanted.operator {
                    MatchConditionOperator::In => listed,
                    MatchConditionOperator::NotIn => !listed,
                }
            })
        })
}

fn add(taints: &mut Vec<Taint>, wanted: &PolicyTaint, now: Timestamp) {
    if let Some(present) = taints.iter_mut().find(|taint| same(taint, wanted)) {
        present.value.clone_from(&wanted.value);
        return;
    }
    let time_added = (wanted.effect == taints::NO_EXECUTE).then(|| Time(whole_seconds(now)));
    taints.push(Taint {
        key: wanted.key.clone(),
        effect: wanted.effect.clone(),
        value: wanted.value.clone(),
        time_added,
    });
}

/// A taint is told from another by key and effect.
fn same(taint: &Taint, policy: &PolicyTaint) -> bool {
    taint.key == policy.key && taint.effect == policy.effect
}
