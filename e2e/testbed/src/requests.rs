//! What an API server was asked for, from its own metrics.

use std::collections::BTreeMap;
use std::fmt;

use anyhow::{Context as _, Result, anyhow};

/// One kind of request, as the API server counts them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Request {
    /// `POST`, `PUT`, `PATCH`, `APPLY`, `DELETE`, `GET`, `LIST`, `WATCH` …
    pub verb: String,
    /// API group; empty for core.
    pub group: String,
    /// Plural name, such as `deployments`.
    pub resource: String,
    /// Such as `status`; empty for the object itself.
    pub subresource: String,
    /// HTTP status code of the answer.
    pub code: String,
}

impl Request {
    /// Whether the request may change something.
    pub fn is_write(&self) -> bool {
        matches!(
            self.verb.as_str(),
            "POST" | "PUT" | "PATCH" | "APPLY" | "DELETE" | "DELETECOLLECTION"
        )
    }
}

/// How often each kind of request was answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Requests(BTreeMap<Request, u64>);

impl Requests {
    /// Reads `apiserver_request_total` out of an exposition.
    pub(crate) fn parse(exposition: &str) -> Result<Self> {
        let mut counts = BTreeMap::new();
        for line in exposition.lines() {
            let Some(rest) = line.strip_prefix("apiserver_request_total{") else {
                continue;
            };
            let (labels, value) = rest
                .rsplit_once("} ")
                .ok_or_else(|| anyhow!("not a sample: {line}"))?;
            // Label values are verbs, resource names and codes: none of them holds a quote or a comma.
            let label = |name: &str| {
                labels
                    .split(',')
                    .find_map(|label| label.strip_prefix(name)?.strip_prefix('='))
                    .map(|value| value.trim_matches('"').to_owned())
                    .unwrap_or_default()
            };
            let request = Request {
                verb: label("verb"),
                group: label("group"),
                resource: label("resource"),
                subresource: label("subresource"),
                code: label("code"),
            };
            // The server writes large counts like 1.2e+06.
            let value: f64 = value
                .trim()
                .parse()
                .with_context(|| format!("not a number: {line}"))?;
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a counter of requests is a whole number far below 2^53"
            )]
            let value = value as u64;
            *counts.entry(request).or_default() += value;
        }
        Ok(Self(counts))
    }

    /// What was asked for since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        self.map(|request, count| {
            count.saturating_sub(earlier.0.get(request).copied().unwrap_or_default())
        })
    }

    /// Only requests that may change something; dry runs and refused ones included.
    #[must_use]
    pub fn writes(&self) -> Self {
        self.filter(Request::is_write)
    }

    /// Only requests for which `wanted` holds.
    #[must_use]
    pub fn filter(&self, wanted: impl Fn(&Request) -> bool) -> Self {
        self.map(|request, count| if wanted(request) { count } else { 0 })
    }

    /// Without the requests for one resource, such as `leases`.
    #[must_use]
    pub fn without(&self, resource: &str) -> Self {
        self.filter(|request| request.resource != resource)
    }

    /// The number of requests.
    pub fn total(&self) -> u64 {
        self.0.values().sum()
    }

    /// Each kind of request with its number.
    pub fn iter(&self) -> impl Iterator<Item = (&Request, u64)> {
        self.0.iter().map(|(request, count)| (request, *count))
    }

    fn map(&self, number: impl Fn(&Request, u64) -> u64) -> Self {
        Self(
            self.0
                .iter()
                .map(|(request, count)| (request.clone(), number(request, *count)))
                .filter(|(_, count)| *count > 0)
                .collect(),
        )
    }
}

impl fmt::Display for Requests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (request, count) in self.iter() {
            let Request {
                verb,
                group,
                resource,
                subresource,
                code,
            } = request;
            let slash = if subresource.is_empty() { "" } else { "/" };
            let dot = if group.is_empty() { "" } else { "." };
            writeln!(
                f,
                "{count:>6}  {verb:<6} {code}  {resource}{slash}{subresource}{dot}{group}"
            )?;
        }
        write!(f, "{:>6}  in all", self.total())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str = r#"
# TYPE apiserver_request_total counter
apiserver_request_total{code="200",component="apiserver",dry_run="",group="apps",resource="deployments",scope="resource",subresource="status",verb="PATCH",version="v1"} 3
apiserver_request_total{code="200",component="apiserver",dry_run="",group="",resource="pods",scope="cluster",subresource="",verb="LIST",version="v1"} 1.2e+06
"#;

    fn table(text: &str) -> Requests {
        Requests::parse(text).unwrap()
    }

    #[test]
    fn counts_by_verb_resource_and_code() {
        let requests = table(BEFORE);
        assert_eq!(requests.total(), 1_200_003);
        assert_eq!(requests.writes().total(), 3);
        assert_eq!(requests.writes().without("deployments").total(), 0);
        assert_eq!(
            requests.writes().to_string(),
            "     3  PATCH  200  deployments/status.apps\n     3  in all"
        );
    }

    #[test]
    fn tells_what_came_since() {
        let later = table(&BEFORE.replace("} 3", "} 5"));
        assert_eq!(later.since(&table(BEFORE)).total(), 2);
        assert_eq!(later.since(&later).total(), 0);
        assert_eq!(later.since(&Requests::default()), later);
    }
}
