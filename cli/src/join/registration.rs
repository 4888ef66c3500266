//! What is made on the control plane: the member's credentials, and its Cluster object.

use std::time::Duration;

use crds::cluster::{Cluster, ClusterSpec, ClusterSyncMode, LocalSecretReference};
use crds::namespaces::KARMADA_CLUSTER;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{Namespace, Secret};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::api::{Api, DynamicObject, Patch, PatchParams, PostParams};
use kube::config::AuthInfo;
use kube::{Client, Config, ResourceExt as _};
use serde_json::json;

use super::token::Token;
use super::writing;
use crate::access::{self, Access};
use crate::arguments::Join;
use crate::diagnosis::Permission;
use crate::objects::{MANAGER, Object};
use crate::trouble::Trouble;

/// The control plane does not take the member.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub(crate) enum Error {
    #[error("the control plane would not take the member {name}: {trouble}")]
    #[diagnostic(help("{}", trouble.next()))]
    Rejected { name: String, trouble: Trouble },
    #[error("the control plane: cannot patch cluster/{name}: {trouble}")]
    #[diagnostic(help("{}", trouble.next()))]
    Update { name: String, trouble: Trouble },
    #[error("the control plane: cannot patch secret/{secret} -n {KARMADA_CLUSTER}: {trouble}")]
    #[diagnostic(help("{}", trouble.next()))]
    Owner { secret: String, trouble: Trouble },
}

/// A member as the control plane is to know it.
pub(crate) struct Registration {
    name: String,
    spec: ClusterSpec,
    config: Config,
    authority: Option<String>,
    token: String,
    impersonator: String,
}

/// What whoever joins must be allowed to do on the control plane.
pub(crate) fn needs() -> Vec<Permission> {
    let mut needs = writing("", "namespaces").to_vec();
    needs.extend(writing("", "secrets").map(|need| need.within(KARMADA_CLUSTER)));
    needs.extend(writing("cluster.karmada.io", "clusters"));
    needs.push(Permission::on("list", "cluster.karmada.io", "clusters"));
    needs
}

impl Registration {
    /// The member, as the command line and the member's kubeconfig describe it; still without credentials.
    pub(crate) fn new(join: &Join, member: &Access, id: &str) -> Self {
        let config = &member.config;
        let secret = |name: String| {
            Some(LocalSecretReference {
                namespace: KARMADA_CLUSTER.to_owned(),
                name,
            })
        };
        let spec = ClusterSpec {
            id: Some(id.to_owned()),
            sync_mode: ClusterSyncMode::Push,
            api_endpoint: Some(member.address()),
            secret_ref: secret(join.name.clone()),
            impersonator_secret_ref: secret(crds::names::impersonator_secret(&join.name)),
            insecure_skip_tls_verification: config.accept_invalid_certs.then_some(true),
            proxy_url: config.proxy_url.as_ref().map(ToString::to_string),
            provider: join.cluster_provider.clone(),
            region: join.cluster_region.clone(),
            zones: join.cluster_zones.clone(),
            ..ClusterSpec::default()
        };
        Self {
            name: join.name.clone(),
            spec,
            config: config.clone(),
            authority: member.authorities(),
            token: String::new(),
            impersonator: String::new(),
        }
    }

    /// Adds the tokens. The authority is the one that the kubeconfig verified the address with, which need not be the
    /// cluster's own; without one there, it is the cluster's.
    pub(crate) fn credentials(&mut self, token: &Token, impersonator: &Token) {
        self.token.clone_from(&token.token);
        self.impersonator.clone_from(&impersonator.token);
        if self.authority.is_none() {
            self.authority.clone_from(&token.authority);
        }
    }

    /// The member through the eyes of the operators: with the new account, and nothing of the kubeconfig's user.
    pub(crate) fn access(&self, timeout: Duration) -> Result<Access, access::Error> {
        let mut config = self.config.clone();
        config.auth_info = AuthInfo {
            token: Some(self.token.clone().into()),
            ..AuthInfo::default()
        };
        Access::new(config, format!("the new account in {}", self.name), timeout)
    }

