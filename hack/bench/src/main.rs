//! Command line of the benchmark.
use std::io::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use bench::burst::{self, Load};
use bench::plane::{MemberArg, Plane};
use bench::procs::Process;
use bench::report::{Report, note};
use bench::{bed, calibration, latency};
use clap::{Parser, ValueEnum};

/// Measure a control plane from outside.
#[derive(Debug, Parser)]
struct Args {
    /// Start API servers and our own operators on this machine, with three members, and measure those
    #[arg(long, conflicts_with_all = ["kubeconfig", "members", "processes"])]
    bed: bool,
    /// Kubeconfig of the control plane (may read /metrics)
    #[arg(long, required_unless_present = "bed")]
    kubeconfig: Option<PathBuf>,
    /// A member as NAME=KUBECONFIG; repeat for each
    #[arg(long = "member", required_unless_present = "bed")]
    members: Vec<MemberArg>,
    /// A process of the system under test as PID or NAME=PID; repeat for each
    #[arg(long = "pid")]
    processes: Vec<Process>,
    /// What to measure
    #[arg(long = "scenario", value_enum, default_values_t = [Scenario::C0, Scenario::M1, Scenario::M2])]
    scenarios: Vec<Scenario>,
    /// Writes of each kind in C0
    #[arg(long, default_value_t = 500)]
    c0_writes: usize,
    /// Templates of each kind in M1
    #[arg(long, default_value_t = 20)]
    m1_templates: usize,
    /// Pause between them, in milliseconds
    #[arg(long, default_value_t = 2000)]
    m1_pause: u64,
    /// `ConfigMaps` of the burst
    #[arg(long, default_value_t = 1000)]
    config_maps: usize,
    /// Deployments of the burst
    #[arg(long, default_value_t = 200)]
    deployments: usize,
    /// Also write the figures as JSON to this file
    #[arg(long)]
    json: Option<PathBuf>,
}

/// The scenarios; M3, M6 and M7 are figures of the bursts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Scenario {
    /// Cost of single writes
    C0,
    /// Latency, one at a time
    M1,
    /// Bursts, with requests (M3), memory (M6) and CPU (M7)
    M2,
}

fn main() -> Result<()> {
    let args = Args::parse();
    rustls::crypto::ring::default_provider()
        .install_default()
        .map_err(|_| anyhow::anyhow!("a TLS provider is already installed"))?;
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?
        .block_on(run(args))
}

/// What is measured, and what keeps it alive meanwhile.
struct Subject {
    plane: Plane,
    processes: Vec<Process>,
    _bed: Option<bed::Bed>,
}

async fn subject(args: &Args) -> Result<Subject> {
    let Some(kubeconfig) = &args.kubeconfig else {
        let bed = bed::Bed::start().await?;
        return Ok(Subject {
            plane: bed.plane().await?,
            processes: bed.processes(),
            _bed: Some(bed),
        });
    };
    Ok(Subject {
        plane: Plane::connect(kubeconfig, &args.members).await?,
        processes: args.processes.clone(),
        _bed: None,
    })
}

async fn run(args: Args) -> Result<()> {
    let Subject {
        plane,
        processes,
        _bed,
    } = subject(&args).await?;
    let Args {
        scenarios,
        c0_writes,
        m1_templates,
        m1_pause,
        config_maps,
        deployments,
        json,
        ..
    } = args;
    let mut report = Report::default();
    if scenarios.contains(&Scenario::C0) {
        note(&format!("C0: {c0_writes} writes of each kind"));
        report.calibration = calibration::run(&plane, c0_writes).await?;
    }
    if scenarios.contains(&Scenario::M1) {
        note(&format!(
            "M1: {m1_templates} templates of each kind, {m1_pause} ms apart"
        ));
        report.latency =
            latency::run(&plane, m1_templates, Duration::from_millis(m1_pause)).await?;
    }
    if scenarios.contains(&Scenario::M2) {
        for (load, count) in [
            (Load::ConfigMaps, config_maps),
            (Load::Deployments, deployments),
        ] {
            if count > 0 {
                note(&format!("M2: {count} templates, {load:?}"));
                report
                    .bursts
                    .push(burst::run(&plane, load, count, &processes).await?);
            }
        }
    }
    std::io::stdout().write_all(report.text().as_bytes())?;
    if let Some(file) = json {
        std::fs::write(&file, serde_json::to_vec_pretty(&report)?)
            .with_context(|| format!("writing {}", file.display()))?;
    }
    Ok(())
}
