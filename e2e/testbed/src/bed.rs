//! A whole bed: etcd, the control plane and the members.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use futures::future::try_join_all;

use crate::binaries::Binaries;
use crate::cluster::{Cluster, Ground};
use crate::ports;
use crate::reaper::Reaper;
use crate::server::Server;
use crate::servers;
use crate::shape::{Member, Role};
use crate::wait;

type Progress = Box<dyn Fn(&str) + Send + Sync>;

/// What a bed is made of; [`Builder::start`] starts it.
pub struct Builder {
    members: Vec<Member>,
    controllers: bool,
    progress: Progress,
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            members: Vec::new(),
            controllers: true,
            progress: Box::new(|step| tracing::info!("{step}")),
        }
    }
}

impl Builder {
    /// Adds so many full members with one node each, called `member1`, `member2` and so on.
    #[must_use]
    pub fn members(mut self, count: usize) -> Self {
        for _ in 0..count {
            let name = format!("member{}", self.members.len() + 1);
            self.members.push(Member::named(name));
        }
        self
    }

    /// Adds so many members that are an API server and nothing else, named like full ones.
    #[must_use]
    pub fn bare_members(mut self, count: usize) -> Self {
        for _ in 0..count {
            let name = format!("member{}", self.members.len() + 1);
            self.members.push(Member::named(name).bare());
        }
        self
    }

    /// Adds one member of any shape.
    #[must_use]
    pub fn member(mut self, member: Member) -> Self {
        self.members.push(member);
        self
    }

    /// Leaves out the control plane's controllers: namespaces are not emptied when deleted, nothing is garbage
    /// collected. Enough for tests of schemas and admission, and a second faster.
    #[must_use]
    pub fn without_controllers(mut self) -> Self {
        self.controllers = false;
        self
    }

    /// Is told each step of the start.
    #[must_use]
    pub fn progress(mut self, progress: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.progress = Box::new(progress);
        self
    }

    /// Starts everything; etcd first, then all clusters at once.
    ///
    /// An error carries the end of the log concerned, and all logs stay where it says.
    pub async fn start(self) -> Result<Testbed> {
        // Two providers may be linked in; the first one installed is as good as ours.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let binaries = Binaries::locate().await?;
        let directory = tempfile::Builder::new()
            .prefix("karmada-one-testbed-")
            .tempdir()
            .context("making a directory for the test bed")?
            // From here on the reaper removes it, also when we are killed.
            .keep();
        let reaper = Reaper::start(&directory)?;
        let bed = self.start_in(binaries, directory, &reaper).await;
        if bed.is_err() {
            reaper.keep();
        }
        bed
    }

    async fn start_in(
        self,
        binaries: Binaries,
        directory: PathBuf,
        reaper: &Arc<Reaper>,
    ) -> Result<Testbed> {
        let runtime = Background::start()?;
        let (client_port, peer_port) = (ports::free()?, ports::free()?);
        let began = Instant::now();
        let step = |what: &str| {
            let seconds = began.elapsed().as_secs_f32();
            (self.progress)(&format!("{what} ({seconds:.1} s)"));
        };

        let etcd = servers::etcd(reaper, &binaries, &directory, client_port, peer_port);
        etcd.start()?;
        listens(&etcd, client_port).await?;
        step("etcd is ready");

        let ground = Ground {
            directory: directory.clone(),
            binaries,
            reaper: Arc::clone(reaper),
            etcd: SocketAddr::from(([127, 0, 0, 1], client_port)),
            runtime: runtime.handle(),
        };
        let mut roles = vec![Role::ControlPlane {
            controllers: self.controllers,
        }];
        roles.extend(self.members.into_iter().map(Role::Member));
        let mut clusters = try_join_all(roles.iter().map(async |role| {
            let cluster = Cluster::start(&ground, role).await?;
            step(&format!("{} is ready", cluster.name()));
            anyhow::Ok(cluster)
        }))
        .await?;
        let members = clusters.split_off(1);
        let control_plane = clusters.pop().expect("the control plane is first");
        Ok(Testbed {
            control_plane,
            members,
            _etcd: etcd,
            runtime,
            reaper: Arc::clone(reaper),
            directory,
        })
    }
}

async fn listens(etcd: &Server, port: u16) -> Result<()> {
    wait::until("etcd", wait::PATIENCE, async || {
        if let Some(status) = etcd.exited() {
            return Ok(Some(status));
        }
        tokio::net::TcpStream::connect(("127.0.0.1", port))
            .await
            .map(|_| None)
    })
    .await
    .and_then(|ended| match ended {
        None => Ok(()),
        Some(status) => bail!("etcd ended: {status}"),
    })
    .with_context(|| etcd.failure())
}

/// A control plane and its members, all real API servers. Everything ends when it is dropped, or when its process ends
/// in whatever way.
pub struct Testbed {
    control_plane: Cluster,
    members: Vec<Cluster>,
    _etcd: Server,
    runtime: Background,
    reaper: Arc<Reaper>,
    directory: PathBuf,
}

impl Testbed {
    /// Describes a bed: a control plane, and no members until some are added.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// The cluster that holds templates and policies.
    pub fn control_plane(&self) -> &Cluster {
        &self.control_plane
    }

    /// The members, in the order in which they were asked for.
    pub fn members(&self) -> &[Cluster] {
        &self.members
    }

    /// The member of that name.
    ///
    /// # Panics
    ///
    /// If there is none: the name is a mistake in the test.
    #[expect(
        clippy::panic,
        reason = "a wrong name is a mistake in the test, and the test is to fail at once"
    )]
    pub fn member(&self, name: &str) -> &Cluster {
        self.members
            .iter()
            .find(|member| member.name() == name)
            .unwrap_or_else(|| panic!("no member is called {name}"))
    }

    /// Where the logs of all processes are, a directory a cluster. Removed at the end unless something failed.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Leaves the logs where they are when the bed ends.
    pub fn keep_logs(&self) {
        self.reaper.keep();
    }

    /// The process group of everything the bed runs.
    pub fn process_group(&self) -> i32 {
        self.reaper.group()
    }

    pub(crate) fn reaper(&self) -> &Arc<Reaper> {
        &self.reaper
    }

    pub(crate) fn runtime(&self) -> tokio::runtime::Handle {
        self.runtime.handle()
    }
}

/// A runtime that outlives the test that happened to start the bed.
struct Background(Option<tokio::runtime::Runtime>);

impl Background {
    fn start() -> Result<Self> {
        tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("testbed")
            .enable_all()
            .build()
            .map(|runtime| Self(Some(runtime)))
            .context("starting the test bed's runtime")
    }

    fn handle(&self) -> tokio::runtime::Handle {
        self.0
            .as_ref()
            .expect("only drop takes it")
            .handle()
            .clone()
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            // Dropping it the normal way blocks, which is refused within another runtime.
            runtime.shutdown_background();
        }
    }
}
