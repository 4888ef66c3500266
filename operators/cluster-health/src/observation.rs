//! A sign of life: a Lease that is renewed as long as all members are looked at.
//!
//! Cluster objects are written when something changes, so an old `Ready` condition may mean that all is as it was, or that
//! nobody looks any more. Who acts on the loss of a cluster needs to know which. One Lease for the whole fleet tells, at the
//! price of one small write in an interval, however many members there are.

use std::sync::Arc;
use std::time::Duration;

use crds::names;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use kit::writer::Writer;
use kit::{CancellationToken, Failure, RequestError};
use kube::api::Api;
use serde_json::json;

use crate::cluster::Controller;

/// How often the sign is given.
const INTERVAL: Duration = Duration::from_secs(10);

/// Renews the Lease until `shutdown`.
pub(crate) async fn keep(
    controller: Arc<Controller>,
    writer: Writer,
    namespace: String,
    shutdown: CancellationToken,
) {
    let leases: Api<Lease> = Api::namespaced(writer.client().clone(), &namespace);
    let habits = controller.settings.habits;
    // A member is looked at in each interval; one that hangs takes its patience on top.
    let within = SignedDuration::try_from(3 * habits.interval + 2 * habits.patience)
        .unwrap_or(SignedDuration::MAX);
    loop {
        if controller.observes_all(within) {
            if let Err(error) = renew(&leases, &writer).await {
                tracing::warn!(
                    error = error.message(),
                    "the sign of life could not be given"
                );
            }
        } else {
            tracing::warn!("not all members were looked at lately; no sign of life is given");
        }
        tokio::select! {
            () = tokio::time::sleep(INTERVAL) => {}
            () = shutdown.cancelled() => return,
        }
    }
}

async fn renew(leases: &Api<Lease>, writer: &Writer) -> Result<(), RequestError> {
    let now = MicroTime(Timestamp::now());
    let patch = json!({"spec": {"holderIdentity": writer.manager(), "renewTime": now}});
    match writer
        .merge_patch(leases, names::OBSERVATION_LEASE, &patch)
        .await
    {
        Err(error) if error.failure() == Failure::NotFound => {}
        result => return result.map(|_| ()),
    }
    let lease = Lease {
        metadata: ObjectMeta {
            name: Some(names::OBSERVATION_LEASE.to_owned()),
            ..ObjectMeta::default()
        },
        spec: Some(LeaseSpec {
            holder_identity: Some(writer.manager().to_owned()),
            renew_time: Some(now),
            ..LeaseSpec::default()
        }),
    };
    writer.create(leases, &lease).await.map(|_| ())
}
