//! Watches: what they tell, and that they go on.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kit::dynamic::{DynamicWatches, Kinds};
use kit::readiness::Readiness;
use kit::watch::{self, Change, Scope};
use kit::{CancellationToken, Store};
use kube::api::{
    Api, DeleteParams, DynamicObject, GroupVersionKind, ObjectMeta, Patch, PatchParams, PostParams,
};
use kube::{Client, Resource};
use serde::Deserialize;
use serde_json::json;
use testbed::wait;
use tokio::sync::mpsc;

use crate::access::{self, map};
use crate::{BED, FAILING};

/// What was told of one object: name, old and new value.
type Told = (String, Option<String>, Option<String>);

fn seen(name: &str, old: Option<&str>, new: Option<&str>) -> Told {
    (
        name.to_owned(),
        old.map(str::to_owned),
        new.map(str::to_owned),
    )
}

fn told(change: &Change<String>) -> Told {
    let text = |value: &Option<Arc<String>>| value.as_deref().cloned();
    (
        change.key.name.to_string(),
        text(&change.old),
        text(&change.new),
    )
}

/// A `ConfigMap` that is understood only if it says `low` or `high`.
#[derive(Clone, Debug, Deserialize)]
struct Levels {
    metadata: ObjectMeta,
    #[serde(default)]
    data: BTreeMap<String, Level>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Level {
    Low,
    High,
}

impl Resource for Levels {
    type DynamicType = ();
    type Scope = kube::core::NamespaceResourceScope;

    fn kind((): &()) -> Cow<'_, str> {
        "ConfigMap".into()
    }

    fn group((): &()) -> Cow<'_, str> {
        "".into()
    }

    fn version((): &()) -> Cow<'_, str> {
        "v1".into()
    }

    fn plural((): &()) -> Cow<'_, str> {
        "configmaps".into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

/// Watches the maps with a label; changes arrive in the channel.
struct Watching {
    store: Arc<Store<String>>,
    changes: mpsc::UnboundedReceiver<Told>,
    stop: CancellationToken,
}

impl Watching {
    async fn start(client: Client, label: &str) -> Self {
        let store = Arc::new(Store::default());
        let (tell, changes) = mpsc::unbounded_channel();
        let stop = CancellationToken::new();
        let readiness = Readiness::default();
        tokio::spawn(watch::run(
            client,
            Scope::host().labels(label),
            Arc::clone(&store),
            Some(readiness.handle("maps")),
            stop.clone(),
            |map: Levels| {
                assert!(map.metadata.managed_fields.is_none(), "nobody needs those");
                map.data.get("level").map(|level| format!("{level:?}"))
            },
            move |change| {
                let _ = tell.send(told(&change));
            },
        ));
        readiness.ready().await;
        Self {
            store,
            changes,
            stop,
        }
    }

    async fn next(&mut self) -> Told {
        tokio::time::timeout(wait::PATIENCE, self.changes.recv())
            .await
            .expect("a change is told")
            .unwrap()
    }
}

fn labelled(name: &str, label: &str, level: &str) -> ConfigMap {
    let mut map = map(name);
    map.metadata.labels = Some([(label.to_owned(), String::new())].into());
    map.data = Some([("level".to_owned(), level.to_owned())].into());
    map
}

async fn set(maps: &Api<ConfigMap>, name: &str, level: &str) {
    let patch = Patch::Merge(json!({"data": {"level": level}}));
    maps.patch(name, &PatchParams::default(), &patch)
        .await
        .unwrap();
}

#[tokio::test]
async fn changes_are_told_with_old_and_new_and_an_object_nobody_understands_stops_nothing() {
    let bed = BED.get().await;
    let namespace = bed.namespace("watched").await.unwrap();
    let runtime = access::runtime(bed.control_plane()).await;
    let maps: Api<ConfigMap> = Api::namespaced(runtime.client.clone(), namespace.name());
    let post = PostParams::default();
    maps.create(&post, &labelled("early", "watched", "low"))
        .await
        .unwrap();
    maps.create(&post, &labelled("bad", "watched", "nonsense"))
        .await
        .unwrap();

    let mut watching = Watching::start(runtime.client.clone(), "watched").await;
    assert_eq!(watching.next().await, seen("early", None, Some("Low")));
    assert_eq!(watching.store.len(), 1, "only what is understood is known");

    maps.create(&post, &labelled("late", "watched", "low"))
        .await
        .unwrap();
    assert_eq!(watching.next().await, seen("late", None, Some("Low")));
    // Not understood now: what was known stays, and the next good state is told.
    set(&maps, "late", "nonsense").await;
    // Changes nothing that is kept, so it is not told.
    let unrelated = Patch::Merge(json!({"data": {"other": "low"}}));
    maps.patch("early", &PatchParams::default(), &unrelated)
        .await
        .unwrap();
    set(&maps, "late", "high").await;
    assert_eq!(
        watching.next().await,
        seen("late", Some("Low"), Some("High"))
    );
    set(&maps, "bad", "high").await;
    assert_eq!(watching.next().await, seen("bad", None, Some("High")));
    maps.delete("early", &DeleteParams::default())
        .await
        .unwrap();
    assert_eq!(watching.next().await, seen("early", Some("Low"), None));
    // Without the label it is none of ours.
    let unlabelled = Patch::Merge(json!({"metadata": {"labels": {"watched": null}}}));
    maps.patch("late", &PatchParams::default(), &unlabelled)
        .await
        .unwrap();
    assert_eq!(watching.next().await, seen("late", Some("High"), None));
    watching.stop.cancel();
    assert_eq!(
        watching.changes.recv().await,
        None,
        "the watch ends when told to"
    );
}

