//! The command line of Karmada One: members join, leave and are looked at.
//!
//! Every command goes the same way: parse ([`arguments`]) → load or act → render. Each command has a module of its own.
//! Only [`ui`] prints. Results go to stdout, talk goes to stderr; an error says what to do next.
//!
//! # Exit codes
//!
//! 0: done. 1: failed, and stderr says why. 2: the command line was not understood.

#![expect(
    rustdoc::private_intra_doc_links,
    reason = "the crate is a program; its documentation is read by those who change it"
)]

mod access;
mod arguments;
mod completion;
mod diagnosis;
mod get;
mod join;
mod ledger;
mod objects;
mod trouble;
mod ui;
mod unjoin;
mod version;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _};

use arguments::{Arguments, Command};
use ui::Ui;

/// The command as it is called: by its own name, or as the kubectl plugin.
fn command(program: Option<&OsString>) -> clap::Command {
    let name = program
        .map(Path::new)
        .and_then(Path::file_stem)
        .and_then(|stem| stem.to_str());
    let command = Arguments::command();
    match name {
        Some("kubectl-karmada") => command.name("kubectl-karmada").bin_name("kubectl karmada"),
        _ => command,
    }
}

/// Runs the command line `arguments`, the program's own name first.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let command = command(arguments.first());
    let parsed = command
        .clone()
        .try_get_matches_from(&arguments)
        .and_then(|matches| Arguments::from_arg_matches(&matches));
    let parsed = match parsed {
        Ok(parsed) => parsed,
        Err(error) => error.exit(),
    };
    // Two providers may be linked in; the first one installed is as good as ours.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let ui = Ui::new();
    let outcome = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Error::Runtime)
        .map_err(miette::Report::from)
        .and_then(|runtime| runtime.block_on(act(parsed, &ui, command)));
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(report) => {
            ui.failure(&report);
            ExitCode::FAILURE
        }
    }
}

async fn act(arguments: Arguments, ui: &Ui, command: clap::Command) -> miette::Result<()> {
    let Arguments {
        global,
        command: what,
    } = arguments;
    match what {
        Command::Join(join) => join::run(ui, &global, &join).await,
        Command::Unjoin(unjoin) => unjoin::run(ui, &global, &unjoin).await,
        Command::Get(get) => get::run(ui, &global, &get).await,
        Command::Version(version) => version::run(ui, &global, &version).await,
        Command::Completion(completion) => completion::run(ui, &completion, command),
    }
}

#[derive(Debug, thiserror::Error, miette::Diagnostic)]
enum Error {
    #[error("this process cannot wait for the network")]
    #[diagnostic(help("the limit of open files may be reached: look at `ulimit -n`"))]
    Runtime(#[source] std::io::Error),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn as_a_plugin_it_calls_itself_as_it_was_called() {
        let plugin = command(Some(&OsString::from("/usr/local/bin/kubectl-karmada")));
        assert_eq!(plugin.get_bin_name(), Some("kubectl karmada"));
        let plain = command(Some(&OsString::from("./karmadactl")));
        assert_eq!(plain.get_name(), "karmadactl");
    }
}
