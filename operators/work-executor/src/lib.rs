//! Brings templates to member clusters as Works and their status back.
//!
//! | controller | from | to |
//! |---|---|---|
//! | `binding` | bindings, their templates, override policies, clusters; namespaces | one Work for each target |
//! | `execution` | Works, what of ours is in each member | objects in members, status of the Work |
//! | `customization` | customizations | events about what is wrong with them |
//! | `report` | Works | `FullyApplied` and `aggregatedStatus` of the binding, status of the template |
//!
//! Field managers: `karmada-work-executor/works` (Works, finalizers of bindings), `…/execution` (objects in members), `…/aggregate`
//! (statuses of bindings and templates).
//!
//! # Guarantees
//!
//! - Nothing in a member is touched that this control plane did not put there, unless the policy says `Overwrite`.
//! - Nothing is deleted because something was not seen: every cache is filled first, and an orphan's origin is looked for again.
//! - A member that hangs holds up only its own queue. A deleted Work waits for its member, or for the end of its Cluster.
//! - What is already true is not written: a restart with nothing changed writes nothing.

mod binding;
mod customization;
mod execution;
mod hub;
mod key;
mod members;
mod metrics;
mod problem;
mod report;
mod seen;
mod since;
mod world;

use std::sync::Arc;

use crds::cluster::Cluster;
use crds::config::ResourceInterpreterCustomization;
use crds::policy::{ClusterOverridePolicy, OverridePolicy};
use crds::scope::{Binding, Override};
use crds::work::{ClusterResourceBinding, ResourceBinding, Work};
use kit::process::Runtime;
use kit::watch::{self, Scope};

use hub::{Hub, namespace_kind};
use seen::{BindingSeen, ClusterSeen, OverrideSeen, WorkSeen};

/// How many bindings are worked on at once.
const BINDINGS: usize = 16;

/// How many statuses are put together at once.
const STATUSES: usize = 8;

/// Starts the controllers; they end with the runtime.
///
/// # Errors
///
/// None so far: what cannot be reached is tried again.
#[expect(
    clippy::unused_async,
    reason = "kit runs an operator's future; what there is to wait for is spawned"
)]
pub async fn run(runtime: Runtime) -> anyhow::Result<()> {
    let hub = Hub::start(&runtime);
    follow(
        &runtime,
        &hub,
        "clusters",
        |cluster: Cluster| Some(ClusterSeen::of(&cluster)),
        Hub::cluster_changed,
    );
    follow(
        &runtime,
        &hub,
        "works",
        |work: Work| WorkSeen::of(&work),
        Hub::work_changed,
    );
    follow(
        &runtime,
        &hub,
        "customizations",
        |customization: ResourceInterpreterCustomization| Some(customization),
        Hub::customization_changed,
    );
    follow_bindings::<ResourceBinding>(&runtime, &hub, "bindings");
    follow_bindings::<ClusterResourceBinding>(&runtime, &hub, "cluster bindings");
    follow_overrides::<OverridePolicy>(&runtime, &hub, "override policies");
    follow_overrides::<ClusterOverridePolicy>(&runtime, &hub, "cluster override policies");
    hub.templates.ensure(&namespace_kind());

    runtime.spawn(work(runtime.clone(), hub));
    Ok(())
}

/// Begins when everything has been listed.
async fn work(runtime: Runtime, hub: Arc<Hub>) {
    tokio::select! {
        () = runtime.readiness.ready() => {}
        () = runtime.shutdown.cancelled() => return,
    }
    hub.fill();
    let (binding, reporting, telling) = (Arc::clone(&hub), Arc::clone(&hub), Arc::clone(&hub));
    let origins = hub
        .origins
        .run(BINDINGS, runtime.shutdown.clone(), move |origin| {
            binding::bind(Arc::clone(&binding), origin)
        });
    let reports = hub
        .reports
        .run(STATUSES, runtime.shutdown.clone(), move |origin| {
            report::report(Arc::clone(&reporting), origin)
        });
    let faults = hub.faulty.run(1, runtime.shutdown.clone(), move |name| {
        customization::look(Arc::clone(&telling), name)
    });
    tokio::join!(origins, reports, faults);
}

fn follow<K, V>(
    runtime: &Runtime,
    hub: &Arc<Hub>,
    what: &'static str,
    compact: impl Fn(K) -> Option<V> + Send + 'static,
    changed: fn(&Hub, &watch::Change<V>),
) where
    K: kube::Resource<DynamicType = ()> + serde::de::DeserializeOwned + Send + 'static,
    V: PartialEq + Send + Sync + 'static,
{
    let hub = Arc::clone(hub);
    runtime.spawn(watch::run(
        runtime.client.clone(),
        Scope::host(),
        Arc::default(),
        Some(runtime.readiness.handle(what)),
        runtime.shutdown.clone(),
        compact,
        move |change| changed(&hub, &change),
    ));
}

fn follow_bindings<B: Binding>(runtime: &Runtime, hub: &Arc<Hub>, what: &'static str) {
    follow(
        runtime,
        hub,
        what,
        |binding: B| Some(BindingSeen::of(&binding)),
        Hub::binding_changed,
    );
}

fn follow_overrides<P: Override>(runtime: &Runtime, hub: &Arc<Hub>, what: &'static str) {
    follow(
        runtime,
        hub,
        what,
        |policy: P| Some(OverrideSeen::of(&policy)),
        Hub::override_changed,
    );
}
