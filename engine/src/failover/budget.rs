//! How fast copies may leave: a token bucket whose clock is an argument.

use jiff::{SignedDuration, Timestamp};

/// Allows a burst, and then a steady rate.
///
/// It bounds how much can go wrong before somebody looks, and spares the API servers; whether to leave at all is the
/// business of the guards. A restart starts with a full bucket.
#[derive(Clone, Debug)]
pub struct Budget {
    /// Time that one token takes to come back; zero means no limit.
    interval: SignedDuration,
    /// How many tokens the bucket holds.
    burst: i32,
    /// When the bucket would be full again if nothing more were taken.
    full_at: Timestamp,
}

impl Budget {
    /// A full bucket of `burst` tokens (at least one) that come back one in each `interval`.
    pub fn new(interval: SignedDuration, burst: i32) -> Self {
        Self {
            interval,
            burst: burst.max(1),
            full_at: Timestamp::MIN,
        }
    }

    /// Takes a token, or says when there will be one.
    ///
    /// # Errors
    /// The time at which to ask again.
    pub fn take(&mut self, now: Timestamp) -> Result<(), Timestamp> {
        let full_at = self.full_at.max(now);
        let after = full_at
            .saturating_add(self.interval)
            .unwrap_or(Timestamp::MAX);
        let allowed = now
            .saturating_add(self.interval * self.burst)
            .unwrap_or(Timestamp::MAX);
        if after > allowed {
            return Err(now
                .saturating_add(after.duration_since(allowed))
                .unwrap_or(Timestamp::MAX));
        }
        self.full_at = after;
        Ok(())
    }
}
