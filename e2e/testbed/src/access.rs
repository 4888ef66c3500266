//! Service accounts, so that a test runs something with just the permissions it gets in production.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::{Namespace, ServiceAccount};
use k8s_openapi::api::rbac::v1::{ClusterRoleBinding, RoleRef, Subject};
use kube::api::{Api, ObjectMeta, PostParams};
use kube::core::Resource;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::cluster::Cluster;

/// Longer than any test.
const TOKEN_SECONDS: i64 = 24 * 3600;

/// A service account of one cluster.
pub struct Account<'a> {
    cluster: &'a Cluster,
    namespace: String,
    name: String,
}

impl Cluster {
    /// The service account of that name; it and its namespace are created if they do not exist.
    pub async fn service_account(&self, namespace: &str, name: &str) -> Result<Account<'_>> {
        let client = self.client();
        ensure(
            &Api::all(client.clone()),
            &Namespace {
                metadata: named(namespace),
                ..Namespace::default()
            },
        )
        .await?;
        ensure(
            &Api::namespaced(client, namespace),
            &ServiceAccount {
                metadata: named(name),
                ..ServiceAccount::default()
            },
        )
        .await?;
        Ok(Account {
            cluster: self,
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        })
    }
}

impl Account<'_> {
    /// Gives the account a `ClusterRole` that exists.
    pub async fn bind(&self, cluster_role: &str) -> Result<()> {
        let Self {
            cluster,
            namespace,
            name,
        } = self;
        ensure(
            &Api::all(cluster.client()),
            &ClusterRoleBinding {
                metadata: named(&format!("testbed:{namespace}:{name}:{cluster_role}")),
                role_ref: RoleRef {
                    api_group: Some("rbac.authorization.k8s.io".to_owned()),
                    kind: "ClusterRole".to_owned(),
                    name: cluster_role.to_owned(),
                },
                subjects: Some(vec![Subject {
                    kind: "ServiceAccount".to_owned(),
                    namespace: Some(namespace.clone()),
                    name: name.clone(),
                    ..Subject::default()
                }]),
            },
        )
        .await
    }

    /// A new token, good for a day.
    pub async fn token(&self) -> Result<String> {
        let accounts: Api<ServiceAccount> = Api::namespaced(self.cluster.client(), &self.namespace);
        let request = TokenRequest {
            spec: Some(TokenRequestSpec {
                expiration_seconds: Some(TOKEN_SECONDS),
                ..TokenRequestSpec::default()
            }),
            ..TokenRequest::default()
        };
        accounts
            .create_token_request(&self.name, &PostParams::default(), &request)
            .await
            .with_context(|| format!("requesting a token for {}/{}", self.namespace, self.name))?
            .status
            .and_then(|status| status.token)
            .context("the API server answered without a token")
    }

    /// A kubeconfig file with a new token; its connections go through the proxy.
    pub async fn kubeconfig(&self) -> Result<PathBuf> {
        let path = self
            .cluster
            .directory()
            .join(format!("kubeconfig-{}-{}", self.namespace, self.name));
        self.cluster
            .token_access(&self.name, self.token().await?)
            .write(&path)?;
        Ok(path)
    }

    /// A client with the account's permissions.
    pub async fn client(&self) -> Result<kube::Client> {
        let access = self.cluster.token_access(&self.name, self.token().await?);
        kube::Client::try_from(access.config().await?).context("making a client")
    }
}

pub(crate) fn named(name: &str) -> ObjectMeta {
    ObjectMeta {
        name: Some(name.to_owned()),
        ..ObjectMeta::default()
    }
}

/// Creates the object; one of that name that exists already is good as well.
pub(crate) async fn ensure<K>(api: &Api<K>, object: &K) -> Result<()>
where
    K: Resource<DynamicType = ()> + Clone + std::fmt::Debug + DeserializeOwned + Serialize,
{
    match api.create(&PostParams::default(), object).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.is_already_exists() => Ok(()),
        Err(error) => Err(error).with_context(|| {
            format!(
                "creating the {} {}",
                K::kind(&()),
                object.meta().name.as_deref().unwrap_or_default()
            )
        }),
    }
}
