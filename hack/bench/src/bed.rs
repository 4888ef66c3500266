//! Our own system on a test bed, as one subject of the measurement.

use anyhow::{Context as _, Result};
use testbed::{System, Testbed};

use crate::plane::{MemberArg, Plane};
use crate::procs::Process;
use crate::report::note;

const MEMBERS: usize = 3;

/// A bed with three members and the operators built beside this program.
pub struct Bed {
    bed: Testbed,
    system: System,
}

impl Bed {
    /// Starts everything and waits until the members are ready.
    pub async fn start() -> Result<Self> {
        let bed = Testbed::builder()
            .members(MEMBERS)
            .progress(note)
            .start()
            .await?;
        bed.install().await?;
        let system = bed.start_system().await?;
        for member in bed.members() {
            bed.join(member, &[]).await?;
        }
        bed.control_plane()
            .kubectl(&[
                "wait",
                "cluster",
                "--all",
                "--for=condition=Ready",
                "--timeout=120s",
            ])
            .await
            .context("waiting for the members")?;
        Ok(Self { bed, system })
    }

    /// Direct clients of the control plane and the members.
    pub async fn plane(&self) -> Result<Plane> {
        let members: Vec<MemberArg> = self
            .bed
            .members()
            .iter()
            .map(|member| MemberArg {
                name: member.name().to_owned(),
                kubeconfig: member.kubeconfig().to_owned(),
            })
            .collect();
        Plane::connect(self.bed.control_plane().kubeconfig(), &members).await
    }

    /// The operators' processes.
    pub fn processes(&self) -> Vec<Process> {
        self.system
            .operators()
            .filter_map(|(name, process)| {
                Some(Process {
                    name: name.to_owned(),
                    pid: process.pid()?,
                })
            })
            .collect()
    }
}
