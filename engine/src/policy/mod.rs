//! Which policy owns which template. Knows no cluster.

pub mod labels;
pub mod selector;
