//! What an API server says about itself: requests by verb, resource and code, and its CPU seconds.
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use kube::Client;
use serde::Serialize;

/// One line of the request table.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct RequestKind {
    /// HTTP verb as the API server names it: POST, PUT, PATCH, APPLY, DELETE, GET, LIST, WATCH.
    pub verb: String,
    /// Plural of the resource.
    pub resource: String,
    /// Subresource, empty for the object itself.
    pub subresource: String,
    /// HTTP status code.
    pub code: String,
}

impl RequestKind {
    /// Whether the request asks the server to change something.
    pub fn is_write(&self) -> bool {
        matches!(
            self.verb.as_str(),
            "POST" | "PUT" | "PATCH" | "APPLY" | "DELETE" | "DELETECOLLECTION"
        )
    }

    /// Whether the write belongs to elections and heartbeats or to authentication, which every component does by the clock.
    fn is_upkeep(&self) -> bool {
        matches!(
            self.resource.as_str(),
            "leases"
                | "tokenreviews"
                | "subjectaccessreviews"
                | "selfsubjectaccessreviews"
                | "selfsubjectrulesreviews"
        ) || self.subresource == "token"
    }

    /// `resource` or `resource/subresource`.
    pub fn target(&self) -> String {
        if self.subresource.is_empty() {
            self.resource.clone()
        } else {
            format!("{}/{}", self.resource, self.subresource)
        }
    }
}

/// A reading of one API server's counters.
#[derive(Clone, Debug, Default)]
pub struct Counters {
    /// CPU seconds of the API server's process.
    pub cpu_seconds: f64,
    /// Requests since it started.
    pub requests: BTreeMap<RequestKind, u64>,
}

impl Counters {
    /// Reads `/metrics`.
    pub async fn read(client: &Client) -> Result<Self> {
        let request = http_get("/metrics")?;
        let text = client
            .request_text(request)
            .await
            .context("reading /metrics of the API server")?;
        Ok(Self::parse(&text))
    }

    fn parse(text: &str) -> Self {
        let mut counters = Self::default();
        for line in text.lines() {
            if let Some(value) = line.strip_prefix("process_cpu_seconds_total ") {
                counters.cpu_seconds = value.trim().parse().unwrap_or_default();
                continue;
            }
            let Some(rest) = line.strip_prefix("apiserver_request_total{") else {
                continue;
            };
            let Some((labels, value)) = rest.rsplit_once("} ") else {
                continue;
            };
            let Ok(value) = value.trim().parse::<f64>() else {
                continue;
            };
            let labels = parse_labels(labels);
            let label = |name: &str| labels.get(name).cloned().unwrap_or_default();
            if !label("dry_run").is_empty() {
                continue;
            }
            let kind = RequestKind {
                verb: label("verb"),
                resource: label("resource"),
                subresource: label("subresource"),
                code: label("code"),
            };
            // Counters are whole numbers far below 2^53.
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "request counts are small whole numbers"
            )]
            let value = value as u64;
            *counters.requests.entry(kind).or_default() += value;
        }
        counters
    }

    /// What happened between `earlier` and this reading.
    pub fn since(&self, earlier: &Self) -> Self {
        let requests = self
            .requests
            .iter()
            .filter_map(|(kind, now)| {
                let before = earlier.requests.get(kind).copied().unwrap_or(0);
                let diff = now.saturating_sub(before);
                (diff > 0).then(|| (kind.clone(), diff))
            })
            .collect();
        Self {
            cpu_seconds: self.cpu_seconds - earlier.cpu_seconds,
            requests,
        }
    }

    /// Writes, upkeep (leases, token reviews) left out.
    pub fn writes(&self) -> u64 {
        self.sum(|k| k.is_write() && !k.is_upkeep())
    }

    /// Writes of Kubernetes Events.
    pub fn events(&self) -> u64 {
        self.sum(|k| k.is_write() && k.resource == "events")
    }

    /// Single-object reads; lists and watches are counted apart by the server.
    pub fn gets(&self) -> u64 {
        self.sum(|k| k.verb == "GET" && !k.resource.is_empty() && k.resource != "leases")
    }

    /// Writes answered with 409.
    pub fn conflicts(&self) -> u64 {
        self.sum(|k| k.is_write() && k.code == "409" && k.resource != "leases")
    }

    /// Writes by `verb resource/subresource`, most frequent first.
    pub fn writes_by_kind(&self) -> Vec<(String, u64)> {
        let mut by_kind = BTreeMap::<String, u64>::new();
        for (kind, n) in self
            .requests
            .iter()
            .filter(|(k, _)| k.is_write() && !k.is_upkeep())
        {
            *by_kind
                .entry(format!("{} {}", kind.verb, kind.target()))
                .or_default() += n;
        }
        let mut rows: Vec<_> = by_kind.into_iter().collect();
        rows.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        rows
    }

    fn sum(&self, which: impl Fn(&RequestKind) -> bool) -> u64 {
        self.requests
            .iter()
            .filter(|(k, _)| which(k))
            .map(|(_, n)| n)
            .sum()
    }
}

