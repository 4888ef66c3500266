//! What a request asks for, read from its method and path.

use http::Method;

/// What a request asks for.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) verb: &'static str,
    /// `resource` or `resource/subresource`; the path's head for what is no resource.
    pub(super) resource: String,
    pub(super) watch: bool,
    /// Whether it may wait for what moves workloads: statuses and events.
    pub(super) patient: bool,
}

impl Target {
    pub(super) fn of(method: &Method, uri: &http::Uri) -> Self {
        let path: Vec<&str> = uri
            .path()
            .split('/')
            .filter(|part| !part.is_empty())
            .collect();
        let watch = uri.query().is_some_and(|query| {
            query
                .split('&')
                .any(|pair| pair == "watch=true" || pair == "watch=1")
        });
        let rest: &[&str] = match path.as_slice() {
            ["api", _version, rest @ ..] | ["apis", _, _version, rest @ ..] if !rest.is_empty() => {
                rest
            }
            _ => {
                return Self {
                    verb: verb(method, false, watch),
                    resource: path
                        .first()
                        .map_or_else(|| "/".to_owned(), |head| format!("/{head}")),
                    watch,
                    patient: false,
                };
            }
        };
        let rest = match rest {
            // `namespaces/x` and its own status and finalize are about the namespace itself.
            ["namespaces", _, resource, tail @ ..]
                if !matches!(*resource, "status" | "finalize") =>
            {
                return Self::resource(method, resource, tail, watch);
            }
            rest => rest,
        };
        Self::resource(method, rest[0], &rest[1..], watch)
    }

    fn resource(method: &Method, resource: &str, tail: &[&str], watch: bool) -> Self {
        let (named, subresource) = match tail {
            [] => (false, None),
            [_name] => (true, None),
            [_name, subresource, ..] => (true, Some(*subresource)),
        };
        let write = !matches!(*method, Method::GET | Method::HEAD);
        Self {
            verb: verb(method, named, watch),
            resource: subresource
                .map_or_else(|| resource.to_owned(), |sub| format!("{resource}/{sub}")),
            watch,
            patient: write && (resource == "events" || subresource == Some("status")),
        }
    }
}

fn verb(method: &Method, named: bool, watch: bool) -> &'static str {
    match *method {
        _ if watch => "watch",
        Method::GET if named => "get",
        Method::GET => "list",
        Method::POST => "create",
        Method::PUT => "update",
        Method::PATCH => "patch",
        Method::DELETE => "delete",
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_named_as_kubernetes_names_them() {
        for (method, path, verb, resource, patient) in [
            (
                Method::GET,
                "/api/v1/namespaces/a/configmaps/b",
                "get",
                "configmaps",
                false,
            ),
            (
                Method::GET,
                "/api/v1/configmaps?watch=true",
                "watch",
                "configmaps",
                false,
            ),
            (
                Method::GET,
                "/api/v1/namespaces",
                "list",
                "namespaces",
                false,
            ),
            (
                Method::GET,
                "/api/v1/namespaces/a",
                "get",
                "namespaces",
                false,
            ),
            (
                Method::PUT,
                "/api/v1/namespaces/a/status",
                "update",
                "namespaces/status",
                true,
            ),
            (
                Method::POST,
                "/api/v1/namespaces/a/events",
                "create",
                "events",
                true,
            ),
            (
                Method::PATCH,
                "/apis/work.karmada.io/v1alpha1/namespaces/a/works/b/status",
                "patch",
                "works/status",
                true,
            ),
            (
                Method::PATCH,
                "/apis/apps/v1/namespaces/a/deployments/b",
                "patch",
                "deployments",
                false,
            ),
            (
                Method::DELETE,
                "/apis/cluster.karmada.io/v1alpha1/clusters/b",
                "delete",
                "clusters",
                false,
            ),
            (Method::GET, "/readyz", "list", "/readyz", false),
            (Method::GET, "/apis/apps/v1", "list", "/apis", false),
        ] {
            let target = Target::of(&method, &path.parse().unwrap());
            assert_eq!(
                (target.verb, target.resource.as_str(), target.patient),
                (verb, resource, patient),
                "{path}"
            );
        }
    }
}
