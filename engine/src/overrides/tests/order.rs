//! What comes first, what wins, and what is left alone.

use super::*;

#[test]
fn within_a_rule_image_comes_first_and_plaintext_last() {
    let image_field = "/spec/template/spec/containers/0/image";
    let label = |operator, key: &str, value: &str| {
        vec![LabelAnnotationOverrider {
            operator,
            value: BTreeMap::from([(key.to_owned(), value.to_owned())]),
        }]
    };
    let written = |path: &str, value: &str| plaintext(path, Replace, Some(json!(value)));
    let over_image = Overriders {
        image_overrider: image(ImageComponent::Tag, Replace, "2").image_overrider,
        ..written(image_field, "last:1")
    };
    check(over_image, image_field, &json!("last:1"));
    let over_label = Overriders {
        labels_overrider: label(Add, "app", "label"),
        ..written("/metadata/labels/app", "last")
    };
    check(over_label, "/metadata/labels/app", &json!("last"));
    // The document is there only once the annotation is, and plaintext has the last word on both.
    let nested = Overriders {
        annotations_overrider: label(Add, "config", "{\"port\":80}"),
        field_overrider: vec![FieldOverrider {
            field_path: "/metadata/annotations/config".into(),
            json: vec![FieldPatch {
                sub_path: "/port".into(),
                operator: Replace,
                value: Some(json!(8080)),
            }],
            yaml: vec![],
        }],
        ..Overriders::default()
    };
    check(
        nested.clone(),
        "/metadata/annotations/config",
        &json!("{\"port\":8080}"),
    );
    let over_document = Overriders {
        plaintext: written("/metadata/annotations/config", "last").plaintext,
        ..nested
    };
    check(
        over_document,
        "/metadata/annotations/config",
        &json!("last"),
    );
}

#[test]
fn rules_of_a_policy_apply_in_their_order() {
    let rule = |n: i64| everywhere(plaintext("/spec/replicas", Replace, Some(json!(n))));
    let mut manifest = deployment();
    let applied = run(
        &[view("shop", "p", vec![rule(7), rule(8)])],
        &mut manifest,
        "m1",
    )
    .unwrap();
    assert_eq!(manifest["spec"]["replicas"], json!(8));
    assert_eq!(applied.provenance["/spec/replicas"].rule, 1);
    assert_eq!(applied.conflicts, [], "a policy may correct itself");
}

#[test]
fn a_label_beats_a_kind_and_a_name_beats_a_label() {
    let mut labelled = selector(None);
    labelled.label_selector = Some(crds::LabelSelector {
        match_labels: Some(BTreeMap::from([("app".to_owned(), "web".to_owned())])),
        match_expressions: None,
    });
    let kind = replicas_policy("shop", "z", vec![selector(None)], 7);
    let label = replicas_policy("shop", "m", vec![labelled], 8);
    let name = replicas_policy("shop", "a", vec![selector(Some("web"))], 9);
    for (policies, expected) in [
        (vec![label.clone(), kind.clone()], 8),
        (vec![name, label, kind], 9),
    ] {
        let mut manifest = deployment();
        run(&policies, &mut manifest, "m1").unwrap();
        assert_eq!(manifest["spec"]["replicas"], json!(expected));
    }
}

