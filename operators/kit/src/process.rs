//! The life of an operator process: start, act while leading, end in peace.

use std::future::Future;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use futures::future::{FusedFuture as _, FutureExt as _};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing_subscriber::EnvFilter;

use crate::args::{Args, LogFormat};
use crate::client::{Limits, Server, connect};
use crate::election::Leadership;
use crate::events::Recorder;
use crate::metrics::Metrics;
use crate::readiness::Readiness;
use crate::server;
use crate::writer::Writer;

/// Time for running work to end after the signal; a pod has 30 s.
const DRAIN: Duration = Duration::from_secs(20);

/// A free lease is taken faster than this.
const FIRST_TRY: Duration = Duration::from_secs(4);

/// What an operator gets to work with. Clones share everything.
#[derive(Clone)]
pub struct Runtime {
    /// Name of the operator, for example `binding-scheduler`.
    pub name: &'static str,
    /// Client of the control plane.
    pub client: Client,
    /// The process's metrics.
    pub metrics: Metrics,
    /// What `/readyz` waits for.
    pub readiness: Readiness,
    /// Cancelled when the process is to end.
    pub shutdown: CancellationToken,
    tasks: TaskTracker,
    /// Cancelled when a task has panicked.
    broken: CancellationToken,
}

impl Runtime {
    /// A runtime around a client, for tests that run an operator in their own process.
    pub fn new(name: &'static str, client: Client, metrics: Metrics) -> Self {
        Self {
            name,
            client,
            metrics,
            readiness: Readiness::default(),
            shutdown: CancellationToken::new(),
            tasks: TaskTracker::new(),
            broken: CancellationToken::new(),
        }
    }

    /// Writes to the control plane as `karmada-<operator>/<controller>`.
    pub fn writer(&self, controller: &str) -> Writer {
        let manager = format!("karmada-{}/{controller}", self.name);
        Writer::new(self.client.clone(), &manager, self.metrics.writes.clone())
    }

    /// Writes events as `karmada-<operator>`.
    pub fn recorder(&self) -> Recorder {
        Recorder::new(self.writer("events"), &format!("karmada-{}", self.name))
    }

    /// Runs a task that is waited for at the end. It must end by itself after [`Runtime::shutdown`]. If it panics, the process ends: nobody
    /// else would do what the task was for.
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let alarm = Alarm(self.broken.clone());
        self.tasks.spawn(async move {
            let _alarm = alarm;
            task.await;
        });
    }
}

struct Alarm(CancellationToken);

impl Drop for Alarm {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.cancel();
        }
    }
}

