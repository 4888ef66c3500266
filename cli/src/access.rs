//! Ways to API servers: from kubeconfigs, and from the credentials that `join` stored.

use std::path::{Path, PathBuf};
use std::time::Duration;

use kube::client::ClientBuilder;
use kube::client::retry::RetryPolicy;
use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Client, Config};
use tower::buffer::BufferLayer;
use tower::retry::RetryLayer;

use crate::arguments::Global;
use crate::trouble::Trouble;

/// Requests of one client that may be under way at once.
const IN_FLIGHT: usize = 256;

/// An API server, and who we are there.
#[derive(Clone)]
pub(crate) struct Access {
    pub(crate) client: Client,
    pub(crate) config: Config,
    /// Where that was written, in words.
    pub(crate) origin: String,
}

/// A kubeconfig leads nowhere.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub(crate) enum Error {
    #[error("there is no kubeconfig")]
    #[diagnostic(help(
        "name the control plane's with --kubeconfig FILE or in the environment variable KUBECONFIG"
    ))]
    Absent(#[source] Box<KubeconfigError>),
    #[error("the kubeconfig {} cannot be read: {reason}", file.display())]
    #[diagnostic(help("check the file's name and permissions, and that `kubectl config view --kubeconfig {}` accepts it", file.display()))]
    Unreadable { file: PathBuf, reason: String },
    #[error("{origin} has no context {name:?}; it has {known}")]
    #[diagnostic(help("name one of them, with the option for the context of this kubeconfig"))]
    NoContext {
        origin: String,
        name: String,
        known: String,
    },
    #[error("{origin} has no current context; it has the contexts {known}")]
    #[diagnostic(help("name one of them, with the option for the context of this kubeconfig"))]
    NoCurrentContext { origin: String, known: String },
    #[error("{origin} is incomplete: {reason}")]
    #[diagnostic(help(
        "compare it with what `kubectl config view` shows for a cluster that works"
    ))]
    Incomplete { origin: String, reason: String },
    #[error("{origin} is of no use: {trouble}")]
    #[diagnostic(help("{}", trouble.next()))]
    Useless { origin: String, trouble: Trouble },
}

impl Access {
    /// The control plane.
    pub(crate) async fn control_plane(global: &Global) -> Result<Self, Error> {
        Self::open(
            global.kubeconfig.as_deref(),
            global.karmada_context.as_deref(),
            global.request_timeout,
        )
        .await
    }

    /// What a kubeconfig leads to; without a file, the usual one.
    pub(crate) async fn open(
        file: Option<&Path>,
        context: Option<&str>,
        timeout: Duration,
    ) -> Result<Self, Error> {
        let (kubeconfig, place) = match file {
            Some(file) => (read(file)?, file.display().to_string()),
            None => (
                Kubeconfig::read().map_err(|error| Error::Absent(Box::new(error)))?,
                "the kubeconfig".to_owned(),
            ),
        };
        let known = names(&kubeconfig);
        let chosen = context.or(kubeconfig.current_context.as_deref());
        let chosen = chosen.filter(|name| !name.is_empty()).map(str::to_owned);
        let Some(chosen) = chosen else {
            return Err(Error::NoCurrentContext {
                origin: place,
                known,
            });
        };
        if !kubeconfig.contexts.iter().any(|one| one.name == chosen) {
            return Err(Error::NoContext {
                origin: place,
                name: chosen,
                known,
            });
        }
        let origin = format!("{place}, context {chosen}");
        let options = KubeConfigOptions {
            context: Some(chosen),
            ..KubeConfigOptions::default()
        };
        let config = Config::from_custom_kubeconfig(kubeconfig, &options)
            .await
            .map_err(|error| Error::Incomplete {
                origin: origin.clone(),
                reason: error.to_string(),
            })?;
        Self::new(config, origin, timeout)
    }

    /// A client that gives up in time: whoever waits at a terminal is to know. Only a server that answers "not now" (`429`, `503`, `504`, as
    /// in the moment after kinds were installed) is asked a few times more, when it says.
    pub(crate) fn new(
        mut config: Config,
        origin: String,
        timeout: Duration,
    ) -> Result<Self, Error> {
        config.connect_timeout = Some(timeout);
        config.read_timeout = Some(timeout);
        config.write_timeout = Some(timeout);
        // kube's own policy may go on for minutes.
        config.default_retry = false;
        let retry = RetryPolicy::new(Duration::from_millis(200), Duration::from_secs(2), 4, true)
            .expect("the first pause is not longer than the longest");
        match ClientBuilder::try_from(config.clone()) {
            Ok(builder) => Ok(Self {
                client: builder
                    .with_layer(&BufferLayer::new(IN_FLIGHT))
                    .with_layer(&RetryLayer::new(retry))
                    .build(),
                config,
                origin,
            }),
            Err(error) => Err(Error::Useless {
                origin,
                trouble: Trouble::of(&error),
            }),
        }
    }

    /// The address of the API server.
    pub(crate) fn address(&self) -> String {
        self.config
            .cluster_url
            .to_string()
            .trim_end_matches('/')
            .to_owned()
    }

    /// The certificate authorities that the API server is verified with, as PEM.
    pub(crate) fn authorities(&self) -> Option<String> {
        let certificates = self.config.root_cert.as_ref()?;
        Some(certificates.iter().map(|one| pem(one)).collect())
    }
}

fn read(file: &Path) -> Result<Kubeconfig, Error> {
    Kubeconfig::read_from(file).map_err(|error| Error::Unreadable {
        file: file.to_owned(),
        reason: match error {
            KubeconfigError::ReadConfig(error, _) => error.to_string(),
            other => other.to_string(),
        },
    })
}

