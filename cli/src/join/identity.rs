//! What tells one cluster from another: the uid of its namespace `kube-system`.

use crds::cluster::Cluster;
use k8s_openapi::api::core::v1::Namespace;
use kube::Client;
use kube::api::{Api, ListParams};

use crate::trouble::Trouble;

/// A cluster is not the one it is taken for.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub(crate) enum Error {
    #[error("{place} does not tell its identity, the uid of its namespace kube-system: {trouble}")]
    #[diagnostic(help("{}", trouble.next()))]
    Unknown { place: String, trouble: Trouble },
    #[error("{place} does not tell its identity: its namespace kube-system has no uid")]
    #[diagnostic(help("check that the address is that of a Kubernetes API server"))]
    Missing { place: String },
    #[error("the control plane does not tell its members: {trouble}")]
    #[diagnostic(help("{}", trouble.next()))]
    Members { trouble: Trouble },
    #[error("the control plane knows no kind Cluster: Karmada One is not installed there")]
    #[diagnostic(help(
        "install it with `kubectl apply --server-side -k config/default`, or name another control plane with --kubeconfig"
    ))]
    NotInstalled,
    #[error("this cluster is a member already, under the name {other}")]
    #[diagnostic(help(
        "use it as {other}; to rename it, first run `karmadactl unjoin {other}` – one cluster under two names would run everything twice"
    ))]
    OtherName { other: String },
    #[error(
        "another cluster is a member under the name {name}: its id is {registered}, this one's is {id}"
    )]
    #[diagnostic(help(
        "choose another name, or first let the other go with `karmadactl unjoin {name}`"
    ))]
    OtherCluster {
        name: String,
        registered: String,
        id: String,
    },
    #[error("a member called {name} exists in pull mode: an agent in it registered it")]
    #[diagnostic(help("choose another name, or first let it go with `karmadactl unjoin {name}`"))]
    PullMode { name: String },
    #[error("the member called {name} is being removed")]
    #[diagnostic(help(
        "wait until `kubectl get cluster {name}` finds nothing, then run the command again"
    ))]
    Leaving { name: String },
}

/// The identity of a cluster.
pub(crate) async fn of(client: &Client, place: &str) -> Result<String, Error> {
    let namespace = Api::<Namespace>::all(client.clone())
        .get("kube-system")
        .await
        .map_err(|error| Error::Unknown {
            place: place.to_owned(),
            trouble: Trouble::of(&error),
        })?;
    namespace.metadata.uid.ok_or_else(|| Error::Missing {
        place: place.to_owned(),
    })
}

/// Whether the cluster has joined already under this name; an error if anything contradicts that.
pub(crate) async fn compare(client: &Client, name: &str, id: &str) -> Result<bool, Error> {
    let members = Api::<Cluster>::all(client.clone())
        .list(&ListParams::default())
        .await
        .map_err(|error| match Trouble::of(&error) {
            Trouble::NotFound(_) => Error::NotInstalled,
            trouble => Error::Members { trouble },
        })?;
    judge(&members.items, name, id)
}

fn judge(members: &[Cluster], name: &str, id: &str) -> Result<bool, Error> {
    let name_of = |member: &Cluster| member.metadata.name.clone().unwrap_or_default();
    let same_id = |member: &&Cluster| member.spec.id.as_deref() == Some(id);
    if let Some(other) = members
        .iter()
        .filter(same_id)
        .find(|one| name_of(one) != name)
    {
        return Err(Error::OtherName {
            other: name_of(other),
        });
    }
    let Some(member) = members.iter().find(|member| name_of(member) == name) else {
        return Ok(false);
    };
    if member.metadata.deletion_timestamp.is_some() {
        return Err(Error::Leaving {
            name: name.to_owned(),
        });
    }
    if member.spec.sync_mode == crds::cluster::ClusterSyncMode::Pull {
        return Err(Error::PullMode {
            name: name.to_owned(),
        });
    }
    match &member.spec.id {
        Some(registered) if registered != id => Err(Error::OtherCluster {
            name: name.to_owned(),
            registered: registered.clone(),
            id: id.to_owned(),
        }),
        // Without an id, the object was made by hand for this name; joining completes it.
        _ => Ok(true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crds::cluster::{ClusterSpec, ClusterSyncMode};

    fn member(name: &str, id: Option<&str>, sync_mode: ClusterSyncMode) -> Cluster {
        Cluster::new(
            name,
            ClusterSpec {
                id: id.map(str::to_owned),
                sync_mode,
                ..ClusterSpec::default()
            },
        )
    }

    #[test]
    fn new_cluster_under_a_free_name_may_join() {
        let members = [member("a", Some("1"), ClusterSyncMode::Push)];
        assert!(matches!(judge(&members, "b", "2"), Ok(false)));
    }

    #[test]
    fn joining_twice_is_no_contradiction() {
        let members = [member("a", Some("1"), ClusterSyncMode::Push)];
        assert!(matches!(judge(&members, "a", "1"), Ok(true)));
        let by_hand = [member("a", None, ClusterSyncMode::Push)];
        assert!(matches!(judge(&by_hand, "a", "1"), Ok(true)));
    }

    #[test]
    fn one_cluster_under_two_names_is_refused() {
        let members = [member("a", Some("1"), ClusterSyncMode::Push)];
        let Err(Error::OtherName { other }) = judge(&members, "b", "1") else {
            unreachable!("the cluster is a member as a")
        };
        assert_eq!(other, "a");
    }

    #[test]
    fn name_of_another_cluster_is_refused() {
        let members = [member("a", Some("1"), ClusterSyncMode::Push)];
        assert!(matches!(
            judge(&members, "a", "2"),
            Err(Error::OtherCluster { .. })
        ));
    }

    #[test]
    fn members_in_pull_mode_and_leaving_ones_are_refused() {
        let pull = [member("a", Some("1"), ClusterSyncMode::Pull)];
        assert!(matches!(
            judge(&pull, "a", "1"),
            Err(Error::PullMode { .. })
        ));
        let mut leaving = member("a", Some("1"), ClusterSyncMode::Push);
        leaving.metadata.deletion_timestamp =
            Some(serde_json::from_str("\"2026-12-01T12:00:00Z\"").expect("a time"));
        assert!(matches!(
            judge(&[leaving], "a", "1"),
            Err(Error::Leaving { .. })
        ));
    }
}
