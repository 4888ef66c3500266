//! Nothing is written that is so already.

use std::time::Duration;

use serde_json::json;
use testbed::Requests;

use crate::scene::{MEMBERS, Scene, config_map, deployment, scene};

/// What was written anywhere since; a controller's config maps in namespaces that other tests have just deleted, which the server refuses, are left out.
async fn writes(scene: &Scene, since: &[Requests]) -> (Vec<Requests>, u64) {
    let mut now = Vec::new();
    let mut total = 0;
    let clusters = std::iter::once(scene.bed.control_plane()).chain(scene.bed.members());
    for (at, cluster) in clusters.enumerate() {
        let requests = cluster.requests().await.unwrap();
        if let Some(before) = since.get(at) {
            let writes = requests
                .since(before)
                .writes()
                .without("leases")
                .filter(|request| !(request.resource == "configmaps" && request.code == "403"));
            println!("{}:\n{writes}", cluster.name());
            total += writes.total();
        }
        now.push(requests);
    }
    (now, total)
}

#[tokio::test]
async fn restart_with_nothing_changed_writes_nothing() {
    let mut scene = scene("restart").await;
    let map = scene.create(config_map("settings", "one")).await;
    let web = scene.create(deployment("web", 2)).await;
    let map = scene
        .bind(&map, &MEMBERS.map(|member| (member, None)), |_| {})
        .await;
    let web = scene
        .bind(&web, &MEMBERS.map(|member| (member, Some(2))), |_| {})
        .await;
    scene.fully_applied(&map).await;
    scene.fully_applied(&web).await;
    settle(&scene).await;
    let (before, _) = writes(&scene, &[]).await;
    scene.restart().await;
    settle(&scene).await;
    let (_, total) = writes(&scene, &before).await;
    assert_eq!(total, 0);
    // It still acts.
    scene
        .rebind(&map, json!({"spec": {"clusters": [{"name": "member1"}]}}))
        .await;
    scene.gone("member2", "v1", "ConfigMap", "settings").await;
}

/// Waits until nothing has been written for a while.
async fn settle(scene: &Scene) {
    let (mut before, _) = writes(scene, &[]).await;
    loop {
        tokio::time::sleep(Duration::from_secs(4)).await;
        let (now, total) = writes(scene, &before).await;
        if total == 0 {
            return;
        }
        before = now;
    }
}
