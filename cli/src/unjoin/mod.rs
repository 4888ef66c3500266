//! `unjoin`: lets a member go, also a dead one.
//!
//! The Cluster object goes first, and the operators take away what they put into the member; they need its credentials for
//! that, so the account goes last. With `--force` nobody is waited for: what the member still runs stays there, and is
//! listed.

mod force;
mod remains;

use std::time::{Duration, Instant};

use crds::cluster::Cluster;
use crds::namespaces::{KARMADA_CLUSTER, execution};
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, DeleteParams, ListParams};
use kube::{Client, ResourceExt};

use crate::access::Access;
use crate::arguments::{Global, Unjoin};
use crate::join::Account;
use crate::trouble::Trouble;
use crate::ui::Ui;
use remains::Remains;

/// How long the operators get for a member that is dead, when its departure is forced.
const GRACE_OF_THE_DEAD: Duration = Duration::from_secs(3);

/// Letting a member go failed.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub(crate) enum Error {
    #[error(transparent)]
    #[diagnostic(transparent)]
    Access(#[from] crate::access::Error),
    #[error("no member is called {name}; {known}")]
    #[diagnostic(help("`kubectl get clusters` lists the members"))]
    NoSuchMember { name: String, known: String },
    #[error("the control plane: cannot {what}: {trouble}")]
    #[diagnostic(help("{}", trouble.next()))]
    ControlPlane { what: String, trouble: Trouble },
    #[error("{name} is not gone after {} s: {waiting}", waited.as_secs())]
    #[diagnostic(help(
        "if the member is dead, `karmadactl unjoin {name} --force` leaves behind what runs there; if it is not, see whether the operators run, and wait longer with --wait 5m"
    ))]
    NotGone {
        name: String,
        waited: Duration,
        waiting: String,
    },
    #[error("{member}: cannot {what}: {trouble}")]
    #[diagnostic(help("{} – the member itself has left already", trouble.next()))]
    Member {
        member: String,
        what: String,
        trouble: Trouble,
    },
}

/// Lets the member go.
pub(crate) async fn run(ui: &Ui, global: &Global, unjoin: &Unjoin) -> miette::Result<()> {
    let departure = Departure {
        ui,
        unjoin,
        client: Access::control_plane(global).await?.client,
    };
    departure.run(global).await?;
    if !unjoin.dry_run {
        let name = &unjoin.name;
        ui.result(&format!("cluster.cluster.karmada.io/{name} unjoined\n"))?;
    }
    Ok(())
}

struct Departure<'a> {
    ui: &'a Ui,
    unjoin: &'a Unjoin,
    client: Client,
}

