use crds::work::ResourceHealth;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

#[track_caller]
fn check_prune(given: Value, expected: &Value) {
    let mut manifest = given;
    prune(&mut manifest);
    assert_eq!(manifest, *expected);
    let once = manifest.clone();
    prune(&mut manifest);
    assert_eq!(manifest, once, "pruning twice changes nothing");
}

#[test]
fn what_the_server_wrote_stays_on_the_control_plane() {
    check_prune(
        json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "web", "namespace": "shop", "uid": "u", "resourceVersion": "7", "generation": 3, "creationTimestamp": "t",
                "managedFields": [], "ownerReferences": [{}], "finalizers": ["x"], "labels": {"app": "web"},
                "annotations": {"deployment.kubernetes.io/revision": "4", "kubectl.kubernetes.io/last-applied-configuration": "{}"}},
            "spec": {"replicas": 2}, "status": {"replicas": 2}}),
        &json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "web", "namespace": "shop", "labels": {"app": "web"}}, "spec": {"replicas": 2}}),
    );
}

#[test]
fn a_job_loses_its_generated_identity_in_every_version() {
    check_prune(
        json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "sum"}, "spec": {
            "ttlSecondsAfterFinished": 60,
            "selector": {"matchLabels": {"batch.kubernetes.io/controller-uid": "u", "some.future/generated": "u"}},
            "template": {"metadata": {"labels": {"controller-uid": "u", "job-name": "sum", "batch.kubernetes.io/controller-uid": "u",
                "batch.kubernetes.io/job-name": "sum", "some.future/generated": "u", "team": "a"}}, "spec": {}}}}),
        &json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "sum"}, "spec": {
            "template": {"metadata": {"labels": {"team": "a"}}, "spec": {}}}}),
    );
}

#[test]
fn a_job_with_a_selector_of_its_own_keeps_it() {
    let job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "sum"}, "spec": {"manualSelector": true,
        "selector": {"matchLabels": {"mine": "yes"}}, "template": {"metadata": {"labels": {"mine": "yes"}}}}});
    check_prune(job.clone(), &job);
}

#[test]
fn addresses_are_each_members_own_but_headless_is_the_users_word() {
    check_prune(
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"},
            "spec": {"clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"], "healthCheckNodePort": 3, "ports": [{"port": 80}]}}),
        &json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": {"ports": [{"port": 80}]}}),
    );
    let headless = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": {"clusterIP": "None", "clusterIPs": ["None"]}});
    check_prune(headless.clone(), &headless);
}

#[test]
fn tokens_do_not_travel() {
    check_prune(
        json!({"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/service-account-token",
            "metadata": {"name": "t", "annotations": {"kubernetes.io/service-account.name": "a", "kubernetes.io/service-account.uid": "u"}},
            "data": {"token": "c2VjcmV0"}}),
        &json!({"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/service-account-token",
            "metadata": {"name": "t", "annotations": {"kubernetes.io/service-account.name": "a"}}}),
    );
    check_prune(
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "a"}, "secrets": [{"name": "a-token-x1"}, {"name": "registry"}]}),
        &json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "a"}, "secrets": [{"name": "registry"}]}),
    );
    check_prune(
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {
            "volumes": [{"name": "kube-api-access-abcde"}],
            "containers": [{"name": "c", "volumeMounts": [{"name": "kube-api-access-abcde"}, {"name": "data"}]}]}}),
        &json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "volumeMounts": [{"name": "data"}]}]}}),
    );
}

#[test]
fn replicas_go_where_the_kind_has_them() {
    for (api, kind, field) in [
        ("apps/v1", "Deployment", Some("replicas")),
        ("apps/v1", "StatefulSet", Some("replicas")),
        ("batch/v1", "Job", Some("parallelism")),
        ("apps/v1", "DaemonSet", None),
        ("v1", "ConfigMap", None),
    ] {
        let mut manifest = json!({"apiVersion": api, "kind": kind, "spec": {}});
        revise(&mut manifest, 5);
        assert_eq!(
            manifest["spec"],
            field.map_or_else(|| json!({}), |field| json!({field: 5})),
            "{kind}"
        );
    }
}

#[test]
fn a_total_is_shared_by_weight() {
    let shares = |total, weights: &[i64]| {
        (0..weights.len())
            .map(|at| share(total, weights, at))
            .collect::<Vec<_>>()
    };
    assert_eq!(shares(10, &[1, 1]), [5, 5]);
    assert_eq!(shares(10, &[2, 1]), [7, 3]);
    assert_eq!(shares(1, &[1, 1, 1]), [1, 0, 0]);
    assert_eq!(shares(5, &[0, 0]), [0, 0]);
}

#[test]
fn a_workload_reports_both_generations() {
    let live = json!({"apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"generation": 4, "annotations": {"resourcetemplate.karmada.io/generation": "9"}},
        "status": {"replicas": 2, "readyReplicas": 0, "observedGeneration": 4, "conditions": [{"type": "Progressing"}]}});
    assert_eq!(
        reflect(&live),
        Some(
            json!({"replicas": 2, "observedGeneration": 4, "generation": 4, "resourceTemplateGeneration": 9})
        )
    );
}

#[test]
fn a_custom_kind_reports_its_whole_status() {
    let live = json!({"apiVersion": "example.io/v1", "kind": "Thing", "status": {"phase": "Fine", "count": 0}});
    assert_eq!(reflect(&live), Some(json!({"phase": "Fine", "count": 0})));
    assert_eq!(
        reflect(&json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {}})),
        None
    );
}

