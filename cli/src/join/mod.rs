//! `join`: makes a cluster a member.
//!
//! Checks both sides first, so that most failures change nothing. Then makes, in this order: the account in the member,
//! its token, the Secrets on the control plane, and the Cluster object last, since operators act as soon as it exists.
//! Whatever fails in between, or is interrupted, is undone.

mod identity;
mod member;
mod registration;
mod role;
mod token;

pub(crate) use member::Account;

use kube::Client;

use crate::access::Access;
use crate::arguments::{Global, Join};
use crate::diagnosis::{self, Permission};
use crate::ledger::{Ledger, Outcome, Refusal};
use crate::objects::Object;
use crate::trouble::Trouble;
use crate::ui::Ui;
use registration::Registration;

const CONTROL_PLANE: &str = "the control plane";

/// Joining failed; what was made is undone.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub(crate) enum Error {
    #[error(transparent)]
    #[diagnostic(transparent)]
    Access(#[from] crate::access::Error),
    #[error(transparent)]
    #[diagnostic(transparent)]
    Diagnosis(#[from] diagnosis::Error),
    #[error(transparent)]
    #[diagnostic(transparent)]
    Identity(#[from] identity::Error),
    #[error(transparent)]
    #[diagnostic(transparent)]
    Refusal(#[from] Refusal),
    #[error(transparent)]
    #[diagnostic(transparent)]
    Token(#[from] token::Error),
    #[error(transparent)]
    #[diagnostic(transparent)]
    Registration(#[from] registration::Error),
    #[error(transparent)]
    #[diagnostic(transparent)]
    Foreign(#[from] member::Foreign),
    #[error("the account that was made in {member} does not work yet: {trouble}")]
    #[diagnostic(help("{}", trouble.next()))]
    Unproven { member: String, trouble: Trouble },
    #[error("{place} does not tell what it has: {trouble}")]
    #[diagnostic(help("{}", trouble.next()))]
    Look { place: String, trouble: Trouble },
    #[error("interrupted")]
    #[diagnostic(help("run the command again whenever you like: it begins anew"))]
    Interrupted,
}

/// Joins.
pub(crate) async fn run(ui: &Ui, global: &Global, join: &Join) -> miette::Result<()> {
    let outcome = join_member(ui, global, join).await?;
    if let Some(outcome) = outcome {
        let what = match outcome {
            Outcome::Made => "joined",
            Outcome::Kept => "had joined already, and is up to date",
        };
        ui.result(&format!(
            "cluster.cluster.karmada.io/{} {what}\n",
            join.name
        ))?;
        ui.note(format_args!(
            "Next: `kubectl get cluster {}` shows it Ready once cluster-health has seen it.",
            join.name
        ));
    }
    Ok(())
}

/// Returns `None` after a dry run.
async fn join_member(ui: &Ui, global: &Global, join: &Join) -> Result<Option<Outcome>, Error> {
    let control = Access::control_plane(global).await?;
    let member = Access::open(
        Some(&join.cluster_kubeconfig),
        join.cluster_context.as_deref(),
        global.request_timeout,
    )
    .await?;
    let sides = Sides {
        ui,
        join,
        control: &control,
        member: &member,
        account: Account::new(&join.name, &join.cluster_namespace, join.cluster_admin),
    };
    sides.check().await?;
    let identity = identity::of(&member.client, &join.name).await?;
    let known = identity::compare(&control.client, &join.name, &identity).await?;
    let owner = identity::of(&control.client, CONTROL_PLANE).await?;
    sides
        .account
        .owned_by_us(&member.client, &join.name, &owner)
        .await?;
    let registration = Registration::new(join, &member, &identity);
    registration.accepted(&control.client, known).await?;
    if join.dry_run {
        sides.rehearse(&owner, &registration, known).await?;
        return Ok(None);
    }

    let mut ledger = Ledger::default();
    let made = tokio::select! {
        made = sides.make(&mut ledger, &owner, registration, known) => made,
        // Without a handler for the signal, what was made would stay.
        _ = tokio::signal::ctrl_c() => Err(Error::Interrupted),
    };
    match made {
        Ok(()) if known => Ok(Some(Outcome::Kept)),
        Ok(()) => Ok(Some(Outcome::Made)),
        Err(error) => {
            ledger.undo(ui).await;
            Err(error)
        }
    }
}

struct Sides<'a> {
    ui: &'a Ui,
    join: &'a Join,
    control: &'a Access,
    member: &'a Access,
    account: Account,
}

impl Sides<'_> {
    async fn check(&self) -> Result<(), Error> {
        let needs = registration::needs();
        diagnosis::check(self.ui, CONTROL_PLANE, self.control, &needs).await?;
        let needs = self.account.needs();
        diagnosis::check(self.ui, &self.join.name, self.member, &needs).await?;
        self.warn();
        Ok(())
    }

    fn warn(&self) {
        let local = |access: &Access| {
            let host = access.config.cluster_url.host().unwrap_or_default();
            host == "localhost" || host.starts_with("127.") || host == "[::1]"
        };
        if local(self.member) && !local(self.control) {
            self.ui.warning(format_args!(
                "{} is an address of this machine; the operators, which run elsewhere, will not reach the member there",
                self.member.address()
            ));
        }
        if self.join.cluster_admin {
            self.ui.warning(format_args!(
                "the account in {} gets every right there, as asked for with --cluster-admin",
                self.join.name
            ));
        }
    }

    async fn rehearse(
        &self,
        owner: &str,
        registration: &Registration,
        known: bool,
    ) -> Result<(), Error> {
        self.ui
            .heading(format_args!("Would be made in {}", self.join.name));
        for object in self.account.objects(owner) {
            self.announce(&self.member.client, &self.join.name, &object)
                .await?;
        }
        self.ui.heading("Would be made on the control plane");
        for object in registration.secrets() {
            self.announce(&self.control.client, CONTROL_PLANE, &object)
                .await?;
        }
        let title = if known { "exists" } else { "new" };
        self.ui
            .good(title, format_args!("cluster/{}", self.join.name));
        self.ui.note("Nothing was changed.");
        Ok(())
    }

    async fn announce(&self, client: &Client, place: &str, object: &Object) -> Result<(), Error> {
        let found = object.api(client).get_metadata_opt(&object.name()).await;
        let exists = found.map_err(|error| Error::Look {
            place: place.to_owned(),
            trouble: Trouble::of(&error),
        })?;
        let title = if exists.is_some() { "exists" } else { "new" };
        self.ui.good(title, object);
        Ok(())
    }

    async fn make(
        &self,
        ledger: &mut Ledger,
        owner: &str,
        mut registration: Registration,
        known: bool,
    ) -> Result<(), Error> {
        let (ui, name) = (self.ui, self.join.name.as_str());
        ui.heading(format_args!("Making the account in {name}"));
        for object in self.account.objects(owner) {
            self.ensure(ledger, &self.member.client, name, object)
                .await?;
        }
        let token = token::wait(&self.member.client, name, &self.account.secret()).await?;
        let impersonator = token::wait(
            &self.member.client,
            name,
            &self.account.impersonator_secret(),
        )
        .await?;
        ui.good("tokens", "issued");
        registration.credentials(&token, &impersonator);
        self.account
            .proven(&registration.access(global_timeout(self.member))?)
            .await
            .map_err(|trouble| Error::Unproven {
                member: name.to_owned(),
                trouble,
            })?;
        ui.good("account", "works, and may do what operators need");

        ui.heading(format_args!("Registering {name} on the control plane"));
        for object in registration.secrets() {
            self.ensure(ledger, &self.control.client, CONTROL_PLANE, object)
                .await?;
        }
        let cluster = if known {
            registration.update(&self.control.client).await?
        } else {
            let object = registration.cluster();
            self.ensure(ledger, &self.control.client, CONTROL_PLANE, object)
                .await?
        };
        registration
            .own_secrets(&self.control.client, &cluster)
            .await?;
        Ok(())
    }

    async fn ensure(
        &self,
        ledger: &mut Ledger,
        client: &Client,
        place: &str,
        object: Object,
    ) -> Result<kube::api::DynamicObject, Refusal> {
        let title = object.to_string();
        let (found, outcome) = ledger.ensure(client, place, object).await?;
        let mark = match outcome {
            Outcome::Made => "made",
            Outcome::Kept => "kept",
        };
        self.ui.good(mark, title);
        Ok(found)
    }
}

fn global_timeout(access: &Access) -> std::time::Duration {
    access
        .config
        .read_timeout
        .expect("every access is opened with a timeout")
}

/// A permission to look for and to write one kind.
fn writing(group: &'static str, resource: &'static str) -> [Permission; 3] {
    ["get", "create", "patch"].map(|verb| Permission::on(verb, group, resource))
}
