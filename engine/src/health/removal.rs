//! A Cluster that is being deleted: what still keeps it, and what to do next.

use crds::conditions;
use jiff::{SignedDuration, Timestamp};

use super::fact;
use crate::trace::reason::HealthReason;
use crate::trace::{ConditionFact, ConditionStatus};

/// What is left of a cluster that is being deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leftovers {
    /// Bindings that still name the cluster, as `namespace/name`.
    pub bindings: Vec<String>,
    /// Whether its execution namespace exists.
    pub namespace: bool,
    /// How many Works are in it.
    pub works: usize,
    /// Whether the member is ready.
    pub ready: bool,
    /// Since when the Cluster is being deleted.
    pub since: Timestamp,
}

/// The next step of a removal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemovalStep {
    /// Wait; a change of what is left will tell when to go on.
    Wait,
    /// Delete the execution namespace, if that was not asked for yet.
    DeleteNamespace,
    /// Let go of the Works: nobody will answer for the objects in the member any more.
    ReleaseWorks,
    /// Nothing is left: remove the finalizer.
    Finish,
}

/// The next step, and what to say meanwhile.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "a decision does nothing until it is applied"]
pub struct Removal {
    /// What to do.
    pub step: RemovalStep,
    /// What keeps the cluster, as condition `RemovalBlocked`; `None` when nothing does.
    pub blocked: Option<ConditionFact>,
    /// When time alone leads to another step.
    pub wake_at: Option<Timestamp>,
}

/// Decides how the removal of a cluster goes on.
///
/// Bindings leave first: the scheduler finds other clusters for them, or a user changes their policies. Then the
/// execution namespace goes, and with it the Works, whose objects are removed from the member. A member that does not
/// answer for longer than `patience` is not waited for: its Works are let go, and its objects stay where they are.
pub fn decide_removal(left: &Leftovers, patience: SignedDuration, now: Timestamp) -> Removal {
    let blocked = |reason: &HealthReason| {
        Some(fact(
            conditions::REMOVAL_BLOCKED,
            ConditionStatus::True,
            reason,
        ))
    };
    if !left.bindings.is_empty() {
        let mut bindings = left.bindings.clone();
        bindings.sort();
        return Removal {
            step: RemovalStep::Wait,
            blocked: blocked(&HealthReason::BindingsRemain { bindings }),
            wake_at: None,
        };
    }
    if !left.namespace {
        return Removal {
            step: RemovalStep::Finish,
            blocked: None,
            wake_at: None,
        };
    }
    if left.works == 0 || left.ready {
        return Removal {
            step: RemovalStep::DeleteNamespace,
            blocked: (left.works > 0)
                .then(|| blocked(&HealthReason::WorksRemain))
                .flatten(),
            wake_at: None,
        };
    }
    let due = left
        .since
        .saturating_add(patience)
        .unwrap_or(Timestamp::MAX);
    let given_up = now >= due;
    Removal {
        step: if given_up {
            RemovalStep::ReleaseWorks
        } else {
            RemovalStep::DeleteNamespace
        },
        blocked: blocked(&HealthReason::MemberSilent),
        wake_at: (!given_up).then_some(due),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + second).unwrap()
    }

    #[test]
    fn a_cluster_goes_when_nothing_is_left_of_it() {
        use RemovalStep::{DeleteNamespace, Finish, ReleaseWorks, Wait};
        let patience = SignedDuration::from_secs(60);
        let bound = vec!["shop/web-deployment".to_owned()];
        for (case, bindings, namespace, works, ready, second, step, reason, wake_at) in [
            (
                "bindings first",
                bound,
                true,
                1,
                true,
                0,
                Wait,
                Some("BindingsRemain"),
                None,
            ),
            (
                "then the namespace",
                vec![],
                true,
                0,
                true,
                0,
                DeleteNamespace,
                None,
                None,
            ),
            (
                "and its works",
                vec![],
                true,
                2,
                true,
                999,
                DeleteNamespace,
                Some("WorksRemain"),
                None,
            ),
            (
                "the member may come back",
                vec![],
                true,
                2,
                false,
                59,
                DeleteNamespace,
                Some("MemberSilent"),
                Some(60),
            ),
            (
                "but not for ever",
                vec![],
                true,
                2,
                false,
                60,
                ReleaseWorks,
                Some("MemberSilent"),
                None,
            ),
            (
                "an empty namespace needs no member",
                vec![],
                true,
                0,
                false,
                60,
                DeleteNamespace,
                None,
                None,
            ),
            (
                "nothing is left",
                vec![],
                false,
                0,
                false,
                0,
                Finish,
                None,
                None,
            ),
        ] {
            let left = Leftovers {
                bindings,
                namespace,
                works,
                ready,
                since: at(0),
            };
            let removal = decide_removal(&left, patience, at(second));
            assert_eq!(removal.step, step, "{case}");
            assert_eq!(
                removal.blocked.map(|fact| fact.reason),
                reason.map(str::to_owned),
                "{case}"
            );
            assert_eq!(removal.wake_at, wake_at.map(at), "{case}");
        }
    }

    #[test]
    fn what_keeps_a_cluster_is_named() {
        let left = Leftovers {
            bindings: (0..20).map(|n| format!("shop/web{n:02}")).collect(),
            namespace: true,
            works: 0,
            ready: true,
            since: at(0),
        };
        let message = decide_removal(&left, SignedDuration::ZERO, at(0))
            .blocked
            .unwrap()
            .message;
        assert!(
            message.starts_with("20 bindings still place copies in it: shop/web00, shop/web01, "),
            "{message}"
        );
        assert!(message.ends_with("shop/web09 and 10 more"), "{message}");
    }
}
