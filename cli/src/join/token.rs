//! Waiting for the token of a service account.

use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::Secret;
use kube::Client;
use kube::api::Api;

use crate::trouble::Trouble;

/// The member's controllers fill the Secret within a second; busy ones later.
const PATIENCE: Duration = Duration::from_secs(30);

/// What a token Secret holds.
pub(crate) struct Token {
    pub(crate) token: String,
    /// The authority of the cluster, as PEM.
    pub(crate) authority: Option<String>,
}

/// There is no token.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub(crate) enum Error {
    #[error("{member}: cannot get the secret {namespace}/{name}: {trouble}")]
    #[diagnostic(help("{}", trouble.next()))]
    Get {
        member: String,
        namespace: String,
        name: String,
        trouble: Trouble,
    },
    #[error("{member} put no token into the secret {namespace}/{name} within {} s", PATIENCE.as_secs())]
    #[diagnostic(help(
        "check that the member's kube-controller-manager runs, and that its serviceaccount-token-controller is on"
    ))]
    Never {
        member: String,
        namespace: String,
        name: String,
    },
}

/// Waits until the Secret of this namespace and name has its token.
pub(crate) async fn wait(
    client: &Client,
    member: &str,
    (namespace, name): &(String, String),
) -> Result<Token, Error> {
    let api: Api<Secret> = Api::namespaced(client.clone(), namespace);
    let start = Instant::now();
    loop {
        let secret = api.get(name).await.map_err(|error| Error::Get {
            member: member.to_owned(),
            namespace: namespace.clone(),
            name: name.clone(),
            trouble: Trouble::of(&error),
        })?;
        if let Some(token) = read(&secret) {
            return Ok(token);
        }
        if start.elapsed() > PATIENCE {
            return Err(Error::Never {
                member: member.to_owned(),
                namespace: namespace.clone(),
                name: name.clone(),
            });
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

fn read(secret: &Secret) -> Option<Token> {
    let data = secret.data.as_ref()?;
    let text = |key: &str| {
        let bytes = data.get(key)?.0.clone();
        String::from_utf8(bytes)
            .ok()
            .filter(|text| !text.is_empty())
    };
    Some(Token {
        token: text("token")?,
        authority: text("ca.crt"),
    })
}
