//! When a changed status is written: what others act upon at once, numbers and wording now and then.

use crds::Condition;
use crds::cluster::ClusterStatus;
use jiff::{SignedDuration, Timestamp};

/// How much a status differs from the one that is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// Not at all.
    Nothing,
    /// In numbers or wording.
    Details,
    /// In what others act upon.
    Facts,
}

/// Compares a status with the one that is stored.
///
/// Facts are: a condition's status or reason, the version, the APIs, and that there is a summary at all.
pub fn compare(stored: &ClusterStatus, wanted: &ClusterStatus) -> Change {
    let facts = |status: &ClusterStatus| {
        let mut conditions: Vec<[String; 3]> = status.conditions.iter().map(essence).collect();
        conditions.sort();
        (
            conditions,
            status.node_summary.is_some(),
            status.resource_summary.is_some(),
        )
    };
    if stored == wanted {
        Change::Nothing
    } else if stored.kubernetes_version != wanted.kubernetes_version
        || stored.api_enablements != wanted.api_enablements
        || facts(stored) != facts(wanted)
    {
        Change::Facts
    } else {
        Change::Details
    }
}

fn essence(condition: &Condition) -> [String; 3] {
    let Condition {
        type_,
        status,
        reason,
        ..
    } = condition;
    [type_.clone(), status.clone(), reason.clone()]
}

/// How details are folded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Folding {
    /// How long details may change before they are written for the first time.
    pub settle: SignedDuration,
    /// The least time between two writes of details.
    pub interval: SignedDuration,
}

impl Default for Folding {
    /// Ten seconds after the first change, and once a minute at most.
    fn default() -> Self {
        Self {
            settle: SignedDuration::from_secs(10),
            interval: SignedDuration::from_mins(1),
        }
    }
}

/// What was written when, and since when details wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Folded {
    /// When the status was written last.
    pub written: Option<Timestamp>,
    /// Since when details differ.
    pub waiting_since: Option<Timestamp>,
}

/// Whether to write a changed status now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refresh {
    /// There is nothing to write.
    Never,
    /// Write it.
    Now,
    /// Write it then, if it still differs.
    At(Timestamp),
}

/// Decides when a change is written. The caller keeps what is returned beside the decision until the next time.
pub fn decide_refresh(
    change: Change,
    folded: Folded,
    folding: &Folding,
    now: Timestamp,
) -> (Refresh, Folded) {
    let write = Folded {
        written: Some(now),
        waiting_since: None,
    };
    match change {
        Change::Nothing => {
            let idle = Folded {
                waiting_since: None,
                ..folded
            };
            (Refresh::Never, idle)
        }
        Change::Facts => (Refresh::Now, write),
        Change::Details => {
            let since = folded.waiting_since.unwrap_or(now).min(now);
            let after =
                |time: Timestamp, pause| time.saturating_add(pause).unwrap_or(Timestamp::MAX);
            let settled = after(since, folding.settle);
            let due = folded.written.map_or(settled, |written| {
                settled.max(after(written, folding.interval))
            });
            if now >= due {
                (Refresh::Now, write)
            } else {
                let waiting = Folded {
                    waiting_since: Some(since),
                    ..folded
                };
                (Refresh::At(due), waiting)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crds::cluster::{NodeSummary, ResourceSummary};
    use crds::{Quantity, Time};

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + second).unwrap()
    }

    fn status(ready: &str, message: &str, cpu: Option<&str>) -> ClusterStatus {
        let summary = |cpu: &str| ResourceSummary {
            allocated: [("cpu".to_owned(), Quantity(cpu.to_owned()))].into(),
            ..ResourceSummary::default()
        };
        ClusterStatus {
            conditions: vec![Condition {
                type_: "Ready".to_owned(),
                status: ready.to_owned(),
                reason: "R".to_owned(),
                message: message.to_owned(),
                last_transition_time: Time(at(0)),
                observed_generation: None,
            }],
            resource_summary: cpu.map(summary),
            ..ClusterStatus::default()
        }
    }

    #[test]
    fn facts_are_told_from_details() {
        let base = status("True", "fine", Some("1"));
        for (case, other, change) in [
            ("the same", base.clone(), Change::Nothing),
            (
                "other words",
                status("True", "very fine", Some("1")),
                Change::Details,
            ),
            (
                "other numbers",
                status("True", "fine", Some("2")),
                Change::Details,
            ),
            ("no numbers", status("True", "fine", None), Change::Facts),
            (
                "not ready",
                status("False", "fine", Some("1")),
                Change::Facts,
            ),
            (
                "another version",
                ClusterStatus {
                    kubernetes_version: Some("v1".to_owned()),
                    ..base.clone()
                },
                Change::Facts,
            ),
            (
                "nodes are known",
                ClusterStatus {
                    node_summary: Some(NodeSummary::default()),
                    ..base.clone()
                },
                Change::Facts,
            ),
        ] {
            assert_eq!(compare(&base, &other), change, "{case}");
        }
    }

    #[test]
    fn details_wait_and_are_written_once_in_an_interval() {
        let folding = Folding::default();
        let mut folded = Folded::default();
        let mut decide = |second, change| {
            let (refresh, next) = decide_refresh(change, folded, &folding, at(second));
            folded = next;
            refresh
        };
        assert_eq!(decide(0, Change::Facts), Refresh::Now);
        assert_eq!(decide(1, Change::Nothing), Refresh::Never);
        assert_eq!(decide(2, Change::Details), Refresh::At(at(60)));
        assert_eq!(decide(59, Change::Details), Refresh::At(at(60)));
        assert_eq!(decide(60, Change::Details), Refresh::Now);
        assert_eq!(decide(100, Change::Details), Refresh::At(at(120)));
        assert_eq!(
            decide(110, Change::Nothing),
            Refresh::Never,
            "back to what is stored"
        );
        assert_eq!(
            decide(119, Change::Details),
            Refresh::At(at(129)),
            "they settle first"
        );
        assert_eq!(
            decide(120, Change::Facts),
            Refresh::Now,
            "facts do not wait"
        );
        assert_eq!(decide(1000, Change::Details), Refresh::At(at(1010)));
    }
}