fn names(kubeconfig: &Kubeconfig) -> String {
    let names: Vec<&str> = kubeconfig
        .contexts
        .iter()
        .map(|context| context.name.as_str())
        .collect();
    if names.is_empty() {
        "none".to_owned()
    } else {
        names.join(", ")
    }
}

/// A certificate in the form that Secrets and kubeconfigs hold.
fn pem(certificate: &[u8]) -> String {
    use base64::Engine as _;
    let text = base64::engine::general_purpose::STANDARD.encode(certificate);
    let lines: Vec<&str> = text
        .as_bytes()
        .chunks(64)
        .map(|line| std::str::from_utf8(line).expect("base64 is ASCII"))
        .collect();
    format!(
        "-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n",
        lines.join("\n")
    )
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(1);

    fn file(text: &str) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), text).expect("written");
        file
    }

    async fn error(file: &Path, context: Option<&str>) -> Error {
        match Access::open(Some(file), context, TIMEOUT).await {
            Ok(access) => unreachable!("{} was accepted", access.origin),
            Err(error) => error,
        }
    }

    fn two_contexts(user: &str) -> tempfile::NamedTempFile {
        file(&format!(
            r#"{{"apiVersion": "v1", "kind": "Config", "contexts": [
                {{"name": "one", "context": {{"cluster": "c", "user": "u"}}}},
                {{"name": "two", "context": {{"cluster": "c", "user": "u"}}}}],
              "clusters": [{{"name": "c", "cluster": {{"server": "https://127.0.0.1:1"}}}}],
              "users": [{{"name": "u", "user": {user}}}]}}"#
        ))
    }

    #[tokio::test]
    async fn file_that_is_not_there_is_named() {
        let error = error(Path::new("/nowhere/kubeconfig"), None).await;
        assert_eq!(
            error.to_string(),
            "the kubeconfig /nowhere/kubeconfig cannot be read: No such file or directory (os error 2)"
        );
    }

    #[tokio::test]
    async fn file_that_is_no_kubeconfig_is_refused() {
        let file = file("{{{");
        assert!(matches!(
            error(file.path(), None).await,
            Error::Unreadable { .. }
        ));
    }

    #[tokio::test]
    async fn unknown_context_is_answered_with_the_known_ones() {
        let file = two_contexts("{}");
        let error = error(file.path(), Some("three")).await;
        assert!(
            error
                .to_string()
                .ends_with("has no context \"three\"; it has one, two"),
            "{error}"
        );
    }

    #[tokio::test]
    async fn without_a_current_context_the_known_ones_are_named() {
        let file = two_contexts("{}");
        let error = error(file.path(), None).await;
        assert!(
            error.to_string().ends_with("it has the contexts one, two"),
            "{error}"
        );
    }

    #[tokio::test]
    async fn certificate_of_version_1_is_explained() {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data");
        let file = two_contexts(&format!(
            r#"{{"client-certificate": "{directory}/version-1.crt", "client-key": "{directory}/version-1.key"}}"#
        ));
        let error = error(file.path(), Some("one")).await;
        let Error::Useless { trouble, .. } = &error else {
            unreachable!("{error:?}")
        };
        assert_eq!(*trouble, Trouble::ClientCertificateVersion);
        assert!(error.to_string().contains("X.509 version 1"), "{error}");
        assert!(trouble.next().contains("extendedKeyUsage"));
    }

    #[test]
    fn pem_has_lines_of_64() {
        let text = pem(&[7; 100]);
        assert!(text.lines().all(|line| line.len() <= 64));
        let read = rustls_pem(&text);
        assert_eq!(read, [7; 100]);
    }

    fn rustls_pem(text: &str) -> Vec<u8> {
        use rustls::pki_types::CertificateDer;
        use rustls::pki_types::pem::PemObject as _;
        CertificateDer::from_pem_slice(text.as_bytes())
            .expect("PEM")
            .to_vec()
    }

    /// A server that answers each connection once, in this order.
    async fn server(answers: &'static [&'static str]) -> Access {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move {
            for answer in answers {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut request = [0; 4096];
                let _ = stream.read(&mut request).await.unwrap();
                stream.write_all(answer.as_bytes()).await.unwrap();
            }
        });
        let config = Config::new(url.parse().unwrap());
        Access::new(config, "a test".to_owned(), Duration::from_secs(10)).unwrap()
    }

    const VERSION: &str = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: application/json\r\n\r\n\
        {\"major\":\"1\",\"minor\":\"37\",\"gitVersion\":\"v1.37.2\",\"gitCommit\":\"\",\"gitTreeState\":\"\",\
        \"buildDate\":\"\",\"goVersion\":\"\",\"compiler\":\"\",\"platform\":\"\"}";

    #[tokio::test]
    async fn a_server_that_says_not_now_is_asked_again() {
        let access = server(&[
            "HTTP/1.1 429 Too Many Requests\r\nconnection: close\r\nretry-after: 0\r\ncontent-length: 0\r\n\r\n",
            "HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\ncontent-length: 0\r\n\r\n",
            VERSION,
        ])
        .await;
        let version = access.client.apiserver_version().await.unwrap();
        assert_eq!(version.git_version, "v1.37.2");
    }

    #[tokio::test]
    async fn a_server_that_refuses_is_asked_once() {
        let access = server(&[
            "HTTP/1.1 500 Internal Server Error\r\nconnection: close\r\ncontent-length: 0\r\n\r\n",
            VERSION,
        ])
        .await;
        assert!(access.client.apiserver_version().await.is_err());
    }
}
