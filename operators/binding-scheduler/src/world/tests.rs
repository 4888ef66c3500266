use crds::policy::{ClusterAffinity, Placement, PropagationSpec, ResourceSelector};
use crds::work::{BindingSnapshot, ObjectReference, ResourceBindingSpec, TargetCluster};
use engine::snapshot::{Claim, ClaimMarks, PolicyScope, Readiness, Room};

use super::*;

mod dependents;

fn template(name: &str) -> TemplateView {
    TemplateView {
        api_version: "apps/v1".into(),
        kind: "Deployment".into(),
        namespace: "default".into(),
        name: name.into(),
        uid: format!("uid-{name}").into(),
        ..TemplateView::default()
    }
}

fn key(name: &str) -> TemplateKey {
    TemplateKey::from(&template(name))
}

fn policy(name: &str, selects: Option<&str>) -> PolicyView {
    PolicyView {
        policy: PolicyRef::new("PropagationPolicy", "default", name),
        scope: PolicyScope::Namespaced,
        permanent_id: Some("id".into()),
        deleting: false,
        finalizers: Vec::new(),
        uid: Name::default(),
        generation: 1,
        resource_version: Name::default(),
        spec: Arc::new(PropagationSpec {
            resource_selectors: vec![ResourceSelector {
                api_version: "apps/v1".into(),
                kind: "Deployment".into(),
                name: selects.map(str::to_owned),
                ..ResourceSelector::default()
            }],
            ..PropagationSpec::default()
        }),
    }
}

fn marks(policy: &PolicyView) -> ClaimMarks {
    let claim = Claim::of(policy);
    ClaimMarks::read(&claim.labels(), &claim.annotations())
}

fn binding(name: &str, clusters: &[&str], affinity: Option<&[&str]>) -> BindingView {
    BindingView {
        namespace: "default".into(),
        name: format!("{name}-deployment").into(),
        resource_version: "5".into(),
        spec: Arc::new(ResourceBindingSpec {
            resource: ObjectReference {
                api_version: "apps/v1".into(),
                kind: "Deployment".into(),
                namespace: Some("default".into()),
                name: name.into(),
                ..ObjectReference::default()
            },
            clusters: clusters
                .iter()
                .map(|name| TargetCluster {
                    name: (*name).into(),
                    ..TargetCluster::default()
                })
                .collect(),
            placement: affinity.map(|names| Placement {
                cluster_affinity: Some(ClusterAffinity {
                    cluster_names: names.iter().map(|name| (*name).to_owned()).collect(),
                    ..ClusterAffinity::default()
                }),
                ..Placement::default()
            }),
            ..ResourceBindingSpec::default()
        }),
        ..BindingView::default()
    }
}

fn cluster(name: &str) -> ClusterView {
    ClusterView {
        name: name.into(),
        ready: Readiness::Ready,
        ..ClusterView::default()
    }
}

fn templates(keys: &[Key]) -> Vec<&str> {
    keys.iter()
        .filter_map(|key| match key {
            Key::Template(key) => Some(key.name.as_str()),
            Key::Policy(_) => None,
        })
        .collect()
}

#[test]
fn a_policy_concerns_what_it_selects_now_and_what_it_selected_before() {
    let mut world = World::default();
    for name in ["a", "b", "c"] {
        world.put_template(Arc::new(template(name)));
    }
    assert_eq!(
        templates(&world.put_policy(Arc::new(policy("p", Some("a"))))),
        ["a"]
    );
    assert_eq!(
        templates(&world.put_policy(Arc::new(policy("p", Some("b"))))),
        ["a", "b"]
    );
    let p = policy("p", None).policy;
    assert_eq!(templates(&world.remove_policy(&p)), ["b"]);
}

#[test]
fn a_policy_concerns_what_claims_it_even_if_it_no_longer_selects_it() {
    let mut world = World::default();
    let p = policy("p", Some("a"));
    let claimed = TemplateView {
        claim: marks(&p),
        ..template("z")
    };
    world.put_template(Arc::new(claimed));
    assert_eq!(templates(&world.put_policy(Arc::new(p))), ["z"]);
}

#[test]
fn a_policy_hears_of_its_last_claim_being_gone() {
    let mut world = World::default();
    let p = policy("p", Some("a"));
    let claimed = TemplateView {
        claim: marks(&p),
        ..template("a")
    };
    world.put_template(Arc::new(claimed));
    let with_claim = BindingView {
        claim: marks(&p),
        ..binding("a", &[], None)
    };
    world.put_binding(Arc::new(with_claim));
    assert_eq!(world.claims(&p.policy), [key("a")]);

    let keys = world.put_template(Arc::new(template("a")));
    assert_eq!(
        keys,
        [Key::Template(key("a"))],
        "the binding still claims it"
    );
    let keys = world.put_binding(Arc::new(BindingView {
        resource_version: "6".into(),
        ..binding("a", &[], None)
    }));
    assert_eq!(
        keys,
        [Key::Policy(p.policy.clone()), Key::Template(key("a"))]
    );
    assert_eq!(world.claims(&p.policy), []);
}

