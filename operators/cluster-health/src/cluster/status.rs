//! The status a Cluster should have, from what was seen of its member.

use crds::cluster::{ClusterSpec, ClusterStatus};
use crds::{Condition, Time};
use engine::health::{ApiList, decide_api_condition, node_summary, resource_summary};
use engine::trace::ConditionFact;
use jiff::Timestamp;

use crate::member::Sight;

/// The status as it is, with everything in it that was seen. What was not seen stays: a member that does not answer is
/// best described by what it said last. Conditions of others stay too.
pub(super) fn compose(
    present: &ClusterStatus,
    spec: &ClusterSpec,
    ready: ConditionFact,
    sight: &Sight,
    now: Timestamp,
) -> ClusterStatus {
    let mut status = present.clone();
    if let Some(version) = &sight.version {
        status.kubernetes_version = Some(version.clone());
    }
    kit::conditions::set(&mut status.conditions, condition(ready, now), now);
    if let Some(apis) = &sight.apis {
        let unknown = matches!(apis.list, ApiList::Empty(_));
        if !unknown {
            status.api_enablements.clone_from(&apis.enablements);
        }
        if !unknown || present.api_enablements.is_empty() {
            let complete = decide_api_condition(&apis.list);
            kit::conditions::set(&mut status.conditions, condition(complete, now), now);
        }
    }
    if let Some((total, ready)) = sight.nodes {
        status.node_summary = Some(node_summary(total, ready));
    }
    if let Some(room) = &sight.room {
        status.resource_summary = Some(resource_summary(room, spec));
    }
    status
}

/// The condition that a fact makes; its time of transition stays if there was none.
pub(super) fn condition(fact: ConditionFact, now: Timestamp) -> Condition {
    let ConditionFact {
        r#type,
        status,
        reason,
        message,
        observed_generation,
    } = fact;
    Condition {
        type_: r#type,
        status: status.as_str().to_owned(),
        reason,
        message,
        observed_generation,
        last_transition_time: Time(now),
    }
}
