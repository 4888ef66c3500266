//! The life of a binding that is there because others depend on its template, told with an API server that is a JSON document.

use crds::labels::RESOURCE_BINDING_PERMANENT_ID;
use crds::policy::{ClusterPropagationPolicy, ConflictResolution, Placement, PropagationSpec};
use crds::scope::Propagation as _;
use crds::work::ResourceBinding;
use crds::{annotations, finalizers};
use proptest::prelude::*;
use serde_json::json;
use std::sync::Arc;

use super::*;
use crate::interpret::Dependency;
use crate::policy::selector::MatchStrength;
use crate::snapshot::{ClusterView, Name, PolicyView, Readiness};

/// A `ConfigMap`, who depends on it, and its binding as the API server would hold it.
struct World {
    template: Option<TemplateView>,
    policy: Option<PropagationSpec>,
    dependents: Vec<Dependent>,
    binding: Option<Value>,
}

fn world() -> World {
    World {
        template: Some(TemplateView {
            api_version: "v1".into(),
            kind: "ConfigMap".into(),
            namespace: "shop".into(),
            name: "settings".into(),
            uid: "uid-1".into(),
            version: "1".into(),
            dependencies: Some(Arc::default()),
            ..TemplateView::default()
        }),
        policy: None,
        dependents: Vec::new(),
        binding: None,
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

impl World {
    fn view(&self) -> Option<BindingView> {
        self.binding.clone().map(|json| {
            let binding: ResourceBinding = serde_json::from_value(json).unwrap();
            BindingView::of(&binding)
        })
    }

    fn plan(&self) -> Plan {
        let owner = self.policy.as_ref().map(|spec| {
            let mut policy = ClusterPropagationPolicy::new("p", spec.clone());
            let id = ClusterPropagationPolicy::PERMANENT_ID_LABEL.to_owned();
            policy.metadata.labels = Some([(id, "id-p".to_owned())].into());
            Owner {
                policy: Arc::new(PolicyView::of(&policy)),
                strength: MatchStrength::All,
                preempted: None,
            }
        });
        let own = ClusterView {
            name: "own".into(),
            ready: Readiness::Ready,
            kinds: [("v1".to_owned(), ["ConfigMap".to_owned()].into())].into(),
            kinds_complete: true,
            ..ClusterView::default()
        };
        let fleet = Fleet::from([(own.name.clone(), Arc::new(own))]);
        plan(&Situation {
            template: self.template.as_ref(),
            binding: self.view().as_ref(),
            owner: owner.as_ref(),
            missing_overrides: &[],
            dependents: &self.dependents,
            fleet: &fleet,
            room: RoomHints::default(),
            now: Timestamp::from_second(1_000).unwrap(),
            new_id: "id-b",
        })
        .want
    }

    /// Does what an API server does with the plan, and checks that nothing is left to do then.
    fn apply(&mut self) -> Plan {
        let plan = self.plan();
        match &plan.binding {
            BindingChange::Keep => {}
            BindingChange::Create(new) => {
                let mut binding = ResourceBinding::new("", new.spec.clone());
                binding.metadata = new.meta.clone();
                self.binding = Some(serde_json::to_value(binding).unwrap());
            }
            BindingChange::Patch(patch) => {
                json_patch::merge(self.binding.as_mut().unwrap(), patch);
            }
            BindingChange::Delete => self.binding = None,
        }
        if let (Some(patch), Some(template)) = (&plan.template, &mut self.template) {
            let marks = |field: &str| {
                let marks = patch["metadata"][field].as_object().into_iter().flatten();
                marks
                    .filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())))
                    .collect()
            };
            template.claim =
                crate::snapshot::ClaimMarks::read(&marks("labels"), &marks("annotations"));
        }
        let again = self.plan();
        assert_eq!(again.binding, BindingChange::Keep, "after {plan:?}");
        assert_eq!(again.template, None);
        plan
    }

    fn required_by(&self) -> Vec<String> {
        let snapshots = self.view().map(|view| view.spec.required_by.clone());
        snapshots
            .iter()
            .flatten()
            .map(|snapshot| {
                let clusters: Vec<&str> =
                    snapshot.clusters.iter().map(|c| c.name.as_str()).collect();
                format!("{}: {}", snapshot.name, clusters.join(" "))
            })
            .collect()
    }
}

#[test]
fn one_post_makes_the_binding_of_what_another_needs() {
    let mut world = world();
    world.dependents = vec![Dependent {
        conflict_resolution: ConflictResolution::Overwrite,
        preserves: true,
        ..dependent("web", &["m1", "m2"])
    }];
    let plan = world.apply();
    assert_eq!(
        plan.status, None,
        "nothing is placed, so nothing is said of it"
    );
    assert_eq!(plan.template, None, "no policy claims the template");
    let binding = world.binding.clone().unwrap();
    assert_eq!(
        binding["metadata"],
        json!({
            "name": "settings-configmap",
            "namespace": "shop",
            "labels": {
                RESOURCE_BINDING_PERMANENT_ID: "id-b",
                crds::names::depended_by_label(Some("shop"), "web"): "id-web",
            },
            "finalizers": [finalizers::BINDING],
            "ownerReferences": [{
                "apiVersion": "v1", "kind": "ConfigMap", "name": "settings", "uid": "uid-1",
                "controller": true, "blockOwnerDeletion": true,
            }],
        })
    );
    assert_eq!(
        binding["spec"],
        json!({
            "resource": {
                "apiVersion": "v1", "kind": "ConfigMap", "namespace": "shop", "name": "settings",
                "uid": "uid-1",
            },
            "requiredBy": [{
                "namespace": "shop", "name": "web",
                "clusters": [{"name": "m1"}, {"name": "m2"}],
            }],
            "conflictResolution": "Overwrite",
            "preserveResourcesOnDeletion": true,
        })
    );
}

