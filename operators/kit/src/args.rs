//! Arguments that all operators have in common. Each is an environment variable too.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::ValueEnum;

/// Arguments of every operator; an operator adds its own beside them with `#[command(flatten)]`.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Kubeconfig of the control plane; without it the pod's service account, else `KUBECONFIG` and `~/.kube/config`
    #[arg(long, env = "KARMADA_KUBECONFIG")]
    pub kubeconfig: Option<PathBuf>,
    /// Where /metrics, /healthz and /readyz are served
    #[arg(long, env = "KARMADA_METRICS_ADDRESS", default_value = "0.0.0.0:8080")]
    pub metrics_address: SocketAddr,
    /// Act only while holding the lease, so that several replicas may run
    #[arg(long, env = "KARMADA_LEADER_ELECT", default_value_t = true, action = clap::ArgAction::Set, num_args = 0..=1, default_missing_value = "true")]
    pub leader_elect: bool,
    /// Namespace of the lease
    #[arg(long, env = "KARMADA_LEASE_NAMESPACE", default_value = crds::namespaces::KARMADA_SYSTEM)]
    pub lease_namespace: String,
    /// Format of the log on stderr
    #[arg(long, env = "KARMADA_LOG_FORMAT", value_enum, default_value_t = LogFormat::Json)]
    pub log_format: LogFormat,
    /// What is logged, for example `info` or `info,kit::client=debug`
    #[arg(long, env = "KARMADA_LOG_LEVEL", default_value = "info")]
    pub log_level: String,
}

/// How log lines look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// One JSON object a line, for collectors.
    Json,
    /// For eyes.
    Text,
}

#[cfg(test)]
mod tests {
    use super::{Args, LogFormat};
    use clap::{CommandFactory as _, Parser};

    #[derive(Parser)]
    struct Operator {
        #[command(flatten)]
        kit: Args,
    }

    fn parse(arguments: &[&str]) -> Args {
        let line = std::iter::once(&"operator").chain(arguments);
        Operator::try_parse_from(line).unwrap().kit
    }

    #[test]
    fn a_process_leads_by_election_and_logs_for_collectors_unless_told_otherwise() {
        let usual = parse(&[]);
        assert!(usual.leader_elect);
        assert_eq!(usual.log_format, LogFormat::Json);
        assert_eq!(usual.lease_namespace, "karmada-system");
        let own = parse(&["--leader-elect=false", "--log-format=text"]);
        assert!(!own.leader_elect);
        assert_eq!(own.log_format, LogFormat::Text);
        assert!(parse(&["--leader-elect"]).leader_elect);
    }

    #[test]
    fn each_argument_is_an_environment_variable_too() {
        let command = Operator::command();
        for argument in command
            .get_arguments()
            .filter(|argument| argument.get_id() != "help")
        {
            let expected = argument
                .get_long()
                .unwrap()
                .to_uppercase()
                .replace('-', "_");
            let variable = argument
                .get_env()
                .map(|name| name.to_string_lossy().into_owned());
            assert_eq!(variable, Some(format!("KARMADA_{expected}")));
        }
    }
}
