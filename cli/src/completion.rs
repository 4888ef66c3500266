//! `completion`: a script for the shell.

use crate::arguments::Completion;
use crate::ui::Ui;

/// Prints the script.
pub(crate) fn run(
    ui: &Ui,
    completion: &Completion,
    mut command: clap::Command,
) -> miette::Result<()> {
    let name = command.get_name().to_owned();
    let mut script = Vec::new();
    clap_complete::generate(completion.shell, &mut command, name, &mut script);
    Ok(ui.result(&String::from_utf8_lossy(&script))?)
}
