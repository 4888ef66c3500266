//! What can be written on the command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// Control many Kubernetes clusters as one
#[derive(Debug, Parser)]
#[command(
    name = "karmadactl",
    version,
    about,
    propagate_version = true,
    max_term_width = 100
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What every command takes.
#[derive(Debug, Args)]
#[command(next_help_heading = "Control plane")]
pub(crate) struct Global {
    /// Kubeconfig of the control plane [default: $KUBECONFIG, then ~/.kube/config]
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Context of that kubeconfig [default: its current one]
    #[arg(long, global = true, value_name = "CONTEXT", visible_alias = "context")]
    pub(crate) karmada_context: Option<String>,
    /// Namespace [default: the context's]
    #[arg(short, long, global = true)]
    pub(crate) namespace: Option<String>,
    /// How long one request may take, such as 5s or 1m
    #[arg(long, global = true, value_name = "DURATION", default_value = "10s", value_parser = duration)]
    pub(crate) request_timeout: Duration,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Make a cluster a member
    Join(Join),
    /// Let a member go
    Unjoin(Unjoin),
    /// Show objects of the control plane and of members
    Get(Get),
    /// Show the versions of this command and of the control plane
    Version(Version),
    /// Print a script that completes this command in a shell
    Completion(Completion),
}

/// Make a cluster a member
///
/// Checks first, step by step, whether the member and the control plane can be reached and allow what is needed.
/// Then makes an account in the member, and registers the member with that account's token. What fails half-way is
/// undone. Joining again repairs what is missing and changes nothing else.
#[derive(Debug, Args)]
pub(crate) struct Join {
    /// What the member is called from now on
    pub(crate) name: String,
    /// Kubeconfig of the cluster that joins; it may have to create roles there
    #[arg(long, value_name = "FILE")]
    pub(crate) cluster_kubeconfig: PathBuf,
    /// Context of that kubeconfig [default: its current one]
    #[arg(long, value_name = "CONTEXT")]
    pub(crate) cluster_context: Option<String>,
    /// Namespace in the member for the account of the control plane
    #[arg(long, value_name = "NAMESPACE", default_value = crds::namespaces::KARMADA_CLUSTER)]
    pub(crate) cluster_namespace: String,
    /// Who runs the cluster; policies can select by it
    #[arg(long, value_name = "PROVIDER")]
    pub(crate) cluster_provider: Option<String>,
    /// Region the cluster is in; policies can select by it
    #[arg(long, value_name = "REGION")]
    pub(crate) cluster_region: Option<String>,
    /// Zones the cluster is in, separated by commas; policies can select by them
    #[arg(long, value_name = "ZONES", value_delimiter = ',')]
    pub(crate) cluster_zones: Vec<String>,
    /// Give the account every right in the member, instead of those that propagating the usual kinds takes
    #[arg(long)]
    pub(crate) cluster_admin: bool,
    /// Only check, and say what would be made
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// Let a member go
///
/// Removes the Cluster object, waits until what was propagated there is removed as well, and then removes the account in
/// the member. Says what stays behind.
#[derive(Debug, Args)]
pub(crate) struct Unjoin {
    /// The member
    pub(crate) name: String,
    /// Kubeconfig of the member, to remove the account there
    #[arg(long, value_name = "FILE")]
    pub(crate) cluster_kubeconfig: Option<PathBuf>,
    /// Context of that kubeconfig [default: its current one]
    #[arg(long, value_name = "CONTEXT")]
    pub(crate) cluster_context: Option<String>,
    /// Namespace of the account in the member
    #[arg(long, value_name = "NAMESPACE", default_value = crds::namespaces::KARMADA_CLUSTER)]
    pub(crate) cluster_namespace: String,
    /// Let it go even if it is dead: what it still runs is left there, and listed
    #[arg(long)]
    pub(crate) force: bool,
    /// How long to wait until everything is removed, such as 30s or 5m
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = duration)]
    pub(crate) wait: Duration,
    /// Only say what would be removed
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// Show objects of the control plane and of members
///
/// A member that cannot be reached is a row and a warning, not a failure.
#[derive(Debug, Args)]
pub(crate) struct Get {
    /// What to show, as in kubectl: TYPE, TYPE,TYPE, TYPE NAME… or TYPE/NAME…
    #[arg(required = true, value_name = "TYPE [NAME]")]
    pub(crate) what: Vec<String>,
    /// All namespaces
    #[arg(short = 'A', long)]
    pub(crate) all_namespaces: bool,
    /// Only objects with these labels
    #[arg(short = 'l', long, value_name = "SELECTOR")]
    pub(crate) selector: Option<String>,
    /// How to show it
    #[arg(short, long, value_enum, value_name = "FORMAT")]
    pub(crate) output: Option<Format>,
    /// Only these members, separated by commas; can be repeated
    #[arg(short = 'C', long, value_delimiter = ',', value_name = "MEMBERS")]
    pub(crate) clusters: Vec<String>,
    /// Where to look [default: all; with --clusters: members]
    #[arg(long, value_enum, value_name = "SCOPE")]
    pub(crate) operation_scope: Option<Scope>,
    /// Leave out the column titles
    #[arg(long)]
    pub(crate) no_headers: bool,
}

