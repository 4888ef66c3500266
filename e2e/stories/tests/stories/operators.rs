//! The operators as processes.

use crate::world::scene;

#[tokio::test]
async fn metrics_of_every_operator_are_well_formed_and_cover_what_is_promised() {
    let scene = scene("metrics").await;
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
