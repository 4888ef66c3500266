//! The `failover` process.
fn main() {}
