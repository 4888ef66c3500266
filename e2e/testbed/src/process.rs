//! Our own programs, run as they run in production.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::bed::Testbed;
use crate::ports;
use crate::server::Server;
use crate::wait;

/// Where cargo put the program: beside the executable that runs now.
///
/// A program that is older than its sources, or of another checkout, is an error too: `cargo test -p` does not build the
/// programs of other packages, and a test of an old build tells nothing.
pub fn binary(name: &str) -> Result<PathBuf> {
    let executable = std::env::current_exe().context("finding the running executable")?;
    let mut directory = executable
        .parent()
        .context("the running executable is in no directory")?;
    if directory.ends_with("deps") || directory.ends_with("examples") {
        directory = directory
            .parent()
            .context("a target directory has a parent")?;
    }
    let path = directory.join(name);
    let build = "run `cargo build --workspace --bins` first";
    ensure!(path.exists(), "{} is not built: {build}", path.display());
    if let Some(why) = stale(&path)? {
        bail!("{} {why}: {build}", path.display());
    }
    Ok(path)
}

/// Why the program is not what the sources here say, according to the dependency file that cargo leaves beside it.
fn stale(program: &Path) -> Result<Option<String>> {
    let list = program.with_extension("d");
    let Ok(text) = fs::read_to_string(&list) else {
        // Installed programs have none.
        return Ok(None);
    };
    let built = modified(program)?;
    let checkout = crate::repository()
        .canonicalize()
        .context("finding the checkout")?;
    let sources: Vec<&Path> = text
        .split_once(": ")
        .map_or("", |(_, sources)| sources)
        .split_whitespace()
        .map(Path::new)
        .collect();
    if !sources.iter().any(|source| source.starts_with(&checkout)) {
        return Ok(Some("was built from another checkout".to_owned()));
    }
    for source in sources {
        // A file that is gone has been replaced by others on the list.
        if source.exists() && modified(source)? > built {
            return Ok(Some(format!("is older than {}", source.display())));
        }
    }
    Ok(None)
}

fn modified(path: &Path) -> Result<std::time::SystemTime> {
    fs::metadata(path)
        .and_then(|metadata| metadata.modified())
        .with_context(|| format!("reading the time of {}", path.display()))
}

/// How one of our operators is to be started.
pub struct ProcessBuilder<'a> {
    bed: &'a Testbed,
    name: String,
    instance: String,
    kubeconfig: PathBuf,
    arguments: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
}

impl Testbed {
    /// An operator of that name against the control plane; with all rights unless another kubeconfig is given.
    pub fn operator(&self, name: &str) -> ProcessBuilder<'_> {
        ProcessBuilder {
            bed: self,
            name: name.to_owned(),
            instance: name.to_owned(),
            kubeconfig: self.control_plane().kubeconfig_through_proxy().to_owned(),
            arguments: Vec::new(),
            environment: Vec::new(),
        }
    }
}

impl ProcessBuilder<'_> {
    /// Tells two processes of one program apart; names the log file.
    #[must_use]
    pub fn instance(mut self, instance: impl Into<String>) -> Self {
        self.instance = instance.into();
        self
    }

    /// Who the operator is.
    #[must_use]
    pub fn kubeconfig(mut self, path: impl Into<PathBuf>) -> Self {
        self.kubeconfig = path.into();
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<A: Into<OsString>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }

    /// Adds an environment variable.
    #[must_use]
    pub fn env(mut self, key: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.environment.push((key.into(), value.into()));
        self
    }

    /// Starts the operator and waits until it says that it is ready.
    pub async fn start(self) -> Result<Process> {
        let process = self.spawn()?;
        process.ready(wait::PATIENCE).await?;
        Ok(process)
    }

    /// Starts the operator without waiting for it.
    pub fn spawn(self) -> Result<Process> {
        let port = ports::free()?;
        let directory = self.bed.directory().join("operators");
        fs::create_dir_all(&directory)
            .with_context(|| format!("creating {}", directory.display()))?;
        let server = Server::new(
            self.bed.reaper(),
            &self.instance,
            binary(&self.name)?,
            &directory,
        )
        .args([
            format!("--kubeconfig={}", self.kubeconfig.display()),
            format!("--metrics-address=127.0.0.1:{port}"),
        ])
        .args(self.arguments)
        .envs(self.environment);
        server.start()?;
        Ok(Process { server, port })
    }
}

/// A running program of ours. Killed when dropped.
pub struct Process {
    server: Server,
    port: u16,
}

/// What a process holds in memory, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Resident, shared pages counted whole.
    pub resident: u64,
    /// Resident, shared pages counted by share.
    pub proportional: u64,
}

