//! Client, writer and recorder.

use std::time::Duration;

use futures::StreamExt as _;
use k8s_openapi::api::core::v1::{ConfigMap, Event, Namespace, ObjectReference, Pod};
use kit::Failure;
use kit::client::{Limits, Server, connect};
use kit::events::Severity;
use kit::metrics::Metrics;
use kit::writer::Deletion;
use kube::api::{Api, ListParams, WatchParams};
use serde_json::json;

use crate::BED;
use crate::access::{self, Counting, map};

#[tokio::test]
async fn a_hundred_requests_and_twenty_watches_share_one_connection() {
    let bed = BED.get().await;
    let counting = Counting::before(bed.control_plane()).await;
    let mut config = access::config(bed.control_plane()).await;
    config.cluster_url = format!("https://{}", counting.address).parse().unwrap();
    let client = connect(config, Server::Host, Limits::HOST, &Metrics::new("test")).unwrap();
    let api: Api<Namespace> = Api::all(client);

    let one = ListParams::default().limit(1);
    let listed = futures::future::try_join_all((0..100).map(|_| api.list(&one))).await;
    assert_eq!(listed.unwrap().len(), 100);
    let mut watches = Vec::new();
    for _ in 0..20 {
        watches.push(
            api.watch(&WatchParams::default(), "0")
                .await
                .unwrap()
                .boxed(),
        );
    }
    for watch in &mut watches {
        watch.next().await.unwrap().unwrap();
    }
    assert_eq!(counting.connections(), 1);

    // The server allows a hundred streams on a connection: more watches than that must not keep requests out.
    for _ in 0..100 {
        watches.push(
            api.watch(&WatchParams::default(), "0")
                .await
                .unwrap()
                .boxed(),
        );
    }
    let list = tokio::time::timeout(Duration::from_secs(10), api.list(&one));
    list.await.expect("a request gets through").unwrap();
    assert_eq!(counting.connections(), 2);
}

