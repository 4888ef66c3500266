//! The `work-executor` process.

use clap::Parser;

/// Brings templates to member clusters as Works and their status back
#[derive(Parser)]
#[command(name = "work-executor", version)]
struct Arguments {
    #[command(flatten)]
    kit: kit::Args,
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    kit::main("work-executor", &arguments.kit, work_executor::run)
}
