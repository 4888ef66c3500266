//! What a Work says about itself.

use crds::Condition;
use crds::conditions::{
    APPLIED, APPLIED_FAILED, APPLIED_SUCCESSFUL, DISPATCHING, FALSE, SUSPEND_DISPATCHING,
};

use crate::trace::{ConditionFact, ConditionStatus, MAX_CONDITION_MESSAGE, bounded};

/// Whether the member has what the Work says; what is in the way, if it has not.
pub fn applied(generation: i64, troubles: &[String]) -> ConditionFact {
    let (status, reason, message) = if troubles.is_empty() {
        (
            ConditionStatus::True,
            APPLIED_SUCCESSFUL,
            "The member has all objects.".to_owned(),
        )
    } else {
        (
            ConditionStatus::False,
            APPLIED_FAILED,
            bounded(&troubles.join("; "), MAX_CONDITION_MESSAGE),
        )
    };
    fact(APPLIED, status, reason, message, generation)
}

/// The Work is sent to its member.
pub fn dispatching(generation: i64) -> ConditionFact {
    fact(
        DISPATCHING,
        ConditionStatus::True,
        DISPATCHING,
        "Changes are sent to the member.".to_owned(),
        generation,
    )
}

/// The Work is not sent to its member for now.
pub fn suspended(generation: i64) -> ConditionFact {
    fact(
        DISPATCHING,
        ConditionStatus::False,
        SUSPEND_DISPATCHING,
        "Changes are held back: sending is suspended.".to_owned(),
        generation,
    )
}

/// Whether the conditions say that sending is suspended.
pub fn is_suspended(conditions: &[Condition]) -> bool {
    conditions
        .iter()
        .any(|condition| condition.type_ == DISPATCHING && condition.status == FALSE)
}

fn fact(
    kind: &str,
    status: ConditionStatus,
    reason: &str,
    message: String,
    generation: i64,
) -> ConditionFact {
    ConditionFact {
        r#type: kind.to_owned(),
        status,
        reason: reason.to_owned(),
        message,
        observed_generation: Some(generation),
    }
}