#[tokio::test]
async fn each_write_does_what_it_says_and_each_refusal_has_its_kind() {
    let bed = BED.get().await;
    let namespace = bed.namespace("writes").await.unwrap();
    let runtime = access::runtime(bed.control_plane()).await;
    let writer = runtime.writer("tests");
    let maps: Api<ConfigMap> = Api::namespaced(runtime.client.clone(), namespace.name());

    let created = writer.create(&maps, &map("a")).await.unwrap();
    assert_eq!(
        writer.create(&maps, &map("a")).await.unwrap_err().failure(),
        Failure::AlreadyExists
    );
    let patched = writer
        .merge_patch(&maps, "a", &json!({"data": {"more": "m"}}))
        .await
        .unwrap();
    assert_eq!(patched.data.as_ref().unwrap().len(), 2);
    let manager = patched.metadata.managed_fields.unwrap().remove(0).manager;
    assert_eq!(manager.as_deref(), Some("karmada-test/tests"));
    assert_eq!(
        writer
            .merge_patch(&maps, "none", &json!({}))
            .await
            .unwrap_err()
            .failure(),
        Failure::NotFound
    );
    // A version that is not the present one.
    let stale = json!({"metadata": {"resourceVersion": created.metadata.resource_version}, "data": {"more": "n"}});
    assert_eq!(
        writer
            .merge_patch(&maps, "a", &stale)
            .await
            .unwrap_err()
            .failure(),
        Failure::Conflict
    );
    let bad = writer.create(&maps, &map("Not_A_Name")).await.unwrap_err();
    assert_eq!(bad.failure(), Failure::Invalid);
    assert!(bad.message().contains("Not_A_Name"), "{}", bad.message());

    let remove = serde_json::from_value(json!([
        {"op": "test", "path": "/data/more", "value": "m"},
        {"op": "remove", "path": "/data/more"},
    ]));
    let patch: json_patch::Patch = remove.unwrap();
    assert_eq!(
        writer
            .json_patch(&maps, "a", patch.clone())
            .await
            .unwrap()
            .data
            .unwrap()
            .len(),
        1
    );
    assert_eq!(
        writer
            .json_patch(&maps, "a", patch)
            .await
            .unwrap_err()
            .failure(),
        Failure::Invalid
    );

    let intent = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b"}, "data": {"key": "applied"}});
    writer.apply(&maps, "b", &intent).await.unwrap();
    let again = writer.apply(&maps, "b", &intent).await.unwrap();
    assert_eq!(again.data.unwrap()["key"], "applied");

    let other = Deletion {
        uid: Some("another".to_owned()),
        ..Deletion::default()
    };
    assert_eq!(
        writer
            .delete(&maps, "a", &other)
            .await
            .unwrap_err()
            .failure(),
        Failure::Conflict
    );
    let this = Deletion {
        uid: created.metadata.uid,
        ..Deletion::default()
    };
    writer.delete(&maps, "a", &this).await.unwrap();
    assert_eq!(
        writer
            .delete(&maps, "a", &this)
            .await
            .unwrap_err()
            .failure(),
        Failure::NotFound
    );

    writer.unchanged("configmaps");
    let text = runtime.metrics.text().unwrap();
    for (outcome, count) in [("sent", 6), ("failed", 7), ("unchanged", 1)] {
        let line =
            format!(r#"karmada_writes_total{{resource="configmaps",outcome="{outcome}"}} {count}"#);
        assert!(text.contains(&line), "{line} is not in\n{text}");
    }
}

#[tokio::test]
async fn a_status_is_written_without_touching_the_rest() {
    let bed = BED.get().await;
    let namespace = bed.namespace("statuses").await.unwrap();
    let runtime = access::runtime(bed.control_plane()).await;
    let pods: Api<Pod> = Api::namespaced(runtime.client.clone(), namespace.name());
    let pod = serde_json::from_value(json!({"metadata": {"name": "p"}, "spec": {
        "automountServiceAccountToken": false, "containers": [{"name": "c", "image": "i"}]}}));
    let (first, second) = (runtime.writer("one"), runtime.writer("two"));
    first.create(&pods, &pod.unwrap()).await.unwrap();
    let patch = json!({"status": {"message": "one"}});
    first.merge_patch_status(&pods, "p", &patch).await.unwrap();
    let intent = json!({"apiVersion": "v1", "kind": "Pod", "status": {"reason": "Two"}});
    let both = second
        .apply_status(&pods, "p", &intent)
        .await
        .unwrap()
        .status
        .unwrap();
    assert_eq!(both.message.as_deref(), Some("one"));
    assert_eq!(both.reason.as_deref(), Some("Two"));
}

#[tokio::test]
async fn nobody_and_somebody_without_rights_are_told_apart() {
    let bed = BED.get().await;
    let member = bed.member("member1");
    let account = member.service_account("default", "weak").await.unwrap();
    let mut config = access::config(member).await;
    config.auth_info = kube::config::AuthInfo {
        token: Some(account.token().await.unwrap().into()),
        ..kube::config::AuthInfo::default()
    };
    let metrics = Metrics::new("test");
    let weak = connect(config.clone(), Server::Member, Limits::MEMBER, &metrics).unwrap();
    let error = Api::<ConfigMap>::default_namespaced(weak)
        .get("a")
        .await
        .unwrap_err();
    assert_eq!(Failure::of(&error), Failure::Forbidden);

    config.auth_info.token = Some("nonsense".to_owned().into());
    let nobody = connect(config, Server::Member, Limits::MEMBER, &metrics).unwrap();
    let error = Api::<ConfigMap>::default_namespaced(nobody)
        .get("a")
        .await
        .unwrap_err();
    assert_eq!(Failure::of(&error), Failure::Unauthorized);
}

#[tokio::test]
async fn an_event_is_written_once_a_transition_and_whatever_the_objects_name() {
    let bed = BED.get().await;
    let namespace = bed.namespace("events").await.unwrap();
    let runtime = access::runtime(bed.control_plane()).await;
    let recorder = runtime.recorder();
    let object = ObjectReference {
        api_version: Some("rbac.authorization.k8s.io/v1".to_owned()),
        kind: Some("Role".to_owned()),
        namespace: Some(namespace.name().to_owned()),
        // Roles may have such names, events may not.
        name: Some("system:Reader".to_owned()),
        uid: Some("u".to_owned()),
        ..ObjectReference::default()
    };
    let long = "n".repeat(300);
    let note = "ä".repeat(2000);
    for (severity, reason, note) in [
        (Severity::Normal, "ScheduleBindingSucceed", "fine"),
        (Severity::Normal, "ScheduleBindingSucceed", "fine"),
        (Severity::Warning, "ScheduleBindingFailed", note.as_str()),
        (Severity::Warning, "ScheduleBindingFailed", note.as_str()),
        (Severity::Normal, "ScheduleBindingSucceed", "fine"),
    ] {
        recorder
            .emit(&object, severity, reason, note)
            .await
            .unwrap();
    }
    let other = ObjectReference {
        name: Some(long),
        uid: Some("v".to_owned()),
        ..object.clone()
    };
    recorder
        .emit(&other, Severity::Normal, "Other", "long name")
        .await
        .unwrap();
    let cluster = ObjectReference {
        namespace: None,
        uid: Some("w".to_owned()),
        name: Some("events-cluster".to_owned()),
        ..object
    };
    recorder
        .emit(&cluster, Severity::Normal, "Other", "cluster scope")
        .await
        .unwrap();

    let client = runtime.client.clone();
    let events: Api<Event> = Api::namespaced(client.clone(), namespace.name());
    let mut seen: Vec<_> = events
        .list(&ListParams::default())
        .await
        .unwrap()
        .items
        .into_iter()
        .map(|event| {
            (
                event.reason.unwrap(),
                event.type_.unwrap(),
                event.message.unwrap().len() <= 1024,
            )
        })
        .collect();
    seen.sort();
    let expected = [
        ("Other", "Normal"),
        ("ScheduleBindingFailed", "Warning"),
        ("ScheduleBindingSucceed", "Normal"),
        ("ScheduleBindingSucceed", "Normal"),
    ];
    assert_eq!(
        seen,
        expected.map(|(reason, kind)| (reason.to_owned(), kind.to_owned(), true))
    );
    let default = Api::<Event>::namespaced(client, "default")
        .list(&ListParams::default().fields("involvedObject.uid=w"))
        .await
        .unwrap();
    assert_eq!(default.items.len(), 1);
}
