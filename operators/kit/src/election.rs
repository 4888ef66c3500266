//! One acting replica at a time, by a Lease.
//!
//! Losing the lease ends the process: what it had begun may have been taken over, and a fresh start is the one state that is
//! always right. A process that ends in peace frees the lease, so that the next one acts at once.

use std::time::Duration;

use kube::Client;
use kube_lease_manager::{LeaseManager, LeaseManagerBuilder, LeaseManagerError};
use tokio::sync::watch;
use tokio::task::JoinHandle;

const LEASE_SECONDS: u64 = 15;
/// The lease is renewed so long before it ends.
const GRACE_SECONDS: u64 = 5;
const RELEASE: Duration = Duration::from_secs(5);

/// The lease, once held.
pub struct Leadership {
    state: watch::Receiver<bool>,
    task: JoinHandle<Result<LeaseManager, LeaseManagerError>>,
}

impl Leadership {
    /// Waits until this process holds the lease.
    ///
    /// # Errors
    ///
    /// If the lease cannot be read or created.
    pub async fn acquire(
        client: Client,
        name: &str,
        namespace: &str,
    ) -> Result<Self, LeaseManagerError> {
        let manager = LeaseManagerBuilder::new(client, name)
            .with_namespace(namespace)
            .with_identity(identity())
            .with_field_manager(format!("karmada-{name}/election"))
            .with_duration(LEASE_SECONDS)
            .with_grace(GRACE_SECONDS)
            .build()
            .await?;
        let (mut state, task) = manager.watch().await;
        // An error means that the task has ended; `lost` will say so at once.
        let _ = state.wait_for(|leads| *leads).await;
        Ok(Self { state, task })
    }

    /// Returns when the lease is no longer held.
    pub async fn lost(&mut self) {
        let _ = self.state.wait_for(|leads| !*leads).await;
    }

    /// Frees the lease, so that another process can act at once.
    pub async fn release(self) {
        let Self { state, task } = self;
        drop(state);
        match tokio::time::timeout(RELEASE, task).await {
            Ok(Ok(Ok(_))) => tracing::info!("lease released"),
            Ok(Ok(Err(error))) => tracing::warn!(%error, "lease not released; it ends by itself"),
            Ok(Err(error)) => tracing::warn!(%error, "lease not released; it ends by itself"),
            Err(_) => tracing::warn!("lease not released in time; it ends by itself"),
        }
    }
}

/// The pod's name, which Kubernetes gives as the host name, and something that differs for each process.
fn identity() -> String {
    let host = std::env::var("POD_NAME")
        .or_else(|_| std::env::var("HOSTNAME"))
        .unwrap_or_else(|_| "local".to_owned());
    format!("{host}_{:08x}", rand::random::<u32>())
}
