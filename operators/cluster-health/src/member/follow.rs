//! Following a member's lists: what it serves, its nodes, its pods.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kit::failure::root_cause;
use kube::core::PartialObjectMeta;
use kube::runtime::watcher::{self, Event};
use kube::{Api, Resource};
use serde::de::DeserializeOwned;

use super::discovery::Discovery;
use super::inventory::{NodeView, Nodes, PodView, Pods};
use super::{Shared, Urgency, unknown_apis};

/// A definition is served a moment after its object changes.
const SETTLING: Duration = Duration::from_millis(500);

/// How long to wait after a failure, at first and at most.
const RETRY: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));

/// A request for a list that hangs is given up.
const PATIENCE: Duration = Duration::from_secs(30);

/// Asks for version and APIs while the member is healthy: at intervals, and when its definitions change.
pub(super) async fn apis(shared: Arc<Shared>) {
    let mut discovery = Discovery::default();
    let mut retry = RETRY.0;
    loop {
        shared.until_healthy().await;
        let wait = if ask(&shared, &mut discovery).await {
            retry = RETRY.0;
            shared.habits.discovery_interval
        } else {
            let wait = retry;
            retry = (retry * 2).min(RETRY.1);
            wait
        };
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = shared.discover.notified() => tokio::time::sleep(SETTLING).await,
        }
    }
}

async fn ask(shared: &Shared, discovery: &mut Discovery) -> bool {
    let version = match tokio::time::timeout(PATIENCE, shared.client.apiserver_version()).await {
        Ok(Ok(info)) => Some(info.git_version),
        Ok(Err(error)) => {
            tracing::debug!(
                error = root_cause(&error),
                "a member does not tell its version"
            );
            None
        }
        Err(_) => None,
    };
    let apis = match tokio::time::timeout(PATIENCE, discovery.apis(&shared.client)).await {
        Ok(Ok(apis)) => Some(apis),
        Ok(Err(error)) => {
            // What was known before is better than nothing.
            shared.seen().apis.is_none().then(|| unknown_apis(&error))
        }
        Err(_) => None,
    };
    let complete = version.is_some()
        && apis
            .as_ref()
            .is_some_and(|apis| !apis.enablements.is_empty());
    let changed = {
        let mut seen = shared.seen();
        let changed =
            (version.is_some() && seen.version != version) || (apis.is_some() && seen.apis != apis);
        seen.version = version.or(seen.version.take());
        seen.apis = apis.or(seen.apis.take());
        changed
    };
    if changed {
        shared.listener.wake(Urgency::Now);
    }
    complete
}

/// Asks for the APIs anew when a definition comes, changes or goes.
pub(super) async fn definitions(shared: Arc<Shared>) {
    let definitions: Api<PartialObjectMeta<CustomResourceDefinition>> =
        Api::all(shared.client.clone());
    follow(&shared, definitions, |event| {
        if matches!(event, Event::Apply(_) | Event::Delete(_) | Event::InitDone) {
            shared.discover.notify_one();
        }
        false
    })
    .await;
}

/// Keeps count of the nodes.
pub(super) async fn nodes(shared: Arc<Shared>) {
    let mut listed = Nodes::default();
    follow(
        &shared,
        Api::<NodeView>::all(shared.client.clone()),
        |event| match event {
            Event::Init => {
                listed = Nodes::default();
                false
            }
            Event::InitApply(node) => {
                listed.apply(node);
                false
            }
            Event::InitDone => {
                shared.seen().nodes = Some(std::mem::take(&mut listed));
                true
            }
            Event::Apply(node) => shared
                .seen()
                .nodes
                .as_mut()
                .is_some_and(|nodes| nodes.apply(node)),
            Event::Delete(node) => shared
                .seen()
                .nodes
                .as_mut()
                .is_some_and(|nodes| nodes.delete(&node)),
        },
    )
    .await;
}

/// Keeps count of the pods.
pub(super) async fn pods(shared: Arc<Shared>) {
    let mut listed = Pods::default();
    follow(
        &shared,
        Api::<PodView>::all(shared.client.clone()),
        |event| match event {
            Event::Init => {
                listed = Pods::default();
                false
            }
            Event::InitApply(pod) => {
                listed.apply(&pod);
                false
            }
            Event::InitDone => {
                shared.seen().pods = Some(std::mem::take(&mut listed));
                true
            }
            Event::Apply(pod) => shared
                .seen()
                .pods
                .as_mut()
                .is_some_and(|pods| pods.apply(&pod)),
            Event::Delete(pod) => shared
                .seen()
                .pods
                .as_mut()
                .is_some_and(|pods| pods.delete(&pod)),
        },
    )
    .await;
}

/// Hands every event to `take`, which says whether it changed a sum. After a failure it begins anew, later each time, and
/// not before the member is healthy.
async fn follow<K>(shared: &Shared, api: Api<K>, mut take: impl FnMut(Event<K>) -> bool)
where
    K: Resource + Clone + DeserializeOwned + Debug + Send + 'static,
{
    let mut retry = RETRY.0;
    let mut events = watcher::watcher(api, watcher::Config::default()).boxed();
    shared.until_healthy().await;
    loop {
        match events.try_next().await {
            Ok(Some(event)) => {
                retry = RETRY.0;
                if take(event) {
                    shared.listener.wake(Urgency::Soon);
                }
            }
            Ok(None) => return,
            Err(error) => {
                tracing::debug!(
                    error = root_cause(&error),
                    "a list of a member cannot be followed"
                );
                tokio::time::sleep(retry).await;
                retry = (retry * 2).min(RETRY.1);
                shared.until_healthy().await;
            }
        }
    }
}
