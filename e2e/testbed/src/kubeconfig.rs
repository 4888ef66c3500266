//! Kubeconfig files, for kubectl, for operators and for our own clients.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::{Value, json};

use crate::pki::Identity;

/// How a client proves who it is.
#[derive(Clone, Debug)]
pub(crate) enum Credential {
    Certificate(Identity),
    Token(String),
}

/// A kubeconfig with one context, everything embedded.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    pub(crate) cluster: String,
    pub(crate) server: String,
    pub(crate) authority: String,
    pub(crate) user: String,
    pub(crate) credential: Credential,
}

impl Access {
    fn document(&self) -> Value {
        let user = match &self.credential {
            Credential::Certificate(identity) => json!({
                "client-certificate-data": STANDARD.encode(&identity.certificate),
                "client-key-data": STANDARD.encode(&identity.key),
            }),
            Credential::Token(token) => json!({ "token": token }),
        };
        json!({
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": self.cluster,
            "clusters": [{"name": self.cluster, "cluster": {
                "server": self.server,
                "certificate-authority-data": STANDARD.encode(&self.authority),
            }}],
            "users": [{"name": self.user, "user": user}],
            "contexts": [{"name": self.cluster, "context": {"cluster": self.cluster, "user": self.user}}],
        })
    }

    /// Writes the kubeconfig as JSON, which every reader of YAML understands.
    pub(crate) fn write(&self, path: &Path) -> Result<()> {
        let text =
            serde_json::to_string_pretty(&self.document()).context("rendering a kubeconfig")?;
        fs::write(path, text).with_context(|| format!("writing {}", path.display()))
    }

    /// The configuration our own clients are made from.
    pub(crate) async fn config(&self) -> Result<kube::Config> {
        let kubeconfig: Kubeconfig =
            serde_json::from_value(self.document()).context("reading our own kubeconfig")?;
        kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
            .await
            .context("making a client configuration")
    }
}
