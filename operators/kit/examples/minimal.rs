//! The smallest operator there is: it marks each `ConfigMap` that wants to be marked. Shows how the parts of kit belong together;
//! the tests of kit run it as a process.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use clap::Parser;
use k8s_openapi::api::core::v1::ConfigMap;
use kit::queue::{Outcome, Queue};
use kit::store::{Key, Store};
use kit::watch::{self, Scope};
use kit::writer::Writer;
use kube::api::Api;
use serde_json::json;

/// Objects with this label are ours.
const WANTED: &str = "kit.karmada.io/wanted";
/// Set once the work is done.
const DONE: &str = "kit.karmada.io/done";

#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    kit: kit::Args,
    /// How long the work on one object takes, in milliseconds
    #[arg(long, default_value_t = 0)]
    work_millis: u64,
}

fn main() -> Result<()> {
    let Arguments { kit, work_millis } = Arguments::parse();
    kit::main("minimal", &kit, |runtime| async move {
        let queue = Queue::new("maps", &runtime.metrics);
        let store = Arc::new(Store::<bool>::default());
        let changes = queue.clone();
        runtime.spawn(watch::run(
            runtime.client.clone(),
            Scope::host().labels(WANTED),
            Arc::clone(&store),
            Some(runtime.readiness.handle("maps")),
            runtime.shutdown.clone(),
            |map: ConfigMap| Some(is_done(&map)),
            move |change| changes.add(change.key),
        ));
        let writer = runtime.writer("maps");
        let shutdown = runtime.shutdown.clone();
        runtime.spawn(async move {
            queue
                .run(4, shutdown, move |key| {
                    mark(writer.clone(), Arc::clone(&store), key, work_millis)
                })
                .await;
        });
        Ok(())
    })
}

fn is_done(map: &ConfigMap) -> bool {
    map.metadata
        .annotations
        .as_ref()
        .is_some_and(|annotations| annotations.contains_key(DONE))
}

async fn mark(writer: Writer, store: Arc<Store<bool>>, key: Key, work_millis: u64) -> Outcome {
    match store.get(&key).as_deref() {
        None => return Outcome::Done,
        Some(true) => {
            writer.unchanged("configmaps");
            return Outcome::Done;
        }
        Some(false) => {}
    }
    tokio::time::sleep(Duration::from_millis(work_millis)).await;
    let maps: Api<ConfigMap> = Api::namespaced(writer.client().clone(), key.namespace());
    let patch = json!({"metadata": {"annotations": {DONE: "true"}}});
    match writer.merge_patch(&maps, &key.name, &patch).await {
        Ok(_) => Outcome::Done,
        Err(error) if error.failure() == kit::Failure::NotFound => Outcome::Done,
        Err(error) => {
            tracing::warn!(object = %key, error = %error.message(), "not marked");
            Outcome::Retry
        }
    }
}
