//! The command against real API servers.
#![expect(clippy::unwrap_used, reason = "a test fails where it notices")]

mod bed;
mod get;
mod join;
mod unjoin;
