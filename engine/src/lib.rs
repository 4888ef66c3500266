//! Pure decisions over a snapshot, each with its reasons.

pub mod quantity;