#[test]
fn health_compares_what_is_ready_with_what_is_wanted_now() {
    let deployment = |generation: i64, status: Value| json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"generation": generation}, "spec": {"replicas": 2}, "status": status});
    for (narrative, object, expected) in [
        (
            "all available",
            deployment(
                1,
                json!({"observedGeneration": 1, "updatedReplicas": 2, "availableReplicas": 2}),
            ),
            true,
        ),
        (
            "pods never start",
            deployment(1, json!({"observedGeneration": 1, "updatedReplicas": 2})),
            false,
        ),
        (
            "old generation",
            deployment(
                2,
                json!({"observedGeneration": 1, "updatedReplicas": 2, "availableReplicas": 2}),
            ),
            false,
        ),
        ("not looked at yet", deployment(1, json!({})), false),
        (
            "job failed",
            json!({"apiVersion": "batch/v1", "kind": "Job", "status": {"conditions": [{"type": "Failed", "status": "True"}]}}),
            false,
        ),
        (
            "job runs",
            json!({"apiVersion": "batch/v1", "kind": "Job", "status": {"active": 1}}),
            true,
        ),
        (
            "load balancer waits",
            json!({"apiVersion": "v1", "kind": "Service", "spec": {"type": "LoadBalancer"}}),
            false,
        ),
        (
            "cluster service",
            json!({"apiVersion": "v1", "kind": "Service", "spec": {"type": "ClusterIP"}}),
            true,
        ),
        (
            "config map",
            json!({"apiVersion": "v1", "kind": "ConfigMap"}),
            true,
        ),
        (
            "claim unbound",
            json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "status": {"phase": "Pending"}}),
            false,
        ),
    ] {
        let expected = if expected {
            ResourceHealth::Healthy
        } else {
            ResourceHealth::Unhealthy
        };
        assert_eq!(health(&object), expected, "{narrative}");
    }
}

#[test]
fn what_controllers_of_one_cluster_keep_books_of_stays_there() {
    for (api, kind, annotation) in [
        (
            "apps/v1",
            "ReplicaSet",
            "deployment.kubernetes.io/revision-history",
        ),
        (
            "apps/v1",
            "DaemonSet",
            "deprecated.daemonset.template.generation",
        ),
        (
            "v1",
            "PersistentVolumeClaim",
            "volume.kubernetes.io/selected-node",
        ),
        (
            "v1",
            "PersistentVolumeClaim",
            "pv.kubernetes.io/bind-completed",
        ),
    ] {
        check_prune(
            json!({"apiVersion": api, "kind": kind, "metadata": {"name": "a", "annotations": {annotation: "1", "team": "x"}}}),
            &json!({"apiVersion": api, "kind": kind, "metadata": {"name": "a", "annotations": {"team": "x"}}}),
        );
    }
}

#[test]
fn the_claim_of_a_policy_is_the_templates_own() {
    check_prune(
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a",
            "labels": {"propagationpolicy.karmada.io/permanent-id": "1", "clusterpropagationpolicy.karmada.io/permanent-id": "2"},
            "annotations": {"propagationpolicy.karmada.io/name": "p", "propagationpolicy.karmada.io/namespace": "shop",
                "clusterpropagationpolicy.karmada.io/name": "q"}}}),
        &json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}),
    );
}

#[test]
fn a_rollout_reports_what_is_wrong_but_not_that_all_is_well() {
    let live = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {},
        "status": {"replicas": 1, "conditions": [
            {"type": "Available", "status": "True", "lastUpdateTime": "t"},
            {"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded", "message": "m", "lastUpdateTime": "t"}]}});
    assert_eq!(
        reflect(&live),
        Some(json!({"replicas": 1, "conditions": [
            {"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded", "message": "m"}]}))
    );
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[a-z/.]{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(
                prop_oneof![
                    Just("metadata".to_owned()),
                    Just("spec".to_owned()),
                    Just("status".to_owned()),
                    Just("conditions".to_owned()),
                    "[a-z]{1,6}"
                ],
                inner,
                0..4
            )
            .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn no_object_of_any_shape_is_too_strange(kind in 0_usize..6, mut object in any_json()) {
        let (api, name) = [("apps/v1", "Deployment"), ("batch/v1", "Job"), ("v1", "Service"), ("v1", "Pod"), ("v1", "Secret"), ("v1", "ServiceAccount")][kind];
        if let Some(fields) = object.as_object_mut() {
            fields.insert("apiVersion".into(), api.into());
            fields.insert("kind".into(), name.into());
        }
        let _ = reflect(&object);
        let _ = health(&object);
        let _ = dependencies(&object);
        let _ = replicas(api, name, &object, "shop");
        let live = object.clone();
        retain(&mut object, &live);
        prune(&mut object);
        let once = object.clone();
        prune(&mut object);
        prop_assert_eq!(&object, &once, "pruning twice is as good as once");
        revise(&mut object, 3);
    }

    #[test]
    fn shares_add_up_to_the_total(total in 0_i64..10_000, weights in prop::collection::vec(0_i64..50, 1..8)) {
        let sum: i64 = (0..weights.len()).map(|at| share(total, &weights, at)).sum();
        prop_assert_eq!(sum, if weights.iter().all(|w| *w == 0) { 0 } else { total });
    }
}
