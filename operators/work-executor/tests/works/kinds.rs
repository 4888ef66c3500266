//! Each kind of Kubernetes goes to members and says how it fares there in a form that real API servers accept.

use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use testbed::wait;

use crate::scene::{MEMBERS, SOON, Scene, scene};

const START: &str = "2026-01-01T00:00:00Z";
const END: &str = "2026-01-01T00:02:00Z";

/// What a member's controllers would say of a copy.
async fn report(scene: &Scene, member: &str, api_version: &str, kind: &str, status: &Value) {
    let copy = scene
        .copy(member, api_version, kind, "web", "it exists", |_| true)
        .await;
    let mut status = status.clone();
    if status.get("observedGeneration").is_some() {
        status["observedGeneration"] = json!(copy.metadata.generation);
    }
    scene
        .copies(member, api_version, kind)
        .patch_status(
            "web",
            &PatchParams::default(),
            &Patch::Merge(json!({ "status": status })),
        )
        .await
        .unwrap_or_else(|error| panic!("{kind} in {member}: {error}"));
}

/// Binds a template to both members, lets them report, and waits until the template says so.
async fn check(
    scene: &Scene,
    (api_version, kind): (&str, &str),
    body: Value,
    reports: [Value; 2],
    expected: &[(&str, Value)],
) {
    let mut document = json!({
        "apiVersion": api_version, "kind": kind, "metadata": {"name": "web"},
    });
    for (field, value) in body.as_object().unwrap() {
        document[field] = value.clone();
    }
    let template = scene.create(document).await;
    let name = scene
        .bind(&template, &MEMBERS.map(|member| (member, None)), |_| {})
        .await;
    for (member, status) in MEMBERS.iter().zip(&reports) {
        report(scene, member, api_version, kind, status).await;
    }
    let api = scene.api(api_version, kind);
    wait::object(
        &api,
        "web",
        format!("{kind} shows {expected:?}"),
        SOON,
        |template| {
            expected.iter().all(|(pointer, value)| {
                template.data.pointer(&format!("/status{pointer}")) == Some(value)
            })
        },
    )
    .await
    .unwrap();
    scene.unbind(&name).await;
}

fn pods() -> Value {
    json!({
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "web", "image": "registry.example/web:1"}]},
    })
}

#[tokio::test]
async fn workloads_add_up() {
    let scene = scene("workloads").await;
    let selector = json!({"matchLabels": {"app": "web"}});
    check(
        &scene,
        ("apps/v1", "StatefulSet"),
        json!({"spec": {"replicas": 2, "serviceName": "web", "selector": selector, "template": pods()}}),
        [2, 2].map(|count| {
            json!({"observedGeneration": 0, "replicas": count, "readyReplicas": count, "availableReplicas": count,
                "updatedReplicas": count, "currentReplicas": count, "currentRevision": "web-1", "updateRevision": "web-1"})
        }),
        &[("/readyReplicas", json!(4)), ("/observedGeneration", json!(1)), ("/updateRevision", json!("web-1"))],
    )
    .await;
    check(
        &scene,
        ("apps/v1", "DaemonSet"),
        json!({"spec": {"selector": selector, "template": pods()}}),
        [3, 1].map(|count| {
            json!({"observedGeneration": 0, "desiredNumberScheduled": count, "currentNumberScheduled": count,
                "numberReady": count, "numberMisscheduled": 0, "numberAvailable": count, "updatedNumberScheduled": count})
        }),
        &[("/numberReady", json!(4)), ("/observedGeneration", json!(1))],
    )
    .await;
    check(
        &scene,
        ("apps/v1", "ReplicaSet"),
        json!({"spec": {"replicas": 2, "selector": selector, "template": pods()}}),
        [2, 2].map(|count| json!({"observedGeneration": 0, "replicas": count, "readyReplicas": count, "availableReplicas": count})),
        &[("/availableReplicas", json!(4)), ("/observedGeneration", json!(1))],
    )
    .await;
}

