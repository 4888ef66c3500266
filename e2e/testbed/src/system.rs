//! Karmada One itself on a bed: its definitions, its permissions, its operators as processes, its members joined.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, PostParams};
use serde_json::{Value, json};

use crate::bed::Testbed;
use crate::cluster::Cluster;
use crate::process::{Process, binary};
use crate::{repository, wait};

/// The operators, by the name of their program.
pub const OPERATORS: [&str; 4] = [
    "cluster-health",
    "binding-scheduler",
    "work-executor",
    "failover",
];

/// Where operators have their service accounts and leases.
pub const NAMESPACE: &str = "karmada-system";

const START: Duration = Duration::from_mins(1);

/// The running operators, each with just the permissions that `config/rbac` gives its service account. They end when it is
/// dropped.
pub struct System {
    operators: Vec<(String, Process)>,
}

impl Testbed {
    /// Installs what the control plane serves, from `config/`: kinds, admission policies and the operators' permissions.
    pub async fn install(&self) -> Result<()> {
        self.install_crds().await?;
        self.apply_directory("config/rbac").await
    }

    /// Installs only kinds and admission policies, and waits until both are in force.
    pub async fn install_crds(&self) -> Result<()> {
        self.apply_directory("config/crd").await?;
        self.apply_directory("config/admission").await?;
        self.control_plane()
            .kubectl(&[
                "wait",
                "--for=condition=Established",
                "crd",
                "--all",
                "--timeout=60s",
            ])
            .await?;
        self.admission_acts().await
    }

    async fn apply_directory(&self, part: &str) -> Result<()> {
        let directory = repository().join(part);
        self.control_plane()
            .kubectl(&["apply", "--server-side", "--kustomize", path(&directory)?])
            .await
            .with_context(|| format!("installing {part}"))?;
        Ok(())
    }

    /// An API server takes a second or two until a policy that was just created is in force. One that fills in and one that
    /// refuses are asked, with objects that are not stored.
    async fn admission_acts(&self) -> Result<()> {
        let kind = |kind: &str| {
            ApiResource::from_gvk(&GroupVersionKind::gvk(
                "policy.karmada.io",
                "v1alpha1",
                kind,
            ))
        };
        let selector = json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "probe"}]);
        let propagation = json!({"spec": {"resourceSelectors": selector, "placement": {}}});
        let overriding = json!({"spec": {"resourceSelectors": selector, "overrideRules": [
            {"overriders": {"plaintext": [{"path": "/data", "operator": "remove", "value": 1}]}},
        ]}});
        let dry_run = PostParams {
            dry_run: true,
            ..PostParams::default()
        };
        let ask = async |of: &str, data: &Value| {
            let resource = kind(of);
            let object = DynamicObject::new("testbed-probe", &resource).data(data.clone());
            let client = self.control_plane().client();
            Api::<DynamicObject>::namespaced_with(client, "default", &resource)
                .create(&dry_run, &object)
                .await
        };
        wait::until("the admission policies to act", START, async || {
            let filled = ask("PropagationPolicy", &propagation)
                .await
                .map_err(|error| error.to_string())?;
            let namespace = filled.data.pointer("/spec/resourceSelectors/0/namespace");
            if namespace.is_none() {
                return Err(format!("nothing was filled in: {}", filled.data));
            }
            match ask("OverridePolicy", &overriding).await {
                Err(kube::Error::Api(status)) if status.code == 422 => Ok(()),
                Err(error) => Err(error.to_string()),
                Ok(accepted) => Err(format!("not refused: {}", accepted.data)),
            }
        })
        .await
    }

    /// Starts one operator under its own service account; `arguments` are added to its command line.
    pub async fn start_operator(&self, name: &str, arguments: &[&str]) -> Result<Process> {
        let account = self
            .control_plane()
            .service_account(NAMESPACE, &account_of(name))
            .await?;
        self.operator(name)
            .kubeconfig(account.kubeconfig().await?)
            .args(arguments.iter().copied())
            .start()
            .await
            .with_context(|| format!("starting {name}"))
    }

    /// Starts all operators at once and waits until each is ready.
    pub async fn start_system(&self) -> Result<System> {
        self.start_system_with(|_| &[]).await
    }

    /// As [`Testbed::start_system`], with arguments for the operator named.
    pub async fn start_system_with(
        &self,
        arguments: impl Fn(&str) -> &'static [&'static str],
    ) -> Result<System> {
        let arguments = &arguments;
        let started = futures::future::try_join_all(OPERATORS.map(async |name| {
            let process = self.start_operator(name, arguments(name)).await?;
            anyhow::Ok((name.to_owned(), process))
        }))
        .await?;
        Ok(System { operators: started })
    }

    /// Joins a member as users do, with `karmadactl join`, through the member's proxy; returns what the command printed.
    pub async fn join(&self, member: &Cluster, more: &[&str]) -> Result<String> {
        self.karmadactl(
            &[
                &[
                    "join",
                    member.name(),
                    "--cluster-kubeconfig",
                    path(member.kubeconfig_through_proxy())?,
                ],
                more,
            ]
            .concat(),
        )
        .await
    }

    /// Runs the built `karmadactl` against the control plane; an error carries what it said.
    pub async fn karmadactl(&self, arguments: &[&str]) -> Result<String> {
        let output = tokio::process::Command::new(binary("karmadactl")?)
            .args(arguments)
            .env("KUBECONFIG", self.control_plane().kubeconfig())
            .output()
            .await
            .context("running karmadactl")?;
        let (out, err) = (
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr),
        );
        if !output.status.success() {
            bail!(
                "karmadactl {} ended with {}: {out}{err}",
                arguments.join(" "),
                output.status
            );
        }
        Ok(out.into_owned())
    }
}

impl System {
    /// The running operator of that name.
    pub fn operator(&self, name: &str) -> Option<&Process> {
        self.operators
            .iter()
            .find_map(|(operator, process)| (operator == name).then_some(process))
    }

    /// Every operator with its name.
    pub fn operators(&self) -> impl Iterator<Item = (&str, &Process)> {
        self.operators
            .iter()
            .map(|(name, process)| (name.as_str(), process))
    }

    /// Ends all operators as Kubernetes does, with SIGTERM, and waits for each.
    pub async fn stop(&self) -> Result<()> {
        for (name, process) in self.operators() {
            process
                .stop(START)
                .await
                .with_context(|| format!("stopping {name}"))?;
        }
        Ok(())
    }

    /// Starts all operators again and waits until each is ready.
    pub async fn restart(&self) -> Result<()> {
        for (name, process) in self.operators() {
            process
                .restart()
                .await
                .with_context(|| format!("restarting {name}"))?;
        }
        for (name, process) in self.operators() {
            process
                .ready(START)
                .await
                .with_context(|| format!("restarting {name}"))?;
        }
        Ok(())
    }
}

/// The service account of an operator, as `config/rbac` names it.
fn account_of(operator: &str) -> String {
    format!("karmada-{operator}")
}

fn path(path: &Path) -> Result<&str> {
    path.to_str()
        .with_context(|| format!("{} is not UTF-8", path.display()))
}
