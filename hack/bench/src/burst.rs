//! M2, M3, M6, M7: many templates at once; how fast, at how many requests, how much memory and CPU.
use std::time::{Duration, Instant};

use anyhow::Result;
use futures::{StreamExt, TryStreamExt, stream};
use kube::api::{ApiResource, PostParams};
use serde::Serialize;
use serde_json::Value;

use crate::counters::{Counters, quiescence};
use crate::plane::{Plane, config_map, config_maps, deployment, deployments};
use crate::procs::{self, Process, Usage};
use crate::sightings::{Sight, Sightings};

/// What a burst is made of.
#[derive(Clone, Copy, Debug)]
pub enum Load {
    /// Small `ConfigMaps`: no controller of a member does anything with them.
    ConfigMaps,
    /// Deployments of one replica: the members' own controllers work too.
    Deployments,
}

impl Load {
    fn kind(self) -> &'static str {
        match self {
            Self::ConfigMaps => "ConfigMap",
            Self::Deployments => "Deployment",
        }
    }

    fn resource(self) -> ApiResource {
        match self {
            Self::ConfigMaps => config_maps(),
            Self::Deployments => deployments(),
        }
    }

    fn body(self, name: &str) -> Value {
        match self {
            Self::ConfigMaps => config_map(name),
            Self::Deployments => deployment(name),
        }
    }
}

/// Figures of one burst.
#[derive(Clone, Debug, Serialize)]
pub struct Burst {
    /// Kind of the templates.
    pub kind: String,
    /// Number of templates.
    pub templates: usize,
    /// Number of members.
    pub members: usize,
    /// Seconds from the first POST to the last object seen in a member.
    pub visible_seconds: f64,
    /// Seconds from the first POST to the control plane's rest.
    pub settled_seconds: f64,
    /// Member objects a second until visible.
    pub objects_per_second: f64,
    /// Writes on the control plane a template, the user's own left out, events included.
    pub host_writes: f64,
    /// Of these, events.
    pub host_events: f64,
    /// Single-object reads on the control plane a template.
    pub host_gets: f64,
    /// Share of the control plane's writes that ended in 409.
    pub conflicts: f64,
    /// Writes in all members a template, by everybody (a member's own controllers too).
    pub member_writes: f64,
    /// CPU seconds a template of the system's own processes.
    pub own_cpu: f64,
    /// CPU seconds a template of the control plane's API server.
    pub host_cpu: f64,
    /// Memory before.
    pub memory_before: Usage,
    /// Memory after it came to rest; `peak` holds the highest.
    pub memory_after: Usage,
    /// Writes on the control plane by kind, all templates together.
    pub writes_by_kind: Vec<(String, u64)>,
}

/// Creates `count` templates with 16 creators and measures until everything is quiet again. The objects are removed afterwards, outside the figures.
pub async fn run(plane: &Plane, load: Load, count: usize, processes: &[Process]) -> Result<Burst> {
    let arena = plane
        .arena(&format!("bench-m2-{}", load.kind().to_lowercase()))
        .await?;
    let api = plane.api(&arena.namespace, &load.resource());
    let mut sightings = Sightings::start(plane, &arena.namespace, &load.resource());
    quiescence(&plane.host, QUIET, LIMIT).await?;

    let memory_before = procs::total(processes)?;
    let host_before = Counters::read(&plane.host).await?;
    let members_before = read_members(plane).await?;
    let start = Instant::now();

    let names: Vec<String> = (0..count).map(|n| format!("burst-{n}")).collect();
    stream::iter(names.iter().map(Ok::<_, anyhow::Error>))
        .try_for_each_concurrent(16, |name| {
            let api = &api;
            async move {
                api.create(
                    &PostParams::default(),
                    &serde_json::from_value(load.body(name))?,
                )
                .await?;
                Ok(())
            }
        })
        .await?;
    let seen = sightings.all(&names, Sight::Present, LIMIT).await?;
    let visible = seen
        .values()
        .flatten()
        .max()
        .map_or(Duration::ZERO, |last| last.duration_since(start));
    let (rest, _) = quiescence(&plane.host, QUIET, LIMIT).await?;
    let settled = rest.duration_since(start).max(visible);

    let host = Counters::read(&plane.host).await?.since(&host_before);
    let members = read_members(plane).await?;
    let member_writes: u64 = members
        .iter()
        .zip(&members_before)
        .map(|(now, before)| now.since(before).writes())
        .sum();
    let memory_after = procs::total(processes)?;
    arena.clear().await?;

    let templates = precise(count as u64);
    let own_posts = count as u64;
    let writes = host.writes().saturating_sub(own_posts);
    let objects = precise((count * plane.members.len()) as u64);
    Ok(Burst {
        kind: load.kind().to_owned(),
        templates: count,
        members: plane.members.len(),
        visible_seconds: visible.as_secs_f64(),
        settled_seconds: settled.as_secs_f64(),
        objects_per_second: objects / visible.as_secs_f64().max(f64::EPSILON),
        host_writes: ratio(writes, templates),
        host_events: ratio(host.events(), templates),
        host_gets: ratio(host.gets(), templates),
        conflicts: ratio(host.conflicts(), precise(writes.max(1))),
        member_writes: ratio(member_writes, templates),
        own_cpu: (memory_after.cpu_seconds - memory_before.cpu_seconds) / templates,
        host_cpu: host.cpu_seconds / templates,
        memory_before,
        memory_after,
        writes_by_kind: host.writes_by_kind(),
    })
}

const QUIET: Duration = Duration::from_secs(10);
const LIMIT: Duration = Duration::from_secs(900);

async fn read_members(plane: &Plane) -> Result<Vec<Counters>> {
    stream::iter(&plane.members)
        .then(|m| Counters::read(&m.client))
        .try_collect()
        .await
}

fn ratio(count: u64, per: f64) -> f64 {
    precise(count) / per
}

#[expect(
    clippy::cast_precision_loss,
    reason = "counts of a benchmark are far below 2^52"
)]
fn precise(count: u64) -> f64 {
    count as f64
}
