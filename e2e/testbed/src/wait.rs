//! Waiting for something to become true, with a deadline that tells what was seen instead.

use std::fmt::{Debug, Display};
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use kube::Api;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Long enough for a busy machine; a wait ends as soon as its condition holds.
pub const PATIENCE: Duration = Duration::from_mins(1);

const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_millis(300);
/// A request over a connection that a failed network swallowed never ends; the next attempt may.
const LONGEST_ATTEMPT: Duration = Duration::from_secs(10);

/// Calls `probe` until it returns `Ok`. The error of the last call says what was seen, and is printed if time runs out.
///
/// ```no_run
/// # async fn f(api: kube::Api<k8s_openapi::api::core::v1::ConfigMap>) -> anyhow::Result<()> {
/// use testbed::wait;
/// let map = wait::until("the config map to have data", wait::PATIENCE, async || {
///     let map = api.get("settings").await.map_err(|error| error.to_string())?;
///     map.data.ok_or_else(|| "no data".to_owned())
/// })
/// .await?;
/// # Ok(()) }
/// ```
pub async fn until<T, E: Display>(
    what: impl Display,
    within: Duration,
    mut probe: impl AsyncFnMut() -> Result<T, E>,
) -> Result<T> {
    let start = Instant::now();
    let mut pause = FIRST_PAUSE;
    let mut last = "nothing".to_owned();
    loop {
        let left = within.saturating_sub(start.elapsed()).min(LONGEST_ATTEMPT);
        match tokio::time::timeout(left, probe()).await {
            Ok(Ok(value)) => return Ok(value),
            Ok(Err(seen)) => last = format!("{seen:#}"),
            Err(_) => last = format!("an attempt did not end within {left:?}; before it: {last}"),
        }
        if start.elapsed() + pause >= within {
            return Err(anyhow!("waited {within:?} for {what}; seen last: {last}"));
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 3 / 2).min(LONGEST_PAUSE);
    }
}

/// Waits until the object exists and `holds` for it; prints the object as it was if it never did.
pub async fn object<K>(
    api: &Api<K>,
    name: &str,
    what: impl Display,
    within: Duration,
    mut holds: impl FnMut(&K) -> bool,
) -> Result<K>
where
    K: Clone + Debug + DeserializeOwned + Serialize,
{
    until(format!("{name}: {what}"), within, async || {
        match api.get_opt(name).await {
            Ok(Some(object)) if holds(&object) => Ok(object),
            Ok(Some(object)) => Err(serde_json::to_string_pretty(&object)
                .unwrap_or_else(|error| format!("{object:?} ({error})"))),
            Ok(None) => Err("no such object".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    })
    .await
}

/// Waits until no object of that name exists.
pub async fn gone<K>(api: &Api<K>, name: &str, within: Duration) -> Result<()>
where
    K: Clone + Debug + DeserializeOwned + Serialize,
{
    until(format!("{name} to be gone"), within, async || {
        match api.get_opt(name).await {
            Ok(None) => Ok(()),
            Ok(Some(object)) => Err(serde_json::to_string_pretty(&object)
                .unwrap_or_else(|error| format!("{object:?} ({error})"))),
            Err(error) => Err(error.to_string()),
        }
    })
    .await
}
