//! How long the taints of a cluster are tolerated, and since when they are there.

use crds::{Taint, Toleration, taints};
use jiff::{SignedDuration, Timestamp};

use super::Situation;
use crate::snapshot::{ClusterView, Readiness};
use crate::trace::reason::FailoverReason;

/// What the taints of a cluster mean for a copy in it.
pub(super) enum Clock {
    /// It stays, whatever the time.
    Stays(Option<FailoverReason>),
    /// It stays until then.
    Runs {
        until: Timestamp,
        reason: FailoverReason,
    },
    /// It should leave.
    Over(FailoverReason),
}

/// Reads the clocks of all taints; the one that is over first counts.
pub(super) fn read(
    cluster: &ClusterView,
    tolerations: &[Toleration],
    opted_in: bool,
    situation: &Situation<'_>,
) -> Clock {
    let mut result = Clock::Stays(None);
    for taint in &cluster.taints {
        let clock = if taint.effect == taints::NO_EXECUTE {
            of_eviction_taint(taint, tolerations, situation.now)
        } else if is_loss(taint) && cluster.ready != Readiness::Ready {
            of_loss(taint, tolerations, opted_in, situation)
        } else {
            continue;
        };
        result = sooner(result, clock);
    }
    result
}

/// Whether the taint says that the cluster is lost.
pub(super) fn is_loss(taint: &Taint) -> bool {
    taint.key == taints::NOT_READY || taint.key == taints::UNREACHABLE
}

fn of_eviction_taint(taint: &Taint, tolerations: &[Toleration], now: Timestamp) -> Clock {
    let matching = tolerations
        .iter()
        .filter(|toleration| tolerates(toleration, taint));
    match least_seconds(matching) {
        Least::Untolerated => over(taint, 0),
        Least::Forever => forever(taint),
        Least::Seconds(seconds) => since_added(taint, seconds, now),
    }
}

/// The built-in taints have the effect `NoSchedule`, but tolerations that speak of time must by the API's rules have
/// the effect `NoExecute`: here such a toleration counts for the loss itself, whatever the taint's effect. One for
/// `NoSchedule` only lets copies in; it says nothing of how long they stay.
fn of_loss(
    taint: &Taint,
    tolerations: &[Toleration],
    opted_in: bool,
    situation: &Situation<'_>,
) -> Clock {
    if !opted_in {
        return Clock::Stays(Some(FailoverReason::NotOptedIn {
            key: taint.key.clone(),
        }));
    }
    let evicting = Taint {
        effect: taints::NO_EXECUTE.to_owned(),
        ..taint.clone()
    };
    let matching = tolerations
        .iter()
        .filter(|toleration| tolerates(toleration, &evicting));
    match least_seconds(matching) {
        Least::Untolerated => {
            since_added(taint, situation.limits.toleration.as_secs(), situation.now)
        }
        Least::Forever => forever(taint),
        Least::Seconds(seconds) => since_added(taint, seconds, situation.now),
    }
}

enum Least {
    /// No toleration matches.
    Untolerated,
    /// All that match are without a limit.
    Forever,
    /// The smallest limit of those that match and have one.
    Seconds(i64),
}

fn least_seconds<'a>(matching: impl Iterator<Item = &'a Toleration>) -> Least {
    let mut least = Least::Untolerated;
    for toleration in matching {
        least = match (least, toleration.toleration_seconds) {
            (Least::Seconds(a), Some(b)) => Least::Seconds(a.min(b.max(0))),
            (_, Some(seconds)) => Least::Seconds(seconds.max(0)),
            (Least::Seconds(seconds), None) => Least::Seconds(seconds),
            (Least::Untolerated | Least::Forever, None) => Least::Forever,
        };
    }
    least
}

fn since_added(taint: &Taint, seconds: i64, now: Timestamp) -> Clock {
    let Some(added) = &taint.time_added else {
        if seconds == 0 {
            return over(taint, 0);
        }
        return Clock::Stays(Some(FailoverReason::TaintWithoutTime {
            key: taint.key.clone(),
        }));
    };
    let until = added
        .0
        .saturating_add(SignedDuration::from_secs(seconds))
        .unwrap_or(Timestamp::MAX);
    if now >= until {
        return over(taint, seconds);
    }
    Clock::Runs {
        until,
        reason: FailoverReason::ToleratedFor {
            key: taint.key.clone(),
            seconds,
        },
    }
}

fn over(taint: &Taint, seconds: i64) -> Clock {
    Clock::Over(FailoverReason::Untolerated {
        key: taint.key.clone(),
        effect: taint.effect.clone(),
        seconds,
    })
}

fn forever(taint: &Taint) -> Clock {
    Clock::Stays(Some(FailoverReason::ToleratedForever {
        key: taint.key.clone(),
    }))
}

fn sooner(a: Clock, b: Clock) -> Clock {
    let deadline = |clock: &Clock| match clock {
        Clock::Over(_) => Timestamp::MIN,
        Clock::Runs { until, .. } => *until,
        Clock::Stays(_) => Timestamp::MAX,
    };
    if deadline(&b) < deadline(&a) || matches!(a, Clock::Stays(None)) {
        b
    } else {
        a
    }
}

/// Whether the toleration matches the taint, as Kubernetes matches them.
pub(super) fn tolerates(toleration: &Toleration, taint: &Taint) -> bool {
    let given = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    if given(&toleration.effect).is_some_and(|effect| effect != taint.effect) {
        return false;
    }
    if given(&toleration.key).is_some_and(|key| key != taint.key) {
        return false;
    }
    match given(&toleration.operator).as_deref() {
        Some("Exists") => true,
        None | Some("Equal") => {
            toleration.value.as_deref().unwrap_or_default()
                == taint.value.as_deref().unwrap_or_default()
        }
        Some(_) => false,
    }
}
