//! What a server calls a kind: plural, singular, short name, kind, with or without group and version.

use kube::Client;
use kube::core::discovery::v2::{APIGroupDiscovery, APIResourceDiscovery};
use kube::discovery::ApiResource;

/// A kind as a server serves it.
#[derive(Clone, Debug)]
pub(crate) struct Served {
    pub(crate) resource: ApiResource,
    pub(crate) namespaced: bool,
    singular: String,
    short: Vec<String>,
}

/// Everything a server can list, the preferred version of each group first.
pub(crate) struct Catalogue(Vec<Served>);

impl Catalogue {
    /// Asks the server, in two requests.
    pub(crate) async fn of(client: &Client) -> Result<Self, kube::Error> {
        let (core, groups) = futures::future::try_join(
            client.list_core_api_versions_aggregated(),
            client.list_api_groups_aggregated(),
        )
        .await?;
        Ok(Self::new(core.items.iter().chain(&groups.items)))
    }

    fn new<'a>(groups: impl Iterator<Item = &'a APIGroupDiscovery>) -> Self {
        let mut all = Vec::new();
        for group in groups {
            let name = group
                .metadata
                .as_ref()
                .and_then(|metadata| metadata.name.as_deref())
                .unwrap_or_default();
            for version in &group.versions {
                let number = version.version.as_deref().unwrap_or_default();
                all.extend(
                    version
                        .resources
                        .iter()
                        .filter_map(|resource| served(name, number, resource)),
                );
            }
        }
        Self(all)
    }

    /// The kind meant by a word such as `deploy`, `deployments.apps` or `deployments.v1.apps`. A group that the
    /// server lists first wins, as for kubectl.
    pub(crate) fn find(&self, word: &str) -> Option<&Served> {
        let word = word.to_lowercase();
        let mut parts = word.splitn(2, '.');
        let (name, rest) = (parts.next().unwrap_or_default(), parts.next());
        // A plural may be meant before a short name: the first rule that finds something wins.
        let rules: [fn(&Served, &str) -> bool; 2] = [
            |kind, name| {
                kind.resource.plural == name
                    || kind.singular == name
                    || kind.resource.kind.to_lowercase() == name
            },
            |kind, name| kind.short.iter().any(|short| short == name),
        ];
        rules.iter().find_map(|rule| {
            self.0
                .iter()
                .find(|kind| rule(kind, name) && rest.is_none_or(|rest| kind.is_in(rest)))
        })
    }

    /// Plurals that look like the word.
    pub(crate) fn alike(&self, word: &str) -> Vec<String> {
        let word = word.to_lowercase();
        let stem: String = word.chars().take(4).collect();
        let mut found: Vec<String> = self
            .0
            .iter()
            .map(|kind| kind.resource.plural.clone())
            .filter(|plural| stem.len() >= 3 && plural.starts_with(&stem))
            .collect();
        found.dedup();
        found.truncate(5);
        found
    }
}

impl Served {
    /// Whether what follows the first dot is this group, or this version and group.
    fn is_in(&self, rest: &str) -> bool {
        let ApiResource { group, version, .. } = &self.resource;
        rest == group
            || rest
                .strip_prefix(version.as_str())
                .and_then(|rest| rest.strip_prefix('.').or(rest.is_empty().then_some("")))
                .is_some_and(|rest| rest == group)
    }

    /// A kind by itself, without a server.
    #[cfg(test)]
    pub(super) fn built(
        group: &str,
        version: &str,
        plural: &str,
        kind: &str,
        namespaced: bool,
    ) -> Self {
        let found = APIResourceDiscovery {
            resource: Some(plural.to_owned()),
            response_kind: Some(kube::core::discovery::v2::GroupVersionKind {
                kind: Some(kind.to_owned()),
                ..Default::default()
            }),
            scope: namespaced.then(|| "Namespaced".to_owned()),
            verbs: vec!["list".to_owned()],
            ..APIResourceDiscovery::default()
        };
        served(group, version, &found).expect("it can be listed")
    }

    /// What kubectl writes before the slash.
    pub(crate) fn title(&self) -> String {
        let ApiResource { group, kind, .. } = &self.resource;
        let kind = kind.to_lowercase();
        if group.is_empty() {
            kind
        } else {
            format!("{kind}.{group}")
        }
    }
}

fn served(group: &str, version: &str, found: &APIResourceDiscovery) -> Option<Served> {
    if !found.verbs.iter().any(|verb| verb == "list") {
        return None;
    }
    let plural = found.resource.clone()?;
    let kind = found.response_kind.as_ref()?.kind.clone()?;
    let api_version = if group.is_empty() {
        version.to_owned()
    } else {
        format!("{group}/{version}")
    };
    Some(Served {
        resource: ApiResource {
            group: group.to_owned(),
            version: version.to_owned(),
            api_version,
            kind,
            plural,
        },
        namespaced: found.scope.as_deref() == Some("Namespaced"),
        singular: found.singular_resource.clone().unwrap_or_default(),
        short: found.short_names.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn catalogue() -> Catalogue {
        let resource = |plural: &str, kind: &str, short: &[&str]| {
            json!({
                "resource": plural, "singularResource": kind.to_lowercase(), "scope": "Namespaced",
                "responseKind": {"kind": kind}, "shortNames": short, "verbs": ["get", "list"],
            })
        };
        let groups: Vec<APIGroupDiscovery> = serde_json::from_value(json!([
            {"metadata": {"name": ""}, "versions": [{"version": "v1", "resources": [
                resource("pods", "Pod", &["po"]), resource("events", "Event", &["ev"]),
                {"resource": "bindings", "responseKind": {"kind": "Binding"}, "verbs": ["create"]},
            ]}]},
            {"metadata": {"name": "apps"}, "versions": [{"version": "v1", "resources": [
                resource("deployments", "Deployment", &["deploy"]),
            ]}]},
            {"metadata": {"name": "events.k8s.io"}, "versions": [{"version": "v1", "resources": [
                resource("events", "Event", &["ev"]),
            ]}]},
        ]))
        .expect("a discovery document");
        Catalogue::new(groups.iter())
    }

    fn found(word: &str) -> Option<String> {
        catalogue()
            .find(word)
            .map(|kind| format!("{}/{}", kind.resource.api_version, kind.resource.plural))
    }

    #[test]
    fn kinds_have_many_names() {
        for word in [
            "deployments",
            "deployment",
            "deploy",
            "Deployment",
            "deployments.apps",
            "deployments.v1.apps",
            "deploy.apps",
        ] {
            assert_eq!(
                found(word).as_deref(),
                Some("apps/v1/deployments"),
                "{word}"
            );
        }
        assert_eq!(found("pods.v1").as_deref(), Some("v1/pods"));
    }

    #[test]
    fn group_that_comes_first_wins_unless_one_is_named() {
        assert_eq!(found("events").as_deref(), Some("v1/events"));
        assert_eq!(
            found("events.events.k8s.io").as_deref(),
            Some("events.k8s.io/v1/events")
        );
    }

    #[test]
    fn what_cannot_be_listed_or_does_not_exist_is_not_found() {
        for word in [
            "bindings",
            "widgets",
            "deployments.v2.apps",
            "pods.apps",
            "",
        ] {
            assert_eq!(found(word), None, "{word}");
        }
        assert_eq!(catalogue().alike("deploymets"), ["deployments"]);
    }
}
