//! What the audience sees. The only module that prints.

use std::fmt::Write as _;
use std::io::{IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use anyhow::Result;
use indicatif::{ProgressBar, ProgressStyle};

/// The terminal, or a log when there is none.
pub struct Screen {
    colour: bool,
    began: Instant,
}

impl Default for Screen {
    fn default() -> Self {
        Self {
            colour: std::io::stdout().is_terminal(),
            began: Instant::now(),
        }
    }
}

impl Screen {
    /// Opens a section.
    pub fn section(&self, title: &str, text: &str) {
        let mut lines = format!("\n{}\n", self.bold(&format!("── {title} ")));
        for line in text.lines() {
            let _ = writeln!(lines, "   {}", line.trim());
        }
        say(&lines);
    }

    /// Shows a command that is about to run.
    pub fn command(&self, words: &str) {
        say(&format!("\n{}\n", self.bold(&format!("$ {words}"))));
    }

    /// Shows a command's output, indented.
    pub fn output(&self, text: &str) {
        let mut lines = String::new();
        for line in text.trim_end().lines() {
            let _ = writeln!(lines, "  {line}");
        }
        say(&lines);
    }

    /// One line of news.
    pub fn news(&self, text: &str) {
        say(&format!("   {text}\n"));
    }

    /// Shows that something takes time while it does, and how long it took.
    pub async fn waiting<T>(&self, what: &str, work: impl Future<Output = Result<T>>) -> Result<T> {
        let start = Instant::now();
        // Draws on stderr, and only on a terminal.
        let spinner = ProgressBar::new_spinner().with_message(what.to_owned());
        if let Ok(style) = ProgressStyle::with_template("   {spinner} {msg} {elapsed}") {
            spinner.set_style(style);
        }
        spinner.enable_steady_tick(Duration::from_millis(120));
        let result = work.await;
        spinner.finish_and_clear();
        if result.is_ok() {
            self.news(&format!("{what}: {:.1} s", start.elapsed().as_secs_f32()));
        }
        result
    }

    /// Seconds since the curtain rose.
    pub fn seconds(&self) -> u64 {
        self.began.elapsed().as_secs()
    }

    fn bold(&self, text: &str) -> String {
        if self.colour {
            format!("\x1b[1m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }
}

fn say(text: &str) {
    let mut out = std::io::stdout().lock();
    // Nobody listens any more when stdout is closed; the story still ends properly and cleans up.
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
