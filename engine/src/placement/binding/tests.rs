//! The life of a binding, told with an API server that is a JSON document.

use std::collections::BTreeMap;
use std::sync::Arc;

use crds::policy::{
    ActivationPreference, ClusterAffinity, Placement, PropagationPolicy, PropagationSpec,
    ReplicaDivisionPreference, ReplicaSchedulingStrategy, ResourceSelector, Suspension,
};
use crds::work::ResourceBinding;
use crds::{finalizers, labels};
use serde_json::json;

use super::*;
use crate::policy::selector::MatchStrength;
use crate::snapshot::{ClaimMarks, ClusterView, PolicyView, Readiness};

/// One template, its policy, and the binding as the API server would hold it.
struct World {
    template: TemplateView,
    policy: Option<PropagationSpec>,
    fleet: Fleet,
    binding: Option<Value>,
    now: i64,
}

fn world() -> World {
    World {
        template: TemplateView {
            api_version: "apps/v1".into(),
            kind: "Deployment".into(),
            namespace: "default".into(),
            name: "web".into(),
            uid: "uid-1".into(),
            version: "1".into(),
            replicas: Some(4),
            ..TemplateView::default()
        },
        policy: Some(PropagationSpec {
            resource_selectors: vec![ResourceSelector {
                api_version: "apps/v1".into(),
                kind: "Deployment".into(),
                ..ResourceSelector::default()
            }],
            placement: Placement {
                replica_scheduling: Some(ReplicaSchedulingStrategy {
                    replica_division_preference: Some(ReplicaDivisionPreference::Weighted),
                    ..ReplicaSchedulingStrategy::default()
                }),
                ..Placement::default()
            },
            ..PropagationSpec::default()
        }),
        fleet: ["m1", "m2"]
            .map(|name| {
                let view = ClusterView {
                    name: name.into(),
                    ready: Readiness::Ready,
                    kinds: [("apps/v1".to_owned(), ["Deployment".to_owned()].into())].into(),
                    kinds_complete: true,
                    ..ClusterView::default()
                };
                (view.name.clone(), Arc::new(view))
            })
            .into(),
        binding: None,
        now: 1_000,
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
            let mut policy = PropagationPolicy::new("p", spec.clone());
            policy.metadata.namespace = Some("default".into());
            policy.metadata.labels = Some(BTreeMap::from([(
                labels::PROPAGATION_POLICY_PERMANENT_ID.to_owned(),
                "id-p".to_owned(),
            )]));
            Owner {
                policy: Arc::new(PolicyView::of(&policy)),
                strength: MatchStrength::All,
                preempted: None,
            }
        });
        let binding = self.view();
        plan(&Situation {
            template: Some(&self.template),
            binding: binding.as_ref(),
            owner: owner.as_ref(),
            missing_overrides: &[],
            dependents: &[],
            fleet: &self.fleet,
            room: RoomHints::default(),
            now: Timestamp::from_second(self.now).unwrap(),
            new_id: "id-b",
        })
        .want
    }

    /// Does what an API server does with the plan, and checks that nothing is left to do then.
    fn apply(&mut self) -> Plan {
        let plan = self.plan();
        let spec_of = |binding: &Option<Value>| binding.as_ref().map(|b| b["spec"].clone());
        let before = spec_of(&self.binding);
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
        let changed = spec_of(&self.binding) != before;
        if let Some(binding) = &mut self.binding {
            let generation = binding["metadata"]["generation"].as_i64().unwrap_or(0);
            let generation = generation + i64::from(changed);
            binding["metadata"]["generation"] = json!(generation);
            if let Some(status) = plan.status.as_ref().and_then(|s| s.status(generation)) {
                binding["status"] = serde_json::to_value(status).unwrap();
            }
        }
        if let Some(patch) = &plan.template {
            let claim = |field: &str| -> BTreeMap<String, String> {
                let marks = patch["metadata"][field]
                    .as_object()
                    .cloned()
                    .unwrap_or_default();
                marks
                    .into_iter()
                    .filter_map(|(k, v)| Some((k, v.as_str()?.to_owned())))
                    .collect()
            };
            self.template.claim = ClaimMarks::read(&claim("labels"), &claim("annotations"));
        }
        self.now += 60;
        self.check_settled();
        plan
    }

    #[track_caller]
    fn check_settled(&self) {
        let again = self.plan();
        assert_eq!(again.binding, BindingChange::Keep);
        assert_eq!(again.template, None);
        assert_eq!(again.events, []);
        if let (Some(wish), Some(view)) = (again.status, self.view()) {
            assert_eq!(wish.status(view.generation), None);
        }
    }

    fn clusters(&self) -> Vec<String> {
        self.view()
            .unwrap()
            .spec
            .clusters
            .iter()
            .map(|c| format!("{}:{}", c.name, c.replicas.unwrap_or(-1)))
            .collect()
    }

    fn condition(&self) -> (String, String) {
        let scheduled = self.view().unwrap().scheduled.unwrap();
        (scheduled.status, scheduled.reason)
    }
}

