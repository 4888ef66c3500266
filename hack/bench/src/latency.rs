//! M1: the time from a request on the control plane to its effect in the members, one object at a time.
use std::time::{Duration, Instant};

use anyhow::Result;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use serde::Serialize;
use serde_json::json;

use crate::plane::{Plane, config_map, config_maps, deployment, deployments};
use crate::sightings::{Sight, Sightings};

/// Milliseconds: median, 99th percentile and maximum.
#[derive(Clone, Debug, Serialize)]
pub struct Spread {
    /// Number of samples.
    pub samples: usize,
    /// Median.
    pub p50: f64,
    /// 99th percentile (nearest rank).
    pub p99: f64,
    /// Maximum.
    pub max: f64,
}

impl Spread {
    /// Summarises durations; `None` without samples.
    pub fn of(mut times: Vec<Duration>) -> Option<Self> {
        times.sort_unstable();
        let rank = |percent: usize| {
            let index = (times.len() * percent).div_ceil(100).max(1) - 1;
            times.get(index).map(|t| t.as_secs_f64() * 1000.0)
        };
        Some(Self {
            samples: times.len(),
            p50: rank(50)?,
            p99: rank(99)?,
            max: rank(100)?,
        })
    }
}

/// One row: an operation on one kind.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Kind of the template.
    pub kind: String,
    /// create, update or delete.
    pub operation: String,
    /// Each (template, member) pair.
    pub pair: Spread,
    /// Each template until its last member.
    pub last: Spread,
}

/// Runs `count` templates of each kind, `pause` apart.
pub async fn run(plane: &Plane, count: usize, pause: Duration) -> Result<Vec<Row>> {
    let arena = plane.arena("bench-m1").await?;
    let mut rows = Vec::new();
    for (kind, resource, body) in [
        (
            "ConfigMap",
            config_maps(),
            config_map as fn(&str) -> serde_json::Value,
        ),
        ("Deployment", deployments(), deployment),
    ] {
        let api = plane.api(&arena.namespace, &resource);
        let mut sightings = Sightings::start(plane, &arena.namespace, &resource);
        for operation in ["create", "update", "delete"] {
            let (mut pairs, mut lasts) = (Vec::new(), Vec::new());
            for n in 0..count {
                let name = format!("one-{n}");
                let start = Instant::now();
                let sight = match operation {
                    "create" => {
                        api.create(
                            &PostParams::default(),
                            &serde_json::from_value(body(&name))?,
                        )
                        .await?;
                        Sight::Present
                    }
                    "update" => {
                        let patch = json!({"metadata": {"annotations": {"bench": "updated"}}});
                        api.patch(&name, &PatchParams::default(), &Patch::Merge(patch))
                            .await?;
                        Sight::Updated
                    }
                    _ => {
                        api.delete(&name, &DeleteParams::background()).await?;
                        Sight::Gone
                    }
                };
                let seen = sightings
                    .all(std::slice::from_ref(&name), sight, Duration::from_secs(60))
                    .await?;
                let times: Vec<Duration> = seen[&name]
                    .iter()
                    .map(|t| t.duration_since(start))
                    .collect();
                lasts.extend(times.iter().max().copied());
                pairs.extend(times);
                tokio::time::sleep(pause).await;
            }
            if let (Some(pair), Some(last)) = (Spread::of(pairs), Spread::of(lasts)) {
                rows.push(Row {
                    kind: kind.to_owned(),
                    operation: operation.to_owned(),
                    pair,
                    last,
                });
            }
        }
    }
    arena.clear().await?;
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_nearest_rank() {
        let spread = Spread::of((1..=100).map(Duration::from_millis).collect()).unwrap();
        assert_eq!(
            (spread.p50, spread.p99, spread.max, spread.samples),
            (50.0, 99.0, 100.0, 100)
        );
        assert!(Spread::of(Vec::new()).is_none());
    }
}
