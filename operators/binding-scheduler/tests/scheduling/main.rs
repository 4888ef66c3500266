//! binding-scheduler alone, on a real API server, under the permissions it has in production. The test plays the users, and writes
//! clusters as cluster-health does.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails where it notices"
)]

mod claims;
mod customizations;
mod dependencies;
mod mistakes;
mod moves;
mod numbers;
mod world;
