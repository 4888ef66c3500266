use std::collections::BTreeMap;

use crds::policy::{
    ClusterAffinity, CommandArgsOperator, CommandArgsOverrider, FieldOverrider, FieldPatch,
    ImageComponent, ImageOverrider, ImagePredicate, LabelAnnotationOverrider, OverrideRule,
    OverriderOperator, PlaintextOverrider, ResourceSelector,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::image::Image;
use super::*;
use crate::policy::selector::Identity;
use crate::snapshot::ClusterView;

use OverriderOperator::{Add, Remove, Replace};

mod order;
mod properties;

fn deployment() -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "shop", "labels": {"app": "web"}},
        "spec": {"replicas": 2, "template": {"spec": {
            "initContainers": [{"name": "init", "image": "busybox:1"}],
            "containers": [{"name": "web", "image": "nginx:1.2", "command": ["run", "-v"]}, {"name": "log", "image": "log"}]}}}})
}

fn view(namespace: &str, name: &str, rules: Vec<OverrideRule>) -> OverrideView {
    let kind = if namespace.is_empty() {
        "ClusterOverridePolicy"
    } else {
        "OverridePolicy"
    };
    OverrideView {
        policy: PolicyRef::new(kind, namespace, name),
        spec: Arc::new(OverrideSpec {
            override_rules: rules,
            ..OverrideSpec::default()
        }),
    }
}

fn everywhere(overriders: Overriders) -> OverrideRule {
    OverrideRule {
        target_cluster: None,
        overriders,
    }
}

fn plaintext(path: &str, operator: OverriderOperator, value: Option<Value>) -> Overriders {
    Overriders {
        plaintext: vec![PlaintextOverrider {
            path: path.into(),
            operator,
            value,
        }],
        ..Overriders::default()
    }
}

fn cluster(name: &str) -> ClusterView {
    ClusterView {
        name: name.into(),
        ..ClusterView::default()
    }
}

fn run(
    policies: &[OverrideView],
    manifest: &mut Value,
    on: &str,
) -> Result<Applied, OverrideProblem> {
    let labels = BTreeMap::from([("app".to_owned(), "web".to_owned())]);
    let (api, kind) = (
        manifest["apiVersion"].as_str().unwrap().to_owned(),
        manifest["kind"].as_str().unwrap().to_owned(),
    );
    let identity = Identity {
        api_version: &api,
        kind: &kind,
        namespace: "shop",
        name: "web",
        labels: &labels,
    };
    apply(manifest, &select(policies, identity, &cluster(on)))
}

#[track_caller]
fn check(overriders: Overriders, pointer: &str, expected: &Value) {
    let mut manifest = deployment();
    run(
        &[view("shop", "p", vec![everywhere(overriders)])],
        &mut manifest,
        "m1",
    )
    .unwrap();
    assert_eq!(manifest.pointer(pointer).unwrap_or(&Value::Null), expected);
}

#[track_caller]
fn check_problem(overriders: Overriders, expected: &str) {
    let problem = run(
        &[view("shop", "p", vec![everywhere(overriders)])],
        &mut deployment(),
        "m1",
    )
    .unwrap_err();
    assert_eq!(
        problem.to_string(),
        format!("OverridePolicy shop/p, rule 1: {expected}")
    );
}

#[test]
fn plaintext_takes_values_of_any_type() {
    for value in [
        json!(3),
        json!("x"),
        json!(true),
        json!(null),
        json!([1, {"a": 2}]),
        json!({"a": {"b": 1.5}}),
    ] {
        check(
            plaintext("/spec/extra", Add, Some(value.clone())),
            "/spec/extra",
            &value,
        );
        check(
            plaintext("/spec/replicas", Replace, Some(value.clone())),
            "/spec/replicas",
            &value,
        );
    }
    check(
        plaintext("/spec/replicas", Remove, None),
        "/spec/replicas",
        &Value::Null,
    );
}

