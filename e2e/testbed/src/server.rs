//! One child process of the bed, with its log.

use std::ffi::OsString;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::reaper::Reaper;
use crate::wait;

/// A program, how it is started, and the process it runs as at the moment.
#[derive(Debug)]
pub(crate) struct Server {
    name: String,
    program: PathBuf,
    arguments: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
    directory: PathBuf,
    log: PathBuf,
    reaper: Arc<Reaper>,
    child: Mutex<Option<Child>>,
}

impl Server {
    /// Describes a process; [`Server::start`] starts it. Its log is `<directory>/<name>.log`.
    pub(crate) fn new(
        reaper: &Arc<Reaper>,
        name: &str,
        program: PathBuf,
        directory: &Path,
    ) -> Self {
        Self {
            name: name.to_owned(),
            program,
            arguments: Vec::new(),
            environment: Vec::new(),
            directory: directory.to_owned(),
            log: directory.join(format!("{name}.log")),
            reaper: Arc::clone(reaper),
            child: Mutex::new(None),
        }
    }

    pub(crate) fn args<A: Into<OsString>>(
        mut self,
        arguments: impl IntoIterator<Item = A>,
    ) -> Self {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }

    pub(crate) fn envs(
        mut self,
        environment: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Self {
        self.environment.extend(environment);
        self
    }

    /// Starts the process; a second start of a running one is a mistake of the caller.
    pub(crate) fn start(&self) -> Result<()> {
        let mut child = self.child();
        if child.is_some() {
            bail!("{} runs already", self.name);
        }
        let log = File::options()
            .create(true)
            .append(true)
            .open(&self.log)
            .with_context(|| format!("opening {}", self.log.display()))?;
        *child = Some(
            Command::new(&self.program)
                .args(&self.arguments)
                .envs(self.environment.iter().map(|(key, value)| (key, value)))
                // Some programs read settings from the home directory; the user's have no place here.
                .env("HOME", &self.directory)
                .current_dir(&self.directory)
                .process_group(self.reaper.group())
                .stdin(Stdio::null())
                .stdout(log.try_clone().context("sharing a log file")?)
                .stderr(log)
                .spawn()
                .with_context(|| format!("starting {}", self.program.display()))?,
        );
        Ok(())
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn log(&self) -> &Path {
        &self.log
    }

    /// The process id, while the process has not been waited for.
    pub(crate) fn pid(&self) -> Option<u32> {
        self.child().as_ref().map(Child::id)
    }

    /// How the process ended, if it did by itself.
    pub(crate) fn exited(&self) -> Option<ExitStatus> {
        self.child()
            .as_mut()
            .and_then(|child| child.try_wait().ok().flatten())
    }

    pub(crate) fn signal(&self, signal: Signal) -> Result<()> {
        let Some(pid) = self.pid() else {
            bail!("{} does not run", self.name);
        };
        let pid = i32::try_from(pid).expect("process ids fit into i32");
        kill(Pid::from_raw(pid), signal)
            .with_context(|| format!("sending {signal} to {}", self.name))
    }

    /// Kills the process and waits until it is gone; does nothing when there is none.
    pub(crate) fn kill(&self) {
        if let Some(mut child) = self.child().take() {
            // Fails only for a process that has ended.
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Asks the process to end and waits for it.
    pub(crate) async fn stop(&self, within: Duration) -> Result<ExitStatus> {
        self.signal(Signal::SIGTERM)?;
        let status = wait::until(format!("the end of {}", self.name), within, async || {
            self.exited().ok_or("it still runs")
        })
        .await
        .with_context(|| self.failure())?;
        self.child().take();
        Ok(status)
    }

    /// What to print when the process did not do what was expected.
    pub(crate) fn failure(&self) -> String {
        format!(
            "{}: the last lines of {}:\n{}",
            self.name,
            self.log.display(),
            self.tail().unwrap_or_else(|error| format!("({error})"))
        )
    }

    fn tail(&self) -> std::io::Result<String> {
        const BYTES: u64 = 3000;
        let mut file = File::open(&self.log)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(BYTES)))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn child(&self) -> MutexGuard<'_, Option<Child>> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}
