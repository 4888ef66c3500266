//! How soon a status is written, so that a burst of changes becomes one write.

use std::time::Duration;

/// How a status behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// It says what somebody waits for: it is there, it is healthy, it fails.
    Settled,
    /// It passes through states nobody waits for, such as a roll-out under way.
    Moving,
}

/// Two writes of one status are at least so far apart.
const APART: Duration = Duration::from_secs(1);
/// And so far while it moves.
const APART_MOVING: Duration = Duration::from_secs(3);
/// A roll-out that has just begun often ends this soon.
const FIRST_MOVING: Duration = Duration::from_millis(600);

/// How long to wait before writing a status that has differed for `differs` from what was written `since_last` ago; `None` if nothing
/// was.
pub fn wait(pace: Pace, differs: Duration, since_last: Option<Duration>) -> Duration {
    match (pace, since_last) {
        (Pace::Settled, None) => Duration::ZERO,
        (Pace::Moving, None) => FIRST_MOVING.saturating_sub(differs),
        (Pace::Settled, Some(since)) => APART.saturating_sub(since),
        (Pace::Moving, Some(since)) => APART_MOVING.saturating_sub(since),
    }
}
