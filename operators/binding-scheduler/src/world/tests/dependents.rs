//! Who depends on what, and whom a change of that concerns.

use engine::interpret::Dependency;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

use super::*;

fn config_map(name: &str, app: &str) -> TemplateView {
    TemplateView {
        api_version: "v1".into(),
        kind: "ConfigMap".into(),
        labels: [("app".to_owned(), app.to_owned())].into(),
        resource_version: "5".into(),
        ..template(name)
    }
}

fn to(name: &str) -> Dependency {
    Dependency {
        api_version: "v1".into(),
        kind: "ConfigMap".into(),
        namespace: Some("default".into()),
        name: Some(name.into()),
        label_selector: None,
    }
}

fn to_app(app: &str) -> Dependency {
    Dependency {
        name: None,
        label_selector: Some(LabelSelector {
            match_labels: Some([("app".to_owned(), app.to_owned())].into()),
            match_expressions: None,
        }),
        ..to("")
    }
}

/// The binding of a Deployment that takes along what it refers to.
fn independent(name: &str, clusters: &[&str], refers: Option<&[Dependency]>) -> BindingView {
    let plain = binding(name, clusters, Some(&[]));
    let mut spec = (*plain.spec).clone();
    spec.propagate_deps = Some(true);
    BindingView {
        spec: Arc::new(spec),
        dependencies: refers.map(Arc::from),
        ..plain
    }
}

/// The binding of a `ConfigMap` that is there for others.
fn attached(name: &str, required_by: &[&str]) -> BindingView {
    let mut spec = ResourceBindingSpec {
        resource: ObjectReference {
            api_version: "v1".into(),
            kind: "ConfigMap".into(),
            namespace: Some("default".into()),
            name: name.into(),
            ..ObjectReference::default()
        },
        ..ResourceBindingSpec::default()
    };
    spec.required_by = required_by
        .iter()
        .map(|name| BindingSnapshot {
            namespace: Some("default".into()),
            name: format!("{name}-deployment"),
            clusters: Vec::new(),
        })
        .collect();
    BindingView {
        namespace: "default".into(),
        name: format!("{name}-configmap").into(),
        resource_version: "5".into(),
        spec: Arc::new(spec),
        ..BindingView::default()
    }
}

fn later(binding: BindingView, resource_version: &str) -> Arc<BindingView> {
    Arc::new(BindingView {
        resource_version: resource_version.into(),
        ..binding
    })
}

fn config_key(name: &str) -> TemplateKey {
    TemplateKey::from(&config_map(name, ""))
}

fn dependents(world: &World, name: &str) -> Vec<String> {
    let sight = world.sight(&config_key(name));
    sight
        .dependents
        .iter()
        .map(|dependent| {
            let clusters: Vec<&str> = dependent.clusters.iter().map(Name::as_str).collect();
            format!("{}: {}", dependent.name, clusters.join(" "))
        })
        .collect()
}

#[test]
fn what_a_binding_refers_to_is_looked_at_when_that_or_its_clusters_change() {
    let mut world = World::default();
    for name in ["a", "b"] {
        world.put_template(Arc::new(config_map(name, "web")));
    }
    let first = independent("web", &["m1"], Some(&[to("a"), to("late")]));
    assert_eq!(
        templates(&world.put_binding(Arc::new(first.clone()))),
        ["web", "a", "late"],
        "whether or not it exists yet"
    );
    assert_eq!(dependents(&world, "a"), ["web-deployment: m1"]);
    assert_eq!(
        templates(&world.put_binding(later(
            BindingView {
                generation: 7,
                ..first
            },
            "6"
        ))),
        ["web"],
        "nothing that matters to dependencies has changed"
    );
    let moved = independent("web", &["m2"], Some(&[to("a"), to("b")]));
    assert_eq!(
        templates(&world.put_binding(later(moved, "7"))),
        ["web", "a", "b", "late"],
        "what it refers to now, and what it referred to before"
    );
    assert_eq!(dependents(&world, "b"), ["web-deployment: m2"]);
    assert_eq!(
        templates(&world.remove_binding("default", "web-deployment")),
        ["web", "a", "b"]
    );
    assert_eq!(dependents(&world, "a"), Vec::<String>::new());
}

#[test]
fn labels_mean_what_carries_them_now_and_what_will() {
    let mut world = World::default();
    world.put_template(Arc::new(config_map("a", "web")));
    world.put_template(Arc::new(config_map("b", "db")));
    let web = independent("web", &["m1"], Some(&[to_app("web")]));
    assert_eq!(templates(&world.put_binding(Arc::new(web))), ["web", "a"]);
    assert_eq!(dependents(&world, "b"), Vec::<String>::new());
    world.put_template(Arc::new(TemplateView {
        resource_version: "9".into(),
        ..config_map("b", "web")
    }));
    assert_eq!(dependents(&world, "b"), ["web-deployment: m1"]);
}

#[test]
fn a_listed_dependent_stays_until_it_is_known_what_it_refers_to() {
    let mut world = World::default();
    world.put_template(Arc::new(config_map("a", "")));
    world.put_binding(Arc::new(attached("a", &["web", "gone"])));
    let silent = independent("web", &["m1"], None);
    assert_eq!(
        templates(&world.put_binding(Arc::new(silent))),
        ["web", "a"]
    );
    assert_eq!(
        dependents(&world, "a"),
        ["web-deployment: m1"],
        "one that is gone needs nothing"
    );
    let speaking = independent("web", &["m1"], Some(&[to("b")]));
    assert_eq!(
        templates(&world.put_binding(later(speaking, "6"))),
        ["web", "a", "b"]
    );
    assert_eq!(dependents(&world, "a"), Vec::<String>::new());
}

