//! kit against real API servers.
#![expect(clippy::unwrap_used, reason = "a test fails where it notices")]

mod access;
mod life;
mod members;
mod requests;
mod watches;

use testbed::{Shared, Testbed};
use tokio::sync::Mutex;

/// `member2` is the one that fails.
static BED: Shared = Shared::new(|| Testbed::builder().bare_members(2).without_controllers());

/// Held by the test that makes `member2` fail.
static FAILING: Mutex<()> = Mutex::const_new(());
