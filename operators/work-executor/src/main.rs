//! The `work-executor` process.
fn main() {}
