use crds::policy::ResourceSelector;

use super::*;
use crate::snapshot::Name;
use crate::trace::PolicyRef;

/// A policy for Deployments, in words: `pp web name 3 Always` or `cpp all`.
fn policy(words: &str) -> Arc<PolicyView> {
    let mut words = words.split_whitespace();
    let scope = words.next().unwrap();
    let name = words.next().unwrap();
    let mut selector = ResourceSelector {
        api_version: "apps/v1".into(),
        kind: "Deployment".into(),
        ..ResourceSelector::default()
    };
    let mut spec = PropagationSpec::default();
    let mut deleting = false;
    for word in words {
        match word {
            "name" => selector.name = Some("web".into()),
            "label" => {
                selector.label_selector = Some(crds::LabelSelector {
                    match_labels: Some([("app".to_owned(), "web".to_owned())].into()),
                    match_expressions: None,
                });
            }
            "other" => selector.name = Some("db".into()),
            "all" => {}
            "Always" => spec.preemption = PreemptionBehavior::Always,
            "deleting" => deleting = true,
            number => spec.priority = number.parse().unwrap(),
        }
    }
    spec.resource_selectors = vec![selector];
    let (scope, kind, namespace) = match scope {
        "pp" => (PolicyScope::Namespaced, "PropagationPolicy", "default"),
        "cpp" => (PolicyScope::Cluster, "ClusterPropagationPolicy", ""),
        other => panic!("{other}"),
    };
    Arc::new(PolicyView {
        policy: PolicyRef::new(kind, namespace, name),
        scope,
        permanent_id: Some(format!("id-{name}").into()),
        deleting,
        finalizers: Vec::new(),
        uid: Name::default(),
        generation: 1,
        resource_version: Name::default(),
        spec: Arc::new(spec),
    })
}

struct Case {
    template: TemplateView,
    claim: Option<Claim>,
    policies: Vec<Arc<PolicyView>>,
}

fn given(policies: &[&str]) -> Case {
    Case {
        template: TemplateView {
            api_version: "apps/v1".into(),
            kind: "Deployment".into(),
            namespace: "default".into(),
            name: "web".into(),
            labels: [("app".to_owned(), "web".to_owned())].into(),
            ..TemplateView::default()
        },
        claim: None,
        policies: policies.iter().map(|p| policy(p)).collect(),
    }
}

impl Case {
    fn claimed_by(mut self, name: &str) -> Self {
        let owner = self.policies.iter().find(|p| p.policy.name == name);
        self.claim = Some(owner.map_or_else(
            || Claim {
                scope: PolicyScope::Namespaced,
                namespace: "default".into(),
                name: name.into(),
                permanent_id: Name::default(),
            },
            |policy| Claim::of(policy),
        ));
        self
    }

    /// Who wins, in every order in which the policies may come; and why the named policy is where it is.
    fn check(&self, winner: Option<&str>, whys: &[(&str, &str)]) {
        let forward = decide_owner(&self.template, self.claim.as_ref(), &self.policies);
        let backward = decide_owner(
            &self.template,
            self.claim.as_ref(),
            self.policies.iter().rev(),
        );
        assert_eq!(forward.trace, backward.trace, "order must not matter");
        let owner = forward.want.map(|owner| owner.policy.policy.name.clone());
        assert_eq!(owner.as_deref(), winner, "winner\n{}", forward.trace.text());
        for (name, reason) in whys {
            let found = forward
                .trace
                .steps
                .iter()
                .find_map(|step| match &step.subject {
                    Subject::Policy(policy) if policy.name == *name => {
                        Some(step.verdict.reason().as_str())
                    }
                    _ => None,
                });
            assert_eq!(found, Some(*reason), "{name}\n{}", forward.trace.text());
        }
    }
}

#[test]
fn a_template_that_no_policy_selects_has_no_owner() {
    given(&["pp a other"]).check(None, &[("a", "NotSelected")]);
    given(&[]).check(None, &[]);
}

