//! Joining members without the command that people use, for tests of what comes after.

use anyhow::{Context as _, Result};
use k8s_openapi::api::core::v1::{Namespace, Secret};
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind};
use serde_json::json;

use crate::access::{ensure, named};
use crate::bed::Testbed;
use crate::cluster::Cluster;

/// Where the control plane keeps the credentials of members.
const CREDENTIALS: &str = "karmada-cluster";

impl Testbed {
    /// Registers a member in push mode: a Secret with a token of full rights, and the Cluster object. The address leads
    /// through the member's proxy.
    ///
    /// `karmadactl join` is what people use; this is for tests that are not about it.
    pub async fn join_directly(&self, member: &Cluster) -> Result<()> {
        let client = self.control_plane().client();
        let account = member
            .service_account(
                CREDENTIALS,
                &format!("karmada-{}", self.control_plane().name()),
            )
            .await?;
        account.bind("cluster-admin").await?;
        let token = account.token().await?;
        let identity = Api::<Namespace>::all(member.client())
            .get("kube-system")
            .await
            .context("reading the member's identity")?
            .metadata
            .uid;

        ensure(
            &Api::all(client.clone()),
            &Namespace {
                metadata: named(CREDENTIALS),
                ..Namespace::default()
            },
        )
        .await?;
        ensure(
            &Api::namespaced(client.clone(), CREDENTIALS),
            &Secret {
                metadata: named(member.name()),
                string_data: Some(
                    [
                        ("token".to_owned(), token),
                        (
                            "caBundle".to_owned(),
                            member.certificate_authority().to_owned(),
                        ),
                    ]
                    .into(),
                ),
                ..Secret::default()
            },
        )
        .await?;
        let kind = GroupVersionKind::gvk("cluster.karmada.io", "v1alpha1", "Cluster");
        let resource = ApiResource::from_gvk(&kind);
        let object = DynamicObject::new(member.name(), &resource).data(json!({"spec": {
            "id": identity,
            "syncMode": "Push",
            "apiEndpoint": member.url_through_proxy(),
            "secretRef": {"namespace": CREDENTIALS, "name": member.name()},
        }}));
        Api::<DynamicObject>::all_with(client, &resource)
            .create(&kube::api::PostParams::default(), &object)
            .await
            .with_context(|| format!("creating the Cluster {}", member.name()))?;
        Ok(())
    }
}
