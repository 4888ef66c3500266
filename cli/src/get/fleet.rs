//! The servers that are asked: the control plane, and members by the credentials that `join` stored.

use std::fmt;
use std::time::Duration;

use crds::cluster::{Cluster, ClusterSyncMode};
use futures::future::join_all;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, ListParams};
use kube::config::AuthInfo;
use kube::{Client, Config, ResourceExt};

use super::Error;
use crate::access::{self, Access};
use crate::arguments::Scope;
use crate::trouble::Trouble;

/// Where an object was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// The control plane, which no member can be taken for: names of members have no brackets.
    ControlPlane,
    /// A member.
    Member(String),
}

impl Place {
    /// As the column CLUSTER shows it.
    pub(crate) fn cell(&self) -> &str {
        match self {
            Self::ControlPlane => "<control-plane>",
            Self::Member(name) => name,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ControlPlane => "the control plane",
            Self::Member(name) => name,
        })
    }
}

/// A server, and the way to it if there is one.
pub(crate) struct Server {
    pub(crate) place: Place,
    pub(crate) client: Result<Client, Trouble>,
}

/// The servers of a scope; the control plane is the first. Of the members, only the `chosen` if any are.
pub(crate) async fn servers(
    control: &Access,
    scope: Scope,
    chosen: &[String],
    timeout: Duration,
) -> Result<Vec<Server>, Error> {
    let mut servers = Vec::new();
    if scope != Scope::Members {
        servers.push(Server {
            place: Place::ControlPlane,
            client: Ok(control.client.clone()),
        });
    }
    if scope != Scope::Karmada {
        let members = members(control, chosen).await?;
        servers.extend(
            join_all(members.iter().map(async |member| Server {
                place: Place::Member(member.name_any()),
                client: reach(&control.client, member, timeout).await,
            }))
            .await,
        );
    }
    Ok(servers)
}

async fn members(control: &Access, chosen: &[String]) -> Result<Vec<Cluster>, Error> {
    let clusters: Api<Cluster> = Api::all(control.client.clone());
    let members = match clusters.list(&ListParams::default()).await {
        Ok(list) => list.items,
        Err(error) => {
            return Err(Error::Members {
                trouble: Trouble::of(&error),
            });
        }
    };
    choose(members, chosen)
}

fn choose(members: Vec<Cluster>, chosen: &[String]) -> Result<Vec<Cluster>, Error> {
    let names: Vec<String> = members.iter().map(ResourceExt::name_any).collect();
    let unknown: Vec<&str> = chosen
        .iter()
        .filter(|name| !names.contains(name))
        .map(String::as_str)
        .collect();
    if !unknown.is_empty() {
        return Err(Error::UnknownMember {
            unknown: unknown.join(", "),
            known: if names.is_empty() {
                "there are no members".to_owned()
            } else {
                format!("there are {}", names.join(", "))
            },
        });
    }
    Ok(members
        .into_iter()
        .filter(|member| chosen.is_empty() || chosen.contains(&member.name_any()))
        .collect())
}

/// A client for a member, with the token of the account that operators use.
async fn reach(control: &Client, member: &Cluster, timeout: Duration) -> Result<Client, Trouble> {
    let spec = &member.spec;
    if spec.sync_mode == ClusterSyncMode::Pull {
        return Err(Trouble::Credentials(
            "it is in pull mode, and only its agent has a way to it".to_owned(),
        ));
    }
    let missing = |what: &str| Trouble::Credentials(format!("its Cluster object names no {what}"));
    let endpoint = spec
        .api_endpoint
        .as_deref()
        .ok_or_else(|| missing("apiEndpoint"))?;
    let reference = spec
        .secret_ref
        .as_ref()
        .ok_or_else(|| missing("secretRef"))?;
    let secrets: Api<Secret> = Api::namespaced(control.clone(), &reference.namespace);
    let secret = secrets
        .get(&reference.name)
        .await
        .map_err(|error| Trouble::of(&error))?;
    let config = config(endpoint, member, &secret)?;
    match Access::new(
        config,
        format!("the stored credentials of {}", member.name_any()),
        timeout,
    ) {
        Ok(access) => Ok(access.client),
        Err(access::Error::Useless { trouble, .. }) => Err(trouble),
        Err(other) => Err(Trouble::Credentials(other.to_string())),
    }
}

fn config(endpoint: &str, member: &Cluster, secret: &Secret) -> Result<Config, Trouble> {
    let unusable = |what: &str| Trouble::Credentials(what.to_owned());
    let url = endpoint
        .parse()
        .map_err(|_| unusable("its apiEndpoint is no URL"))?;
    let data = |key: &str| {
        let bytes = secret.data.as_ref()?.get(key)?;
        String::from_utf8(bytes.0.clone()).ok()
    };
    let token = data("token").ok_or_else(|| unusable("its Secret has no token"))?;
    let mut config = Config::new(url);
    config.auth_info = AuthInfo {
        token: Some(token.into()),
        ..AuthInfo::default()
    };
    config.accept_invalid_certs = member.spec.insecure_skip_tls_verification.unwrap_or(false);
    config.root_cert = match data("caBundle") {
        Some(bundle) => Some(certificates(&bundle).map_err(|text| {
            Trouble::Credentials(format!("its caBundle is not readable: {text}"))
        })?),
        None => None,
    };
    if let Some(proxy) = &member.spec.proxy_url {
        config.proxy_url = Some(
            proxy
                .parse()
                .map_err(|_| unusable("its proxyURL is no URL"))?,
        );
    }
    Ok(config)
}

fn certificates(bundle: &str) -> Result<Vec<Vec<u8>>, String> {
    use rustls::pki_types::CertificateDer;
    use rustls::pki_types::pem::PemObject as _;
    CertificateDer::pem_slice_iter(bundle.as_bytes())
        .map(|one| {
            one.map(|der| der.to_vec())
                .map_err(|error| error.to_string())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crds::cluster::ClusterSpec;

    fn fleet(names: &[&str]) -> Vec<Cluster> {
        names
            .iter()
            .map(|name| Cluster::new(name, ClusterSpec::default()))
            .collect()
    }

    fn words(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn all_members_unless_some_are_chosen() {
        let all = choose(fleet(&["a", "b", "c"]), &[]).expect("no name is wrong");
        assert_eq!(all.len(), 3);
        let two = choose(fleet(&["a", "b", "c"]), &words(&["c", "a"])).expect("both exist");
        let names: Vec<String> = two.iter().map(ResourceExt::name_any).collect();
        assert_eq!(names, ["a", "c"]);
    }

    #[test]
    fn unknown_names_are_answered_with_the_known_ones() {
        let error =
            choose(fleet(&["a", "b"]), &words(&["a", "x", "y"])).expect_err("x and y are wrong");
        assert_eq!(
            error.to_string(),
            "no member is called x, y; there are a, b"
        );
        let error = choose(fleet(&[]), &words(&["x"])).expect_err("x is wrong");
        assert_eq!(
            error.to_string(),
            "no member is called x; there are no members"
        );
    }
}
