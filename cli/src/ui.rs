//! What people see. Nothing else prints.

use std::fmt::Display;
use std::io::{self, IsTerminal as _, Write as _};

/// The two streams of the terminal: results on stdout, talk on stderr.
pub(crate) struct Ui {
    colour: bool,
}

/// Stdout could not be written to.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
#[error("the result could not be written to stdout")]
#[diagnostic(help("look at what stdout leads to: a full disk, a closed file?"))]
pub(crate) struct Unwritable(#[source] io::Error);

impl Ui {
    /// Colours only for a terminal, and not where `NO_COLOR` is set. Lines of errors are wrapped only for a terminal:
    /// elsewhere they are searched.
    pub(crate) fn new() -> Self {
        let terminal = io::stderr().is_terminal();
        let style = move |_: &dyn miette::Diagnostic| -> Box<dyn miette::ReportHandler> {
            let options = miette::MietteHandlerOpts::new();
            Box::new(options.wrap_lines(terminal).break_words(false).build())
        };
        // Only a second one could be refused, and there is one.
        let _ = miette::set_hook(Box::new(move |error| style(error)));
        Self {
            colour: terminal && std::env::var_os("NO_COLOR").is_none(),
        }
    }

    /// A result. A reader that has seen enough and closed the pipe is no failure.
    #[expect(
        clippy::unused_self,
        reason = "stdout belongs to the one who holds the Ui"
    )]
    pub(crate) fn result(&self, text: &str) -> Result<(), Unwritable> {
        let mut out = io::stdout().lock();
        match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Unwritable(error)),
            _ => Ok(()),
        }
    }

    /// A step that went well.
    pub(crate) fn good(&self, title: &str, detail: impl Display) {
        self.step("✓", "32", title, &detail);
    }

    /// A step that failed.
    pub(crate) fn bad(&self, title: &str, detail: impl Display) {
        self.step("✗", "31", title, &detail);
    }

    /// A step that could not be taken, and that others do not need.
    pub(crate) fn open(&self, title: &str, detail: impl Display) {
        self.step("-", "33", title, &detail);
    }

    fn step(&self, mark: &str, colour: &str, title: &str, detail: &dyn Display) {
        self.talk(&format!(
            "{} {title:<13} {detail}",
            self.paint(colour, mark)
        ));
    }

    /// The heading of several steps.
    pub(crate) fn heading(&self, text: impl Display) {
        self.talk(&self.paint("1", &text.to_string()));
    }

    /// Something worth knowing.
    pub(crate) fn note(&self, text: impl Display) {
        self.talk(&text.to_string());
    }

    /// Something that may be wrong.
    pub(crate) fn warning(&self, text: impl Display) {
        self.talk(&format!("{} {text}", self.paint("33", "warning:")));
    }

    /// Why the command failed.
    pub(crate) fn failure(&self, report: &miette::Report) {
        self.talk(&format!("{report:?}"));
    }

    #[expect(
        clippy::unused_self,
        reason = "stderr belongs to the one who holds the Ui"
    )]
    fn talk(&self, line: &str) {
        // Where talk cannot be written, there is nobody to tell that.
        let _ = writeln!(io::stderr().lock(), "{line}");
    }

    fn paint(&self, colour: &str, text: &str) -> String {
        if self.colour {
            format!("\u{1b}[{colour}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }
}

/// Columns as kubectl prints them: three spaces apart, nothing after the last.
pub(crate) fn columns(rows: &[Vec<String>]) -> String {
    let widths = rows.iter().fold(Vec::new(), |mut widths, row| {
        widths.resize(row.len().max(widths.len()), 0);
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
        widths
    });
    let mut text = String::new();
    for row in rows {
        let line: Vec<String> = row
            .iter()
            .zip(&widths)
            .map(|(cell, width)| format!("{cell:<width$}"))
            .collect();
        text.push_str(line.join("   ").trim_end());
        text.push('\n');
    }
    text
}

/// A JSON document for people.
pub(crate) fn json(value: &serde_json::Value) -> String {
    format!("{value:#}\n")
}

/// A YAML document.
pub(crate) fn yaml(value: &serde_json::Value) -> String {
    serde_saphyr::to_string(value).expect("JSON values are YAML values")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_no_line_ends_in_spaces() {
        let rows = [
            vec!["NAME".to_owned(), "CLUSTER".to_owned(), "AGE".to_owned()],
            vec!["demo".to_owned(), "m1".to_owned(), String::new()],
            vec![
                "a-longer-one".to_owned(),
                "größe".to_owned(),
                "5s".to_owned(),
            ],
        ];
        assert_eq!(
            columns(&rows),
            "NAME           CLUSTER   AGE\n\
             demo           m1\n\
             a-longer-one   größe     5s\n"
        );
    }
}
