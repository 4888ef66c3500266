//! The `binding-scheduler` process.

use clap::Parser;

/// Decides which policy owns a template and which clusters run it
#[derive(Parser)]
#[command(name = "binding-scheduler", version)]
struct Arguments {
    #[command(flatten)]
    kit: kit::Args,
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    kit::main("binding-scheduler", &arguments.kit, binding_scheduler::run)
}
