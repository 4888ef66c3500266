//! Pure decisions over a snapshot, each with its reasons.

pub mod dependencies;
pub mod dispatch;
pub mod failover;
pub mod health;
pub mod interpret;
pub mod overrides;
pub mod placement;
pub mod policy;
pub mod quantity;
pub mod render;
pub mod snapshot;
pub mod status;
pub mod trace;