#[test]
fn nobody_depends_on_itself() {
    let mut world = World::default();
    let itself = Dependency {
        api_version: "apps/v1".into(),
        kind: "Deployment".into(),
        ..to("web")
    };
    world.put_template(Arc::new(template("web")));
    world.put_binding(Arc::new(independent("web", &["m1"], Some(&[itself]))));
    assert!(world.sight(&key("web")).dependents.is_empty());
}

#[test]
fn kinds_are_watched_while_somebody_refers_to_them() {
    let mut world = World::default();
    let config_maps = config_key("a").gvk;
    world.put_binding(Arc::new(independent("web", &[], Some(&[to("a")]))));
    world.put_binding(Arc::new(independent("api", &[], Some(&[to_app("x")]))));
    assert!(world.kinds().contains(&config_maps));
    world.remove_binding("default", "web-deployment");
    assert!(world.kinds().contains(&config_maps));
    world.put_binding(later(binding("api", &[], None), "6"));
    assert!(!world.kinds().contains(&config_maps));
}

#[test]
fn a_kind_that_may_not_be_watched_concerns_those_who_refer_to_it() {
    let mut world = World::default();
    let gvk = config_key("a").gvk;
    let web = independent("web", &["m1"], Some(&[to("a"), to_app("x")]));
    world.put_binding(Arc::new(web.clone()));
    world.put_binding(Arc::new(binding("other", &["m1"], None)));
    assert!(world.forbidden_for(&web).is_empty());
    assert_eq!(templates(&world.kind_forbidden(&gvk)), ["web"]);
    assert!(world.kind_forbidden(&gvk).is_empty(), "once");
    assert_eq!(
        world.forbidden_for(&web).into_values().collect::<Vec<_>>(),
        [["a", "*"]]
    );
    world.kind_synced(&gvk);
    assert!(world.forbidden_for(&web).is_empty());
}

#[test]
fn a_conflict_is_news_when_it_begins_or_changes() {
    let mut world = World::default();
    let conflict = "they disagree".to_owned();
    let (old, new) = (config_key("old"), config_key("new"));
    assert!(
        !world.note_conflict(&old, Some(&conflict), false),
        "it was so before this process started"
    );
    assert!(world.note_conflict(&old, Some(&"otherwise".to_owned()), false));
    assert!(world.note_conflict(&new, Some(&conflict), true));
    assert!(!world.note_conflict(&new, Some(&conflict), true), "once");
    assert!(!world.note_conflict(&new, None, true));
    assert!(world.note_conflict(&new, Some(&conflict), false));
}

mod property {
    use proptest::prelude::*;

    use super::*;

    fn reference() -> impl Strategy<Value = Dependency> {
        prop_oneof![
            (0..3_u8).prop_map(|n| to(&format!("c{n}"))),
            (0..3_u8).prop_map(|n| to_app(&format!("app{n}"))),
        ]
    }

    /// Which binding changes, and into what: gone, silent, or one that refers to these.
    type Step = (u8, Option<Option<Vec<Dependency>>>);

    fn step() -> impl Strategy<Value = Step> {
        let refers = proptest::collection::vec(reference(), 0..3);
        (
            0..3_u8,
            proptest::option::weighted(0.8, proptest::option::weighted(0.8, refers)),
        )
    }

    fn refers_to(dependencies: &[Dependency], map: &TemplateView) -> bool {
        dependencies.iter().any(|dependency| {
            dependency.name.as_deref().map_or_else(
                || dependency == &to_app(&map.labels["app"]),
                |name| map.name == name,
            )
        })
    }

    proptest! {
        /// However bindings come, change and go: the index says what going through all of them would say, and a change of who
        /// depends on an object brings the object up.
        #[test]
        fn the_index_agrees_with_going_through_everything(
            steps in proptest::collection::vec(step(), 1..12),
        ) {
            let mut world = World::default();
            let maps: Vec<TemplateView> = (0..3)
                .map(|n| config_map(&format!("c{n}"), &format!("app{n}")))
                .collect();
            for map in &maps {
                world.put_template(Arc::new(map.clone()));
            }
            let mut bindings: BTreeMap<String, Vec<Dependency>> = BTreeMap::new();
            for (number, (who, what)) in steps.into_iter().enumerate() {
                let name = format!("d{who}");
                let before: Vec<Vec<String>> =
                    maps.iter().map(|map| dependents(&world, &map.name)).collect();
                let keys = match &what {
                    None => world.remove_binding("default", &format!("{name}-deployment")),
                    Some(refers) => {
                        let new = independent(&name, &[], refers.as_deref());
                        world.put_binding(later(new, &(number + 1).to_string()))
                    }
                };
                bindings.remove(&name);
                if let Some(Some(refers)) = what {
                    bindings.insert(name, refers);
                }
                for (map, before) in maps.iter().zip(before) {
                    let expected: Vec<String> = bindings
                        .iter()
                        .filter(|(_, refers)| refers_to(refers, map))
                        .map(|(name, _)| format!("{name}-deployment: "))
                        .collect();
                    let found = dependents(&world, &map.name);
                    prop_assert_eq!(&found, &expected);
                    if found != before {
                        prop_assert!(templates(&keys).contains(&map.name.as_str()));
                    }
                }
            }
        }
    }
}
