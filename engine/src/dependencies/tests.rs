use crds::work::ResourceBindingSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};
use proptest::prelude::*;
use std::sync::Arc;

use super::*;
use crate::interpret::Dependency;
use crate::policy::selector::Identity;
use crate::trace::reason::DependencyReason;

fn config(name: Option<&str>, selector: Option<LabelSelector>) -> Dependency {
    Dependency {
        api_version: "v1".into(),
        kind: "ConfigMap".into(),
        namespace: Some("shop".into()),
        name: name.map(str::to_owned),
        label_selector: selector,
    }
}

fn app(value: &str) -> LabelSelector {
    LabelSelector {
        match_labels: Some([("app".to_owned(), value.to_owned())].into()),
        match_expressions: None,
    }
}

#[test]
fn a_reference_means_what_it_names_or_what_its_labels_describe() {
    let labels = [("app".to_owned(), "web".to_owned())].into();
    let object = Identity {
        api_version: "v1",
        kind: "ConfigMap",
        namespace: "shop",
        name: "settings",
        labels: &labels,
    };
    let malformed = LabelSelector {
        match_expressions: Some(vec![LabelSelectorRequirement {
            key: "app".into(),
            operator: "Near".into(),
            values: None,
        }]),
        ..LabelSelector::default()
    };
    for (dependency, expected) in [
        (config(Some("settings"), None), Reference::Yes),
        (config(Some("other"), None), Reference::No),
        (config(None, Some(app("web"))), Reference::Yes),
        (config(None, Some(app("db"))), Reference::No),
        (config(None, Some(LabelSelector::default())), Reference::Yes),
        (config(Some("other"), Some(app("web"))), Reference::No),
        (config(Some(""), Some(app("web"))), Reference::Yes),
        (config(None, None), Reference::No),
        (config(None, Some(malformed)), Reference::Unclear),
        (
            Dependency {
                kind: "Secret".into(),
                ..config(Some("settings"), None)
            },
            Reference::No,
        ),
        (
            Dependency {
                namespace: Some("other".into()),
                ..config(Some("settings"), None)
            },
            Reference::No,
        ),
        (
            Dependency {
                namespace: None,
                ..config(Some("settings"), None)
            },
            Reference::No,
        ),
    ] {
        assert_eq!(refers(&dependency, object), expected, "{dependency:?}");
    }
}