#[tokio::test]
async fn deployment_says_what_tools_wait_for() {
    let scene = scene("rollout").await;
    let well = json!({"observedGeneration": 0, "replicas": 2, "updatedReplicas": 2, "readyReplicas": 2, "availableReplicas": 2});
    let stuck = json!({"observedGeneration": 0, "replicas": 2, "updatedReplicas": 2, "unavailableReplicas": 2, "conditions": [
        {"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded", "message": "took too long"}]});
    check(
        &scene,
        ("apps/v1", "Deployment"),
        json!({"spec": {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": pods()}}),
        [well, stuck],
        &[
            ("/observedGeneration", json!(1)),
            ("/conditions/0/type", json!("Available")),
            ("/conditions/0/status", json!("True")),
            ("/conditions/1/reason", json!("ProgressDeadlineExceeded")),
            ("/conditions/1/message", json!("member2: took too long")),
        ],
    )
    .await;
}

fn ended(how: &str, announced: &str) -> Value {
    let condition = |kind: &str| json!({"type": kind, "status": "True", "reason": "X", "lastTransitionTime": END, "lastProbeTime": END});
    let mut status =
        json!({"startTime": START, "conditions": [condition(announced), condition(how)]});
    if how == "Complete" {
        status["completionTime"] = json!(END);
        status["succeeded"] = json!(1);
    } else {
        status["failed"] = json!(1);
    }
    status
}

#[tokio::test]
async fn job_is_complete_when_it_is_everywhere() {
    let scene = scene("job").await;
    let mut pods = pods();
    pods["spec"]["restartPolicy"] = json!("Never");
    check(
        &scene,
        ("batch/v1", "Job"),
        json!({"spec": {"template": pods}}),
        [
            ended("Complete", "SuccessCriteriaMet"),
            ended("Complete", "SuccessCriteriaMet"),
        ],
        &[
            ("/succeeded", json!(2)),
            ("/completionTime", json!(END)),
            ("/conditions/1/type", json!("Complete")),
        ],
    )
    .await;
}

#[tokio::test]
async fn job_fails_when_one_of_its_copies_has() {
    let scene = scene("job").await;
    let mut pods = pods();
    pods["spec"]["restartPolicy"] = json!("Never");
    check(
        &scene,
        ("batch/v1", "Job"),
        json!({"spec": {"template": pods.clone()}}),
        [
            ended("Failed", "FailureTarget"),
            ended("Complete", "SuccessCriteriaMet"),
        ],
        &[
            ("/failed", json!(1)),
            ("/conditions/1/type", json!("Failed")),
            ("/conditions/1/message", json!("the Job failed in member1")),
        ],
    )
    .await;
    check(
        &scene,
        ("batch/v1", "CronJob"),
        json!({"spec": {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": pods}}}}),
        [
            json!({"lastScheduleTime": START}),
            json!({"lastScheduleTime": END, "active": [{"kind": "Job", "name": "web-1"}]}),
        ],
        &[
            ("/lastScheduleTime", json!(END)),
            ("/active/0/name", json!("web-1")),
        ],
    )
    .await;
}

#[tokio::test]
async fn pod_budget_and_autoscaler_say_how_they_fare() {
    let scene = scene("others").await;
    let container = |ready: bool| json!({"name": "web", "image": "i", "imageID": "", "ready": ready, "restartCount": 0});
    check(
        &scene,
        ("v1", "Pod"),
        json!({"spec": pods()["spec"].clone()}),
        [
            json!({"phase": "Running", "containerStatuses": [container(true)], "conditions": [{"type": "Ready", "status": "True"}]}),
            json!({"phase": "Pending", "containerStatuses": [container(false)], "conditions": [{"type": "Ready", "status": "False"}]}),
        ],
        &[("/phase", json!("Pending")), ("/containerStatuses/0/ready", json!(false))],
    )
    .await;
    check(
        &scene,
        ("policy/v1", "PodDisruptionBudget"),
        json!({"spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}}),
        [2, 3].map(|count| {
            json!({"observedGeneration": 0, "currentHealthy": count, "desiredHealthy": 1, "expectedPods": count,
                "disruptionsAllowed": 1, "disruptedPods": {"web-0": START}})
        }),
        &[("/currentHealthy", json!(5)), ("/disruptedPods/member1~1web-0", json!(START))],
    )
    .await;
    check(
        &scene,
        ("autoscaling/v2", "HorizontalPodAutoscaler"),
        json!({"spec": {"maxReplicas": 5, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}}}),
        [
            json!({"currentReplicas": 1, "desiredReplicas": 2}),
            json!({"currentReplicas": 2, "desiredReplicas": 3, "conditions": [
                {"type": "ScalingActive", "status": "False", "reason": "FailedGetResourceMetric", "message": "none"}]}),
        ],
        &[("/desiredReplicas", json!(5)), ("/conditions/1/message", json!("member2: none"))],
    )
    .await;
}

#[tokio::test]
async fn addresses_and_volumes_of_all_members_are_shown() {
    let scene = scene("network").await;
    let addresses = [1, 2]
        .map(|last| json!({"loadBalancer": {"ingress": [{"ip": format!("192.0.2.{last}")}]}}));
    check(
        &scene,
        ("v1", "Service"),
        json!({"spec": {"type": "LoadBalancer", "selector": {"app": "web"}, "ports": [{"port": 80}]}}),
        addresses.clone(),
        &[("/loadBalancer/ingress/1/ip", json!("192.0.2.2"))],
    )
    .await;
    check(
        &scene,
        ("networking.k8s.io/v1", "Ingress"),
        json!({"spec": {"defaultBackend": {"service": {"name": "web", "port": {"number": 80}}}}}),
        addresses,
        &[("/loadBalancer/ingress/1/ip", json!("192.0.2.2"))],
    )
    .await;
    check(
        &scene,
        ("v1", "PersistentVolumeClaim"),
        json!({"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}),
        ["Bound", "Pending"].map(|phase| json!({ "phase": phase })),
        &[("/phase", json!("Pending"))],
    )
    .await;
}

#[tokio::test]
async fn allocated_node_port_stays_at_home_and_one_that_was_asked_for_travels() {
    let scene = scene("ports").await;
    let template = scene
        .create(json!({
            "apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"},
            "spec": {"type": "NodePort", "selector": {"app": "web"}, "ports": [{"port": 80}]},
        }))
        .await;
    assert!(
        template.data.pointer("/spec/ports/0/nodePort").is_some(),
        "the server allocates one"
    );
    scene.bind(&template, &[("member1", None)], |_| {}).await;
    scene
        .copy(
            "member1",
            "v1",
            "Service",
            "web",
            "it has a port of its own",
            |copy| copy.data.pointer("/spec/ports/0/nodePort").is_some(),
        )
        .await;
    let work = scene
        .works("member1")
        .get(&scene.work_name("Service", "web"))
        .await
        .unwrap();
    let spec = &work.spec.workload.manifests[0]["spec"];
    assert_eq!(spec.pointer("/ports/0/nodePort"), None, "{spec}");
    assert_eq!(spec.get("ipFamilies"), None, "{spec}");
    assert_eq!(spec.get("clusterIP"), None, "{spec}");

    let asked = json!({"spec": {"ports": [{"port": 80, "protocol": "TCP", "nodePort": 32_123}]}});
    scene
        .api("v1", "Service")
        .patch("web", &PatchParams::default(), &Patch::Merge(asked))
        .await
        .unwrap();
    scene
        .copy(
            "member1",
            "v1",
            "Service",
            "web",
            "it has the port that was asked for",
            |copy| copy.data.pointer("/spec/ports/0/nodePort") == Some(&json!(32_123)),
        )
        .await;
}