#[test]
fn what_cannot_be_applied_names_policy_rule_and_path() {
    check_problem(
        plaintext("/data/a", Replace, Some(json!(1))),
        "/data/a: there is nothing to replace",
    );
    check_problem(
        plaintext("/data/a", Remove, None),
        "/data/a: there is nothing to remove",
    );
    check_problem(
        plaintext("/data/a", Add, Some(json!(1))),
        "/data/a: there is nothing to add it to",
    );
    check_problem(
        plaintext("nonsense", Add, Some(json!(1))),
        "nonsense: is no JSON pointer",
    );
    let missing = Overriders {
        image_overrider: vec![ImageOverrider {
            predicate: Some(ImagePredicate {
                path: "/spec/image".into(),
            }),
            component: ImageComponent::Tag,
            operator: Replace,
            value: Some("1".into()),
        }],
        ..Overriders::default()
    };
    check_problem(missing, "/spec/image: there is no image");
}

#[test]
fn what_identifies_the_object_stays() {
    for pointer in [
        "/metadata/namespace",
        "/metadata/name",
        "/kind",
        "/apiVersion",
    ] {
        check_problem(
            plaintext(pointer, Replace, Some(json!("other"))),
            &format!("{pointer}: identifies the object and cannot be overridden"),
        );
    }
}

fn image(component: ImageComponent, operator: OverriderOperator, value: &str) -> Overriders {
    Overriders {
        image_overrider: vec![ImageOverrider {
            predicate: None,
            component,
            operator,
            value: Some(value.into()),
        }],
        ..Overriders::default()
    }
}

#[test]
fn images_of_all_containers_change_but_not_of_init_containers() {
    let overriders = image(ImageComponent::Registry, Replace, "reg.example:5000");
    check(
        overriders.clone(),
        "/spec/template/spec/containers/0/image",
        &json!("reg.example:5000/nginx:1.2"),
    );
    check(
        overriders.clone(),
        "/spec/template/spec/containers/1/image",
        &json!("reg.example:5000/log"),
    );
    check(
        overriders,
        "/spec/template/spec/initContainers/0/image",
        &json!("busybox:1"),
    );
}

#[test]
fn parts_of_an_image_change_one_by_one() {
    for (given, component, operator, value, expected) in [
        ("nginx", ImageComponent::Tag, Replace, "2", "nginx:2"),
        ("nginx:1", ImageComponent::Tag, Remove, "", "nginx"),
        (
            "nginx:1",
            ImageComponent::Tag,
            Add,
            "-alpine",
            "nginx:1-alpine",
        ),
        (
            "nginx@sha256:abc",
            ImageComponent::Tag,
            Replace,
            "2",
            "nginx:2",
        ),
        (
            "nginx:1",
            ImageComponent::Tag,
            Replace,
            "sha256:abc",
            "nginx@sha256:abc",
        ),
        (
            "nginx:1@sha256:abc",
            ImageComponent::Tag,
            Add,
            "-alpine",
            "nginx:1-alpine",
        ),
        (
            "a.b/team/nginx:1",
            ImageComponent::Registry,
            Remove,
            "",
            "team/nginx:1",
        ),
        // The first part is no host, so it is no registry (O025).
        (
            "ubuntu/nginx",
            ImageComponent::Registry,
            Remove,
            "",
            "ubuntu/nginx",
        ),
        (
            "ubuntu/nginx",
            ImageComponent::Registry,
            Add,
            "a.b",
            "a.b/ubuntu/nginx",
        ),
        (
            "localhost/nginx",
            ImageComponent::Registry,
            Replace,
            "a.b",
            "a.b/nginx",
        ),
        (
            "host:5000/nginx",
            ImageComponent::Repository,
            Replace,
            "other/path",
            "host:5000/other/path",
        ),
        (
            "nginx",
            ImageComponent::Repository,
            Add,
            "-debug",
            "nginx-debug",
        ),
    ] {
        let mut image = Image::parse(given).unwrap();
        image.change(component, operator, value).unwrap();
        assert_eq!(
            image.to_string(),
            expected,
            "{given} {component:?} {operator:?} {value}"
        );
    }
    for name in ["", "nginx:", "nginx@", "a.b/", ":1", "x/a:1/b"] {
        assert!(Image::parse(name).is_err(), "{name}");
    }
}

#[test]
fn words_are_appended_and_taken_away_by_container() {
    let words = |operator, value: &[&str], name: &str| Overriders {
        command_overrider: vec![CommandArgsOverrider {
            container_name: name.into(),
            operator,
            value: value.iter().map(|w| (*w).to_owned()).collect(),
        }],
        ..Overriders::default()
    };
    let place = "/spec/template/spec/containers/0/command";
    check(
        words(CommandArgsOperator::Add, &["-x"], "web"),
        place,
        &json!(["run", "-v", "-x"]),
    );
    check(
        words(CommandArgsOperator::Remove, &["-v"], "web"),
        place,
        &json!(["run"]),
    );
    check(
        words(CommandArgsOperator::Add, &["-x"], "other"),
        place,
        &json!(["run", "-v"]),
    );
    check(
        words(CommandArgsOperator::Add, &["-x"], "log"),
        "/spec/template/spec/containers/1/command",
        &json!(["-x"]),
    );
}

