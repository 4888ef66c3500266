//! The command lines of the Kubernetes servers.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result};

use crate::binaries::Binaries;
use crate::pki::Pki;
use crate::reaper::Reaper;
use crate::server::Server;
use crate::shape::Role;

/// The controllers a control plane needs. With those for workloads, templates would turn into pods there.
const CONTROL_PLANE_CONTROLLERS: &str = "namespace-controller,garbage-collector-controller,\
    serviceaccount-controller,serviceaccount-token-controller,root-ca-certificate-publisher-controller,\
    ttl-after-finished-controller,clusterrole-aggregation-controller,bootstrap-signer-controller,token-cleaner-controller,\
    certificatesigningrequest-approving-controller,certificatesigningrequest-cleaner-controller,\
    certificatesigningrequest-signing-controller";

/// One etcd for all clusters: each keeps to its own prefix.
pub(crate) fn etcd(
    reaper: &Arc<Reaper>,
    binaries: &Binaries,
    directory: &Path,
    client_port: u16,
    peer_port: u16,
) -> Server {
    let client = format!("http://127.0.0.1:{client_port}");
    let peer = format!("http://127.0.0.1:{peer_port}");
    Server::new(reaper, "etcd", binaries.path("etcd"), directory).args([
        "--name=testbed".to_owned(),
        format!("--data-dir={}", directory.join("etcd").display()),
        format!("--listen-client-urls={client}"),
        format!("--advertise-client-urls={client}"),
        format!("--listen-peer-urls={peer}"),
        format!("--initial-advertise-peer-urls={peer}"),
        format!("--initial-cluster=testbed={peer}"),
        // Nothing here has to survive a power failure.
        "--unsafe-no-fsync=true".to_owned(),
        "--log-level=warn".to_owned(),
    ])
}

/// What all servers of one cluster are started with.
pub(crate) struct Common<'a> {
    pub(crate) reaper: &'a Arc<Reaper>,
    pub(crate) binaries: &'a Binaries,
    pub(crate) directory: &'a Path,
    pub(crate) pki: &'a Pki,
    pub(crate) kubeconfig: &'a Path,
}

impl Common<'_> {
    pub(crate) fn apiserver(&self, role: &Role, etcd: SocketAddr, port: u16) -> Server {
        let pki = self.pki;
        let mut arguments = vec![
            format!("--etcd-servers=http://{etcd}"),
            format!("--etcd-prefix=/{}", role.name()),
            format!("--secure-port={port}"),
            "--bind-address=127.0.0.1".to_owned(),
            "--advertise-address=127.0.0.1".to_owned(),
            // A loopback address is no valid endpoint of the `kubernetes` service.
            "--endpoint-reconciler-type=none".to_owned(),
            "--service-cluster-ip-range=10.96.0.0/16".to_owned(),
            "--authorization-mode=Node,RBAC".to_owned(),
            "--allow-privileged=true".to_owned(),
            "--profiling=false".to_owned(),
            format!("--tls-cert-file={}", pki.file("serving.crt")),
            format!("--tls-private-key-file={}", pki.file("serving.key")),
            format!("--client-ca-file={}", pki.file("ca.crt")),
            format!(
                "--requestheader-client-ca-file={}",
                pki.file("front-proxy-ca.crt")
            ),
            "--requestheader-allowed-names=front-proxy-client".to_owned(),
            "--requestheader-username-headers=X-Remote-User".to_owned(),
            "--requestheader-group-headers=X-Remote-Group".to_owned(),
            "--requestheader-extra-headers-prefix=X-Remote-Extra-".to_owned(),
            format!("--proxy-client-cert-file={}", pki.file("front-proxy.crt")),
            format!("--proxy-client-key-file={}", pki.file("front-proxy.key")),
            "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
            format!(
                "--service-account-signing-key-file={}",
                pki.file("service-accounts.key")
            ),
            format!(
                "--service-account-key-file={}",
                pki.file("service-accounts.pub")
            ),
        ];
        if !role.has_controllers() {
            // Nobody makes the default service accounts that this admission step would wait for.
            arguments.push("--disable-admission-plugins=ServiceAccount".to_owned());
        }
        self.server("kube-apiserver").args(arguments)
    }

    /// Everything that runs beside the API server; started when the API server is ready.
    pub(crate) fn companions(&self, role: &Role) -> Result<Vec<Server>> {
        match role {
            Role::ControlPlane { controllers: false } => Ok(Vec::new()),
            Role::ControlPlane { controllers: true } => {
                Ok(vec![self.controllers(CONTROL_PLANE_CONTROLLERS)])
            }
            Role::Member(member) if member.bare => Ok(Vec::new()),
            Role::Member(_) => Ok(vec![self.controllers("*"), self.scheduler(), self.kwok()?]),
        }
    }

    fn controllers(&self, which: &str) -> Server {
        let pki = self.pki;
        self.server("kube-controller-manager").args([
            format!("--kubeconfig={}", self.kubeconfig.display()),
            format!("--controllers={which}"),
            "--leader-elect=false".to_owned(),
            "--secure-port=0".to_owned(),
            format!(
                "--service-account-private-key-file={}",
                pki.file("service-accounts.key")
            ),
            format!("--root-ca-file={}", pki.file("ca.crt")),
            format!("--cluster-signing-cert-file={}", pki.file("ca.crt")),
            format!("--cluster-signing-key-file={}", pki.file("ca.key")),
            // A test that freezes the API server for a minute is not about nodes.
            "--node-monitor-grace-period=10m".to_owned(),
            "--kube-api-qps=200".to_owned(),
            "--kube-api-burst=400".to_owned(),
        ])
    }

    fn scheduler(&self) -> Server {
        self.server("kube-scheduler").args([
            format!("--kubeconfig={}", self.kubeconfig.display()),
            "--leader-elect=false".to_owned(),
            "--secure-port=0".to_owned(),
            "--kube-api-qps=200".to_owned(),
            "--kube-api-burst=400".to_owned(),
        ])
    }

    fn kwok(&self) -> Result<Server> {
        let stages: PathBuf = self.directory.join("stages.yaml");
        fs::write(&stages, include_str!("stages.yaml")).context("writing the stages of kwok")?;
        Ok(self.server("kwok").args([
            format!("--kubeconfig={}", self.kubeconfig.display()),
            format!("--config={}", stages.display()),
            "--manage-all-nodes=true".to_owned(),
            // The heartbeat of the nodes; without it they are lost when the grace period is over.
            "--node-lease-duration-seconds=40".to_owned(),
            "--node-ip=10.0.0.1".to_owned(),
            "--cidr=10.1.0.0/16".to_owned(),
        ]))
    }

    fn server(&self, name: &str) -> Server {
        Server::new(self.reaper, name, self.binaries.path(name), self.directory)
    }
}
