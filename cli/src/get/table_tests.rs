use super::super::Wanted;
use super::super::kinds::Served;
use super::*;
use serde_json::json;

fn deployments() -> Served {
    Served::built("apps", "v1", "deployments", "Deployment", true)
}

fn table(rows: &Value) -> Table {
    serde_json::from_value(json!({
        "columnDefinitions": [
            {"name": "Name", "priority": 0},
            {"name": "Ready", "priority": 0},
            {"name": "Images", "priority": 1},
        ],
        "rows": rows,
    }))
    .expect("a table")
}

fn row(name: &str, ready: &str, managed: bool) -> Value {
    let labels = if managed {
        json!({"karmada.io/managed": "true"})
    } else {
        json!({})
    };
    json!({
        "cells": [name, ready, "nginx"],
        "object": {"metadata": {"namespace": "default", "labels": labels}},
    })
}

fn request(names: &[&str], namespace: Option<&str>) -> Request {
    Request {
        wanted: vec![Wanted {
            kind: "deploy".to_owned(),
            names: names.iter().map(|&name| name.to_owned()).collect(),
        }],
        namespace: namespace.map(str::to_owned),
        selector: None,
        tables: true,
    }
}

fn member(name: &str) -> Place {
    Place::Member(name.to_owned())
}

#[test]
fn rows_of_all_servers_are_one_table() {
    let mut tables = Tables::default();
    tables.add(
        &Place::ControlPlane,
        vec![(deployments(), table(&json!([row("demo", "5/2", false)])))],
    );
    tables.add(
        &member("m1"),
        vec![(
            deployments(),
            table(&json!([row("demo", "2/2", true), row("own", "1/1", false)])),
        )],
    );
    assert_eq!(
        tables.render(&request(&[], Some("default")), false, true),
        "NAME   CLUSTER           READY   ADOPTION\n\
         demo   <control-plane>   5/2\n\
         demo   m1                2/2     Y\n\
         own    m1                1/1     N\n"
    );
}

#[test]
fn wide_and_all_namespaces_add_columns() {
    let mut tables = Tables::default();
    tables.add(
        &member("m1"),
        vec![(deployments(), table(&json!([row("demo", "2/2", true)])))],
    );
    assert_eq!(
        tables.render(&request(&[], None), true, true),
        "NAMESPACE   NAME   CLUSTER   READY   IMAGES   ADOPTION\n\
         default     demo   m1        2/2     nginx    Y\n"
    );
}

#[test]
fn member_that_does_not_answer_is_a_row() {
    let mut tables = Tables::default();
    tables.add(
        &member("m1"),
        vec![(deployments(), table(&json!([row("demo", "2/2", true)])))],
    );
    let named = request(&["demo"], Some("default"));
    tables.unreachable(&member("m2"), &named);
    assert_eq!(
        tables.render(&named, false, true),
        "NAME   CLUSTER   READY           ADOPTION\n\
         demo   m1        2/2             Y\n\
         demo   m2        <unreachable>\n"
    );
}

#[test]
fn members_that_do_not_answer_are_shown_also_when_nothing_else_is() {
    let mut tables = Tables::default();
    let all = request(&[], Some("default"));
    tables.unreachable(&member("m2"), &all);
    assert_eq!(
        tables.render(&all, false, true),
        "NAME            CLUSTER\n<unreachable>   m2\n"
    );
}

#[test]
fn column_that_only_one_server_has_is_empty_for_the_others() {
    let mut tables = Tables::default();
    tables.add(
        &member("m1"),
        vec![(deployments(), table(&json!([row("demo", "2/2", true)])))],
    );
    let newer: Table = serde_json::from_value(json!({
        "columnDefinitions": [{"name": "Name"}, {"name": "Phase"}],
        "rows": [{"cells": ["demo", null], "object": {}}],
    }))
    .expect("a table");
    tables.add(&member("m2"), vec![(deployments(), newer)]);
    assert_eq!(
        tables.render(&request(&[], Some("default")), false, false),
        "demo   m1   2/2      <none>   Y\n\
         demo   m2   <none>   <none>   N\n"
    );
}