impl Process {
    /// Waits until `/readyz` answers 200.
    pub async fn ready(&self, within: Duration) -> Result<()> {
        wait::until(
            format!("{} to be ready", self.server.name()),
            within,
            async || {
                if let Some(status) = self.server.exited() {
                    return Ok(Some(status));
                }
                match self.get("/readyz").await {
                    Ok((200, _)) => Ok(None),
                    Ok((code, body)) => Err(format!("/readyz answered {code}: {body}")),
                    Err(error) => Err(format!("{error:#}")),
                }
            },
        )
        .await
        .and_then(|ended| match ended {
            None => Ok(()),
            Some(status) => bail!("it ended: {status}"),
        })
        .with_context(|| self.server.failure())
    }

    /// What the process answers to a GET of that path: HTTP status code and body.
    pub async fn get(&self, path: &str) -> Result<(u16, String)> {
        let answer = async {
            let mut stream = tokio::net::TcpStream::connect(("127.0.0.1", self.port)).await?;
            // HTTP/1.0: the answer ends where the connection ends.
            stream
                .write_all(format!("GET {path} HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n").as_bytes())
                .await?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer).await?;
            std::io::Result::Ok(answer)
        };
        let answer = tokio::time::timeout(Duration::from_secs(5), answer)
            .await
            .map_err(|_| anyhow!("no answer within 5 s"))?
            .with_context(|| format!("GET {path}"))?;
        let (head, body) = answer
            .split_once("\r\n\r\n")
            .with_context(|| format!("GET {path}: not an HTTP answer: {answer}"))?;
        let code = head
            .split(' ')
            .nth(1)
            .and_then(|code| code.parse().ok())
            .with_context(|| format!("GET {path}: no status code: {head}"))?;
        Ok((code, body.to_owned()))
    }

    /// Its metrics in Prometheus' text format.
    pub async fn metrics(&self) -> Result<String> {
        let (code, body) = self.get("/metrics").await?;
        ensure!(code == 200, "/metrics answered {code}: {body}");
        Ok(body)
    }

    /// Lets `promtool check metrics` judge the metrics; an error carries what it found.
    pub async fn check_metrics(&self) -> Result<()> {
        let metrics = self.metrics().await?;
        let mut promtool = tokio::process::Command::new(tool("promtool")?)
            .args(["check", "metrics"])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .context("starting promtool")?;
        let mut stdin = promtool.stdin.take().context("promtool takes no input")?;
        stdin
            .write_all(metrics.as_bytes())
            .await
            .context("giving the metrics to promtool")?;
        drop(stdin);
        let output = promtool
            .wait_with_output()
            .await
            .context("waiting for promtool")?;
        let findings = [output.stdout, output.stderr].concat();
        ensure!(
            output.status.success(),
            "promtool check metrics on {}: {}",
            self.server.name(),
            String::from_utf8_lossy(&findings)
        );
        Ok(())
    }

    /// The process id.
    pub fn pid(&self) -> Option<u32> {
        self.server.pid()
    }

    /// The log file.
    pub fn log(&self) -> &Path {
        self.server.log()
    }

    /// How the process ended, if it did.
    pub fn exited(&self) -> Option<ExitStatus> {
        self.server.exited()
    }

    /// Asks the process to end (SIGTERM) and waits for it.
    pub async fn stop(&self, within: Duration) -> Result<ExitStatus> {
        self.server.stop(within).await
    }

    /// Kills the process (SIGKILL).
    pub fn kill(&self) {
        self.server.kill();
    }

    /// Starts the process again with the same arguments, after [`Process::stop`] or [`Process::kill`].
    pub async fn restart(&self) -> Result<()> {
        self.server.start()?;
        self.ready(wait::PATIENCE).await
    }

    /// How much memory the process holds now.
    pub fn memory(&self) -> Result<Memory> {
        let pid = self.pid().context("the process does not run")?;
        let path = format!("/proc/{pid}/smaps_rollup");
        let text = fs::read_to_string(&path).with_context(|| format!("reading {path}"))?;
        let bytes = |field: &str| -> Result<u64> {
            text.lines()
                .find_map(|line| line.strip_prefix(field)?.strip_prefix(':'))
                .and_then(|value| value.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok())
                .map(|kilobytes| kilobytes * 1024)
                .with_context(|| format!("{path} has no {field}"))
        };
        Ok(Memory {
            resident: bytes("Rss")?,
            proportional: bytes("Pss")?,
        })
    }
}

/// A program that `hack/tools` provides: from the system, else from the cache.
pub fn tool(name: &str) -> Result<PathBuf> {
    let script = crate::repository().join("hack/tools");
    let output = std::process::Command::new(&script)
        .stderr(std::process::Stdio::inherit())
        .output()
        .with_context(|| format!("running {}", script.display()))?;
    ensure!(output.status.success(), "{} failed", script.display());
    let cached = Path::new(String::from_utf8_lossy(&output.stdout).trim()).join(name);
    Ok(if cached.exists() {
        cached
    } else {
        PathBuf::from(name)
    })
}