impl Departure<'_> {
    async fn run(&self, global: &Global) -> Result<(), Error> {
        let (ui, name) = (self.ui, self.unjoin.name.as_str());
        let member = self.member().await?;
        // Whatever is wrong with this kubeconfig should be known before anything is removed.
        let there = match &self.unjoin.cluster_kubeconfig {
            Some(file) => Some(
                Access::open(
                    Some(file),
                    self.unjoin.cluster_context.as_deref(),
                    global.request_timeout,
                )
                .await?,
            ),
            None => None,
        };
        let remains = Remains::of(&self.client, name).await?;
        if self.unjoin.dry_run {
            self.rehearse(member.as_ref(), &remains, there.is_some());
            return Ok(());
        }
        ui.heading(format_args!("Letting {name} go"));
        let mut left = Vec::new();
        if let Some(member) = &member {
            left = self.remove_cluster(member, remains).await?;
        }
        self.remove_credentials().await?;
        let account = Account::new(name, &self.unjoin.cluster_namespace, false);
        let account_left = match there {
            Some(access) => self.remove_account(&access, &account).await?,
            None => true,
        };
        self.tell(&left, account_left);
        Ok(())
    }

    /// The Cluster object. One that is gone already is no failure as long as something else of it is left.
    async fn member(&self) -> Result<Option<Cluster>, Error> {
        let clusters: Api<Cluster> = Api::all(self.client.clone());
        let members = clusters
            .list(&ListParams::default())
            .await
            .map_err(failed("list clusters"))?;
        let names: Vec<String> = members.iter().map(ResourceExt::name_any).collect();
        let name = &self.unjoin.name;
        let found = members.into_iter().find(|one| one.name_any() == *name);
        if found.is_none() && !self.has_credentials().await? && !self.unjoin.force {
            return Err(Error::NoSuchMember {
                name: name.clone(),
                known: if names.is_empty() {
                    "there are no members".to_owned()
                } else {
                    format!("there are {}", names.join(", "))
                },
            });
        }
        Ok(found)
    }

    fn credentials(&self) -> Api<Secret> {
        Api::namespaced(self.client.clone(), KARMADA_CLUSTER)
    }

    async fn has_credentials(&self) -> Result<bool, Error> {
        let secret = self.credentials().get_metadata_opt(&self.unjoin.name).await;
        secret
            .map(|found| found.is_some())
            .map_err(failed("get secrets in karmada-cluster"))
    }

    /// Removes the Cluster object, and returns what stays in the member because nobody could remove it.
    async fn remove_cluster(
        &self,
        member: &Cluster,
        remains: Remains,
    ) -> Result<Vec<String>, Error> {
        let (ui, name) = (self.ui, self.unjoin.name.as_str());
        let clusters: Api<Cluster> = Api::all(self.client.clone());
        match clusters.delete(name, &DeleteParams::background()).await {
            Ok(_) => ui.good(
                "asked",
                format_args!("cluster/{name} is to go, with its works"),
            ),
            Err(kube::Error::Api(status)) if status.is_not_found() => {}
            Err(error) => return Err(failed(&format!("delete cluster/{name}"))(error)),
        }
        let patience = if self.unjoin.force && !is_ready(member) {
            GRACE_OF_THE_DEAD.min(self.unjoin.wait)
        } else {
            self.unjoin.wait
        };
        match self.gone(patience).await {
            Ok(()) => {
                ui.good("gone", format_args!("cluster/{name}"));
                Ok(Vec::new())
            }
            Err(_) if self.unjoin.force => {
                force::remove(&self.client, name).await?;
                ui.good(
                    "forced",
                    format_args!("cluster/{name} and its works are gone"),
                );
                Ok(remains.objects)
            }
            Err(error) => Err(error),
        }
    }

    /// Waits until the Cluster object and its execution namespace are gone.
    async fn gone(&self, patience: Duration) -> Result<(), Error> {
        let name = &self.unjoin.name;
        let clusters: Api<Cluster> = Api::all(self.client.clone());
        let start = Instant::now();
        loop {
            let found = clusters
                .get_opt(name)
                .await
                .map_err(failed(&format!("get cluster/{name}")))?;
            let Some(cluster) = found else {
                return Ok(());
            };
            if start.elapsed() >= patience {
                let remains = Remains::of(&self.client, name).await?;
                return Err(Error::NotGone {
                    name: name.clone(),
                    waited: patience,
                    waiting: waiting(&cluster, &remains),
                });
            }
            tokio::time::sleep(Duration::from_millis(250)).await;
        }
    }

    /// The garbage collector would do it too, where there is one.
    async fn remove_credentials(&self) -> Result<(), Error> {
        let name = &self.unjoin.name;
        for secret in [name.clone(), crds::names::impersonator_secret(name)] {
            match self
                .credentials()
                .delete(&secret, &DeleteParams::default())
                .await
            {
                Ok(_) => self.ui.good(
                    "removed",
                    format_args!("secret/{secret} -n {KARMADA_CLUSTER}"),
                ),
                Err(kube::Error::Api(status)) if status.is_not_found() => {}
                Err(error) => return Err(failed(&format!("delete secret/{secret}"))(error)),
            }
        }
        Ok(())
    }

    /// Returns whether the account is left. A member that cannot be reached keeps it when forced.
    async fn remove_account(&self, access: &Access, account: &Account) -> Result<bool, Error> {
        let member = self.unjoin.name.as_str();
        self.ui
            .heading(format_args!("Removing the account in {member}"));
        let outcome = self.remove_account_objects(access, account).await;
        match outcome {
            Ok(()) => Ok(false),
            Err(Error::Member { trouble, .. }) if self.unjoin.force && !trouble.answered() => {
                self.ui.bad("unreachable", trouble);
                Ok(true)
            }
            Err(error) => Err(error),
        }
    }

    async fn remove_account_objects(
        &self,
        access: &Access,
        account: &Account,
    ) -> Result<(), Error> {
        let failed = |what: String| {
            move |error: kube::Error| Error::Member {
                member: self.unjoin.name.clone(),
                what,
                trouble: Trouble::of(&error),
            }
        };
        let alone = account
            .alone(&access.client)
            .await
            .map_err(failed("list serviceaccounts".to_owned()))?;
        for object in account.leftovers(alone) {
            let api = object.api(&access.client);
            match api
                .delete(&object.name(), &DeleteParams::background())
                .await
            {
                Ok(_) => self.ui.good("removed", &object),
                Err(kube::Error::Api(status)) if status.is_not_found() => {}
                Err(error) => return Err(failed(format!("delete {object}"))(error)),
            }
        }
        Ok(())
    }

    fn rehearse(&self, member: Option<&Cluster>, remains: &Remains, reaches: bool) {
        let (ui, name) = (self.ui, &self.unjoin.name);
        ui.heading("Would be removed");
        if member.is_some() {
            ui.good("cluster", name);
        }
        ui.good(
            "works",
            format_args!("{} in {}", remains.works, execution(name)),
        );
        let fate = if self.unjoin.force {
            "would stay in the member if it is dead"
        } else {
            "would be removed from the member"
        };
        for object in &remains.objects {
            ui.good("object", format_args!("{object} {fate}"));
        }
        if reaches {
            ui.good("account", "in the member");
        }
        ui.note("Nothing was changed.");
    }

    /// Says what stays behind, and how to remove it.
    fn tell(&self, left: &[String], account_left: bool) {
        let (ui, unjoin) = (self.ui, self.unjoin);
        if !left.is_empty() {
            ui.warning(format_args!(
                "these objects stay in {}, if it still exists; nobody looks after them any more:",
                unjoin.name
            ));
            for object in left {
                ui.note(format_args!("  {object}"));
            }
        }
        if account_left {
            let roles: Vec<String> = Account::new(&unjoin.name, &unjoin.cluster_namespace, false)
                .leftovers(false)
                .iter()
                .map(|object| format!("  kubectl delete {object}"))
                .collect();
            ui.warning(format_args!(
                "the account of the control plane stays in {}; with its kubeconfig, remove it there by:",
                unjoin.name
            ));
            ui.note(roles.join("\n"));
        }
    }
}

