//! What a member serves: version and APIs.
//!
//! Aggregated discovery answers in two requests, and with an `ETag` each: a list that has not changed costs an empty
//! 304. Servers older than that are asked group by group.

use crds::cluster::{APIEnablement, APIResource};
use engine::health::ApiList;
use http::header::{ACCEPT, CONTENT_TYPE, ETAG, HeaderValue, IF_NONE_MATCH};
use http::{Request, StatusCode};
use kube::Client;
use kube::client::Body;
use kube::core::Status;
use kube::core::discovery::v2::{ACCEPT_AGGREGATED_DISCOVERY_V2, APIGroupDiscoveryList};

use super::probe::read;

/// Why the APIs of a member are not known.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    /// The request failed, or was refused.
    #[error("GET {path}")]
    Ask {
        /// What was asked for.
        path: &'static str,
        /// What happened.
        #[source]
        source: Box<kube::Error>,
    },
    /// The answer is not what it should be.
    #[error("GET {path} gave an answer that cannot be read")]
    Read {
        /// What was asked for.
        path: &'static str,
        /// What is wrong with it.
        #[source]
        source: serde_json::Error,
    },
}

/// The APIs of a member, as far as they are known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Apis {
    /// The kinds, by group and version.
    pub(crate) enablements: Vec<APIEnablement>,
    /// Whether that is all.
    pub(crate) list: ApiList,
}

/// Asks a member what it serves, and remembers what it said.
#[derive(Debug, Default)]
pub(super) struct Discovery {
    core: Part,
    groups: Part,
}

/// One of the two lists, with the tag it came with.
#[derive(Debug, Default)]
struct Part {
    tag: Option<HeaderValue>,
    enablements: Vec<APIEnablement>,
    stale: Vec<String>,
}

impl Discovery {
    /// What the member serves now.
    pub(super) async fn apis(&mut self, client: &Client) -> Result<Apis, Error> {
        self.core.refresh(client, "/api").await?;
        self.groups.refresh(client, "/apis").await?;
        let parts = [&self.core, &self.groups];
        let mut enablements: Vec<APIEnablement> = parts
            .iter()
            .flat_map(|part| part.enablements.clone())
            .collect();
        enablements.sort_by(|a, b| a.group_version.cmp(&b.group_version));
        let stale: Vec<String> = parts.iter().flat_map(|part| part.stale.clone()).collect();
        let list = if stale.is_empty() {
            ApiList::Complete
        } else {
            ApiList::Partial(stale)
        };
        Ok(Apis { enablements, list })
    }
}

impl Part {
    async fn refresh(&mut self, client: &Client, path: &'static str) -> Result<(), Error> {
        let ask = |source| Error::Ask {
            path,
            source: Box::new(source),
        };
        let mut request = Request::get(path).header(ACCEPT, accept());
        if let Some(tag) = &self.tag {
            request = request.header(IF_NONE_MATCH, tag.clone());
        }
        let request = request
            .body(Body::empty())
            .map_err(|error| ask(kube::Error::HttpError(error)))?;
        let response = client.send(request).await.map_err(ask)?;
        let tag = response.headers().get(ETAG).cloned();
        let aggregated = response
            .headers()
            .get(CONTENT_TYPE)
            .and_then(|kind| kind.to_str().ok())
            .is_some_and(|kind| kind.contains("as=APIGroupDiscoveryList"));
        let (code, body) = read(response).await.map_err(ask)?;
        if code == StatusCode::NOT_MODIFIED {
            return Ok(());
        }
        if !code.is_success() {
            return Err(ask(refusal(code, &body)));
        }
        let (enablements, stale) = if aggregated {
            let list =
                serde_json::from_slice(&body).map_err(|source| Error::Read { path, source })?;
            from_aggregated(list)
        } else {
            group_by_group(client, path).await.map_err(ask)?
        };
        *self = Self {
            tag: tag.filter(|_| aggregated),
            enablements,
            stale,
        };
        Ok(())
    }
}

/// An old server that knows none of the aggregated forms answers in the plain one instead of refusing.
fn accept() -> String {
    format!("{ACCEPT_AGGREGATED_DISCOVERY_V2},application/json")
}