#[test]
fn one_post_brings_claim_placement_finalizer_and_owner() {
    let mut world = world();
    let plan = world.apply();
    let BindingChange::Create(new) = &plan.binding else {
        panic!("{plan:?}");
    };
    assert_eq!(new.meta.name.as_deref(), Some("web-deployment"));
    assert_eq!(
        new.meta.finalizers.as_deref(),
        Some(&[finalizers::BINDING.to_owned()][..])
    );
    assert_eq!(new.meta.owner_references.as_ref().unwrap()[0].uid, "uid-1");
    let labels = new.meta.labels.as_ref().unwrap();
    assert_eq!(labels[labels::RESOURCE_BINDING_PERMANENT_ID], "id-b");
    assert_eq!(labels[labels::PROPAGATION_POLICY_PERMANENT_ID], "id-p");
    assert_eq!(world.clusters(), ["m1:2", "m2:2"]);
    assert_eq!(world.condition(), ("True".into(), "Success".into()));
    assert_eq!(plan.events.len(), 1);
    assert_eq!(plan.events[0].reason, "ScheduleBindingSucceed");
    let claim = world.template.claim.claim().unwrap();
    assert_eq!(
        (claim.name.as_str(), claim.permanent_id.as_str()),
        ("p", "id-p")
    );
}

#[test]
fn a_changed_number_of_replicas_is_one_patch_of_just_that() {
    let mut world = world();
    world.apply();
    world.template.replicas = Some(6);
    world.template.version = "2".into();
    let plan = world.apply();
    let BindingChange::Patch(patch) = &plan.binding else {
        panic!("{plan:?}");
    };
    assert_eq!(
        *patch,
        json!({"spec": {
            "replicas": 6,
            "clusters": [{"name": "m1", "replicas": 3}, {"name": "m2", "replicas": 3}],
        }})
    );
    assert_eq!(plan.attempt.map(|attempt| attempt.scale), Some(true));
}

#[test]
fn a_changed_policy_moves_and_its_placement_is_recorded() {
    let mut world = world();
    world.apply();
    world.policy.as_mut().unwrap().placement.cluster_affinity = Some(ClusterAffinity {
        cluster_names: vec!["m2".into()],
        ..ClusterAffinity::default()
    });
    world.apply();
    assert_eq!(world.clusters(), ["m2:4"]);
    assert!(world.view().unwrap().applied);
}

#[test]
fn suspension_and_failover_of_the_policy_reach_the_binding() {
    let mut world = world();
    world.apply();
    let policy = world.policy.as_mut().unwrap();
    policy.suspension = Some(Suspension {
        dispatching: Some(true),
        ..Suspension::default()
    });
    policy.failover = Some(crds::policy::FailoverBehavior::default());
    let plan = world.apply();
    assert_eq!(
        plan.binding,
        BindingChange::Patch(
            json!({"spec": {"suspension": {"dispatching": true}, "failover": {}}})
        )
    );
    world.policy.as_mut().unwrap().suspension = None;
    assert_eq!(
        world.apply().binding,
        BindingChange::Patch(json!({"spec": {"suspension": null}}))
    );
}

#[test]
fn what_others_wrote_into_the_spec_stays() {
    let mut world = world();
    world.apply();
    let binding = world.binding.as_mut().unwrap();
    binding["spec"]["suspension"] = json!({"scheduling": true});
    world.check_settled();
    world.template.replicas = Some(8);
    world.apply();
    let view = world.view().unwrap();
    assert_eq!(
        view.spec.suspension.as_ref().unwrap().scheduling,
        Some(true)
    );
    assert_eq!(
        world.clusters(),
        ["m1:2", "m2:2"],
        "suspended: the result stays"
    );
}

#[test]
fn no_fit_creates_a_binding_that_says_so_and_heals() {
    let mut world = world();
    let healthy = std::mem::take(&mut world.fleet);
    let plan = world.apply();
    assert!(plan.pending.is_some());
    assert!(plan.events[0].warning);
    assert_eq!(world.clusters(), Vec::<String>::new());
    assert_eq!(world.condition(), ("False".into(), "NoClusterFit".into()));
    assert_eq!(world.view().unwrap().observed_generation, None);
    world.fleet = healthy;
    world.apply();
    assert_eq!(world.condition(), ("True".into(), "Success".into()));
}

#[test]
fn a_policy_that_is_gone_releases_template_and_binding_and_nothing_moves() {
    let mut world = world();
    world.apply();
    world.policy = None;
    world.apply();
    assert!(world.template.claim.is_empty());
    assert!(world.view().unwrap().claim.is_empty());
    assert_eq!(world.clusters(), ["m1:2", "m2:2"]);
    world.template.replicas = Some(9);
    assert!(world.plan().is_empty(), "a released binding is left alone");
}

