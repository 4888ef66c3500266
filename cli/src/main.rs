//! The `karmadactl` command.
fn main() {}
