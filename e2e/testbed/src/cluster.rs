//! One Kubernetes cluster: the control plane or a member.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use futures::future::try_join_all;
use k8s_openapi::api::core::v1::{Node, ServiceAccount};
use kube::api::{Api, PostParams};
use kube::{Client, Config};
use nix::sys::signal::Signal;
use serde_json::json;
use tokio::runtime::Handle;

use crate::binaries::Binaries;
use crate::kubeconfig::{Access, Credential};
use crate::pki::{Pki, Validity};
use crate::ports;
use crate::proxy::{Network, Proxy};
use crate::reaper::Reaper;
use crate::requests::Requests;
use crate::server::Server;
use crate::servers::Common;
use crate::shape::{Member, Role};
use crate::wait;

/// A busy machine starts four API servers in half a minute.
const START: Duration = Duration::from_mins(4);

/// What the clusters of one bed share.
pub(crate) struct Ground {
    pub(crate) directory: PathBuf,
    pub(crate) binaries: Binaries,
    pub(crate) reaper: Arc<Reaper>,
    pub(crate) etcd: SocketAddr,
    pub(crate) runtime: Handle,
}

/// A running cluster with a real API server, reachable directly and through a [`Proxy`].
///
/// Tests talk to it directly. What is given to the system under test – [`Cluster::kubeconfig_through_proxy`],
/// [`crate::Testbed::join_directly`] – leads through the proxy, so that its network can fail without blinding the test.
pub struct Cluster {
    name: String,
    directory: PathBuf,
    pki: Pki,
    admin: Access,
    config: Config,
    kubeconfig: PathBuf,
    kubeconfig_through_proxy: PathBuf,
    kubectl: PathBuf,
    proxy: Proxy,
    storage: Option<Proxy>,
    apiserver: Server,
    companions: Vec<Server>,
}

impl Cluster {
    pub(crate) async fn start(ground: &Ground, role: &Role) -> Result<Self> {
        let name = role.name().to_owned();
        let directory = ground.directory.join(&name);
        let pki = Pki::create(&directory.join("pki"), &name)
            .with_context(|| format!("making the certificates of {name}"))?;
        let port = ports::free()?;
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        let proxy = Proxy::start(&ground.runtime, address).await?;
        let admin = Access {
            cluster: name.clone(),
            server: format!("https://{address}"),
            authority: pki.authority(),
            user: "admin".to_owned(),
            credential: Credential::Certificate(pki.client(
                "admin",
                &["system:masters"],
                Validity::Valid,
            )?),
        };
        let kubeconfig = directory.join("kubeconfig");
        admin.write(&kubeconfig)?;
        let kubeconfig_through_proxy = directory.join("kubeconfig-through-proxy");
        Access {
            server: format!("https://{}", proxy.address()),
            ..admin.clone()
        }
        .write(&kubeconfig_through_proxy)?;

        let storage = if role.storage_can_fail() {
            Some(Proxy::start(&ground.runtime, ground.etcd).await?)
        } else {
            None
        };
        let etcd = storage.as_ref().map_or(ground.etcd, Proxy::address);
        let common = Common {
            reaper: &ground.reaper,
            binaries: &ground.binaries,
            directory: &directory,
            pki: &pki,
            kubeconfig: &kubeconfig,
        };
        let cluster = Self {
            config: admin.config().await?,
            kubectl: ground.binaries.path("kubectl"),
            apiserver: common.apiserver(role, etcd, port),
            companions: common.companions(role)?,
            name,
            admin,
            kubeconfig,
            kubeconfig_through_proxy,
            proxy,
            storage,
            directory: directory.clone(),
            pki,
        };
        cluster.apiserver.start()?;
        cluster.ready(START).await?;
        for companion in &cluster.companions {
            companion.start()?;
        }
        if let Role::Member(member) = role {
            cluster.create_nodes(member).await?;
        }
        if role.has_controllers() {
            cluster.controllers_act().await?;
        }
        Ok(cluster)
    }

