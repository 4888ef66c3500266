//! What the other tests need to reach an API server.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kit::Runtime;
use kit::client::{Limits, Server, connect};
use kit::metrics::Metrics;
use kube::Config;
use kube::api::{Api, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::json;
use testbed::Cluster;
use tokio::net::{TcpListener, TcpStream};

/// The configuration of an administrator.
pub(crate) async fn config(cluster: &Cluster) -> Config {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let kubeconfig = Kubeconfig::read_from(cluster.kubeconfig()).unwrap();
    Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
        .await
        .unwrap()
}

/// What an operator process would have, in this process.
pub(crate) async fn runtime(cluster: &Cluster) -> Runtime {
    let metrics = Metrics::new("test");
    let client = connect(config(cluster).await, Server::Host, Limits::HOST, &metrics).unwrap();
    Runtime::new("test", client, metrics)
}

/// A namespace in a cluster that is not the control plane.
pub(crate) async fn namespace(cluster: &Cluster, name: &str) {
    let namespaces: Api<Namespace> = Api::all(cluster.client());
    let namespace = serde_json::from_value(json!({"metadata": {"name": name}})).unwrap();
    namespaces
        .create(&PostParams::default(), &namespace)
        .await
        .unwrap();
}

pub(crate) fn map(name: &str) -> ConfigMap {
    serde_json::from_value(json!({"metadata": {"name": name}, "data": {"key": "value"}})).unwrap()
}

/// Passes connections on to an API server, and counts them.
pub(crate) struct Counting {
    pub(crate) address: SocketAddr,
    connections: Arc<AtomicUsize>,
}

impl Counting {
    pub(crate) async fn before(cluster: &Cluster) -> Self {
        let target = cluster.url().trim_start_matches("https://").to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let seen = Arc::clone(&connections);
        tokio::spawn(async move {
            while let Ok((mut near, _)) = listener.accept().await {
                seen.fetch_add(1, Ordering::SeqCst);
                let target = target.clone();
                tokio::spawn(async move {
                    let mut far = TcpStream::connect(target).await?;
                    tokio::io::copy_bidirectional(&mut near, &mut far).await
                });
            }
        });
        Self {
            address,
            connections,
        }
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}
