//! The taints that say whether a member is ready.

use crds::{Taint, Time, taints};
use jiff::Timestamp;

use crate::trace::{ConditionFact, ConditionStatus};

/// The taints a cluster should have, given its `Ready` condition; all other taints stay as they are.
///
/// | Ready | taint, effect `NoSchedule` |
/// |---|---|
/// | True | none |
/// | False, or never reported | `cluster.karmada.io/not-ready` |
/// | Unknown | `cluster.karmada.io/unreachable` |
///
/// When one taint replaces the other, `timeAdded` stays: the cluster has been lost since the first of them, and
/// tolerations count from there.
pub fn decide_taints(
    present: &[Taint],
    ready: Option<&ConditionFact>,
    now: Timestamp,
) -> Vec<Taint> {
    let wanted = match ready.map(|fact| fact.status) {
        Some(ConditionStatus::True) => None,
        Some(ConditionStatus::False) | None => Some(taints::NOT_READY),
        Some(ConditionStatus::Unknown) => Some(taints::UNREACHABLE),
    };
    let lost_since = present
        .iter()
        .filter(|taint| is_health_taint(taint))
        .filter_map(|taint| taint.time_added.as_ref().map(|time| time.0))
        .min();
    let mut decided: Vec<Taint> = present
        .iter()
        .filter(|taint| !is_health_taint(taint))
        .cloned()
        .collect();
    if let Some(key) = wanted {
        decided.push(Taint {
            key: key.to_owned(),
            effect: taints::NO_SCHEDULE.to_owned(),
            value: None,
            time_added: Some(Time(lost_since.unwrap_or_else(|| whole_seconds(now)))),
        });
    }
    // The same taints in another order are the same taints: keep the order, and there is nothing to write.
    if same_set(&decided, present) {
        return present.to_vec();
    }
    decided
}

/// The taints with `timeAdded` set wherever an effect counts from it and nobody has set it.
///
/// Karmada's API server does that at admission; a custom resource has no such place.
pub fn stamp_taints(mut present: Vec<Taint>, now: Timestamp) -> Vec<Taint> {
    for taint in &mut present {
        if taint.effect == taints::NO_EXECUTE && taint.time_added.is_none() {
            taint.time_added = Some(Time(whole_seconds(now)));
        }
    }
    present
}

/// Whether the taint is one of those this module owns. With another effect the same key is somebody else's.
fn is_health_taint(taint: &Taint) -> bool {
    taint.effect == taints::NO_SCHEDULE
        && (taint.key == taints::NOT_READY || taint.key == taints::UNREACHABLE)
}

fn same_set(a: &[Taint], b: &[Taint]) -> bool {
    a.len() == b.len() && a.iter().all(|taint| b.contains(taint))
}

/// The API keeps whole seconds; a fraction would come back different from what was written.
pub(super) fn whole_seconds(time: Timestamp) -> Timestamp {
    Timestamp::from_second(time.as_second()).unwrap_or(time)
}