fn failed(what: &str) -> impl FnOnce(kube::Error) -> Error + use<> {
    let what = what.to_owned();
    move |error| Error::ControlPlane {
        what,
        trouble: Trouble::of(&error),
    }
}

fn is_ready(member: &Cluster) -> bool {
    let conditions = member.status.iter().flat_map(|status| &status.conditions);
    conditions
        .into_iter()
        .any(|one| one.type_ == crds::conditions::READY && one.status == crds::conditions::TRUE)
}

/// What keeps a Cluster object alive.
fn waiting(cluster: &Cluster, remains: &Remains) -> String {
    let finalizers = cluster.finalizers().join(", ");
    let mut words = Vec::new();
    if remains.works > 0 {
        words.push(format!(
            "{} works are still there, the first for {}",
            remains.works,
            remains.objects.first().map_or("nothing", String::as_str)
        ));
    }
    if !finalizers.is_empty() {
        words.push(format!("it waits for the finalizers {finalizers}"));
    }
    if !is_ready(cluster) {
        words.push("the member is not Ready".to_owned());
    }
    if words.is_empty() {
        "nothing is known to hold it".to_owned()
    } else {
        words.join("; ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crds::cluster::ClusterSpec;

    #[test]
    fn what_a_departure_waits_for_is_named() {
        let mut cluster = Cluster::new("m1", ClusterSpec::default());
        cluster.metadata.finalizers = Some(vec![crds::finalizers::CLUSTER.to_owned()]);
        let remains = Remains {
            works: 2,
            objects: vec!["deployment/demo -n default".to_owned()],
        };
        assert_eq!(
            waiting(&cluster, &remains),
            "2 works are still there, the first for deployment/demo -n default; \
             it waits for the finalizers karmada.io/cluster-controller; the member is not Ready"
        );
    }
}
