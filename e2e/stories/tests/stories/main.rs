//! The stories, told on real API servers with all operators together, each under just its own permissions.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails where it notices"
)]
#![expect(
    clippy::needless_pass_by_value,
    reason = "documents are written where they are used"
)]

mod bad_input;
mod distribution;
mod division;
mod drift;
mod failover;
mod numbers;
mod operators;
mod props;
mod world;