#[test]
fn what_is_written_down_is_read_again_in_the_words_of_the_contract() {
    let all = [
        config(Some("settings"), None),
        config(None, Some(app("web"))),
    ];
    let text = record(&all);
    assert_eq!(
        text,
        r#"[{"apiVersion":"v1","kind":"ConfigMap","namespace":"shop","name":"settings"},{"apiVersion":"v1","kind":"ConfigMap","namespace":"shop","labelSelector":{"matchLabels":{"app":"web"}}}]"#
    );
    assert_eq!(read(&text).as_deref(), Some(&all[..]));
    assert_eq!(read("null"), Some(Vec::new()));
    assert_eq!(read("[]"), Some(Vec::new()));
    assert_eq!(read("{"), None, "nothing is concluded from what is no JSON");
    assert_eq!(read(r#"{"a": 1}"#), None);
}

fn binding(spec: ResourceBindingSpec) -> BindingView {
    BindingView {
        namespace: "shop".into(),
        name: "web-deployment".into(),
        permanent_id: Some("id-web-deployment".into()),
        spec: Arc::new(spec),
        ..BindingView::default()
    }
}

#[test]
fn only_a_binding_that_propagates_its_dependencies_is_a_dependent() {
    for (propagate_deps, expected) in [(None, false), (Some(false), false), (Some(true), true)] {
        let spec = ResourceBindingSpec {
            propagate_deps,
            clusters: vec![TargetCluster {
                name: "m1".into(),
                replicas: Some(3),
                ..TargetCluster::default()
            }],
            ..ResourceBindingSpec::default()
        };
        let found = Dependent::of(&binding(spec));
        assert_eq!(
            found,
            expected.then(|| dependent("web-deployment", &["m1"]))
        );
    }
}

fn dependent(name: &str, clusters: &[&str]) -> Dependent {
    Dependent {
        namespace: "shop".into(),
        name: name.into(),
        id: format!("id-{name}").into(),
        clusters: clusters.iter().map(|name| Name::from(*name)).collect(),
        ..Dependent::default()
    }
}

#[test]
fn labels_and_snapshots_lead_back_to_those_who_depend() {
    let cluster_scoped = Dependent {
        namespace: Name::default(),
        ..dependent("widget-a", &["m1"])
    };
    let all = [dependent("web-deployment", &["m2", "m1"]), cluster_scoped];
    assert_eq!(
        labels(&all),
        [
            (
                names::depended_by_label(Some("shop"), "web-deployment"),
                "id-web-deployment".to_owned()
            ),
            (
                names::depended_by_label(None, "widget-a"),
                "id-widget-a".to_owned()
            ),
        ]
        .into()
    );
    assert_eq!(
        serde_json::to_value(required_by(&all)).unwrap(),
        serde_json::json!([
            {"name": "widget-a", "clusters": [{"name": "m1"}]},
            {"namespace": "shop", "name": "web-deployment",
             "clusters": [{"name": "m1"}, {"name": "m2"}]},
        ])
    );
}

#[test]
fn who_asks_for_more_is_heard_and_the_others_are_named() {
    let overwriting = Dependent {
        conflict_resolution: ConflictResolution::Overwrite,
        preserves: true,
        ..dependent("web", &["m1"])
    };
    let plain = dependent("api", &["m1"]);
    let alone = terms(std::slice::from_ref(&overwriting));
    assert_eq!(alone.conflict_resolution, ConflictResolution::Overwrite);
    assert!(alone.preserves);
    assert_eq!(alone.conflicts, [], "one cannot disagree with itself");
    assert_eq!(
        terms(&[plain.clone(), plain.clone()]),
        Terms::default(),
        "nobody asks for anything"
    );
    let both = terms(&[plain, overwriting]);
    assert_eq!(both.conflict_resolution, ConflictResolution::Overwrite);
    assert!(both.preserves);
    let words: Vec<String> = both.conflicts.iter().map(ToString::to_string).collect();
    assert_eq!(
        words,
        [
            "conflictResolution is Overwrite, as shop/web has it, although shop/api has Abort; make them agree, or give this object a policy of its own",
            "preserveResourcesOnDeletion is true, as shop/web has it, although shop/api has not; make them agree, or give this object a policy of its own",
        ]
    );
}

#[test]
fn a_kind_that_may_not_be_watched_is_told_with_the_way_out() {
    let forbidden = |kind: &str, count: usize| {
        DependencyReason::KindForbidden {
            kind: kind.into(),
            names: (0..count).map(|n| format!("s{n}")).collect(),
        }
        .to_string()
    };
    assert_eq!(
        forbidden("Secret", 1),
        "Secret s0 cannot go along: binding-scheduler has no permission to watch Secret objects; the component config/components/propagate-secrets gives it"
    );
    assert!(forbidden("Secret", 7).contains("s0, s1, s2, s3, s4 and 2 more"));
    assert!(forbidden("Widget", 1).contains("docs/permissions.md"));
}

fn any_dependents() -> impl Strategy<Value = Vec<Dependent>> {
    let one = (
        0..4_u8,
        proptest::collection::btree_set(0..4_u8, 0..3),
        any::<bool>(),
        any::<bool>(),
    );
    proptest::collection::vec(one, 0..5).prop_map(|all| {
        let mut found: Vec<Dependent> = Vec::new();
        for (name, clusters, overwrite, preserves) in all {
            let name = Name::from(format!("d{name}"));
            if found.iter().any(|other| other.name == name) {
                continue;
            }
            found.push(Dependent {
                clusters: clusters.iter().map(|n| format!("m{n}").into()).collect(),
                conflict_resolution: if overwrite {
                    ConflictResolution::Overwrite
                } else {
                    ConflictResolution::Abort
                },
                preserves,
                ..dependent(&name, &[])
            });
        }
        found
    })
}

proptest! {
    #[test]
    fn order_of_dependents_changes_nothing(all in any_dependents(), by in 0..5_usize) {
        let mut turned = all.clone();
        turned.rotate_left(by.min(all.len()));
        prop_assert_eq!(required_by(&all), required_by(&turned));
        prop_assert_eq!(labels(&all), labels(&turned));
        prop_assert_eq!(terms(&all), terms(&turned));
    }

    #[test]
    fn every_cluster_of_a_dependent_is_in_its_snapshot_and_no_other(all in any_dependents()) {
        let snapshots = required_by(&all);
        prop_assert_eq!(snapshots.len(), all.len());
        for dependent in &all {
            let mine = snapshots.iter().find(|s| *dependent.name == *s.name.as_str()).unwrap();
            let clusters: BTreeSet<Name> = mine.clusters.iter().map(|c| Name::from(&c.name)).collect();
            prop_assert_eq!(&clusters, &dependent.clusters);
        }
    }

    #[test]
    fn one_more_dependent_never_makes_the_terms_smaller(all in any_dependents()) {
        for n in 0..all.len() {
            let (before, after) = (terms(&all[..n]), terms(&all));
            prop_assert!(!before.preserves || after.preserves);
            prop_assert!(
                before.conflict_resolution == ConflictResolution::Abort
                    || after.conflict_resolution == ConflictResolution::Overwrite
            );
            prop_assert!(before.conflicts.len() <= after.conflicts.len());
        }
    }

    #[test]
    fn reading_never_panics(text in ".{0,80}") {
        let _ = read(&text);
    }
}
