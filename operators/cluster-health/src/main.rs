//! The `cluster-health` process.
fn main() {}