fn parse_labels(labels: &str) -> BTreeMap<String, String> {
    // Label values of this metric hold no commas, quotes or escapes.
    labels
        .split(',')
        .filter_map(|pair| {
            let (name, value) = pair.split_once('=')?;
            Some((name.to_owned(), value.trim_matches('"').to_owned()))
        })
        .collect()
}

fn http_get(path: &str) -> Result<http::Request<Vec<u8>>> {
    Ok(http::Request::get(path).body(Vec::new())?)
}

/// Waits until an API server has seen fewer than one write a second for `quiet`, and returns the reading at which the quiet began.
pub async fn quiescence(
    client: &Client,
    quiet: Duration,
    limit: Duration,
) -> Result<(Instant, Counters)> {
    let started = Instant::now();
    let mut since = Instant::now();
    let mut base = Counters::read(client).await?;
    loop {
        tokio::time::sleep(Duration::from_millis(500)).await;
        let now = Counters::read(client).await?;
        let elapsed = since.elapsed();
        // Writes are whole numbers: "fewer than one a second" over the window so far, with one spare for the first half second.
        if now.since(&base).writes() > elapsed.as_secs().max(1) - 1 {
            since = Instant::now();
            base = now;
        } else if elapsed >= quiet {
            return Ok((since, now));
        }
        if started.elapsed() > limit {
            bail!(
                "the control plane did not come to rest within {} s",
                limit.as_secs()
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: &str = r#"# HELP apiserver_request_total Counter
apiserver_request_total{code="201",component="apiserver",dry_run="",group="",resource="configmaps",scope="resource",subresource="",verb="POST",version="v1"} 7
apiserver_request_total{code="409",component="apiserver",dry_run="",group="work.karmada.io",resource="works",scope="resource",subresource="status",verb="PUT",version="v1alpha1"} 2
apiserver_request_total{code="200",component="apiserver",dry_run="",group="coordination.k8s.io",resource="leases",scope="resource",subresource="",verb="PUT",version="v1"} 90
apiserver_request_total{code="200",component="apiserver",dry_run="All",group="",resource="configmaps",scope="resource",subresource="",verb="PATCH",version="v1"} 5
apiserver_request_total{code="200",component="apiserver",dry_run="",group="",resource="pods",scope="resource",subresource="",verb="GET",version="v1"} 3
process_cpu_seconds_total 12.5
"#;

    #[test]
    fn leases_and_dry_runs_are_no_writes_of_the_system() {
        let read = Counters::parse(SAMPLE);
        assert_eq!(read.writes(), 9);
        assert_eq!(read.conflicts(), 2);
        assert_eq!(read.gets(), 3);
        assert!((read.cpu_seconds - 12.5).abs() < f64::EPSILON);
        assert_eq!(read.writes_by_kind()[0], ("POST configmaps".to_owned(), 7));
    }

    #[test]
    fn a_difference_keeps_only_what_changed() {
        let before = Counters::parse(SAMPLE);
        let after = Counters::parse(&SAMPLE.replace("} 7", "} 10"));
        let diff = after.since(&before);
        assert_eq!(diff.writes(), 3);
        assert_eq!(diff.requests.len(), 1);
    }
}
