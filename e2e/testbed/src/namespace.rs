//! A namespace of its own for each test.

use std::fs::File;
use std::process::Stdio;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use anyhow::Result;
use kube::api::{Api, DeleteParams};

use crate::access::{ensure, named};
use crate::bed::Testbed;
use crate::cluster::Cluster;

/// Prints all objects of the namespace `$1`. A frozen API server answers nobody; the others' state is worth having all the same.
const DUMP: &str = r#"
kubectl() { command "$KUBECTL" --request-timeout=5s "$@"; }
kinds=$(kubectl api-resources --verbs=list --namespaced -o name | paste -sd, -)
kubectl get "$kinds" -n "$1" -o yaml --show-managed-fields
for kind in clusters.cluster.karmada.io works.work.karmada.io resourcebindings.work.karmada.io; do
  echo "--- # $kind"
  kubectl get "$kind" -A -o yaml
done"#;

/// A namespace on the control plane that belongs to one test.
///
/// At its end it is deleted. If the test panics, everything in it – on the control plane and in the members –
/// is written to a file first, with the clusters, works and bindings of the whole bed.
pub struct Namespace<'a> {
    bed: &'a Testbed,
    name: String,
}

impl Testbed {
    /// Creates a namespace whose name begins with `prefix`.
    pub async fn namespace(&self, prefix: &str) -> Result<Namespace<'_>> {
        static NUMBER: AtomicU32 = AtomicU32::new(1);
        let name = format!("{prefix}-{}", NUMBER.fetch_add(1, Ordering::Relaxed));
        let object = k8s_openapi::api::core::v1::Namespace {
            metadata: named(&name),
            ..k8s_openapi::api::core::v1::Namespace::default()
        };
        ensure(&Api::all(self.control_plane().client()), &object).await?;
        Ok(Namespace { bed: self, name })
    }
}

impl Namespace<'_> {
    /// The namespace's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The bed it is on.
    pub fn bed(&self) -> &Testbed {
        self.bed
    }

    /// Writes the state of this namespace everywhere to files in the bed's directory, which then stays.
    pub fn dump(&self) {
        self.bed.keep_logs();
        for cluster in std::iter::once(self.bed.control_plane()).chain(self.bed.members()) {
            self.dump_cluster(cluster);
        }
    }

    fn dump_cluster(&self, cluster: &Cluster) {
        let path = cluster.directory().join(format!("{}.yaml", self.name));
        let Ok(file) = File::create(&path) else {
            return;
        };
        let Ok(errors) = file.try_clone() else {
            return;
        };
        let kubectl = cluster.kubectl_command();
        let mut shell = std::process::Command::new("sh");
        shell
            .args(["-c", DUMP, "dump", &self.name])
            .envs(
                kubectl
                    .get_envs()
                    .filter_map(|(key, value)| value.map(|value| (key, value))),
            )
            .env("KUBECTL", kubectl.get_program())
            .stdin(Stdio::null())
            .stdout(file)
            .stderr(errors);
        // The test has failed already; that its state could not be read must not hide why.
        let _ = shell.status();
    }

    fn delete(&self) {
        let (done, wait) = mpsc::channel();
        let cluster = self.bed.control_plane();
        let name = self.name.clone();
        let runtime = self.bed.runtime();
        let client = {
            let _entered = runtime.enter();
            cluster.client()
        };
        runtime.spawn(async move {
            let namespaces: Api<k8s_openapi::api::core::v1::Namespace> = Api::all(client);
            if let Err(error) = namespaces.delete(&name, &DeleteParams::background()).await {
                tracing::warn!(%error, namespace = name, "could not delete a test's namespace");
            }
            let _ = done.send(());
        });
        // Only the request has to be out before the test ends.
        let _ = wait.recv_timeout(Duration::from_secs(10));
    }
}

impl Drop for Namespace<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.dump();
        }
        self.delete();
    }
}
