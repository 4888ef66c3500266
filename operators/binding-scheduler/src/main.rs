//! The `binding-scheduler` process.
fn main() {}