#[test]
fn what_is_being_deleted_holds_no_policy_back() {
    let mut world = World::default();
    let p = policy("p", Some("a"));
    world.put_binding(Arc::new(BindingView {
        claim: marks(&p),
        ..binding("a", &["m1"], None)
    }));
    let keys = world.put_binding(Arc::new(BindingView {
        claim: marks(&p),
        deleting: true,
        resource_version: "6".into(),
        ..binding("a", &["m1"], None)
    }));
    assert!(keys.contains(&Key::Policy(p.policy.clone())));
    assert_eq!(world.claims(&p.policy), []);
}

#[test]
fn an_older_sight_never_replaces_a_newer_one() {
    let mut world = World::default();
    let newer = BindingView {
        resource_version: "10".into(),
        generation: 2,
        ..binding("a", &["m1"], None)
    };
    assert_eq!(world.put_binding(Arc::new(newer.clone())).len(), 1);
    assert!(
        world.put_binding(Arc::new(newer)).is_empty(),
        "an echo concerns nobody"
    );
    assert!(
        world
            .put_binding(Arc::new(binding("a", &[], None)))
            .is_empty()
    );
    let sight = world.sight(&key("a"));
    assert_eq!(sight.binding.unwrap().generation, 2);
}

#[test]
fn a_cluster_concerns_the_bindings_that_mean_it_or_run_in_it() {
    let mut world = World::default();
    world.put_binding(Arc::new(binding("everywhere", &["m1"], Some(&[]))));
    world.put_binding(Arc::new(binding("named", &["m1"], Some(&["m2"]))));
    world.put_binding(Arc::new(binding("elsewhere", &["m3"], Some(&["m3"]))));
    world.put_binding(Arc::new(binding("unplaced", &["m1"], None)));
    assert_eq!(
        templates(&world.put_cluster(Arc::new(cluster("m1")))),
        ["everywhere", "named"]
    );
    assert_eq!(
        templates(&world.put_cluster(Arc::new(cluster("m2")))),
        ["everywhere", "named"]
    );
    assert!(
        world.put_cluster(Arc::new(cluster("m2"))).is_empty(),
        "nothing changed"
    );
    assert_eq!(
        templates(&world.remove_cluster("m3")),
        Vec::<&str>::new(),
        "never seen"
    );
    world.put_cluster(Arc::new(cluster("m3")));
    assert_eq!(
        templates(&world.remove_cluster("m3")),
        ["elsewhere", "everywhere"]
    );
}

#[test]
fn a_label_that_a_cluster_gets_or_loses_concerns_those_who_select_by_it() {
    let mut world = World::default();
    let mut selecting = binding("a", &[], Some(&[]));
    let mut spec = (*selecting.spec).clone();
    spec.placement = Some(Placement {
        cluster_affinity: Some(ClusterAffinity {
            label_selector: Some(crds::LabelSelector {
                match_labels: Some([("phase".to_owned(), "ready".to_owned())].into()),
                match_expressions: None,
            }),
            ..ClusterAffinity::default()
        }),
        ..Placement::default()
    });
    selecting.spec = Arc::new(spec);
    world.put_binding(Arc::new(selecting));
    assert!(world.put_cluster(Arc::new(cluster("m1"))).is_empty());
    let mut labelled = cluster("m1");
    labelled.labels.insert("phase".into(), "ready".into());
    assert_eq!(templates(&world.put_cluster(Arc::new(labelled))), ["a"]);
    assert_eq!(
        templates(&world.put_cluster(Arc::new(cluster("m1")))),
        ["a"]
    );
}

#[test]
fn more_room_concerns_only_those_who_wait_for_it() {
    let mut world = World::default();
    world.put_binding(Arc::new(binding("content", &["m1"], Some(&[]))));
    world.put_binding(Arc::new(binding("waiting", &[], Some(&[]))));
    world.put_cluster(Arc::new(cluster("m1")));
    world.note(&key("waiting"), true, false);
    let roomy = ClusterView {
        room: Some(Room::default()),
        ..cluster("m1")
    };
    assert_eq!(templates(&world.put_cluster(Arc::new(roomy))), ["waiting"]);
}

#[test]
fn kinds_are_needed_by_policies_and_by_bindings_that_exist() {
    let mut world = World::default();
    assert!(world.kinds().is_empty());
    world.put_policy(Arc::new(policy("p", None)));
    world.put_binding(Arc::new(binding("a", &[], None)));
    assert_eq!(world.kinds().len(), 1);
    world.remove_policy(&policy("p", None).policy);
    assert_eq!(world.kinds().len(), 1, "the binding is left");
    world.remove_binding("default", "a-deployment");
    assert!(world.kinds().is_empty());
}

#[test]
fn when_a_kind_is_known_its_bindings_are_looked_at() {
    let mut world = World::default();
    world.put_binding(Arc::new(binding("orphan", &["m1"], None)));
    let gvk = key("orphan").gvk;
    assert!(!world.sight(&key("orphan")).synced);
    assert_eq!(templates(&world.kind_synced(&gvk)), ["orphan"]);
    assert!(world.kind_synced(&gvk).is_empty(), "once");
    assert!(world.sight(&key("orphan")).synced);
}

#[test]
fn an_override_policy_concerns_those_who_wait_for_one() {
    let mut world = World::default();
    world.note(&key("a"), false, true);
    assert_eq!(
        templates(&world.put_override("default", "small", true)),
        ["a"]
    );
    assert!(world.has_override(&"default".into(), "small"));
    assert!(!world.has_override(&"other".into(), "small"));
    world.put_override("", "everywhere", true);
    assert!(world.has_override(&"other".into(), "everywhere"));
}