    /// Lets the control plane judge the Cluster object before anything is made anywhere.
    pub(crate) async fn accepted(&self, client: &Client, known: bool) -> Result<(), Error> {
        let api: Api<Cluster> = Api::all(client.clone());
        let judged = if known {
            let parameters = PatchParams {
                dry_run: true,
                ..PatchParams::default()
            };
            api.patch(&self.name, &parameters, &self.merge()).await
        } else {
            let parameters = PostParams {
                dry_run: true,
                ..PostParams::default()
            };
            api.create(&parameters, &Cluster::new(&self.name, self.spec.clone()))
                .await
        };
        judged.map(drop).map_err(|error| Error::Rejected {
            name: self.name.clone(),
            trouble: Trouble::of(&error),
        })
    }

    /// The namespace of credentials, and the credentials.
    pub(crate) fn secrets(&self) -> Vec<Object> {
        let namespace = Namespace {
            metadata: ObjectMeta {
                name: Some(KARMADA_CLUSTER.to_owned()),
                ..ObjectMeta::default()
            },
            ..Namespace::default()
        };
        let secret = |name: String, token: &str| {
            let bytes = |text: &str| ByteString(text.as_bytes().to_vec());
            let mut data = vec![("token".to_owned(), bytes(token))];
            if let Some(authority) = &self.authority {
                data.push(("caBundle".to_owned(), bytes(authority)));
            }
            Object::new(&Secret {
                metadata: ObjectMeta {
                    name: Some(name),
                    namespace: Some(KARMADA_CLUSTER.to_owned()),
                    ..ObjectMeta::default()
                },
                data: Some(data.into_iter().collect()),
                ..Secret::default()
            })
        };
        let [own, impersonator] = self.secret_names();
        vec![
            Object::new(&namespace),
            secret(own, &self.token),
            secret(impersonator, &self.impersonator),
        ]
    }

    /// The Cluster object of a new member.
    pub(crate) fn cluster(&self) -> Object {
        let mut object = Object::new(&Cluster::new(&self.name, self.spec.clone()));
        // The labels of members belong to users, who select by them.
        object.content.metadata.labels = None;
        object
    }

    /// Brings the Cluster object of a known member up to date, and leaves alone what was not said this time.
    pub(crate) async fn update(&self, client: &Client) -> Result<DynamicObject, Error> {
        self.cluster()
            .api(client)
            .patch(&self.name, &PatchParams::default(), &self.merge())
            .await
            .map_err(|error| Error::Update {
                name: self.name.clone(),
                trouble: Trouble::of(&error),
            })
    }

    fn merge(&self) -> Patch<serde_json::Value> {
        let spec = serde_json::to_value(&self.spec).expect("our own objects are JSON");
        Patch::Merge(json!({"spec": spec}))
    }

    /// Lets the credentials go with the Cluster object.
    pub(crate) async fn own_secrets(
        &self,
        client: &Client,
        cluster: &DynamicObject,
    ) -> Result<(), Error> {
        let api: Api<Secret> = Api::namespaced(client.clone(), KARMADA_CLUSTER);
        let owner = OwnerReference {
            api_version: Cluster::KIND.api_version(),
            kind: Cluster::KIND.kind.to_owned(),
            name: self.name.clone(),
            uid: cluster.uid().unwrap_or_default(),
            ..OwnerReference::default()
        };
        let patch = Patch::Merge(json!({"metadata": {"ownerReferences": [owner]}}));
        for secret in self.secret_names() {
            let parameters = PatchParams {
                field_manager: Some(MANAGER.to_owned()),
                ..PatchParams::default()
            };
            api.patch_metadata(&secret, &parameters, &patch)
                .await
                .map_err(|error| Error::Owner {
                    secret: secret.clone(),
                    trouble: Trouble::of(&error),
                })?;
        }
        Ok(())
    }

    fn secret_names(&self) -> [String; 2] {
        [
            self.name.clone(),
            crds::names::impersonator_secret(&self.name),
        ]
    }
}
