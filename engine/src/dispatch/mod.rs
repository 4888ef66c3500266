//! Which Works a template has to have, which of them may go, and whether what a member holds is what its Work says.
//!
//! Manifests are made in `render`; here is decided what is done with them. Three rules:
//!
//! - A copy is removed only for a reason ([`Leave`]); whatever is not known keeps it ([`Keep`]).
//! - An object in a member is touched only if it is ours ([`ownership`]).
//! - What is already true is not written again ([`difference`], [`drift`]).

mod difference;
pub mod drift;
pub mod facts;
mod fate;
mod identity;
mod pace;
mod target;

pub use difference::{Draft, Stored, difference};
pub use fate::{Fate, Keep, Leave, Present, Situation, fates};
pub use identity::{Ownership, ownership, release_patch};
pub use pace::{Pace, wait};
pub use target::{Target, is_owned, targets};

#[cfg(test)]
mod tests;