#[test]
fn a_template_replaced_without_its_marks_gets_them_back() {
    let mut world = world();
    world.apply();
    world.template.claim = ClaimMarks::default();
    let plan = world.apply();
    assert_eq!(plan.binding, BindingChange::Keep);
    assert!(plan.template.is_some());
}

#[test]
fn a_template_made_anew_waits_until_the_old_binding_is_gone() {
    let mut world = world();
    world.apply();
    world.template.uid = "uid-2".into();
    world.template.claim = ClaimMarks::default();
    assert!(world.plan().is_empty());
    world.binding.as_mut().unwrap()["metadata"]["deletionTimestamp"] =
        json!("2026-01-01T00:00:00Z");
    assert!(world.plan().is_empty());
    world.binding = None;
    world.apply();
    assert_eq!(world.view().unwrap().owner.as_deref(), Some("uid-2"));
}

#[test]
fn a_request_to_reschedule_is_answered_once() {
    let mut world = world();
    world.apply();
    world.binding.as_mut().unwrap()["spec"]["rescheduleTriggeredAt"] =
        json!("2026-01-01T00:00:00Z");
    let plan = world.plan();
    assert!(plan.status.as_ref().unwrap().status(2).is_some());
    world.apply();
}

#[test]
fn a_lazy_policy_waits_for_the_template() {
    let mut world = world();
    world.policy.as_mut().unwrap().activation_preference = Some(ActivationPreference::Lazy);
    world.apply();
    world.policy.as_mut().unwrap().placement.cluster_affinity = Some(ClusterAffinity {
        cluster_names: vec!["m2".into()],
        ..ClusterAffinity::default()
    });
    world.check_settled();
    assert_eq!(world.clusters(), ["m1:2", "m2:2"]);
    world.template.version = "2".into();
    world.apply();
    assert_eq!(world.clusters(), ["m2:4"]);
}

#[test]
fn a_policy_for_another_scheduler_binds_but_does_not_place() {
    let mut world = world();
    world.policy.as_mut().unwrap().scheduler_name = "mine".into();
    world.apply();
    let view = world.view().unwrap();
    assert_eq!(view.spec.scheduler_name.as_deref(), Some("mine"));
    assert!(view.spec.clusters.is_empty());
    assert_eq!(view.scheduled, None);
}

#[test]
fn an_adopted_binding_gets_what_it_lacks_under_its_resource_version() {
    let mut world = world();
    world.apply();
    let metadata = world.binding.as_mut().unwrap()["metadata"]
        .as_object_mut()
        .unwrap();
    metadata.remove("ownerReferences");
    metadata.insert("finalizers".into(), json!(["example.com/other"]));
    metadata.insert("resourceVersion".into(), json!("77"));
    let plan = world.apply();
    let BindingChange::Patch(patch) = &plan.binding else {
        panic!("{plan:?}");
    };
    assert_eq!(patch["metadata"]["resourceVersion"], "77");
    assert_eq!(
        patch["metadata"]["finalizers"],
        json!(["example.com/other", finalizers::BINDING])
    );
    assert_eq!(patch["metadata"]["ownerReferences"][0]["uid"], "uid-1");
}

#[test]
fn override_policies_that_are_missing_hold_the_binding_back() {
    let world = world();
    let owner = Owner {
        policy: Arc::new(PolicyView::of(&PropagationPolicy::new(
            "p",
            world.policy.clone().unwrap(),
        ))),
        strength: MatchStrength::All,
        preempted: None,
    };
    let decision = plan(&Situation {
        template: Some(&world.template),
        binding: None,
        owner: Some(&owner),
        missing_overrides: &["small".to_owned()],
        dependents: &[],
        fleet: &world.fleet,
        room: RoomHints::default(),
        now: Timestamp::UNIX_EPOCH,
        new_id: "id",
    });
    assert_eq!(decision.want.binding, BindingChange::Keep);
    assert_eq!(decision.want.events[0].reason, "ApplyPolicyFailed");
    assert!(decision.want.events[0].note.contains("small"));
}

#[test]
fn a_binding_of_another_controller_gets_clusters_and_nothing_else() {
    let mut world = world();
    world.apply();
    let binding = world.binding.as_mut().unwrap();
    binding["metadata"]["labels"] = json!({labels::BINDING_MANAGED_BY: "mcs"});
    binding["spec"]["clusters"] = json!([]);
    let view = world.view().unwrap();
    let decision = plan(&Situation {
        template: None,
        binding: Some(&view),
        owner: None,
        missing_overrides: &[],
        dependents: &[],
        fleet: &world.fleet,
        room: RoomHints::default(),
        now: Timestamp::UNIX_EPOCH,
        new_id: "id",
    });
    let BindingChange::Patch(patch) = decision.want.binding else {
        panic!("{:?}", decision.want);
    };
    assert_eq!(patch["spec"].as_object().unwrap().len(), 1);
    assert_eq!(patch["spec"]["clusters"].as_array().unwrap().len(), 2);
    assert_eq!(patch.get("metadata"), None);
}