fn refusal(code: StatusCode, body: &[u8]) -> kube::Error {
    let status = serde_json::from_slice::<Status>(body).unwrap_or_else(|_| {
        let text = String::from_utf8_lossy(body);
        Status::failure(text.trim(), "Failed to parse error data").with_code(code.as_u16())
    });
    kube::Error::Api(status.boxed())
}

fn from_aggregated(list: APIGroupDiscoveryList) -> (Vec<APIEnablement>, Vec<String>) {
    let mut enablements = Vec::new();
    let mut stale = Vec::new();
    for group in list.items {
        let name = group
            .metadata
            .and_then(|meta| meta.name)
            .unwrap_or_default();
        for version in group.versions {
            let group_version = join(&name, &version.version.unwrap_or_default());
            if version.freshness.as_deref() == Some("Stale") {
                stale.push(group_version.clone());
            }
            let resources = version.resources.into_iter().filter_map(|resource| {
                Some(APIResource {
                    name: resource.resource?,
                    kind: resource.response_kind?.kind?,
                })
            });
            enablements.push(enablement(group_version, resources));
        }
    }
    (enablements, stale)
}

/// The way of servers before 1.26. A group that does not answer is one that is stale.
async fn group_by_group(
    client: &Client,
    path: &str,
) -> Result<(Vec<APIEnablement>, Vec<String>), kube::Error> {
    let core = path == "/api";
    let versions: Vec<String> = if core {
        client.list_core_api_versions().await?.versions
    } else {
        let groups = client.list_api_groups().await?.groups;
        groups
            .into_iter()
            .flat_map(|group| group.versions)
            .map(|version| version.group_version)
            .collect()
    };
    let mut enablements = Vec::new();
    let mut stale = Vec::new();
    for group_version in versions {
        let listed = if core {
            client.list_core_api_resources(&group_version).await
        } else {
            client.list_api_group_resources(&group_version).await
        };
        match listed {
            Ok(list) => {
                let resources = list.resources.into_iter().map(|resource| APIResource {
                    name: resource.name,
                    kind: resource.kind,
                });
                enablements.push(enablement(group_version, resources));
            }
            Err(kube::Error::Api(_)) => stale.push(group_version),
            Err(error) => return Err(error),
        }
    }
    Ok((enablements, stale))
}

/// Subresources are no kinds of their own.
fn enablement(
    group_version: String,
    resources: impl Iterator<Item = APIResource>,
) -> APIEnablement {
    let mut resources: Vec<APIResource> = resources
        .filter(|resource| !resource.name.contains('/') && !resource.kind.is_empty())
        .collect();
    resources.sort_by(|a, b| a.name.cmp(&b.name));
    APIEnablement {
        group_version,
        resources,
    }
}

fn join(group: &str, version: &str) -> String {
    if group.is_empty() {
        version.to_owned()
    } else {
        format!("{group}/{version}")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_aggregated_list_is_read_without_subresources_and_with_its_stale_groups() {
        let list = serde_json::from_value(json!({
            "kind": "APIGroupDiscoveryList",
            "items": [
                {"metadata": {"name": "apps"}, "versions": [{"version": "v1", "freshness": "Current", "resources": [
                    {"resource": "statefulsets", "responseKind": {"group": "", "version": "", "kind": "StatefulSet"},
                     "subresources": [{"subresource": "scale", "responseKind": {"kind": "Scale"}}]},
                    {"resource": "deployments", "responseKind": {"group": "", "version": "", "kind": "Deployment"}},
                ]}]},
                {"metadata": {"name": "metrics.k8s.io"}, "versions": [{"version": "v1beta1", "freshness": "Stale"}]},
            ],
        }))
        .unwrap();
        let (enablements, stale) = from_aggregated(list);
        assert_eq!(stale, ["metrics.k8s.io/v1beta1"]);
        assert_eq!(enablements.len(), 2);
        assert_eq!(enablements[0].group_version, "apps/v1");
        let kinds: Vec<&str> = enablements[0]
            .resources
            .iter()
            .map(|resource| resource.kind.as_str())
            .collect();
        assert_eq!(kinds, ["Deployment", "StatefulSet"]);
        assert_eq!(join("", "v1"), "v1");
    }
}
