//! The operators as processes.

use crds::conditions::{FULLY_APPLIED, FULLY_APPLIED_SUCCESS, TRUE};
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec,
};
use kube::api::{Api, PostParams};
use testbed::NAMESPACE;

use crate::props::{config_map, config_map_to};
use crate::world::{conditions, says, scene};

#[tokio::test]
async fn metrics_of_every_operator_are_well_formed_and_cover_what_is_promised() {
    let scene = scene("metrics").await;
    // A family shows up with its first number.
    scene.apply(config_map("settings", "one")).await;
    scene.apply(config_map_to("settings", &["member1"])).await;
    scene
        .binding("settings-configmap", "it is applied", |binding| {
            says(
                conditions(binding),
                FULLY_APPLIED,
                TRUE,
                FULLY_APPLIED_SUCCESS,
                &[],
            )
        })
        .await;
    for (name, process) in scene.world.system.operators() {
        process.check_metrics().await.unwrap();
        let metrics = process.metrics().await.unwrap();
        let promised: &[&str] = match name {
            "cluster-health" => &["cluster_ready_state", "cluster_node_number"],
            "binding-scheduler" => &[
                "karmada_scheduler_schedule_attempts_total",
                "karmada_scheduler_e2e_scheduling_duration_seconds",
            ],
            "work-executor" => &["work_sync_workload_duration_seconds"],
            "failover" => &["eviction_queue_depth"],
            _ => panic!("{name} promises nothing"),
        };
        for metric in promised {
            assert!(
                metrics.contains(metric),
                "{name} has no {metric}:\n{metrics}"
            );
        }
        let (code, _) = process.get("/healthz").await.unwrap();
        assert_eq!(code, 200, "{name}");
    }
}

#[tokio::test]
async fn no_operator_may_do_what_none_of_them_needs() {
    let scene = scene("permissions").await;
    let reviews: Api<SubjectAccessReview> = Api::all(scene.plane());
    for (name, _) in scene.world.system.operators() {
        for (group, resource, verb) in [
            ("*", "*", "*"),
            ("apps", "deployments", "delete"),
            ("rbac.authorization.k8s.io", "clusterroles", "escalate"),
            ("", "users", "impersonate"),
        ] {
            let review = SubjectAccessReview {
                spec: SubjectAccessReviewSpec {
                    user: Some(format!("system:serviceaccount:{NAMESPACE}:karmada-{name}")),
                    groups: Some(vec![
                        "system:authenticated".to_owned(),
                        format!("system:serviceaccounts:{NAMESPACE}"),
                    ]),
                    resource_attributes: Some(ResourceAttributes {
                        group: Some(group.to_owned()),
                        resource: Some(resource.to_owned()),
                        verb: Some(verb.to_owned()),
                        namespace: Some(scene.name().to_owned()),
                        ..ResourceAttributes::default()
                    }),
                    ..SubjectAccessReviewSpec::default()
                },
                ..SubjectAccessReview::default()
            };
            let answer = reviews
                .create(&PostParams::default(), &review)
                .await
                .unwrap();
            let allowed = answer.status.unwrap().allowed;
            assert!(!allowed, "{name} may {verb} {resource}.{group}");
        }
    }
}
