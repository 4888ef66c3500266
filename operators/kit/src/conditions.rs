//! Conditions, by the Kubernetes API conventions: transition times change with the status only.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use k8s_openapi::jiff::Timestamp;

use crate::text::bounded;

/// Longest message that is written; the rest is cut.
pub const MAX_MESSAGE: usize = 4096;

/// Puts `new` in place of the condition of its type. Keeps the others, keeps the transition time unless the status changed, and
/// sorts by type.
///
/// Returns whether anything but the order changed.
pub fn set(conditions: &mut Vec<Condition>, new: Condition, now: Timestamp) -> bool {
    let mut new = Condition {
        message: bounded(&new.message, MAX_MESSAGE),
        last_transition_time: Time(whole_seconds(now)),
        ..new
    };
    let changed = if let Some(old) = conditions.iter_mut().find(|old| old.type_ == new.type_) {
        if old.status == new.status {
            new.last_transition_time = old.last_transition_time.clone();
        }
        let changed = *old != new;
        *old = new;
        changed
    } else {
        conditions.push(new);
        true
    };
    conditions.sort_by(|a, b| a.type_.cmp(&b.type_));
    changed
}

/// The condition of that type.
pub fn get<'a>(conditions: &'a [Condition], kind: &str) -> Option<&'a Condition> {
    conditions.iter().find(|condition| condition.type_ == kind)
}

/// Whether two lists say the same, times of transition left out.
pub fn same(a: &[Condition], b: &[Condition]) -> bool {
    a.len() == b.len()
        && a.iter().all(|left| {
            b.iter().any(|right| {
                left.type_ == right.type_
                    && left.status == right.status
                    && left.reason == right.reason
                    && left.message == right.message
                    && left.observed_generation == right.observed_generation
            })
        })
}

/// Kubernetes keeps whole seconds.
pub fn whole_seconds(time: Timestamp) -> Timestamp {
    Timestamp::from_second(time.as_second()).unwrap_or(time)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn condition(kind: &str, status: &str, message: &str) -> Condition {
        Condition {
            type_: kind.into(),
            status: status.into(),
            reason: "Because".into(),
            message: message.into(),
            observed_generation: None,
            last_transition_time: Time(Timestamp::UNIX_EPOCH),
        }
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).unwrap()
    }

    #[test]
    fn the_transition_time_follows_the_status_only() {
        let mut list = vec![condition("Zeta", "True", "")];
        assert!(set(&mut list, condition("Alpha", "False", "first"), at(10)));
        assert!(set(
            &mut list,
            condition("Alpha", "False", "second"),
            at(20)
        ));
        assert_eq!(get(&list, "Alpha").unwrap().last_transition_time.0, at(10));
        assert!(!set(
            &mut list,
            condition("Alpha", "False", "second"),
            at(30)
        ));
        assert!(set(&mut list, condition("Alpha", "True", "second"), at(40)));
        assert_eq!(get(&list, "Alpha").unwrap().last_transition_time.0, at(40));
        assert_eq!(
            list.iter().map(|c| c.type_.as_str()).collect::<Vec<_>>(),
            ["Alpha", "Zeta"]
        );
    }
}
