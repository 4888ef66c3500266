//! What holds for every manifest and every list of policies.

use super::*;

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "\\PC{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(key(), inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// Often one that the code looks at.
fn key() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(vec![
            "metadata",
            "labels",
            "spec",
            "template",
            "containers",
            "image",
            "name",
            "args",
        ])
        .prop_map(str::to_owned),
        "\\PC{0,4}",
    ]
}

fn pointer() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::collection::vec(prop_oneof![key(), "-", "[0-9]{1,20}"], 0..5).prop_map(|parts| parts
            .iter()
            .fold(String::new(), |path, part| path + "/" + part)),
        "\\PC{0,8}",
    ]
}

fn every_overrider(
    operator: OverriderOperator,
    path: &str,
    text: &str,
    value: Value,
) -> Overriders {
    let words = |operator| {
        vec![CommandArgsOverrider {
            container_name: text.into(),
            operator,
            value: vec![text.into()],
        }]
    };
    let marks = vec![LabelAnnotationOverrider {
        operator,
        value: BTreeMap::from([(text.to_owned(), text.to_owned())]),
    }];
    let patches = vec![FieldPatch {
        sub_path: path.into(),
        operator,
        value: Some(value.clone()),
    }];
    let by_name = |component| ImageOverrider {
        predicate: None,
        component,
        operator,
        value: Some(text.into()),
    };
    Overriders {
        image_overrider: vec![
            by_name(ImageComponent::Registry),
            by_name(ImageComponent::Tag),
            ImageOverrider {
                predicate: Some(ImagePredicate { path: path.into() }),
                ..by_name(ImageComponent::Repository)
            },
        ],
        command_overrider: words(CommandArgsOperator::Add),
        args_overrider: words(CommandArgsOperator::Remove),
        labels_overrider: marks.clone(),
        annotations_overrider: marks,
        field_overrider: vec![FieldOverrider {
            field_path: path.into(),
            json: vec![],
            yaml: patches,
        }],
        ..plaintext(path, operator, Some(value))
    }
}

/// The overriders of one kind each, so that a problem with one does not hide the others.
fn one_by_one(all: &Overriders) -> Vec<Overriders> {
    let none = Overriders::default;
    vec![
        Overriders {
            image_overrider: all.image_overrider.clone(),
            ..none()
        },
        Overriders {
            command_overrider: all.command_overrider.clone(),
            ..none()
        },
        Overriders {
            args_overrider: all.args_overrider.clone(),
            ..none()
        },
        Overriders {
            labels_overrider: all.labels_overrider.clone(),
            ..none()
        },
        Overriders {
            annotations_overrider: all.annotations_overrider.clone(),
            ..none()
        },
        Overriders {
            field_overrider: all.field_overrider.clone(),
            ..none()
        },
        Overriders {
            plaintext: all.plaintext.clone(),
            ..none()
        },
    ]
}

proptest! {
    #[test]
    fn no_json_is_too_strange(
        metadata in json_value(),
        spec in json_value(),
        containers in json_value(),
        value in json_value(),
        kind in prop::sample::select(vec![("v1", "Pod"), ("apps/v1", "Deployment"), ("v1", "ConfigMap")]),
        structured in any::<bool>(),
        operator in prop::sample::select(vec![Add, Replace, Remove]),
        path in pointer(),
        text in "\\PC{0,8}",
    ) {
        let spec = match (structured, kind.1) {
            (false, _) => spec,
            (true, "Pod") => json!({"containers": containers}),
            (true, _) => json!({"template": {"spec": {"containers": containers}}}),
        };
        let manifest = json!({"apiVersion": kind.0, "kind": kind.1, "metadata": metadata, "spec": spec});
        for overriders in one_by_one(&every_overrider(operator, &path, &text, value)) {
            let _ = run(&[view("", "p", vec![everywhere(overriders)])], &mut manifest.clone(), "m1");
        }
    }

    #[test]
    fn the_order_in_which_policies_are_known_does_not_matter(
        (straight, shuffled) in prop::collection::btree_map(
            (prop::sample::select(vec!["", "shop", "other"]), "[a-c]"),
            (any::<i64>(), prop::sample::select(vec![None, Some("web"), Some("db")])),
            0..8,
        ).prop_map(|map| map.into_iter()
            .map(|((namespace, name), (replicas, wanted))| replicas_policy(namespace, &name, vec![selector(wanted)], replicas))
            .collect::<Vec<_>>())
        .prop_flat_map(|policies| (Just(policies.clone()), Just(policies).prop_shuffle())),
    ) {
        let (mut one, mut other) = (deployment(), deployment());
        let applied = (run(&straight, &mut one, "m1").unwrap(), run(&shuffled, &mut other, "m1").unwrap());
        prop_assert_eq!(one, other);
        prop_assert_eq!(applied.0, applied.1);
    }

    #[test]
    fn a_yaml_document_changes_only_where_it_is_told_to(
        keep in "\\PC{0,12}|on|yes|null|0755|1e3|12:30:00",
        number in any::<i64>(),
        unsigned in any::<u64>(),
    ) {
        let document = json!({"keep": keep, "number": number, "unsigned": unsigned, "set": 1});
        let overrider = FieldOverrider {
            field_path: String::new(),
            json: vec![],
            yaml: vec![FieldPatch { sub_path: "/set".into(), operator: Replace, value: Some(json!(2)) }],
        };
        // JSON is YAML.
        let changed = field::change(&document.to_string(), &overrider).unwrap();
        let mut expected = document;
        expected["set"] = json!(2);
        prop_assert_eq!(serde_saphyr::from_str::<Value>(&changed).unwrap(), expected);
    }
}