/// How objects are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A table with more columns
    Wide,
    /// A JSON document
    Json,
    /// A YAML document
    Yaml,
    /// TYPE/NAME, one a line
    Name,
}

/// Where `get` looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scope {
    /// The control plane
    Karmada,
    /// The members
    Members,
    /// Both
    All,
}

#[derive(Debug, Args)]
pub(crate) struct Version {
    /// Only the version of this command
    #[arg(long)]
    pub(crate) client: bool,
    /// How to show it
    #[arg(short, long, value_enum, value_name = "FORMAT")]
    pub(crate) output: Option<Document>,
}

/// A document for scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Document {
    /// JSON
    Json,
    /// YAML
    Yaml,
}

/// Print a script that completes this command in a shell
///
/// For bash, in this shell: `source <(karmadactl completion bash)`
#[derive(Debug, Args)]
pub(crate) struct Completion {
    /// The shell
    pub(crate) shell: clap_complete::Shell,
}

/// Reads `500ms`, `5s`, `2m`, `1h`, or seconds without a unit.
fn duration(text: &str) -> Result<Duration, String> {
    let (number, unit) = text.split_at(
        text.find(|letter: char| !letter.is_ascii_digit())
            .unwrap_or(text.len()),
    );
    let wrong = || format!("{text:?} is no duration; write for example 30s or 5m");
    let number: u64 = number.parse().map_err(|_| wrong())?;
    let milliseconds: u64 = match unit {
        "ms" => 1,
        "" | "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return Err(wrong()),
    };
    match number.checked_mul(milliseconds) {
        Some(0) | None => Err(wrong()),
        Some(total) => Ok(Duration::from_millis(total)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_with_and_without_unit() {
        assert_eq!(duration("5s"), Ok(Duration::from_secs(5)));
        assert_eq!(duration("90"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(duration("2m"), Ok(Duration::from_secs(120)));
        for wrong in ["", "s", "0s", "-1s", "5 s", "5x", "99999999999999999999s"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn every_cluster_given_counts() {
        let parsed = Arguments::try_parse_from([
            "karmadactl",
            "get",
            "pods",
            "-C",
            "a,b",
            "--clusters",
            "c",
            "-n",
            "demo",
        ])
        .expect("is understood");
        let Command::Get(get) = parsed.command else {
            unreachable!("get was asked for")
        };
        assert_eq!(get.clusters, ["a", "b", "c"]);
        assert_eq!(parsed.global.namespace.as_deref(), Some("demo"));
    }

    #[test]
    fn context_of_the_control_plane_has_two_names() {
        for flag in ["--context", "--karmada-context"] {
            let parsed = Arguments::try_parse_from(["karmadactl", "version", flag, "x"])
                .expect("is understood");
            assert_eq!(parsed.global.karmada_context.as_deref(), Some("x"));
        }
    }
}