#[test]
fn labels_are_added_but_only_existing_ones_replaced_or_removed() {
    let labels = |operator, key: &str| Overriders {
        labels_overrider: vec![LabelAnnotationOverrider {
            operator,
            value: BTreeMap::from([(key.to_owned(), "new".to_owned())]),
        }],
        ..Overriders::default()
    };
    let place = "/metadata/labels";
    check(labels(Add, "x"), place, &json!({"app": "web", "x": "new"}));
    check(labels(Add, "app"), place, &json!({"app": "new"}));
    check(labels(Replace, "x"), place, &json!({"app": "web"}));
    check(labels(Replace, "app"), place, &json!({"app": "new"}));
    check(labels(Remove, "app"), place, &Value::Null);
    check(labels(Remove, "x"), place, &json!({"app": "web"}));
}

#[test]
fn a_document_in_a_string_is_changed_inside() {
    let config = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web", "namespace": "shop"},
        "data": {"a.json": "{\"port\":80,\"keep\":1}", "b.yaml": "port: 80\nhosts:\n- a\n", "text": "hello"}});
    let patches = vec![FieldPatch {
        sub_path: "/port".into(),
        operator: Replace,
        value: Some(json!(8080)),
    }];
    let field = |path: &str, json: Vec<FieldPatch>, yaml: Vec<FieldPatch>| {
        let overriders = Overriders {
            field_overrider: vec![FieldOverrider {
                field_path: path.into(),
                json,
                yaml,
            }],
            ..Overriders::default()
        };
        let mut manifest = config.clone();
        run(
            &[view("shop", "p", vec![everywhere(overriders)])],
            &mut manifest,
            "m1",
        )
        .map(|_| manifest)
    };
    let json = field("/data/a.json", patches.clone(), vec![]).unwrap();
    assert_eq!(
        serde_json::from_str::<Value>(json["data"]["a.json"].as_str().unwrap()).unwrap(),
        json!({"port": 8080, "keep": 1})
    );
    let yaml = field("/data/b.yaml", vec![], patches.clone()).unwrap();
    assert_eq!(
        serde_saphyr::from_str::<Value>(yaml["data"]["b.yaml"].as_str().unwrap()).unwrap(),
        json!({"port": 8080, "hosts": ["a"]})
    );
    assert!(
        field("/data/none", patches.clone(), vec![])
            .unwrap_err()
            .message
            .contains("no such field")
    );
    assert!(
        field("/data/text", patches, vec![])
            .unwrap_err()
            .message
            .contains("holds no JSON document")
    );
}

fn selector(name: Option<&str>) -> ResourceSelector {
    ResourceSelector {
        api_version: "apps/v1".into(),
        kind: "Deployment".into(),
        name: name.map(str::to_owned),
        ..ResourceSelector::default()
    }
}

fn replicas_policy(
    namespace: &str,
    name: &str,
    selectors: Vec<ResourceSelector>,
    replicas: i64,
) -> OverrideView {
    let mut view = view(
        namespace,
        name,
        vec![everywhere(plaintext(
            "/spec/replicas",
            Replace,
            Some(json!(replicas)),
        ))],
    );
    view.spec = Arc::new(OverrideSpec {
        resource_selectors: selectors,
        ..(*view.spec).clone()
    });
    view
}

