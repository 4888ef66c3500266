//! C0: what one write of each kind costs on this API server, alone. Throughputs are shown next to the floor that follows from it.
use std::time::Instant;

use anyhow::{Context, Result};
use futures::{TryStreamExt, stream};
use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use serde::Serialize;
use serde_json::{Value, json};

use crate::counters::Counters;
use crate::plane::{Plane, config_map, config_maps, deployment, works};

/// Cost of one kind of write.
#[derive(Clone, Debug, Serialize)]
pub struct Cost {
    /// What was written and how.
    pub write: String,
    /// Milliseconds of the API server's CPU a write.
    pub cpu_ms: f64,
    /// Writes a second at concurrency 8.
    pub per_second: f64,
}

/// Measures `count` writes of each kind at concurrency 8. The Works are suspended and lie in a namespace of no member, so that no operator acts on them.
pub async fn run(plane: &Plane, count: usize) -> Result<Vec<Cost>> {
    let name = format!("bench-c0-{:x}", std::process::id());
    let namespaces: Api<Namespace> = Api::all(plane.host.clone());
    let namespace = json!({"metadata": {"name": name, "labels": {"namespace.karmada.io/skip-auto-propagation": "true"}}});
    namespaces
        .create(&PostParams::default(), &serde_json::from_value(namespace)?)
        .await
        .context("creating the namespace of C0")?;
    let maps = plane.api(&name, &config_maps());
    let works = plane.api(&name, &works());
    let status = |n: usize, round: &str| {
        json!({"status": {"conditions": [{
            "type": "Applied", "status": "True", "reason": "AppliedSuccessful", "message": format!("{round} {n}"), "lastTransitionTime": "2026-01-01T00:00:00Z"
        }]}})
    };
    let whole = |mut body: Value, n: usize, round: &str| {
        body["metadata"]["name"] = json!(format!("c0-{n}"));
        if let Some(status) = status(n, round).get_mut("status") {
            body["status"] = status.take();
        }
        body
    };
    let apply = PatchParams::apply("bench").force();

    let mut costs = Vec::new();
    costs.push(
        measure(plane, "POST ConfigMap", count, |n| {
            let maps = &maps;
            async move {
                maps.create(
                    &PostParams::default(),
                    &object(config_map(&format!("c0-{n}")))?,
                )
                .await?;
                Ok(())
            }
        })
        .await?,
    );
    costs.push(
        measure(plane, "POST Work", count, |n| {
            let works = &works;
            async move {
                works
                    .create(&PostParams::default(), &object(work(&format!("c0-{n}")))?)
                    .await?;
                Ok(())
            }
        })
        .await?,
    );
    costs.push(
        measure(plane, "PUT Work status", count, |n| {
            let (works, whole) = (&works, &whole);
            async move {
                let live = works.get(&format!("c0-{n}")).await?;
                let body = whole(serde_json::to_value(&live)?, n, "put");
                works
                    .replace_status(&format!("c0-{n}"), &PostParams::default(), &object(body)?)
                    .await?;
                Ok(())
            }
        })
        .await?,
    );
    costs.push(
        measure(plane, "merge-patch Work status", count, |n| {
            let (works, status) = (&works, &status);
            async move {
                works
                    .patch_status(
                        &format!("c0-{n}"),
                        &PatchParams::default(),
                        &Patch::Merge(status(n, "merge")),
                    )
                    .await?;
                Ok(())
            }
        })
        .await?,
    );
    costs.push(measure(plane, "apply Work status", count, |n| {
        let (works, whole, apply) = (&works, &whole, &apply);
        async move {
            let body = whole(json!({"apiVersion": "work.karmada.io/v1alpha1", "kind": "Work", "metadata": {}}), n, "apply");
            works.patch_status(&format!("c0-{n}"), apply, &Patch::Apply(body)).await?;
            Ok(())
        }
    }).await?);
    namespaces.delete(&name, &DeleteParams::default()).await?;
    Ok(costs)
}

async fn measure<'a, F, W>(plane: &Plane, write: &str, count: usize, one: F) -> Result<Cost>
where
    F: Fn(usize) -> W + 'a,
    W: Future<Output = Result<()>> + 'a,
{
    let before = Counters::read(&plane.host).await?;
    let start = Instant::now();
    stream::iter((0..count).map(Ok))
        .try_for_each_concurrent(8, one)
        .await
        .with_context(|| format!("C0: {write}"))?;
    let seconds = start.elapsed().as_secs_f64();
    let spent = Counters::read(&plane.host).await?.since(&before);
    #[expect(clippy::cast_precision_loss, reason = "a few hundred writes")]
    let n = count as f64;
    Ok(Cost {
        write: write.to_owned(),
        cpu_ms: spent.cpu_seconds * 1000.0 / n,
        per_second: n / seconds,
    })
}

fn object(value: Value) -> Result<DynamicObject> {
    Ok(serde_json::from_value(value)?)
}

/// A suspended Work of about 3 KB.
fn work(name: &str) -> Value {
    let mut manifest = deployment(name);
    manifest["metadata"]["annotations"] = json!({"padding": "x".repeat(2000)});
    json!({
        "apiVersion": "work.karmada.io/v1alpha1", "kind": "Work", "metadata": {"name": name},
        "spec": {"suspendDispatching": true, "workload": {"manifests": [manifest]}}
    })
}

/// CPU milliseconds the API server must spend on one template until its copies are visible: the user's POST, the binding and one Work a member.
///
/// Costs of members and etcd are left out, so the floor is generous to nobody: a real system cannot beat it.
pub fn floor_ms(costs: &[Cost], members: usize) -> Option<f64> {
    let cost = |write: &str| costs.iter().find(|c| c.write == write).map(|c| c.cpu_ms);
    #[expect(clippy::cast_precision_loss, reason = "a handful of members")]
    let members = members as f64;
    Some(cost("POST ConfigMap")? + cost("POST Work")? * (1.0 + members))
}