#[test]
fn images_change_in_the_six_workloads_and_in_no_other_kind() {
    let pod = json!({"containers": [{"name": "web", "image": "nginx:1"}]});
    let template = json!({"template": {"spec": pod}});
    for (api, kind, spec, place, expected) in [
        ("v1", "Pod", &pod, "/spec/containers/0/image", "nginx:2"),
        (
            "apps/v1",
            "ReplicaSet",
            &template,
            "/spec/template/spec/containers/0/image",
            "nginx:2",
        ),
        (
            "apps/v1",
            "Deployment",
            &template,
            "/spec/template/spec/containers/0/image",
            "nginx:2",
        ),
        (
            "apps/v1",
            "DaemonSet",
            &template,
            "/spec/template/spec/containers/0/image",
            "nginx:2",
        ),
        (
            "apps/v1",
            "StatefulSet",
            &template,
            "/spec/template/spec/containers/0/image",
            "nginx:2",
        ),
        (
            "batch/v1",
            "Job",
            &template,
            "/spec/template/spec/containers/0/image",
            "nginx:2",
        ),
        (
            "example.io/v1",
            "Deployment",
            &template,
            "/spec/template/spec/containers/0/image",
            "nginx:1",
        ),
        (
            "batch/v1",
            "CronJob",
            &json!({"jobTemplate": {"spec": template}}),
            "/spec/jobTemplate/spec/template/spec/containers/0/image",
            "nginx:1",
        ),
    ] {
        let mut manifest = json!({"apiVersion": api, "kind": kind, "metadata": {"name": "web", "namespace": "shop"}, "spec": spec});
        let rule = everywhere(image(ImageComponent::Tag, Replace, "2"));
        run(&[view("shop", "p", vec![rule])], &mut manifest, "m1").unwrap();
        assert_eq!(
            manifest.pointer(place),
            Some(&json!(expected)),
            "{api} {kind}"
        );
    }
}

fn args(operator: CommandArgsOperator, container: &str) -> Overriders {
    Overriders {
        args_overrider: vec![CommandArgsOverrider {
            container_name: container.into(),
            operator,
            value: vec!["-x".into()],
        }],
        ..Overriders::default()
    }
}

#[test]
fn taking_arguments_from_a_container_without_any_leaves_it_as_it_was() {
    let place = "/spec/template/spec/containers/1";
    let before = deployment().pointer(place).unwrap().clone();
    check(args(CommandArgsOperator::Remove, "log"), place, &before);
    check(
        args(CommandArgsOperator::Add, "log"),
        "/spec/template/spec/containers/1/args",
        &json!(["-x"]),
    );
}

#[test]
fn annotations_follow_the_rules_of_labels() {
    let annotations = |operator| Overriders {
        annotations_overrider: vec![LabelAnnotationOverrider {
            operator,
            value: BTreeMap::from([("a/b".to_owned(), "new".to_owned())]),
        }],
        ..Overriders::default()
    };
    let place = "/metadata/annotations";
    check(annotations(Add), place, &json!({"a/b": "new"}));
    check(annotations(Replace), place, &Value::Null);
    check(annotations(Remove), place, &Value::Null);
}

#[track_caller]
fn conflicts(first: Overriders, second: Overriders) -> usize {
    let policies = [
        view("shop", "a", vec![everywhere(first)]),
        view("shop", "b", vec![everywhere(second)]),
    ];
    let mut manifest = deployment();
    manifest["data"] = json!({"c": "{\"x\":1,\"y\":1}"});
    run(&policies, &mut manifest, "m1").unwrap().conflicts.len()
}

#[test]
fn policies_disagree_only_where_one_takes_away_what_the_other_has_set() {
    let document = |path: &str| Overriders {
        field_overrider: vec![FieldOverrider {
            field_path: "/data/c".into(),
            json: vec![FieldPatch {
                sub_path: path.into(),
                operator: Replace,
                value: Some(json!(2)),
            }],
            yaml: vec![],
        }],
        ..Overriders::default()
    };
    let registry = || image(ImageComponent::Registry, Replace, "a.b");
    let tag = || image(ImageComponent::Tag, Replace, "2");
    let whole = || {
        plaintext(
            "/spec/template/spec/containers/0/image",
            Replace,
            Some(json!("whole")),
        )
    };
    let word = || args(CommandArgsOperator::Add, "log");
    let end = || {
        plaintext(
            "/spec/template/spec/containers/0/command/-",
            Add,
            Some(json!("-x")),
        )
    };
    for (narrative, first, second, expected) in [
        ("two parts of an image", registry(), tag(), 0),
        ("the same part of two images", tag(), tag(), 2),
        ("a whole image over a part of it", tag(), whole(), 1),
        ("a part of a whole image", whole(), tag(), 0),
        ("two paths of a document", document("/x"), document("/y"), 0),
        ("one path of a document", document("/x"), document("/x"), 1),
        ("two arguments", word(), word(), 0),
        ("two items at the end of a list", end(), end(), 0),
    ] {
        assert_eq!(conflicts(first, second), expected, "{narrative}");
    }
}