#[test]
fn nothing_is_made_before_anybody_runs_anywhere_but_what_is_there_waits() {
    let mut world = world();
    world.dependents = vec![dependent("web", &[])];
    assert_eq!(world.apply().binding, BindingChange::Keep);
    world.dependents = vec![dependent("web", &["m1"])];
    world.apply();
    world.dependents = vec![dependent("web", &[])];
    world.apply();
    assert_eq!(world.required_by(), ["web: "]);
}

#[test]
fn the_binding_follows_each_dependent_and_goes_with_the_last() {
    let mut world = world();
    world.dependents = vec![dependent("web", &["m1"])];
    world.apply();
    world.dependents = vec![dependent("web", &["m2"]), dependent("api", &["m1", "m3"])];
    world.apply();
    assert_eq!(world.required_by(), ["api: m1 m3", "web: m2"]);
    assert_eq!(world.view().unwrap().depended_by.len(), 2);
    world.dependents = vec![dependent("api", &["m1"])];
    let plan = world.apply();
    assert_eq!(
        plan.binding,
        BindingChange::Patch(json!({
            "metadata": {"labels": {crds::names::depended_by_label(Some("shop"), "web"): null}},
            "spec": {"requiredBy": [
                {"namespace": "shop", "name": "api", "clusters": [{"name": "m1"}]},
            ]},
        }))
    );
    world.dependents = Vec::new();
    assert_eq!(world.apply().binding, BindingChange::Delete);
    assert_eq!(world.binding, None);
}

#[test]
fn without_its_template_an_attached_binding_is_left_to_garbage_collection() {
    let mut world = world();
    world.dependents = vec![dependent("web", &["m1"])];
    world.apply();
    world.dependents = Vec::new();
    world.template = None;
    assert_eq!(
        world.plan().binding,
        BindingChange::Keep,
        "a template that is not known says nothing about who needs it"
    );
}

fn own_policy() -> PropagationSpec {
    PropagationSpec {
        placement: Placement {
            cluster_affinity: Some(crds::policy::ClusterAffinity {
                cluster_names: vec!["own".into()],
                ..crds::policy::ClusterAffinity::default()
            }),
            ..Placement::default()
        },
        ..PropagationSpec::default()
    }
}

#[test]
fn a_policy_of_its_own_places_it_and_says_on_which_terms_beside_those_who_need_it() {
    let mut world = world();
    world.policy = Some(own_policy());
    world.dependents = vec![Dependent {
        conflict_resolution: ConflictResolution::Overwrite,
        ..dependent("web", &["m1"])
    }];
    let plan = world.apply();
    let view = world.view().unwrap();
    assert_eq!(view.spec.clusters[0].name, "own");
    assert_eq!(view.spec.conflict_resolution, ConflictResolution::Abort);
    assert_eq!(plan.conflict, None);
    assert_eq!(world.required_by(), ["web: m1"]);
    world.dependents = Vec::new();
    world.apply();
    let view = world.view().unwrap();
    assert_eq!(view.spec.clusters[0].name, "own");
    assert!(view.spec.required_by.is_empty() && view.depended_by.is_empty());
}

#[test]
fn a_policy_may_come_later_and_go_earlier_than_those_who_need_it() {
    let mut world = world();
    world.dependents = vec![dependent("web", &["m1"])];
    world.apply();
    world.policy = Some(own_policy());
    world.apply();
    assert_eq!(world.view().unwrap().spec.clusters[0].name, "own");
    world.policy = None;
    world.apply();
    let view = world.view().unwrap();
    assert!(view.claim.is_empty());
    assert_eq!(
        view.spec.clusters[0].name, "own",
        "what a policy placed stays"
    );
    assert_eq!(world.required_by(), ["web: m1"]);
    world.dependents = Vec::new();
    world.apply();
    assert!(world.binding.is_some(), "a policy has placed it");
    assert_eq!(world.required_by(), Vec::<String>::new());
}

#[test]
fn dependents_that_disagree_are_told() {
    let mut world = world();
    world.dependents = vec![dependent("api", &["m1"]), dependent("web", &["m1"])];
    assert_eq!(world.apply().conflict, None);
    world.dependents[1].conflict_resolution = ConflictResolution::Overwrite;
    let conflict = world.apply().conflict.unwrap();
    assert!(conflict.contains("shop/web") && conflict.contains("shop/api"));
    let event = conflict_event(&conflict);
    assert!(event.warning);
    assert_eq!(event.reason, "DependencyPolicyConflict");
    let view = world.view().unwrap();
    assert_eq!(view.spec.conflict_resolution, ConflictResolution::Overwrite);
}

