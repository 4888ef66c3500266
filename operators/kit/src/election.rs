//! One acting replica at a time, by a Lease.
//!
//! # Guarantees
//!
//! - [`Leadership::acquire`] returns when this process holds the lease; [`Leadership::lost`] when it does not any more, and also when nobody
//!   can tell: once the last renewal that is known of has run out, another process may act.
//! - A process that ends in peace frees the lease, so that the next one need not wait until it runs out.
//!
//! Losing the lease ends the process: what it had begun may have been taken over, and a fresh start is the one state that is always right.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use kube::{Api, Client};
use kube_lease_manager::{LeaseManager, LeaseManagerBuilder, LeaseManagerError};
use tokio::sync::watch;
use tokio::task::JoinHandle;

const LEASE: SignedDuration = SignedDuration::from_secs(15);
/// The lease is renewed so long before it runs out.
const GRACE: SignedDuration = SignedDuration::from_secs(7);
/// A renewal is looked for so long before the lease runs out: a little after it should have happened.
const LOOK: SignedDuration = SignedDuration::from_secs(6);
/// Two processes that find a lease run out at the same moment may both take it for theirs at first. The look soon afterwards shows it.
const FIRST_LOOK: Duration = Duration::from_secs(2);
const LOOK_AGAIN: Duration = Duration::from_millis(500);
const LONGEST_LOOK: Duration = Duration::from_secs(2);
const RELEASE: Duration = Duration::from_secs(5);

/// The lease, once held.
pub struct Leadership {
    leases: Api<Lease>,
    name: String,
    identity: String,
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
        let identity = identity();
        let leases = Api::namespaced(client.clone(), namespace);
        let manager = LeaseManagerBuilder::new(client, name)
            .with_namespace(namespace)
            .with_identity(identity.clone())
            // Each process has its own field manager: that two cannot take a lease at once rests on the conflict between managers.
            .with_field_manager(format!("karmada-election-{identity}"))
            .with_duration(LEASE.as_secs().unsigned_abs())
            .with_grace(GRACE.as_secs().unsigned_abs())
            .build()
            .await?;
        let (mut state, task) = manager.watch().await;
        // An error means that the task has ended; `lost` will say so at once.
        let _ = state.wait_for(|leads| *leads).await;
        Ok(Self {
            leases,
            name: name.to_owned(),
            identity,
            state,
            task,
        })
    }

    /// Returns when the lease is no longer held, or may not be.
    pub async fn lost(&mut self) {
        let Self {
            leases,
            name,
            identity,
            state,
            ..
        } = self;
        tokio::select! {
            _ = state.wait_for(|leads| !*leads) => {}
            () = unconfirmed(leases, name, identity) => {}
        }
    }

    /// Frees the lease, so that another process can act at once.
    pub async fn release(self) {
        let Self { state, task, .. } = self;
        drop(state);
        let why = match tokio::time::timeout(RELEASE, task).await {
            Ok(Ok(Ok(_))) => {
                tracing::info!("lease released");
                return;
            }
            Ok(Ok(Err(error))) => error.to_string(),
            Ok(Err(error)) => error.to_string(),
            Err(_) => format!("not done within {} s", RELEASE.as_secs()),
        };
        tracing::warn!(why, "lease not released; it runs out by itself");
    }
}

/// Returns when somebody else holds the lease, or when it has run out by our own clock, with which it was renewed. Whoever renews it keeps
/// trying when the API server does not answer, and does not tell.
async fn unconfirmed(leases: &Api<Lease>, name: &str, identity: &str) {
    let mut end = Timestamp::now() + LEASE;
    let mut pause = FIRST_LOOK;
    loop {
        tokio::time::sleep(pause).await;
        match tokio::time::timeout(LONGEST_LOOK, leases.get(name)).await {
            Ok(Ok(lease)) => {
                let spec = lease.spec.unwrap_or_default();
                if spec.holder_identity.as_deref() != Some(identity) {
                    tracing::warn!(
                        holder = spec.holder_identity,
                        "somebody else holds the lease"
                    );
                    return;
                }
                if let Some(renewed) = spec.renew_time {
                    end = renewed.0 + LEASE;
                }
            }
            Ok(Err(error)) => tracing::debug!(%error, "lease not read"),
            Err(_) => tracing::debug!("lease not read in time"),
        }
        let now = Timestamp::now();
        if now >= end {
            tracing::warn!("the lease ran out before it was renewed");
            return;
        }
        let until_look = Duration::try_from(end.duration_since(now) - LOOK).unwrap_or_default();
        pause = until_look.max(LOOK_AGAIN);
    }
}

/// The pod's name, which Kubernetes gives as the host name, and something that differs for each process.
fn identity() -> String {
    let host = std::env::var("POD_NAME")
        .or_else(|_| std::env::var("HOSTNAME"))
        .unwrap_or_else(|_| "local".to_owned());
    // Field managers have at most 128 characters, and this is part of one.
    let host: String = host.chars().take(80).collect();
    format!("{host}_{:08x}", rand::random::<u32>())
}
