//! Starts a test bed and keeps it until it is interrupted: real clusters to try things on.

use std::io::Write as _;

use anyhow::{Context as _, Result, bail};
use testbed::Testbed;

const USAGE: &str = "usage: testbed [--members N] [--bare-members N] [--without-controllers]\n\nStarts real clusters and keeps them until Ctrl-C.";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let mut builder = Testbed::builder().progress(|step| {
        let _ = writeln!(std::io::stderr(), "{step}");
    });
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut count = || {
            let value = arguments
                .next()
                .with_context(|| format!("{argument} wants a number"))?;
            value.parse().with_context(|| format!("{argument} {value}"))
        };
        builder = match argument.as_str() {
            "--members" => builder.members(count()?),
            "--bare-members" => builder.bare_members(count()?),
            "--without-controllers" => builder.without_controllers(),
            _ => bail!("{USAGE}"),
        };
    }
    let bed = builder.start().await?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "process group {}", bed.process_group())?;
    writeln!(out, "directory {}", bed.directory().display())?;
    for cluster in std::iter::once(bed.control_plane()).chain(bed.members()) {
        writeln!(
            out,
            "{} export KUBECONFIG={}",
            cluster.name(),
            cluster.kubeconfig().display()
        )?;
    }
    writeln!(out, "ready")?;
    out.flush()?;
    tokio::signal::ctrl_c()
        .await
        .context("waiting for Ctrl-C")?;
    Ok(())
}