    /// `control-plane`, or the member's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where the logs, certificates and kubeconfigs of this cluster are.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The API server's own address.
    pub fn url(&self) -> &str {
        &self.admin.server
    }

    /// The API server's address through the proxy.
    pub fn url_through_proxy(&self) -> String {
        format!("https://{}", self.proxy.address())
    }

    /// The certificate authority of the API server, as PEM.
    pub fn certificate_authority(&self) -> &str {
        &self.admin.authority
    }

    /// A new client with all rights, for the runtime it is made in.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    pub fn client(&self) -> Client {
        Client::try_from(self.config.clone()).expect("the bed's own configuration is complete")
    }

    /// A kubeconfig file with all rights.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// A kubeconfig file with all rights whose connections go through the proxy.
    pub fn kubeconfig_through_proxy(&self) -> &Path {
        &self.kubeconfig_through_proxy
    }

    /// A kubeconfig file with a client certificate that expired years ago.
    pub fn expired_kubeconfig(&self) -> Result<PathBuf> {
        let path = self.directory.join("kubeconfig-expired");
        let identity = self
            .pki
            .client("admin", &["system:masters"], Validity::Expired)?;
        Access {
            server: self.url_through_proxy(),
            credential: Credential::Certificate(identity),
            ..self.admin.clone()
        }
        .write(&path)?;
        Ok(path)
    }

    /// A kubeconfig file with a token, leading through the proxy.
    pub(crate) fn token_access(&self, user: &str, token: String) -> Access {
        Access {
            server: self.url_through_proxy(),
            user: user.to_owned(),
            credential: Credential::Token(token),
            ..self.admin.clone()
        }
    }

    /// Runs kubectl as admin and returns what it wrote to stdout; an error carries what it wrote to stderr.
    pub async fn kubectl<A: AsRef<str>>(&self, arguments: &[A]) -> Result<String> {
        let mut command = self.kubectl_command();
        command.args(arguments.iter().map(AsRef::as_ref));
        let output = tokio::process::Command::from(command)
            .kill_on_drop(true)
            .output()
            .await
            .context("running kubectl")?;
        let line = arguments
            .iter()
            .map(AsRef::as_ref)
            .collect::<Vec<_>>()
            .join(" ");
        ensure!(
            output.status.success(),
            "kubectl {line} ({}): {}",
            self.name,
            String::from_utf8_lossy(&output.stderr).trim()
        );
        String::from_utf8(output.stdout).with_context(|| format!("the output of kubectl {line}"))
    }

    /// A kubectl that reaches this cluster as admin; add arguments and run it.
    pub fn kubectl_command(&self) -> Command {
        let mut command = Command::new(&self.kubectl);
        command
            .env("KUBECONFIG", &self.kubeconfig)
            // kubectl caches discovery under the home directory, by address: ports come back with other clusters behind them.
            .env("HOME", &self.directory);
        command
    }

    /// What the API server was asked for since it was started.
    pub async fn requests(&self) -> Result<Requests> {
        Requests::parse(&self.raw("/metrics").await?)
    }

    /// The answer to a GET of that path.
    pub async fn raw(&self, path: &str) -> Result<String> {
        let request = http_get(path)?;
        self.client()
            .request_text(request)
            .await
            .with_context(|| format!("GET {path} of {}", self.name))
    }

    /// The network between the system under test and this cluster.
    pub fn set_network(&self, network: Network) {
        self.proxy.set(network);
    }

    /// The network between the API server and its etcd: a server without storage answers, but with errors such as 500.
    pub fn set_storage_network(&self, network: Network) -> Result<()> {
        self.storage
            .as_ref()
            .with_context(|| {
                format!(
                    "{} was not started with Member::storage_can_fail",
                    self.name
                )
            })?
            .set(network);
        Ok(())
    }

    /// The process id of the API server.
    pub fn apiserver_pid(&self) -> Option<u32> {
        self.apiserver.pid()
    }

    /// Stops the API server in the middle of whatever it does (SIGSTOP): connections stay open and nothing answers.
    pub fn freeze(&self) -> Result<()> {
        self.apiserver.signal(Signal::SIGSTOP)
    }

    /// Lets a frozen API server go on, and waits until it answers.
    pub async fn resume(&self) -> Result<()> {
        self.apiserver.signal(Signal::SIGCONT)?;
        self.ready(wait::PATIENCE).await
    }

    /// Kills the API server (SIGKILL): connections break, new ones are refused.
    pub fn kill(&self) {
        self.apiserver.kill();
    }

    /// Starts a killed API server again, on the same address with the same data, and waits until it answers.
    pub async fn restart(&self) -> Result<()> {
        self.apiserver.start()?;
        self.ready(START).await
    }

    /// Waits until the API server says that it is ready.
    pub async fn ready(&self, within: Duration) -> Result<()> {
        let client = self.client();
        wait::until(
            format!("the API server of {}", self.name),
            within,
            async || {
                if let Some(status) = self.apiserver.exited() {
                    // Waiting on is of no use; the caller gets the log below.
                    return Ok(Err(status));
                }
                client
                    .request_text(http_get("/readyz")?)
                    .await
                    .map(|_| Ok(()))
                    .map_err(anyhow::Error::from)
            },
        )
        .await
        .and_then(|ended| {
            if let Err(status) = ended {
                bail!("the API server of {} ended: {status}", self.name);
            }
            Ok(())
        })
        .with_context(|| self.apiserver.failure())
    }

    async fn create_nodes(&self, member: &Member) -> Result<()> {
        let nodes: Api<Node> = Api::all(self.client());
        try_join_all((1..=member.nodes).map(async |number| {
            let name = &format!("{}-node{number}", member.name);
            let node = node(name, number, member)?;
            nodes.create(&PostParams::default(), &node).await?;
            let ready = |node: &Node| {
                let status = node.status.as_ref();
                let conditions = status.and_then(|status| status.conditions.as_ref());
                let no_taints = node.spec.as_ref().is_none_or(|spec| spec.taints.is_none());
                no_taints
                    && conditions.is_some_and(|conditions| {
                        conditions
                            .iter()
                            .any(|one| one.type_ == "Ready" && one.status == "True")
                    })
            };
            wait::object(&nodes, name, "the node is ready", START, ready).await
        }))
        .await
        .with_context(|| self.companion_failures())?;
        Ok(())
    }

    /// Controllers that were just started need a moment; a pod made before that is refused for want of an account.
    async fn controllers_act(&self) -> Result<()> {
        let accounts: Api<ServiceAccount> = Api::namespaced(self.client(), "default");
        wait::object(&accounts, "default", "the controllers act", START, |_| true)
            .await
            .with_context(|| self.companion_failures())?;
        Ok(())
    }

    fn companion_failures(&self) -> String {
        self.companions
            .iter()
            .map(Server::failure)
            .collect::<Vec<_>>()
            .join("\n\n")
    }
}

fn http_get(path: &str) -> Result<http::Request<Vec<u8>>> {
    http::Request::get(path)
        .body(Vec::new())
        .with_context(|| format!("{path} is no path"))
}

/// A node in a zone of its own.
fn node(name: &str, number: usize, member: &Member) -> Result<Node> {
    let capacity = json!({"cpu": member.cpu, "memory": member.memory, "pods": member.pods});
    serde_json::from_value(json!({
        "metadata": {
            "name": name,
            "labels": {
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
                "kubernetes.io/arch": "amd64",
                "topology.kubernetes.io/zone": format!("{}-zone{number}", member.name),
            },
        },
        "status": {
            "capacity": capacity,
            "allocatable": capacity,
            "nodeInfo": {
                "architecture": "amd64",
                "bootID": "",
                "containerRuntimeVersion": "kwok",
                "kernelVersion": "kwok",
                "kubeProxyVersion": "",
                "kubeletVersion": "v1.37.2",
                "machineID": "",
                "operatingSystem": "linux",
                "osImage": "kwok",
                "systemUUID": "",
            },
        },
    }))
    .context("describing a node")
}
