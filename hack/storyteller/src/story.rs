//! The story itself.

use std::time::Duration;

use anyhow::{Context as _, Result};
use testbed::{System, Testbed, wait};

use crate::screen::Screen;

const MEMBERS: usize = 3;
/// Noticing takes 30 s, tolerating 15 s; a busy machine needs some more.
const MOVE: Duration = Duration::from_mins(4);
const SOON: Duration = Duration::from_mins(2);

/// What is left running after the story.
pub struct Ending {
    /// The clusters.
    pub bed: Testbed,
    /// The operators.
    pub system: System,
}

/// Tells it from beginning to end.
pub async fn tell(screen: &Screen) -> Result<Ending> {
    screen.section(
        "1. A control plane and three clusters",
        "Real kube-apiservers, one etcd, and in each member the usual controllers with pretended kubelets.",
    );
    let bed = screen
        .waiting(
            "four API servers and their controllers start",
            Testbed::builder().members(MEMBERS).start(),
        )
        .await?;
    let stage = Stage { screen, bed: &bed };
    let system = stage.install().await?;
    stage.join().await?;
    stage.distribute().await?;
    stage.lose().await?;
    stage.recover().await?;
    screen.section(
        "The end",
        &format!(
            "Everything above was real and took {} s. Read docs/getting-started.md to do it with your own clusters.",
            screen.seconds()
        ),
    );
    Ok(Ending { bed, system })
}

struct Stage<'a> {
    screen: &'a Screen,
    bed: &'a Testbed,
}