#[tokio::test]
async fn a_watch_outlives_its_server() {
    let _failing = FAILING.lock().await;
    let cluster = BED.get().await.member("member2");
    access::namespace(cluster, "restarts").await;
    let runtime = access::runtime(cluster).await;
    let maps: Api<ConfigMap> = Api::namespaced(cluster.client(), "restarts");
    let post = PostParams::default();
    for name in ["stays", "goes"] {
        maps.create(&post, &labelled(name, "restarts", "low"))
            .await
            .unwrap();
    }
    let mut watching = Watching::start(runtime.client.clone(), "restarts").await;
    let first: BTreeSet<_> = [watching.next().await, watching.next().await].into();
    assert_eq!(first.len(), 2);

    cluster.kill();
    cluster.restart().await.unwrap();
    maps.delete("goes", &DeleteParams::default()).await.unwrap();
    maps.create(&post, &labelled("comes", "restarts", "high"))
        .await
        .unwrap();
    let then: BTreeSet<_> = [watching.next().await, watching.next().await].into();
    let expected = [
        seen("comes", None, Some("High")),
        seen("goes", Some("Low"), None),
    ];
    assert_eq!(then, expected.into());
    let mut known: Vec<_> = watching
        .store
        .keys()
        .iter()
        .map(ToString::to_string)
        .collect();
    known.sort();
    assert_eq!(known, ["restarts/comes", "restarts/stays"]);
    watching.stop.cancel();
}

#[tokio::test]
async fn a_kind_is_watched_once_it_exists_and_until_nobody_wants_it() {
    let bed = BED.get().await;
    let runtime = access::runtime(bed.control_plane()).await;
    let client = runtime.client.clone();
    let gvk = GroupVersionKind::gvk("kit.example", "v1", "Late");
    let (tell, mut changes) = mpsc::unbounded_channel();
    let watches = DynamicWatches::new(
        Kinds::new(client.clone()),
        Scope::host().metadata_only(),
        runtime.shutdown.clone(),
        |_, object: DynamicObject| {
            assert!(object.data.is_null(), "only metadata is asked for");
            object.metadata.name
        },
        move |gvk, change| {
            let _ = tell.send((gvk.kind.clone(), told(&change)));
        },
    );
    watches.ensure(&gvk);
    watches.ensure(&gvk);
    assert!(!watches.is_synced(&gvk));

    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let definition = serde_json::from_value(json!({
        "metadata": {"name": "lates.kit.example"},
        "spec": {
            "group": "kit.example",
            "scope": "Cluster",
            "names": {"kind": "Late", "plural": "lates"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object", "x-kubernetes-preserve-unknown-fields": true}}}],
        },
    }));
    definitions
        .create(&PostParams::default(), &definition.unwrap())
        .await
        .unwrap();
    tokio::time::timeout(Duration::from_secs(30), watches.synced(&gvk))
        .await
        .expect("the kind is found soon after it exists");
    let kind = watches.kinds().known(&gvk).unwrap();
    assert!(!kind.namespaced);
    let lates = kind.api(&client, "");
    let late = DynamicObject::new("one", &kind.resource).data(json!({"spec": {"heavy": "x"}}));
    lates.create(&PostParams::default(), &late).await.unwrap();
    let change = tokio::time::timeout(wait::PATIENCE, changes.recv())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(change, ("Late".to_owned(), seen("one", None, Some("one"))));
    assert_eq!(watches.store(&gvk).unwrap().len(), 1);

    watches.retain(|_| false);
    assert!(watches.store(&gvk).is_none());
    let another = DynamicObject::new("two", &kind.resource);
    lates
        .create(&PostParams::default(), &another)
        .await
        .unwrap();
    let quiet = tokio::time::timeout(Duration::from_secs(2), changes.recv()).await;
    assert!(
        quiet.is_err(),
        "told of an object that nobody wants: {quiet:?}"
    );
    runtime.shutdown.cancel();
}

#[tokio::test]
async fn kind_that_insists_on_its_name_can_be_watched_without_bodies() {
    let bed = BED.get().await;
    let namespace = bed.namespace("bodiless").await.unwrap();
    let runtime = access::runtime(bed.control_plane()).await;
    let maps: Api<ConfigMap> = Api::namespaced(runtime.client.clone(), namespace.name());
    maps.create(&PostParams::default(), &labelled("one", "bodiless", "low"))
        .await
        .unwrap();
    let (tell, mut changes) = mpsc::unbounded_channel();
    let stop = CancellationToken::new();
    tokio::spawn(watch::run(
        runtime.client.clone(),
        Scope::host().labels("bodiless").metadata_only(),
        Arc::new(Store::<bool>::default()),
        None,
        stop.clone(),
        |map: ConfigMap| Some(map.data.is_some()),
        move |change| {
            let _ = tell.send((change.key.name.to_string(), change.new.as_deref().copied()));
        },
    ));
    let told = tokio::time::timeout(wait::PATIENCE, changes.recv()).await;
    assert_eq!(told.unwrap(), Some(("one".to_owned(), Some(false))));
    stop.cancel();
}
