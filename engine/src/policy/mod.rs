//! Which policy owns which template. Knows no cluster.
//!
//! [`selector`] says whether and how closely a policy describes an object; [`decide_owner`] picks the owner among all policies and
//! says of each of the others why it lost.

pub mod labels;
mod owner;
pub mod selector;

pub use owner::{Owner, decide_owner, missing_overrides};
