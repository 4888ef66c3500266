//! The `karmadactl` command; installed as `kubectl-karmada` it is `kubectl karmada`.

use std::process::ExitCode;

fn main() -> ExitCode {
    karmadactl::run(std::env::args_os())
}