#[test]
fn a_higher_priority_beats_a_closer_match() {
    given(&["pp a name 1", "pp b all 2"])
        .check(Some("b"), &[("a", "LowerPriority"), ("b", "BestMatch")]);
}

#[test]
fn at_equal_priority_the_closer_match_wins() {
    given(&["pp a all", "pp b label", "pp c name"])
        .check(Some("c"), &[("a", "WeakerMatch"), ("b", "WeakerMatch")]);
}

#[test]
fn at_equal_match_the_alphabet_decides() {
    given(&["pp b all", "pp a all"]).check(Some("a"), &[("b", "LaterName")]);
}

#[test]
fn the_namespace_comes_before_the_cluster_scope_whatever_the_priority() {
    given(&["cpp a name 9", "pp b all"]).check(Some("b"), &[("a", "NamespacedFirst")]);
}

#[test]
fn an_owner_keeps_its_template_against_a_better_newcomer() {
    given(&["pp old all", "pp new name 9"])
        .claimed_by("old")
        .check(
            Some("old"),
            &[("old", "ClaimKept"), ("new", "AlreadyClaimed")],
        );
}

#[test]
fn a_cluster_scoped_owner_keeps_its_template_too() {
    given(&["cpp old all", "pp new name 9"])
        .claimed_by("old")
        .check(Some("old"), &[("new", "AlreadyClaimed")]);
}

#[test]
fn preemption_takes_over_with_strictly_higher_priority_only() {
    given(&["pp old all 1", "pp new all 1 Always"])
        .claimed_by("old")
        .check(Some("old"), &[("new", "PreemptionNeedsPriority")]);
    given(&["pp old all 1", "pp new all 2 Always"])
        .claimed_by("old")
        .check(Some("new"), &[("new", "Preempts"), ("old", "Preempted")]);
    given(&["cpp old all 1", "cpp new all 2 Always"])
        .claimed_by("old")
        .check(Some("new"), &[]);
}

#[test]
fn a_namespaced_policy_preempts_any_of_cluster_scope() {
    given(&["cpp old name 9", "pp new all 0 Always"])
        .claimed_by("old")
        .check(Some("new"), &[("new", "Preempts")]);
}

#[test]
fn a_cluster_scoped_policy_never_preempts_a_namespaced_one() {
    given(&["pp old all 0", "cpp new name 9 Always"])
        .claimed_by("old")
        .check(Some("old"), &[("new", "NamespacedFirst")]);
}

#[test]
fn the_best_of_several_challengers_takes_over() {
    given(&[
        "pp old all",
        "pp a all 5 Always",
        "pp b all 7 Always",
        "pp c all 9",
    ])
    .claimed_by("old")
    .check(Some("b"), &[("a", "LowerPriority")]);
}

#[test]
fn an_owner_that_is_deleted_or_no_longer_selects_loses_to_the_next() {
    given(&["pp old all deleting", "pp next all"])
        .claimed_by("old")
        .check(
            Some("next"),
            &[("old", "PolicyBeingDeleted"), ("next", "BestMatch")],
        );
    given(&["pp old other", "pp next all"])
        .claimed_by("old")
        .check(Some("next"), &[("old", "NotSelected")]);
    given(&["pp old other"]).claimed_by("old").check(None, &[]);
}

#[test]
fn a_claim_of_a_policy_that_is_gone_is_released() {
    given(&[])
        .claimed_by("gone")
        .check(None, &[("gone", "ClaimReleased")]);
}

#[test]
fn a_template_of_another_controller_is_left_alone() {
    let mut case = given(&["pp a all"]);
    case.template
        .labels
        .insert(CLAIMED_BY.to_owned(), "multiclusterservice".to_owned());
    case.check(None, &[]);
}

#[test]
fn missing_overrides_are_named_once_and_sorted() {
    let spec = PropagationSpec {
        dependent_overrides: ["c", "a", "b", "a"].map(str::to_owned).to_vec(),
        ..PropagationSpec::default()
    };
    assert_eq!(missing_overrides(&spec, |name| name == "b"), ["a", "c"]);
}
