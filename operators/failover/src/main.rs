//! The `failover` process.

use clap::Parser;

/// Moves workloads away from clusters that are lost or drained, as their policies say
#[derive(Parser)]
#[command(version)]
struct Arguments {
    #[command(flatten)]
    common: kit::Args,
    #[command(flatten)]
    options: failover::Options,
}

fn main() -> anyhow::Result<()> {
    let Arguments { common, options } = Arguments::parse();
    kit::main("failover", &common, async |runtime| {
        failover::start(&runtime, &options, &common.lease_namespace);
        Ok(())
    })
}
