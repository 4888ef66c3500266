//! One table of what is accepted and what is refused, and with which words. The tables are the files in `cases/`.

use crate::bed;
use anyhow::{Context as _, Result, ensure};
use futures::{StreamExt as _, stream};
use serde::Deserialize;
use serde_json::Value;
use std::fmt::Write as _;

/// How many documents are tried at once.
const AT_ONCE: usize = 8;

#[derive(Deserialize)]
struct Table {
    kinds: Vec<String>,
    base: Value,
    accepted: Vec<Accepted>,
    refused: Vec<Refused>,
}

#[derive(Deserialize)]
struct Accepted {
    why: String,
    with: Value,
}

#[derive(Deserialize)]
struct Refused {
    why: String,
    with: Value,
    says: Vec<String>,
}

impl Table {
    fn document(&self, kind: &str, change: &Value) -> Value {
        let mut document = self.base.clone();
        document["kind"] = kind.into();
        json_patch::merge(&mut document, change);
        document
    }

    /// Tries every case; returns what went wrong.
    async fn judge(&self) -> Result<Vec<String>> {
        let client = bed::installed().await?.control_plane().client();
        let mut trials = Vec::new();
        for kind in &self.kinds {
            for case in &self.accepted {
                trials.push((
                    format!("{kind}: {}", case.why),
                    self.document(kind, &case.with),
                    None,
                ));
            }
            for case in &self.refused {
                trials.push((
                    format!("{kind}: {}", case.why),
                    self.document(kind, &case.with),
                    Some(&case.says),
                ));
            }
        }
        Ok(stream::iter(trials)
            .map(async |(why, document, says)| {
                verdict(&why, bed::dry_run(&client, &document).await, says)
            })
            .buffer_unordered(AT_ONCE)
            .filter_map(std::future::ready)
            .collect()
            .await)
    }
}

fn verdict(
    why: &str,
    outcome: Result<Value, String>,
    says: Option<&Vec<String>>,
) -> Option<String> {
    match (outcome, says) {
        (Ok(_), None) => None,
        (Ok(_), Some(_)) => Some(format!("{why}: was accepted")),
        (Err(refusal), None) => Some(format!("{why}: was refused: {refusal}")),
        (Err(refusal), Some(says)) => {
            let missing: Vec<_> = says
                .iter()
                .filter(|text| !refusal.contains(text.as_str()))
                .collect();
            (!missing.is_empty())
                .then(|| format!("{why}: the refusal does not say {missing:?}: {refusal}"))
        }
    }
}

async fn holds(table: &str) -> Result<()> {
    let table: Table = serde_saphyr::from_str(table).context("reading the table")?;
    ensure!(
        !table.accepted.is_empty() && !table.refused.is_empty(),
        "the table is empty"
    );
    let wrong = table.judge().await?;
    let mut report = String::new();
    for line in &wrong {
        writeln!(report, "- {line}")?;
    }
    ensure!(
        wrong.is_empty(),
        "{} cases went wrong:\n{report}",
        wrong.len()
    );
    Ok(())
}

macro_rules! tables {
    ($($name:ident),+) => {
        $(
            #[tokio::test]
            async fn $name() -> Result<()> {
                holds(include_str!(concat!("cases/", stringify!($name), ".yaml"))).await
            }
        )+
    };
}

tables!(
    binding,
    cluster,
    interpreter,
    overrides,
    propagation,
    quota,
    rebalancer,
    taint_policy
);