/// The whole of an operator's `main`: returns when the process is to end.
///
/// `run` starts the operator's tasks with [`Runtime::spawn`] and may return at once or go on until [`Runtime::shutdown`]. It is called when
/// this process leads.
///
/// # Guarantees
///
/// - After SIGTERM or SIGINT, `run` and all tasks get some time to finish what they do; then the lease is freed.
/// - When the lease is lost nothing is finished: another process may act by now.
///
/// # Errors
///
/// If the process cannot start, if `run` fails, or if the process must end because the lease was lost or a task panicked.
pub fn main<F, R>(name: &'static str, args: &Args, run: F) -> Result<()>
where
    F: FnOnce(Runtime) -> R,
    R: Future<Output = Result<()>>,
{
    logs(args)?;
    log_panics();
    if rustls::crypto::ring::default_provider()
        .install_default()
        .is_err()
    {
        tracing::debug!("a TLS provider was installed before");
    }
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("starting the runtime")?
        .block_on(live(name, args, run))
}

async fn live<F, R>(name: &'static str, args: &Args, run: F) -> Result<()>
where
    F: FnOnce(Runtime) -> R,
    R: Future<Output = Result<()>>,
{
    let metrics = Metrics::new(name);
    let config = config(args).await?;
    tracing::info!(operator = name, version = env!("CARGO_PKG_VERSION"), server = %config.cluster_url, "starting");
    let client = connect(config, Server::Host, Limits::HOST, &metrics)
        .context("making the client of the control plane")?;
    let runtime = Runtime::new(name, client, metrics);
    // Not ready before `run` had the chance to say what it waits for.
    let mut starting = Some(runtime.readiness.handle("the operator"));

    let server_stop = CancellationToken::new();
    let mut served = tokio::spawn(server::serve(
        args.metrics_address,
        runtime.metrics.clone(),
        runtime.readiness.clone(),
        server_stop.clone(),
    ));
    let mut signals = Signals::listen()?;

    let ended = async {
        let mut leadership = None;
        if args.leader_elect {
            tracing::info!("waiting for the lease");
            let acquired = tokio::select! {
                acquired = stand_by(&runtime, &args.lease_namespace, &mut starting) => acquired?,
                () = signals.received() => return Ok(()),
            };
            leadership = Some(acquired);
            tracing::info!("leading");
        }
        let result = act(
            &runtime,
            run,
            starting.take(),
            leadership.as_mut(),
            &mut signals,
        )
        .await;
        match leadership {
            Some(leadership) if !matches!(result, Err(Ended::LeaseLost)) => {
                leadership.release().await;
            }
            _ => {}
        }
        Ok(result?)
    };
    let result = tokio::select! {
        result = ended => result,
        served = &mut served => match served {
            Ok(Ok(())) => bail!("the metrics server ended"),
            Ok(Err(error)) => Err(error).with_context(|| format!("listening on {} (--metrics-address)", args.metrics_address)),
            Err(error) => Err(error).context("running the metrics server"),
        },
    };
    server_stop.cancel();
    tracing::info!("ended");
    result
}

/// Waits for the lease. A replica that stands by is as ready as it can be, so it says so once it is clear that somebody else acts: else a
/// Deployment of two replicas would never be available.
async fn stand_by(
    runtime: &Runtime,
    namespace: &str,
    starting: &mut Option<crate::readiness::Handle>,
) -> Result<Leadership> {
    let mut acquired = std::pin::pin!(Leadership::acquire(
        runtime.client.clone(),
        runtime.name,
        namespace
    ));
    if let Ok(acquired) = tokio::time::timeout(FIRST_TRY, &mut acquired).await {
        return acquired.context("taking the lease");
    }
    tracing::info!("another replica holds the lease; standing by");
    *starting = None;
    let leadership = acquired.await.context("taking the lease")?;
    *starting = Some(runtime.readiness.handle("the operator"));
    Ok(leadership)
}

/// Why the process ends when nobody asked it to.
#[derive(Debug, thiserror::Error)]
enum Ended {
    #[error("the lease was lost; another process may act now")]
    LeaseLost,
    #[error("a task panicked")]
    Panicked,
    #[error("the operator failed")]
    Failed(#[source] anyhow::Error),
}

async fn act<F, R>(
    runtime: &Runtime,
    run: F,
    starting: Option<crate::readiness::Handle>,
    leadership: Option<&mut Leadership>,
    signals: &mut Signals,
) -> Result<(), Ended>
where
    F: FnOnce(Runtime) -> R,
    R: Future<Output = Result<()>>,
{
    let running = async {
        run(runtime.clone()).await?;
        drop(starting);
        anyhow::Ok(())
    };
    let mut running = std::pin::pin!(running.fuse());
    let lost = async {
        match leadership {
            Some(leadership) => leadership.lost().await,
            None => std::future::pending().await,
        }
    };
    let mut lost = std::pin::pin!(lost);

    let until_shutdown = async {
        running.as_mut().await?;
        runtime.shutdown.cancelled().await;
        anyhow::Ok(())
    };
    let mut result = tokio::select! {
        biased;
        () = &mut lost => return Err(Ended::LeaseLost),
        () = runtime.broken.cancelled() => Err(Ended::Panicked),
        () = signals.received() => {
            tracing::info!("asked to end; finishing what is under way");
            Ok(())
        }
        result = until_shutdown => result.map_err(Ended::Failed),
    };

    runtime.shutdown.cancel();
    runtime.tasks.close();
    let drained = async {
        if !running.is_terminated()
            && let Err(error) = running.await
        {
            result = Err(Ended::Failed(error));
        }
        runtime.tasks.wait().await;
    };
    tokio::select! {
        biased;
        () = lost => return Err(Ended::LeaseLost),
        () = signals.received() => tracing::warn!("asked again; ending without what is under way"),
        drained = tokio::time::timeout(DRAIN, drained) => {
            if drained.is_err() {
                tracing::warn!("some work did not end within {} s", DRAIN.as_secs());
            }
        }
    }
    result
}

async fn config(args: &Args) -> Result<Config> {
    if let Some(path) = &args.kubeconfig {
        let file = Kubeconfig::read_from(path)
            .with_context(|| format!("reading {} (--kubeconfig)", path.display()))?;
        return Config::from_custom_kubeconfig(file, &KubeConfigOptions::default())
            .await
            .with_context(|| format!("using {} (--kubeconfig)", path.display()));
    }
    match Config::incluster() {
        Ok(config) => Ok(config),
        Err(_) => Config::from_kubeconfig(&KubeConfigOptions::default())
            .await
            .context("this is no pod, and no kubeconfig was found; give one with --kubeconfig"),
    }
}

fn logs(args: &Args) -> Result<()> {
    let filter = EnvFilter::try_new(&args.log_level)
        .with_context(|| format!("`{}` is no log level (--log-level)", args.log_level))?;
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr);
    match args.log_format {
        LogFormat::Json => builder.json().flatten_event(true).init(),
        LogFormat::Text => builder.init(),
    }
    Ok(())
}

/// A panic is told where everything else is.
fn log_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let at = panic.location().map(ToString::to_string);
        let message = panic.payload_as_str().unwrap_or("no message");
        tracing::error!(at, message, "panicked");
    }));
}

