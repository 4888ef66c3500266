//! The `cluster-health` process.

use clap::Parser;

/// Observes member clusters and reports their health, what they serve and what is free in them
#[derive(Parser)]
#[command(version)]
struct Arguments {
    #[command(flatten)]
    common: kit::Args,
    #[command(flatten)]
    options: cluster_health::Options,
}

fn main() -> anyhow::Result<()> {
    let Arguments { common, options } = Arguments::parse();
    let namespace = common.lease_namespace.clone();
    kit::main("cluster-health", &common, async |runtime| {
        cluster_health::start(&runtime, &options, namespace);
        Ok(())
    })
}
