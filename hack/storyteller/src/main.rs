//! The command behind `hack/demo`.

use anyhow::{Context as _, Result};
use clap::Parser;
use storyteller::screen::Screen;
use storyteller::story;

/// Tell the whole story on real API servers
#[derive(Debug, Parser)]
struct Args {
    /// Leave everything running at the end, and print the kubeconfigs
    #[arg(long)]
    keep: bool,
}

#[tokio::main]
async fn main() -> Result<()> {
    let Args { keep } = Args::parse();
    let screen = Screen::default();
    let ending = tokio::select! {
        ending = story::tell(&screen) => ending?,
        interrupted = tokio::signal::ctrl_c() => {
            interrupted.context("waiting for Ctrl-C")?;
            // Dropping the story ends every process of the bed.
            screen.news("Stopped. Nothing is left running.");
            return Ok(());
        }
    };
    if keep {
        screen.section("Still running", "Press Ctrl-C to end it all.");
        screen.news(&format!(
            "export KUBECONFIG={}",
            ending.bed.control_plane().kubeconfig().display()
        ));
        for member in ending.bed.members() {
            screen.news(&format!(
                "{}: {}",
                member.name(),
                member.kubeconfig().display()
            ));
        }
        for (name, process) in ending.system.operators() {
            let pid = process
                .pid()
                .map_or_else(|| "ended".to_owned(), |pid| pid.to_string());
            screen.news(&format!(
                "{name}: process {pid}, log {}",
                process.log().display()
            ));
        }
        tokio::signal::ctrl_c()
            .await
            .context("waiting for Ctrl-C")?;
    }
    Ok(())
}
