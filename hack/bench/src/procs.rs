//! What the system's own processes cost: memory and CPU, read from `/proc`.
use std::fs;
use std::str::FromStr;

use anyhow::{Context, Result};
use serde::Serialize;

/// A process to be measured, given as `PID` or `NAME=PID`.
#[derive(Clone, Debug, Serialize)]
pub struct Process {
    /// Name shown in the report.
    pub name: String,
    /// Process id.
    pub pid: u32,
}

impl FromStr for Process {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        let (name, pid) = text.split_once('=').unwrap_or(("", text));
        let pid: u32 = pid
            .parse()
            .with_context(|| format!("`{text}` is not PID or NAME=PID"))?;
        let name = if name.is_empty() {
            fs::read_to_string(format!("/proc/{pid}/comm"))
                .with_context(|| format!("no process {pid} on this machine"))?
                .trim()
                .to_owned()
        } else {
            name.to_owned()
        };
        Ok(Self { name, pid })
    }
}

/// Memory and CPU of one process at one moment.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Usage {
    /// Proportional set size in bytes: what would be free if the process ended.
    pub pss: u64,
    /// Resident set size in bytes.
    pub rss: u64,
    /// Highest resident set size so far in bytes.
    pub peak: u64,
    /// CPU seconds (user and system) since it started.
    pub cpu_seconds: f64,
}

impl Process {
    /// Reads the process's usage.
    pub fn usage(&self) -> Result<Usage> {
        let read = |file: &str| {
            fs::read_to_string(format!("/proc/{}/{file}", self.pid)).with_context(|| {
                format!(
                    "process {} ({}) has ended or may not be read",
                    self.pid, self.name
                )
            })
        };
        let status = read("status")?;
        let rollup = read("smaps_rollup")?;
        let stat = read("stat")?;
        // The command name may hold spaces; the fields after its closing bracket are positional. utime and stime are the 12th and 13th of them.
        let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        let ticks: f64 = after_name
            .split_whitespace()
            .skip(11)
            .take(2)
            .filter_map(|t| t.parse::<f64>().ok())
            .sum();
        Ok(Usage {
            pss: kib(&rollup, "Pss:"),
            rss: kib(&status, "VmRSS:"),
            peak: kib(&status, "VmHWM:"),
            cpu_seconds: ticks / TICKS_PER_SECOND,
        })
    }
}

/// `USER_HZ`: 100 on every Linux platform we support.
const TICKS_PER_SECOND: f64 = 100.0;

fn kib(text: &str, field: &str) -> u64 {
    text.lines()
        .find_map(|line| line.strip_prefix(field))
        .and_then(|rest| rest.split_whitespace().next())
        .and_then(|n| n.parse::<u64>().ok())
        .map_or(0, |n| n * 1024)
}

/// Sum over several processes.
pub fn total(processes: &[Process]) -> Result<Usage> {
    let mut sum = Usage::default();
    for process in processes {
        let Usage {
            pss,
            rss,
            peak,
            cpu_seconds,
        } = process.usage()?;
        sum.pss += pss;
        sum.rss += rss;
        sum.peak += peak;
        sum.cpu_seconds += cpu_seconds;
    }
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_uses_memory_and_has_a_name() {
        let me: Process = std::process::id().to_string().parse().unwrap();
        let usage = me.usage().unwrap();
        assert!(usage.rss > 1024 * 1024 && usage.peak >= usage.rss && usage.pss > 0);
        assert!(!me.name.is_empty());
    }

    #[test]
    fn a_word_is_no_process() {
        assert!("nonsense".parse::<Process>().is_err());
    }
}
