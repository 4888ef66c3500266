//! Removing a member without its help: finalizers that only a living member could satisfy are taken away.

use std::time::{Duration, Instant};

use crds::cluster::Cluster;
use crds::finalizers;
use crds::namespaces::execution;
use crds::work::Work;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams};
use kube::{Client, ResourceExt as _};
use serde_json::{Value, json};

use super::{Error, failed};

/// Operators that run at the same time may put a Work back once or twice.
const PATIENCE: Duration = Duration::from_secs(30);

/// Removes the works, the execution namespace and the Cluster object, which is being deleted already.
pub(crate) async fn remove(client: &Client, cluster: &str) -> Result<(), Error> {
    let namespace = execution(cluster);
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let start = Instant::now();
    loop {
        let works_left = remove_works(client, &namespace).await?;
        match namespaces
            .delete(&namespace, &DeleteParams::background())
            .await
        {
            Ok(_) => {}
            Err(kube::Error::Api(status)) if status.is_not_found() || status.is_conflict() => {}
            Err(error) => return Err(failed(&format!("delete namespace/{namespace}"))(error)),
        }
        if works_left == 0 {
            release(client, cluster).await?;
        }
        let left = Api::<Cluster>::all(client.clone())
            .get_opt(cluster)
            .await
            .map_err(failed(&format!("get cluster/{cluster}")))?;
        let Some(left) = left else {
            return Ok(());
        };
        if start.elapsed() > PATIENCE {
            return Err(Error::NotGone {
                name: cluster.to_owned(),
                waited: PATIENCE,
                waiting: format!(
                    "{works_left} works are still there; finalizers hold it: {}",
                    left.finalizers().join(", ")
                ),
            });
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

/// Returns how many works there were.
async fn remove_works(client: &Client, namespace: &str) -> Result<usize, Error> {
    let works: Api<Work> = Api::namespaced(client.clone(), namespace);
    let list = works
        .list(&ListParams::default())
        .await
        .map_err(failed("list works"))?
        .items;
    let count = list.len();
    for work in list {
        let name = work.name_any();
        let what = format!("remove work/{name} -n {namespace}");
        let work = match works.delete(&name, &DeleteParams::background()).await {
            // It lives on for its finalizers, as a new version; else the answer is that it is gone.
            Ok(answer) => answer.left(),
            Err(error) => {
                ignore_missing(Err(error), &what)?;
                None
            }
        };
        let patch = work.and_then(|work| without(&work, finalizers::EXECUTION));
        if let Some(patch) = patch {
            let patched = works
                .patch_metadata(&name, &PatchParams::default(), &patch)
                .await;
            ignore_missing(patched.map(drop), &what)?;
        }
    }
    Ok(count)
}

async fn release(client: &Client, cluster: &str) -> Result<(), Error> {
    let clusters: Api<Cluster> = Api::all(client.clone());
    let found = clusters
        .get_opt(cluster)
        .await
        .map_err(failed(&format!("get cluster/{cluster}")))?;
    let patch = found.and_then(|found| without(&found, finalizers::CLUSTER));
    if let Some(patch) = patch {
        let patched = clusters
            .patch_metadata(cluster, &PatchParams::default(), &patch)
            .await;
        ignore_missing(patched.map(drop), &format!("patch cluster/{cluster}"))?;
    }
    Ok(())
}

/// The patch that takes away one finalizer, which fails if the object is another by then; `None` if it is not there.
fn without(object: &impl kube::Resource, finalizer: &str) -> Option<Patch<Value>> {
    let all = object.finalizers();
    let rest: Vec<&String> = all.iter().filter(|one| *one != finalizer).collect();
    (rest.len() < all.len()).then(|| {
        Patch::Merge(json!({"metadata": {
            "finalizers": rest,
            "resourceVersion": object.resource_version(),
        }}))
    })
}

fn ignore_missing(outcome: Result<(), kube::Error>, what: &str) -> Result<(), Error> {
    match outcome {
        // Gone, or changed meanwhile: the next round sees.
        Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(()),
        outcome => outcome.map_err(failed(what)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crds::cluster::ClusterSpec;

    #[test]
    fn only_our_own_finalizer_is_taken_away() {
        let mut cluster = Cluster::new("m1", ClusterSpec::default());
        assert!(without(&cluster, finalizers::CLUSTER).is_none());
        cluster.metadata.finalizers =
            Some(vec!["a.b/c".to_owned(), finalizers::CLUSTER.to_owned()]);
        cluster.metadata.resource_version = Some("7".to_owned());
        let Some(Patch::Merge(patch)) = without(&cluster, finalizers::CLUSTER) else {
            unreachable!("the finalizer is there")
        };
        assert_eq!(
            patch,
            json!({"metadata": {"finalizers": ["a.b/c"], "resourceVersion": "7"}})
        );
    }
}
