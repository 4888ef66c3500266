//! A Cluster that is being deleted goes when nothing of it is left.

use std::sync::Arc;
use std::time::Duration;

use crds::cluster::Cluster;
use crds::scope::Binding;
use crds::work::{ClusterResourceBinding, ResourceBinding, Work};
use crds::{conditions, namespaces};
use engine::health::{Leftovers, RemovalStep, decide_removal};
use engine::trace::ConditionStatus;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kit::RequestError;
use kube::ResourceExt as _;
use kube::api::{Api, ListParams};

use super::apply::has_finalizer;
use super::status::condition;
use super::{Controller, Member};

/// How often what is left is counted. A Cluster is removed so rarely that watching for it would cost more.
const RECOUNT: Duration = Duration::from_secs(3);

/// Bindings read at once.
const PAGE: u32 = 500;

impl Controller {
    /// Does the next step of the removal; says when to look again.
    pub(super) async fn remove(
        &self,
        mut cluster: Arc<Cluster>,
        member: &mut Member,
    ) -> Result<Option<Timestamp>, RequestError> {
        if !has_finalizer(&cluster.metadata) {
            return Ok(None);
        }
        let now = Timestamp::now();
        let name = cluster.name_any();
        let space = namespaces::execution(&name);
        let namespace = self.stores.space(&name);
        let works = if namespace.is_some() {
            self.works_in(&space).await?
        } else {
            Vec::new()
        };
        let left = Leftovers {
            bindings: self.bindings_in(&name).await?,
            namespace: namespace.is_some(),
            works: works.len(),
            ready: is_ready(&cluster, member),
            since: cluster
                .metadata
                .deletion_timestamp
                .as_ref()
                .map_or(now, |time| time.0),
        };
        let removal = decide_removal(&left, self.settings.removal_patience, now);

        if member.removal_blocked != removal.blocked {
            let mut status = cluster.status.clone().unwrap_or_default();
            let stored = status.clone();
            match &removal.blocked {
                Some(blocked) => {
                    kit::conditions::set(
                        &mut status.conditions,
                        condition(blocked.clone(), now),
                        now,
                    );
                    let told = member.removal_blocked.as_ref().map(|before| &before.reason);
                    if told != Some(&blocked.reason) {
                        self.applier.removal_is_blocked(&cluster, blocked).await;
                    }
                }
                None => status
                    .conditions
                    .retain(|one| one.type_ != conditions::REMOVAL_BLOCKED),
            }
            let written = self.applier.status(&cluster, &stored, &status).await?;
            cluster = self.stores.updated(cluster, written);
            member.removal_blocked.clone_from(&removal.blocked);
        }
        match removal.step {
            RemovalStep::Wait => {}
            RemovalStep::DeleteNamespace | RemovalStep::ReleaseWorks => {
                if namespace.is_some_and(|namespace| !namespace.deleting) {
                    self.applier.delete_execution_namespace(&cluster).await?;
                }
                if removal.step == RemovalStep::ReleaseWorks {
                    for work in &works {
                        self.applier.release(&space, work).await?;
                    }
                }
            }
            RemovalStep::Finish => {
                self.applier.finish(&cluster).await?;
                return Ok(None);
            }
        }
        let recount = now.saturating_add(RECOUNT).unwrap_or(Timestamp::MAX);
        Ok(Some(
            removal.wake_at.map_or(recount, |time| time.min(recount)),
        ))
    }

    /// The bindings that place a copy in the cluster, as `namespace/name`.
    async fn bindings_in(&self, cluster: &str) -> Result<Vec<String>, RequestError> {
        let mut found = self.bindings_of::<ResourceBinding>(cluster).await?;
        found.append(&mut self.bindings_of::<ClusterResourceBinding>(cluster).await?);
        Ok(found)
    }

    async fn bindings_of<B: Binding>(&self, cluster: &str) -> Result<Vec<String>, RequestError> {
        let bindings: Api<B> = Api::all(self.applier.client());
        let mut found = Vec::new();
        let mut page = ListParams::default().limit(PAGE);
        loop {
            let list = bindings
                .list(&page)
                .await
                .map_err(|error| RequestError::new("list", B::plural(&()).into_owned(), error))?;
            let naming = list.items.iter().filter(|binding| {
                binding
                    .spec()
                    .clusters
                    .iter()
                    .any(|target| target.name == cluster)
            });
            found.extend(naming.map(|binding| match binding.namespace() {
                Some(namespace) => format!("{namespace}/{}", binding.name_any()),
                None => binding.name_any(),
            }));
            match list.metadata.continue_ {
                Some(next) if !next.is_empty() => page = page.continue_token(&next),
                _ => return Ok(found),
            }
        }
    }

    async fn works_in(&self, namespace: &str) -> Result<Vec<ObjectMeta>, RequestError> {
        let works: Api<Work> = Api::namespaced(self.applier.client(), namespace);
        let list = works.list_metadata(&ListParams::default()).await;
        let list =
            list.map_err(|error| RequestError::new("list", format!("works {namespace}"), error))?;
        Ok(list.items.into_iter().map(|work| work.metadata).collect())
    }
}

fn is_ready(cluster: &Cluster, member: &Member) -> bool {
    if let Some((ready, _)) = &member.ready {
        return ready.status == ConditionStatus::True;
    }
    let conditions = cluster.status.iter().flat_map(|status| &status.conditions);
    conditions
        .filter(|condition| condition.type_ == conditions::READY)
        .any(|condition| condition.status == conditions::TRUE)
}