/// SIGTERM from Kubernetes, SIGINT from a terminal.
struct Signals {
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
}

impl Signals {
    fn listen() -> Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            terminate: signal(SignalKind::terminate()).context("listening for SIGTERM")?,
            interrupt: signal(SignalKind::interrupt()).context("listening for SIGINT")?,
        })
    }

    async fn received(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runtime() -> Runtime {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let metrics = Metrics::new("test");
        let nowhere = Config::new("http://127.0.0.1:1".parse().unwrap());
        let client = connect(nowhere, Server::Host, Limits::HOST, &metrics).unwrap();
        Runtime::new("test", client, metrics)
    }

    async fn life<R: Future<Output = Result<()>>>(
        runtime: &Runtime,
        run: impl FnOnce(Runtime) -> R,
    ) -> Result<(), Ended> {
        let mut signals = Signals::listen().unwrap();
        let starting = Some(runtime.readiness.handle("the operator"));
        act(runtime, run, starting, None, &mut signals).await
    }

    #[tokio::test]
    async fn a_task_that_panics_ends_the_process() {
        let runtime = runtime();
        let ended = life(&runtime, async |runtime| {
            runtime.spawn(async { panic!("a mistake") });
            Ok(())
        })
        .await;
        assert!(matches!(ended, Err(Ended::Panicked)), "{ended:?}");
    }

    #[tokio::test]
    async fn an_operator_that_fails_says_why_and_its_tasks_end() {
        let runtime = runtime();
        let ended = life(&runtime, async |runtime| {
            let shutdown = runtime.shutdown.clone();
            runtime.spawn(async move { shutdown.cancelled().await });
            bail!("no such thing")
        })
        .await;
        assert!(
            matches!(&ended, Err(Ended::Failed(why)) if why.to_string() == "no such thing"),
            "{ended:?}"
        );
        assert!(runtime.tasks.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn what_runs_inside_of_the_operator_is_finished_too() {
        let runtime = runtime();
        let finished = std::cell::Cell::new(false);
        let stop = runtime.shutdown.clone();
        let ended = life(&runtime, async |_| {
            stop.cancel();
            tokio::time::sleep(Duration::from_secs(5)).await;
            finished.set(true);
            Ok(())
        })
        .await;
        assert!(ended.is_ok(), "{ended:?}");
        assert!(finished.get());
    }
}