#[test]
fn the_binding_of_another_controller_only_notes_who_needs_it() {
    let mut world = world();
    world.binding = Some(json!({
        "metadata": {
            "name": "settings-configmap", "namespace": "shop",
            "labels": {"binding.karmada.io/managed-by": "mcs"},
        },
        "spec": {"resource": {
            "apiVersion": "v1", "kind": "ConfigMap", "namespace": "shop", "name": "settings",
        }},
    }));
    world.dependents = vec![dependent("web", &["m1"])];
    world.apply();
    assert_eq!(world.required_by(), ["web: m1"]);
    assert_eq!(
        world.binding.as_ref().unwrap()["metadata"].get("finalizers"),
        None
    );
    world.dependents = Vec::new();
    world.apply();
    assert!(world.binding.is_some());
}

#[test]
fn a_finalizer_from_karmada_does_not_hold_a_binding_for_ever() {
    let mut world = world();
    world.binding = Some(json!({
        "metadata": {
            "name": "settings-configmap", "namespace": "shop", "resourceVersion": "7",
            "deletionTimestamp": "2026-01-01T00:00:00Z",
            "finalizers": [finalizers::BINDING, finalizers::BINDING_DEPENDENCIES_DISTRIBUTOR],
        },
        "spec": {"resource": {
            "apiVersion": "v1", "kind": "ConfigMap", "namespace": "shop", "name": "settings",
        }},
    }));
    assert_eq!(
        world.apply().binding,
        BindingChange::Patch(json!({"metadata": {
            "finalizers": [finalizers::BINDING], "resourceVersion": "7",
        }}))
    );
}

fn reference(name: &str) -> Dependency {
    Dependency {
        api_version: "v1".into(),
        kind: "Secret".into(),
        namespace: Some("shop".into()),
        name: Some(name.into()),
        label_selector: None,
    }
}

#[test]
fn what_a_template_refers_to_is_written_down_as_long_as_it_goes_along() {
    let mut world = world();
    let record = |world: &World| {
        let annotations = &world.binding.as_ref().unwrap()["metadata"]["annotations"];
        annotations
            .get(annotations::DEPENDENCIES)
            .map(|text| text.as_str().unwrap().to_owned())
    };
    let template = |world: &mut World, names: Option<&[&str]>| {
        world.template.as_mut().unwrap().dependencies =
            names.map(|names| names.iter().map(|name| reference(name)).collect());
    };
    world.policy = Some(own_policy());
    template(&mut world, Some(&["a"]));
    world.apply();
    assert_eq!(record(&world), None);
    world.policy.as_mut().unwrap().propagate_deps = Some(true);
    world.apply();
    let with_a = r#"[{"apiVersion":"v1","kind":"Secret","namespace":"shop","name":"a"}]"#;
    assert_eq!(record(&world).as_deref(), Some(with_a));
    template(&mut world, None);
    assert_eq!(
        world.apply().binding,
        BindingChange::Keep,
        "nobody knows better"
    );
    template(&mut world, Some(&[]));
    world.apply();
    assert_eq!(record(&world).as_deref(), Some("[]"));
    world.policy.as_mut().unwrap().propagate_deps = None;
    world.apply();
    assert_eq!(record(&world), None);
}

fn any_dependents() -> impl Strategy<Value = Vec<Dependent>> {
    let one = (
        proptest::collection::btree_set(0..3_u8, 0..3),
        any::<bool>(),
        any::<bool>(),
    );
    proptest::collection::btree_map(0..3_u8, one, 0..3).prop_map(|all| {
        all.into_iter()
            .map(|(name, (clusters, overwrite, preserves))| Dependent {
                clusters: clusters.iter().map(|n| format!("m{n}").into()).collect(),
                conflict_resolution: if overwrite {
                    ConflictResolution::Overwrite
                } else {
                    ConflictResolution::Abort
                },
                preserves,
                ..dependent(&format!("d{name}"), &[])
            })
            .collect()
    })
}

proptest! {
    /// Whatever comes and goes in whatever order: one write makes it so, and only what is needed is there.
    #[test]
    fn each_step_is_settled_by_one_plan(
        steps in proptest::collection::vec((any_dependents(), any::<bool>()), 1..8),
    ) {
        let mut world = world();
        let mut placed = false;
        for (dependents, owned) in steps {
            world.dependents = dependents;
            world.policy = owned.then(own_policy);
            placed |= owned;
            let before = world.binding.is_some();
            world.apply();
            let needed = world.dependents.iter().any(|d| !d.clusters.is_empty());
            let known = before && !world.dependents.is_empty();
            prop_assert_eq!(world.binding.is_some(), placed || needed || known);
            if let Some(view) = world.view() {
                prop_assert_eq!(&view.spec.required_by, &required_by(&world.dependents));
                prop_assert_eq!(view.depended_by, crate::dependencies::labels(&world.dependents));
            }
        }
    }
}
