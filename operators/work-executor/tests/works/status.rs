//! What members report comes back.

use crds::work::ResourceHealth;
use kube::api::{Patch, PatchParams};
use serde_json::json;

use crate::scene::{MEMBERS, deployment, scene, set_ready};

#[tokio::test]
async fn statuses_of_members_reach_binding_and_template() {
    let scene = scene("status").await;
    let template = scene.create(deployment("web", 2)).await;
    let name = scene
        .bind(&template, &MEMBERS.map(|member| (member, Some(2))), |_| {})
        .await;
    let before = scene.bed.control_plane().requests().await.unwrap();
    for member in MEMBERS {
        let copy = scene
            .copy(member, "apps/v1", "Deployment", "web", "it exists", |_| {
                true
            })
            .await;
        let status = json!({"status": {
            "observedGeneration": copy.metadata.generation,
            "replicas": 2, "updatedReplicas": 2, "readyReplicas": 2, "availableReplicas": 2,
        }});
        scene
            .copies(member, "apps/v1", "Deployment")
            .patch_status("web", &PatchParams::default(), &Patch::Merge(status))
            .await
            .unwrap();
    }
    scene
        .binding(&name, "both are healthy", |binding| {
            binding.status.as_ref().is_some_and(|status| {
                status.aggregated_status.len() == 2
                    && status
                        .aggregated_status
                        .iter()
                        .all(|item| item.health == Some(ResourceHealth::Healthy))
            })
        })
        .await;
    let template = testbed::wait::object(
        &scene.api("apps/v1", "Deployment"),
        "web",
        "it shows the sum",
        crate::scene::SOON,
        |template| template.data["status"]["readyReplicas"] == json!(4),
    )
    .await
    .unwrap();
    assert_eq!(
        template.data["status"]["observedGeneration"],
        json!(template.metadata.generation)
    );
    let writes = scene
        .bed
        .control_plane()
        .requests()
        .await
        .unwrap()
        .since(&before)
        .writes();
    println!("status of one Deployment in two members:\n{writes}");

    // A member that does not answer is not counted on.
    set_ready(scene.bed, "member2", false).await;
    scene
        .binding(&name, "one is unknown", |binding| {
            binding.status.as_ref().is_some_and(|status| {
                status
                    .aggregated_status
                    .iter()
                    .any(|item| item.health == Some(ResourceHealth::Unknown))
            })
        })
        .await;
    set_ready(scene.bed, "member2", true).await;
}