#[test]
fn the_namespace_beats_the_cluster_scope_a_name_beats_a_kind_and_z_beats_a() {
    let cases = [
        (
            "namespace over cluster",
            vec![
                replicas_policy("shop", "a", vec![], 7),
                replicas_policy("", "z", vec![selector(Some("web"))], 8),
            ],
            7,
        ),
        (
            "name over kind",
            vec![
                replicas_policy("shop", "a", vec![selector(Some("web"))], 7),
                replicas_policy("shop", "z", vec![selector(None)], 8),
            ],
            7,
        ),
        (
            "last name wins",
            vec![
                replicas_policy("shop", "z", vec![], 7),
                replicas_policy("shop", "a", vec![], 8),
            ],
            7,
        ),
        (
            "another namespace is none of its business",
            vec![
                replicas_policy("shop", "a", vec![], 7),
                replicas_policy("other", "z", vec![], 8),
            ],
            7,
        ),
    ];
    for (narrative, mut policies, expected) in cases {
        for _ in 0..2 {
            let mut manifest = deployment();
            let applied = run(&policies, &mut manifest, "m1").unwrap();
            assert_eq!(manifest["spec"]["replicas"], json!(expected), "{narrative}");
            let winner = &applied.provenance["/spec/replicas"];
            assert_eq!(
                (winner.policy.namespace.as_str(), winner.rule),
                ("shop", 0),
                "{narrative}"
            );
            policies.reverse();
        }
    }
}

#[test]
fn two_policies_that_set_one_field_are_a_conflict_with_a_winner() {
    let policies = [
        replicas_policy("shop", "a", vec![], 7),
        replicas_policy("", "c", vec![], 8),
    ];
    let applied = run(&policies, &mut deployment(), "m1").unwrap();
    assert_eq!(applied.conflicts.len(), 1);
    let conflict = &applied.conflicts[0];
    assert_eq!(conflict.pointer, "/spec/replicas");
    assert_eq!(conflict.winner.to_string(), "OverridePolicy shop/a, rule 1");
    assert_eq!(
        conflict.loser.to_string(),
        "ClusterOverridePolicy c, rule 1"
    );
    assert!(
        applied
            .cluster_policies
            .unwrap()
            .contains("\"policyName\":\"c\"")
    );
    assert!(applied.policies.unwrap().contains("\"policyName\":\"a\""));
}

#[test]
fn rules_apply_to_the_clusters_they_mean_also_in_the_older_form() {
    let only = |name: &str| {
        Some(ClusterAffinity {
            cluster_names: vec![name.into()],
            ..ClusterAffinity::default()
        })
    };
    let overriders = plaintext("/spec/replicas", Replace, Some(json!(9)));
    let rule = OverrideRule {
        target_cluster: only("m2"),
        overriders: overriders.clone(),
    };
    let old = OverrideView {
        policy: PolicyRef::new("OverridePolicy", "shop", "old"),
        spec: Arc::new(OverrideSpec {
            target_cluster: only("m2"),
            overriders,
            ..OverrideSpec::default()
        }),
    };
    for policy in [view("shop", "new", vec![rule]), old] {
        for (on, expected) in [("m1", 2), ("m2", 9)] {
            let mut manifest = deployment();
            run(std::slice::from_ref(&policy), &mut manifest, on).unwrap();
            assert_eq!(
                manifest["spec"]["replicas"],
                json!(expected),
                "{} on {on}",
                policy.policy
            );
        }
    }
}

proptest! {
    #[test]
    fn an_image_name_survives_being_taken_apart(
        registry in prop::option::of("[a-z]{1,6}\\.[a-z]{2}(:[0-9]{2,4})?"),
        repository in "[a-z]{1,6}(/[a-z]{1,6}){0,2}",
        tag in prop::option::of("[a-z0-9]{1,6}"),
        digest in prop::option::of("sha256:[a-f0-9]{8}"),
    ) {
        let mut name = registry.map(|r| format!("{r}/")).unwrap_or_default() + &repository;
        name += &tag.map(|t| format!(":{t}")).unwrap_or_default();
        name += &digest.map(|d| format!("@{d}")).unwrap_or_default();
        prop_assert_eq!(Image::parse(&name).unwrap().to_string(), name);
    }

    #[test]
    fn no_manifest_and_no_path_is_too_strange(path in "(/[a-z0-9~]{0,4}){0,4}", kind in "(Deployment|Pod|ConfigMap)", number in any::<i64>(), at in 0_usize..3) {
        let mut manifest = json!({"apiVersion": "v1", "kind": kind, "metadata": [number], "spec": number, "data": {"a": null}});
        let operator = [Add, Replace, Remove][at];
        let overriders = Overriders {
            labels_overrider: vec![LabelAnnotationOverrider { operator, value: BTreeMap::from([(path.clone(), path.clone())]) }],
            ..plaintext(&path, operator, Some(json!(number)))
        };
        let _ = run(&[view("", "p", vec![everywhere(overriders)])], &mut manifest, "m1");
    }
}
