//! In a fleet where nothing happens, nothing is written but the sign of life – not even by a process that has just started.

#![expect(clippy::unwrap_used, reason = "a test fails where it notices")]

use std::time::Duration;

use crds::cluster::Cluster;
use crds::conditions;
use kube::api::Api;
use testbed::{Member, Process, Testbed, wait};

const SOON: Duration = Duration::from_secs(90);
const MEMBERS: [&str; 2] = ["one", "two"];

/// Waits until each member was probed so often since the process started.
async fn probed(operator: &Process, times: f64) {
    wait::until(format!("{times} probes of each member"), SOON, async || {
        let metrics = operator
            .metrics()
            .await
            .map_err(|error| format!("{error:#}"))?;
        let count = |name: &str| -> f64 {
            let line =
                format!(r#"cluster_probes_total{{member_cluster="{name}",result="healthy"}} "#);
            let number = metrics.lines().find_map(|text| text.strip_prefix(&line));
            number
                .and_then(|number| number.parse().ok())
                .unwrap_or_default()
        };
        let counts = MEMBERS.map(count);
        if counts.iter().all(|count| *count >= times) {
            Ok(())
        } else {
            Err(format!("{counts:?}"))
        }
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn a_quiet_fleet_causes_no_writes_before_and_after_a_restart() {
    let mut builder = Testbed::builder().without_controllers();
    for name in MEMBERS {
        builder = builder.member(Member::named(name).bare());
    }
    let bed = builder.start().await.unwrap();
    bed.install().await.unwrap();
    let haste = [
        "--cluster-status-update-frequency=1s",
        "--cluster-summary-interval=1s",
        "--cluster-discovery-interval=2s",
    ];
    let operator = bed.start_operator("cluster-health", &haste).await.unwrap();
    let plane = bed.control_plane();
    let clusters: Api<Cluster> = Api::all(plane.client());
    for name in MEMBERS {
        bed.join_directly(bed.member(name)).await.unwrap();
        let described = |cluster: &Cluster| {
            cluster.status.as_ref().is_some_and(|status| {
                let ready = status
                    .conditions
                    .iter()
                    .any(|one| one.type_ == conditions::READY && one.status == "True");
                ready && status.resource_summary.is_some() && !status.api_enablements.is_empty()
            })
        };
        wait::object(&clusters, name, "described", SOON, described)
            .await
            .unwrap();
    }

    let before = plane.requests().await.unwrap();
    probed(&operator, 8.0).await;
    let written = plane
        .requests()
        .await
        .unwrap()
        .since(&before)
        .writes()
        .without("leases");
    assert_eq!(written.total(), 0, "while nothing happened:\n{written}");

    operator.stop(SOON).await.unwrap();
    let before = plane.requests().await.unwrap();
    operator.restart().await.unwrap();
    probed(&operator, 5.0).await;
    let written = plane
        .requests()
        .await
        .unwrap()
        .since(&before)
        .writes()
        .without("leases");
    assert_eq!(written.total(), 0, "after a restart:\n{written}");
    let resident = operator.memory().unwrap().resident;
    assert!(resident < 64 << 20, "{resident} bytes for two members");
}
