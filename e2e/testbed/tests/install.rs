//! What is installed on a control plane is in force when the installation ends.

use crds::cluster::Cluster;
use kube::api::Api;
use testbed::Testbed;

#[tokio::test]
async fn kinds_and_admission_are_in_force_and_a_member_can_be_joined() {
    let bed = Testbed::builder().bare_members(1).start().await.unwrap();
    bed.install_crds().await.unwrap();
    let member = &bed.members()[0];
    bed.join_directly(member).await.unwrap();

    let clusters: Api<Cluster> = Api::all(bed.control_plane().client());
    let cluster = clusters.get("member1").await.unwrap();
    assert_eq!(
        cluster.spec.api_endpoint.as_deref(),
        Some(member.url_through_proxy().as_str())
    );

    // A second installation changes nothing and fails nowhere.
    bed.install_crds().await.unwrap();
}
