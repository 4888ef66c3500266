use std::sync::{Arc, LazyLock};

use crds::policy::{
    ClusterAffinity, ImageComponent, ImageOverrider, OverrideRule, OverrideSpec, OverriderOperator,
    Overriders, PlaintextOverrider,
};
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::trace::PolicyRef;

static PLAIN: LazyLock<Interpreter> = LazyLock::new(Interpreter::default);

fn template() -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "nginx", "namespace": "default", "uid": "t-1", "generation": 4, "labels": {"app": "nginx"}},
        "spec": {"replicas": 2, "template": {"spec": {"containers": [{"name": "web", "image": "nginx:1"}]}}},
        "status": {"replicas": 9}
    })
}

fn cluster(name: &str) -> ClusterView {
    ClusterView {
        name: name.into(),
        ..ClusterView::default()
    }
}

fn policy(name: &str, rule: OverrideRule) -> OverrideView {
    OverrideView {
        policy: PolicyRef::new("OverridePolicy", "default", name),
        spec: Arc::new(OverrideSpec {
            override_rules: vec![rule],
            ..OverrideSpec::default()
        }),
    }
}

fn input<'a>(
    template: &'a Value,
    cluster: &'a ClusterView,
    overrides: &'a [OverrideView],
) -> RenderInput<'a, &'a [OverrideView]> {
    RenderInput {
        interpreter: &PLAIN,
        now: Timestamp::UNIX_EPOCH,
        template,
        origin: Origin::Binding {
            namespace: "default",
            name: "nginx-deployment",
            id: "b-1",
        },
        cluster,
        replicas: Some(5),
        shares: None,
        conflict_resolution: ConflictResolution::Abort,
        overrides,
    }
}

#[test]
fn a_copy_has_its_clusters_replicas_and_says_where_it_comes_from() {
    let (template, cluster) = (template(), cluster("m1"));
    let rendered = render(input(&template, &cluster, &[])).unwrap();
    assert_eq!(
        (rendered.namespace.as_str(), rendered.name.as_str()),
        ("karmada-es-m1", "nginx-687f7fb96f")
    );
    let manifest = &rendered.manifest;
    assert_eq!(manifest["spec"]["replicas"], json!(5));
    assert!(manifest.get("status").is_none());
    let (labels, annotations) = (
        &manifest["metadata"]["labels"],
        &manifest["metadata"]["annotations"],
    );
    assert_eq!(labels["karmada.io/managed"], json!("true"));
    assert_eq!(labels["app"], json!("nginx"));
    assert_eq!(
        labels["resourcebinding.karmada.io/permanent-id"],
        json!("b-1")
    );
    assert_eq!(
        labels["work.karmada.io/permanent-id"],
        json!(rendered.labels["work.karmada.io/permanent-id"])
    );
    assert_eq!(
        annotations["work.karmada.io/namespace"],
        json!("karmada-es-m1")
    );
    assert_eq!(
        annotations["resourcetemplate.karmada.io/generation"],
        json!("4")
    );
    assert_eq!(
        annotations["work.karmada.io/conflict-resolution"],
        json!("abort")
    );
    let managed = annotations["resourcetemplate.karmada.io/managed-labels"]
        .as_str()
        .unwrap();
    assert_eq!(
        managed,
        "app,karmada.io/managed,resourcebinding.karmada.io/permanent-id,work.karmada.io/permanent-id"
    );
    assert!(
        annotations["resourcetemplate.karmada.io/managed-annotations"]
            .as_str()
            .unwrap()
            .contains("resourcetemplate.karmada.io/managed-annotations")
    );
    assert_eq!(
        rendered.annotations["resourcebinding.karmada.io/name"],
        "nginx-deployment"
    );
}

#[test]
fn overrides_come_after_the_division_and_only_where_they_are_meant() {
    let rule = OverrideRule {
        target_cluster: Some(ClusterAffinity {
            cluster_names: vec!["m2".into()],
            ..ClusterAffinity::default()
        }),
        overriders: Overriders {
            plaintext: vec![PlaintextOverrider {
                path: "/spec/replicas".into(),
                operator: OverriderOperator::Replace,
                value: Some(json!(3)),
            }],
            image_overrider: vec![ImageOverrider {
                predicate: None,
                component: ImageComponent::Registry,
                operator: OverriderOperator::Add,
                value: Some("registry.example".into()),
            }],
            ..Overriders::default()
        },
    };
    let (template, policies) = (template(), [policy("x", rule)]);
    let (one, two) = (cluster("m1"), cluster("m2"));
    let plain = render(input(&template, &one, &policies)).unwrap();
    assert_eq!(plain.manifest["spec"]["replicas"], json!(5));
    let changed = render(input(&template, &two, &policies)).unwrap();
    assert_eq!(changed.manifest["spec"]["replicas"], json!(3));
    assert_eq!(
        changed.manifest["spec"]["template"]["spec"]["containers"][0]["image"],
        json!("registry.example/nginx:1")
    );
    assert!(
        changed.annotations["policy.karmada.io/applied-overrides"].contains("\"policyName\":\"x\"")
    );
}

#[test]
fn an_override_that_does_not_apply_stops_this_cluster_and_says_which() {
    let rule = OverrideRule {
        target_cluster: None,
        overriders: Overriders {
            plaintext: vec![PlaintextOverrider {
                path: "/data/a".into(),
                operator: OverriderOperator::Replace,
                value: Some(json!("x")),
            }],
            ..Overriders::default()
        },
    };
    let (template, cluster, policies) = (template(), cluster("m1"), [policy("bad", rule)]);
    let problem = render(input(&template, &cluster, &policies))
        .unwrap_err()
        .to_string();
    assert!(
        problem.contains("default/bad") && problem.contains("/data/a"),
        "{problem}"
    );
}

#[test]
fn a_jobs_completions_are_shared() {
    let job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j", "namespace": "default"}, "spec": {"completions": 9, "parallelism": 3}});
    let cluster = cluster("m1");
    let completions = |index| {
        let input = RenderInput {
            replicas: Some(1),
            shares: Some((&[2, 1], index)),
            ..input(&job, &cluster, &[])
        };
        render(input).unwrap().manifest["spec"]["completions"].clone()
    };
    assert_eq!((completions(0), completions(1)), (json!(6), json!(3)));
}

#[test]
fn the_template_may_say_that_existing_objects_are_taken_over() {
    let mut template = template();
    template["metadata"]["annotations"] =
        json!({"work.karmada.io/conflict-resolution": "overwrite"});
    let cluster = cluster("m1");
    let rendered = render(input(&template, &cluster, &[])).unwrap();
    assert_eq!(
        rendered.manifest["metadata"]["annotations"]["work.karmada.io/conflict-resolution"],
        json!("overwrite")
    );
}

proptest! {
    #[test]
    fn the_same_input_gives_the_same_bytes_and_ids_differ_by_cluster(a in "[a-z]{1,8}", b in "[a-z]{1,8}") {
        let template = template();
        let (one, two) = (cluster(&a), cluster(&b));
        let first = render(input(&template, &one, &[])).unwrap();
        prop_assert_eq!(serde_json::to_string(&first.manifest).unwrap(), serde_json::to_string(&render(input(&template, &one, &[])).unwrap().manifest).unwrap());
        let second = render(input(&template, &two, &[])).unwrap();
        prop_assert_eq!(a == b, first.labels == second.labels);
    }
}