impl Stage<'_> {
    async fn install(&self) -> Result<System> {
        self.screen.section(
            "2. Karmada One",
            "Kinds, admission policies and permissions go into the control plane; four operators start,\neach under its own service account.",
        );
        self.screen.command(
            "kubectl apply --server-side -k config/crd -k config/admission -k config/rbac",
        );
        self.screen
            .waiting("the API grows by our kinds", self.bed.install())
            .await?;
        self.screen
            .waiting(
                "cluster-health, binding-scheduler, work-executor and failover are ready",
                self.bed.start_system(),
            )
            .await
    }

    async fn join(&self) -> Result<()> {
        self.screen.section(
            "3. Three members join",
            "Each gets a service account with the permissions the operators need, and no more.",
        );
        for member in self.bed.members() {
            self.screen.command(&format!(
                "karmadactl join {name} --cluster-kubeconfig {name}.kubeconfig",
                name = member.name()
            ));
            self.screen.output(&self.bed.join(member, &[]).await?);
        }
        self.kubectl("wait cluster --all --for=condition=Ready --timeout=90s")
            .await?;
        self.kubectl("get clusters").await
    }

    async fn distribute(&self) -> Result<()> {
        self.screen.section(
            "4. One Deployment, two clusters, one difference",
            "The template wants 2 replicas. The policy sends it to two of the three clusters.\nThe override gives the copy in member2 a third replica and another registry.",
        );
        self.kubectl("apply -f config/samples/deployment.yaml -f config/samples/overridepolicy.yaml -f config/samples/propagationpolicy.yaml")
            .await?;
        self.replicas_ready(5, SOON).await?;
        self.kubectl("get deployment demo").await?;
        self.kubectl("get resourcebinding demo-deployment -o custom-columns=CLUSTERS:.spec.clusters[*].name,SCHEDULED:.status.conditions[?(@.type==\"Scheduled\")].message")
            .await?;
        self.members().await?;
        self.kubectl("get events --field-selector involvedObject.name=demo -o custom-columns=REASON:.reason,MESSAGE:.message")
            .await
    }

    async fn lose(&self) -> Result<()> {
        self.screen.section(
            "5. A cluster is lost",
            "The API server of member1 stops answering (SIGSTOP). 30 s of silence make it NotReady;\nthe policy tolerates that for 15 s more; then its replicas move to member3.",
        );
        self.bed.member("member1").freeze()?;
        self.screen
            .waiting(
                "member1 is noticed to be lost",
                self.kubectl_quiet(
                    "wait cluster member1 --for=condition=Ready=false --timeout=120s",
                ),
            )
            .await
            .context("member1 did not become NotReady")?;
        self.kubectl("get clusters").await?;
        self.screen
            .waiting(
                "its replicas run on member3 instead",
                self.runs_on(&["member2", "member3"], MOVE),
            )
            .await?;
        self.replicas_ready(5, SOON).await?;
        self.kubectl("get deployment demo").await?;
        self.members().await
    }

    async fn recover(&self) -> Result<()> {
        self.screen.section(
            "6. The cluster comes back",
            "member1 answers again. Its old copy is removed, because member3 runs it now; nothing else moves.",
        );
        self.bed.member("member1").resume().await?;
        self.kubectl("wait cluster member1 --for=condition=Ready --timeout=120s")
            .await?;
        self.screen
            .waiting("the old copy on member1 is gone", self.gone_from("member1"))
            .await?;
        self.kubectl("get clusters").await?;
        self.kubectl("get deployment demo").await?;
        self.members().await
    }

    /// The copies, in all members.
    async fn members(&self) -> Result<()> {
        self.screen
            .command("karmadactl get deployment demo --operation-scope members");
        let table = self
            .bed
            .karmadactl(&["get", "deployment", "demo", "--operation-scope", "members"])
            .await?;
        self.screen.output(&table);
        Ok(())
    }

    /// Runs kubectl on the control plane and shows it.
    async fn kubectl(&self, words: &str) -> Result<()> {
        self.screen.command(&format!("kubectl {words}"));
        let output = self.kubectl_quiet(words).await?;
        self.screen.output(&output);
        Ok(())
    }

    async fn kubectl_quiet(&self, words: &str) -> Result<String> {
        let words: Vec<String> = words.split_whitespace().map(from_repository).collect();
        self.bed.control_plane().kubectl(&words).await
    }

    async fn replicas_ready(&self, count: u32, within: Duration) -> Result<()> {
        let ready = wait::until(format!("{count} ready replicas"), within, async || {
            let seen = self
                .kubectl_quiet("get deployment demo -o jsonpath={.status.readyReplicas}")
                .await
                .map_err(|error| format!("{error:#}"))?;
            if seen.trim() == count.to_string() {
                Ok(())
            } else {
                Err(format!("{seen:?} ready replicas"))
            }
        });
        self.screen
            .waiting(&format!("{count} replicas are ready in all"), ready)
            .await
    }

    async fn runs_on(&self, clusters: &[&str], within: Duration) -> Result<()> {
        let wanted = clusters.join(" ");
        wait::until(
            format!("the binding to name {wanted}"),
            within,
            async || {
                let seen = self
                    .kubectl_quiet(
                        "get resourcebinding demo-deployment -o jsonpath={.spec.clusters[*].name}",
                    )
                    .await
                    .map_err(|error| format!("{error:#}"))?;
                if seen.trim() == wanted {
                    Ok(())
                } else {
                    Err(seen)
                }
            },
        )
        .await
    }

    async fn gone_from(&self, member: &str) -> Result<()> {
        wait::until(format!("{member} to run no demo"), SOON, async || {
            let seen = self
                .bed
                .member(member)
                .kubectl(&[
                    "get",
                    "deployments",
                    "--ignore-not-found",
                    "demo",
                    "-o",
                    "name",
                ])
                .await
                .map_err(|error| format!("{error:#}"))?;
            if seen.trim().is_empty() {
                Ok(())
            } else {
                Err(seen)
            }
        })
        .await
    }
}

/// Commands are shown as typed in the checkout; they run from anywhere.
fn from_repository(word: &str) -> String {
    if word.starts_with("config/") {
        testbed::repository().join(word).display().to_string()
    } else {
        word.to_owned()
    }
}
