//! Where the Kubernetes binaries come from.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};

/// The directory that holds etcd, the Kubernetes servers, kubectl and kwok.
#[derive(Clone, Debug)]
pub(crate) struct Binaries {
    directory: PathBuf,
}

impl Binaries {
    /// Asks `hack/kubernetes/build`, the one place that knows the order: `KUBEBUILDER_ASSETS`, the cache, from source.
    ///
    /// Its progress goes to the terminal, since a first build takes minutes.
    pub(crate) async fn locate() -> Result<Self> {
        tokio::task::spawn_blocking(|| {
            let script = crate::repository().join("hack/kubernetes/build");
            let output = Command::new(&script)
                .stdin(Stdio::null())
                .stderr(Stdio::inherit())
                .output()
                .with_context(|| format!("running {}", script.display()))?;
            ensure!(
                output.status.success(),
                "{} failed ({}); its messages are above",
                script.display(),
                output.status
            );
            let directory = String::from_utf8(output.stdout)
                .context("hack/kubernetes/build printed something that is not text")?;
            Ok(Self {
                directory: PathBuf::from(directory.trim()),
            })
        })
        .await
        .context("waiting for hack/kubernetes/build")?
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }
}
