//! Looking at all members at once.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, PostParams};
use serde_json::{Value, json};
use testbed::{Cluster, Network};

use crate::bed::{bed, karmadactl};

async fn config_map(cluster: &Cluster, name: &str, labels: Value) {
    let maps: Api<ConfigMap> = Api::namespaced(cluster.client(), "default");
    let map =
        serde_json::from_value(json!({"metadata": {"name": name, "labels": labels}})).unwrap();
    maps.create(&PostParams::default(), &map).await.unwrap();
}

/// The columns of each line but the age, which changes.
fn lines(table: &str) -> Vec<Vec<&str>> {
    table
        .lines()
        .map(|line| {
            line.split("   ")
                .map(str::trim)
                .filter(|cell| !cell.is_empty())
                .collect()
        })
        .collect()
}

fn row<'a>(table: &'a str, name: &str, cluster: &str) -> Vec<&'a str> {
    lines(table)
        .into_iter()
        .find(|cells| cells.starts_with(&[name, cluster]))
        .unwrap_or_else(|| unreachable!("no {name} of {cluster} in: {table}"))
}

#[tokio::test]
async fn objects_of_all_clusters_are_one_list() {
    let bed = bed().await;
    let (one, two) = (bed.member("reads1"), bed.member("reads2"));
    for member in [one, two] {
        bed.join_directly(member).await.unwrap();
    }
    config_map(bed.control_plane(), "settings", json!({"app": "a"})).await;
    config_map(
        one,
        "settings",
        json!({"app": "a", "karmada.io/managed": "true"}),
    )
    .await;
    config_map(
        two,
        "settings",
        json!({"app": "a", "karmada.io/managed": "true"}),
    )
    .await;
    config_map(two, "own", json!({})).await;
    let get = async |words: &[&str]| {
        let words = [&["get", "--request-timeout=3s"], words].concat();
        karmadactl(bed, &words).await
    };
    let both = ["-C", "reads1,reads2"];

    let all = get(&["cm", "settings", "--operation-scope=all"])
        .await
        .succeeds()
        .out;
    assert_eq!(
        lines(&all)[0],
        ["NAME", "CLUSTER", "DATA", "AGE", "ADOPTION"]
    );
    assert_eq!(row(&all, "settings", "<control-plane>").len(), 4, "{all}");
    assert_eq!(row(&all, "settings", "reads1").last(), Some(&"Y"));
    assert_eq!(row(&all, "settings", "reads2").last(), Some(&"Y"));

    let members = get(&[&["configmaps"][..], &both].concat())
        .await
        .succeeds()
        .out;
    assert!(!members.contains("<control-plane>"), "{members}");
    assert_eq!(row(&members, "own", "reads2").last(), Some(&"N"));

    let selected = get(&[&["cm", "-l", "app=a", "-A"][..], &both].concat())
        .await
        .succeeds()
        .out;
    assert_eq!(lines(&selected)[0][..3], ["NAMESPACE", "NAME", "CLUSTER"]);
    assert_eq!(selected.lines().count(), 3, "{selected}");

    let several = get(&[&["cm/own", "ns/default"][..], &both].concat())
        .await
        .succeeds()
        .out;
    row(&several, "configmap/own", "reads2");
    row(&several, "namespace/default", "reads1");

    let json = get(&[&["cm", "settings", "-o", "json"][..], &both].concat())
        .await
        .succeeds()
        .out;
    let json: Value = serde_json::from_str(&json).unwrap();
    let found: Vec<&str> = json["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| {
            assert_eq!(item["kind"], "ConfigMap");
            let annotations = &item["metadata"]["annotations"];
            annotations["resource.karmada.io/cached-from-cluster"]
                .as_str()
                .unwrap()
        })
        .collect();
    assert_eq!(found, ["reads1", "reads2"]);

    let one_object = get(&["cm", "own", "-o", "yaml", "-C", "reads2"])
        .await
        .succeeds()
        .out;
    let one_object: Value = serde_saphyr::from_str(&one_object).unwrap();
    assert_eq!(one_object["metadata"]["name"], "own");
    let names = get(&["cm", "own", "-o", "name", "-C", "reads2"])
        .await
        .succeeds()
        .out;
    assert_eq!(names, "configmap/own\n");

    // The control plane's own kinds are served nowhere else, and that is no mistake.
    let clusters = get(&["clusters"]).await.succeeds().out;
    row(&clusters, "reads1", "<control-plane>");

    mistakes(&get).await;
    unreachable_member(two, &get).await;
}

async fn mistakes(get: &impl AsyncFn(&[&str]) -> crate::bed::Said) {
    get(&["cm", "-C", "reads1,nope"])
        .await
        .fails_with(&["no member is called nope", "reads1, reads2"]);
    get(&["configmapz"])
        .await
        .fails_with(&["serves \"configmapz\"", "Similar are configmaps"]);
    get(&["cm", "missing", "-C", "reads1"]).await.fails_with(&[
        "cm missing not found",
        "looked in reads1, namespace default",
    ]);
    get(&["cm", "own", "-A"])
        .await
        .fails_with(&["--all-namespaces"]);
    let none = get(&["cm", "-l", "app=none", "-C", "reads1"])
        .await
        .succeeds();
    assert_eq!(none.out, "");
    assert!(
        none.err.contains("No resources found; looked in reads1"),
        "{}",
        none.err
    );
}

async fn unreachable_member(two: &Cluster, get: &impl AsyncFn(&[&str]) -> crate::bed::Said) {
    for network in [Network::Refusing, Network::Blackhole] {
        two.set_network(network);
        let table = get(&["cm", "settings", "-C", "reads1,reads2"])
            .await
            .succeeds();
        row(&table.out, "settings", "reads1");
        assert_eq!(
            row(&table.out, "settings", "reads2"),
            ["settings", "reads2", "<unreachable>"]
        );
        assert!(table.err.contains("warning: reads2: "), "{}", table.err);
        two.set_network(Network::Up);
    }
}
