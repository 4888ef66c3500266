//! The bed all tests share, and the command as people run it.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Stdio;

use testbed::{Cluster, Member, Shared, Testbed};
use tokio::sync::OnceCell;

static BED: Shared = Shared::new(|| {
    Testbed::builder()
        .member(Member::named("joins"))
        .member(Member::named("fails"))
        .member(Member::named("reads1").bare())
        .member(Member::named("reads2").bare())
        .member(Member::named("dies").bare())
});

/// The bed, with our kinds installed.
pub(crate) async fn bed() -> &'static Testbed {
    static INSTALLED: OnceCell<()> = OnceCell::const_new();
    let bed = BED.get().await;
    INSTALLED
        .get_or_init(async || bed.install_crds().await.unwrap())
        .await;
    bed
}

/// What the command said.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) good: bool,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Said {
    /// Everything on stderr in one line, without the marks of the error's frame.
    pub(crate) fn words(&self) -> String {
        self.err
            .replace(['│', '×', '╰', '─', '▶'], " ")
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
    }

    pub(crate) fn succeeds(self) -> Self {
        assert!(self.good, "it failed: {}{}", self.out, self.err);
        self
    }

    pub(crate) fn fails_with(self, words: &[&str]) -> Self {
        assert!(!self.good, "it succeeded: {}{}", self.out, self.err);
        for word in words {
            assert!(
                self.words().contains(word),
                "{word:?} is not in: {}",
                self.err
            );
        }
        self
    }
}

/// Runs the command against the control plane.
pub(crate) async fn karmadactl<A: AsRef<OsStr>>(bed: &Testbed, arguments: &[A]) -> Said {
    let output = tokio::process::Command::new(env!("CARGO_BIN_EXE_karmadactl"))
        .args(arguments)
        .env("KUBECONFIG", bed.control_plane().kubeconfig())
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
        .unwrap();
    Said {
        good: output.status.success(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Runs `join` with a kubeconfig of the member.
pub(crate) async fn join(bed: &Testbed, name: &str, kubeconfig: &Path, more: &[&str]) -> Said {
    let kubeconfig = kubeconfig.to_str().unwrap();
    let arguments = [&["join", name, "--cluster-kubeconfig", kubeconfig], more].concat();
    karmadactl(bed, &arguments).await
}

/// Names of all objects of these kinds that the command made and did not remove.
pub(crate) async fn made_in(cluster: &Cluster) -> String {
    cluster
        .kubectl(&[
            "get",
            "namespaces,serviceaccounts,secrets,clusterroles,clusterrolebindings",
            "--all-namespaces",
            "--selector=app.kubernetes.io/managed-by=karmadactl",
            "--ignore-not-found",
            "--output=name",
        ])
        .await
        .unwrap()
}
