//! The control plane under test and its members, and the few objects the scenarios put there.
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{ApiResource, DeleteParams, DynamicObject, GroupVersionKind, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use serde_json::{Value, json};

/// A member given as `NAME=KUBECONFIG`.
#[derive(Clone, Debug)]
pub struct MemberArg {
    /// Name of its Cluster object.
    pub name: String,
    /// Its kubeconfig.
    pub kubeconfig: PathBuf,
}

impl FromStr for MemberArg {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        let Some((name, file)) = text.split_once('=') else {
            bail!("`{text}` is not NAME=KUBECONFIG");
        };
        Ok(Self {
            name: name.to_owned(),
            kubeconfig: file.into(),
        })
    }
}

/// A member and a client for it.
#[derive(Clone)]
pub struct Member {
    /// Name of its Cluster object.
    pub name: String,
    /// Direct client, not through the control plane.
    pub client: Client,
}

/// The control plane and its members.
#[derive(Clone)]
pub struct Plane {
    /// Client of the control plane.
    pub host: Client,
    /// The members.
    pub members: Vec<Member>,
}

/// Connects with a kubeconfig.
pub async fn connect(kubeconfig: &Path) -> Result<Client> {
    let read = Kubeconfig::read_from(kubeconfig)
        .with_context(|| format!("reading {}", kubeconfig.display()))?;
    let config = Config::from_custom_kubeconfig(read, &KubeConfigOptions::default())
        .await
        .with_context(|| format!("using {}", kubeconfig.display()))?;
    Client::try_from(config).with_context(|| format!("connecting with {}", kubeconfig.display()))
}

/// Describes a kind well enough to reach it.
pub fn resource(group: &str, version: &str, kind: &str, plural: &str) -> ApiResource {
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural)
}

/// Kind `ConfigMap`.
pub fn config_maps() -> ApiResource {
    resource("", "v1", "ConfigMap", "configmaps")
}

/// Kind `Deployment`.
pub fn deployments() -> ApiResource {
    resource("apps", "v1", "Deployment", "deployments")
}

/// Kind `Work`.
pub fn works() -> ApiResource {
    resource("work.karmada.io", "v1alpha1", "Work", "works")
}

impl Plane {
    /// Connects to the control plane and every member.
    pub async fn connect(host: &Path, members: &[MemberArg]) -> Result<Self> {
        let host = connect(host).await?;
        let mut connected = Vec::new();
        for MemberArg { name, kubeconfig } in members {
            connected.push(Member {
                name: name.clone(),
                client: connect(kubeconfig).await?,
            });
        }
        Ok(Self {
            host,
            members: connected,
        })
    }

    /// Makes a namespace with a policy that duplicates every `ConfigMap` and Deployment of it to all members, and waits until it is in each of them.
    pub async fn arena(&self, prefix: &str) -> Result<Arena> {
        let namespaces: Api<Namespace> = Api::all(self.host.clone());
        let name = format!("{prefix}-{:x}", std::process::id());
        let namespace: Namespace = serde_json::from_value(json!({"metadata": {"name": name}}))?;
        namespaces
            .create(&PostParams::default(), &namespace)
            .await
            .context("creating the namespace of the scenario")?;
        let policies = self.api(
            &name,
            &resource(
                "policy.karmada.io",
                "v1alpha1",
                "PropagationPolicy",
                "propagationpolicies",
            ),
        );
        let clusters: Vec<&str> = self.members.iter().map(|m| m.name.as_str()).collect();
        let policy = json!({
            "apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy", "metadata": {"name": "bench", "namespace": name},
            "spec": {
                "resourceSelectors": [{"apiVersion": "v1", "kind": "ConfigMap"}, {"apiVersion": "apps/v1", "kind": "Deployment"}],
                "placement": {"clusterAffinity": {"clusterNames": clusters}, "replicaScheduling": {"replicaSchedulingType": "Duplicated"}}
            }
        });
        policies
            .create(&PostParams::default(), &serde_json::from_value(policy)?)
            .await
            .context("creating the policy of the scenario")?;
        for member in &self.members {
            let namespaces: Api<Namespace> = Api::all(member.client.clone());
            let deadline = tokio::time::Instant::now() + Duration::from_secs(120);
            while namespaces.get_opt(&name).await?.is_none() {
                if tokio::time::Instant::now() > deadline {
                    bail!(
                        "namespace {name} did not reach member {} within 120 s: is the system under test running?",
                        member.name
                    );
                }
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
        }
        Ok(Arena {
            plane: self.clone(),
            namespace: name,
        })
    }

    /// An untyped API of the control plane.
    pub fn api(&self, namespace: &str, kind: &ApiResource) -> Api<DynamicObject> {
        Api::namespaced_with(self.host.clone(), namespace, kind)
    }
}

/// A namespace in which one scenario runs.
pub struct Arena {
    /// Control plane and members.
    pub plane: Plane,
    /// Name of the namespace, the same everywhere.
    pub namespace: String,
}

impl Arena {
    /// Removes the namespace from the control plane and waits until it has left every member.
    pub async fn clear(self) -> Result<()> {
        let namespaces: Api<Namespace> = Api::all(self.plane.host.clone());
        namespaces
            .delete(&self.namespace, &DeleteParams::default())
            .await?;
        let deadline = tokio::time::Instant::now() + Duration::from_secs(600);
        for client in
            std::iter::once(&self.plane.host).chain(self.plane.members.iter().map(|m| &m.client))
        {
            let namespaces: Api<Namespace> = Api::all(client.clone());
            while namespaces.get_opt(&self.namespace).await?.is_some() {
                if tokio::time::Instant::now() > deadline {
                    bail!(
                        "namespace {} was not removed everywhere within 600 s",
                        self.namespace
                    );
                }
                tokio::time::sleep(Duration::from_millis(500)).await;
            }
        }
        Ok(())
    }
}

/// A small `ConfigMap`.
pub fn config_map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"purpose": "measurement", "text": "0123456789".repeat(20)}})
}

/// A Deployment with one replica.
pub fn deployment(name: &str) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "labels": {"app": name}},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "main", "image": "registry.example/app:1.0", "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}}}]}
            }
        }
    })
}
