//! The report: one table for eyes, one JSON document for scripts.
use std::io::Write as _;

use comfy_table::{Table, presets};
use serde::Serialize;

use crate::burst::Burst;
use crate::calibration::{Cost, floor_ms};
use crate::latency::Row;

/// Everything a run measured.
#[derive(Debug, Default, Serialize)]
pub struct Report {
    /// C0.
    pub calibration: Vec<Cost>,
    /// M1.
    pub latency: Vec<Row>,
    /// M2, M3, M6, M7.
    pub bursts: Vec<Burst>,
}

/// Says something on the way, on stderr.
pub fn note(text: &str) {
    // A closed stderr is no reason to stop measuring.
    let _ = writeln!(std::io::stderr(), "bench: {text}");
}

impl Report {
    /// The tables.
    pub fn text(&self) -> String {
        let mut out = String::new();
        if !self.calibration.is_empty() {
            let mut table = table(&["C0 write", "API server CPU ms", "writes/s"]);
            for Cost {
                write,
                cpu_ms,
                per_second,
            } in &self.calibration
            {
                table.add_row([
                    write.clone(),
                    format!("{cpu_ms:.2}"),
                    format!("{per_second:.0}"),
                ]);
            }
            out.extend([table.to_string().as_str(), "\n\n"]);
        }
        if !self.latency.is_empty() {
            let mut table = table(&[
                "M1",
                "pairs",
                "p50 ms",
                "p99 ms",
                "last member p50 ms",
                "p99 ms",
            ]);
            for Row {
                kind,
                operation,
                pair,
                last,
            } in &self.latency
            {
                table.add_row([
                    format!("{operation} {kind}"),
                    pair.samples.to_string(),
                    format!("{:.0}", pair.p50),
                    format!("{:.0}", pair.p99),
                    format!("{:.0}", last.p50),
                    format!("{:.0}", last.p99),
                ]);
            }
            out.extend([table.to_string().as_str(), "\n\n"]);
        }
        for burst in &self.bursts {
            out += &self.burst(burst);
        }
        out
    }

    fn burst(&self, b: &Burst) -> String {
        let mut table = table(&["", &format!("{} × {} {}s", b.members, b.templates, b.kind)]);
        let mut row = |name: &str, value: String| {
            table.add_row([name.to_owned(), value]);
        };
        let floor = floor_ms(&self.calibration, b.members).map(|ms| {
            #[expect(clippy::cast_precision_loss, reason = "a few thousand templates")]
            let seconds = ms * b.templates as f64 / 1000.0;
            seconds
        });
        let efficiency = floor.map_or(String::new(), |floor| {
            format!(
                "  (floor {floor:.1} s, floor/measured {:.0} %)",
                floor / b.visible_seconds * 100.0
            )
        });
        row(
            "M2 visible",
            format!("{:.1} s{efficiency}", b.visible_seconds),
        );
        row("M2 settled", format!("{:.1} s", b.settled_seconds));
        row("M2 objects/s", format!("{:.1}", b.objects_per_second));
        row(
            "M3 host writes/template",
            format!("{:.1} (events {:.1})", b.host_writes, b.host_events),
        );
        row("M3 host GETs/template", format!("{:.2}", b.host_gets));
        row("M3 conflicts", format!("{:.2} %", b.conflicts * 100.0));
        row(
            "M3 member writes/template",
            format!("{:.1}", b.member_writes),
        );
        row("M6 memory before", memory(&b.memory_before));
        row("M6 memory after", memory(&b.memory_after));
        row("M6 goal", MEMORY_GOAL.to_owned());
        row("M7 own CPU/template", format!("{:.4} s", b.own_cpu));
        row("M7 API server CPU/template", format!("{:.4} s", b.host_cpu));
        let by_kind: Vec<String> = b
            .writes_by_kind
            .iter()
            .map(|(kind, n)| format!("{n} {kind}"))
            .collect();
        format!("{table}\nwrites: {}\n\n", by_kind.join(", "))
    }
}

/// What all operators together may keep resident; stands beside what was measured, and is not asserted.
const MEMORY_GOAL: &str =
    "Rss of all operators at most 100 MiB, with 3 members and 200 Deployments";

fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_header(header.iter().copied());
    table
}

fn memory(usage: &crate::procs::Usage) -> String {
    let mib = |bytes: u64| bytes / (1024 * 1024);
    format!(
        "Pss {} MiB, Rss {} MiB, peak {} MiB",
        mib(usage.pss),
        mib(usage.rss),
        mib(usage.peak)
    )
}
