//! What watches the system names only what is there: metrics, alerts, environment variables.

#![expect(clippy::unwrap_used, reason = "a test fails where it notices")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use regex::Regex;
use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn text(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap()
}

/// The texts of all files below a directory with this extension.
fn texts(directory: &str, extension: &str) -> Vec<String> {
    fn walk(directory: &Path, extension: &str, found: &mut Vec<String>) {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, extension, found);
            } else if path.extension().is_some_and(|found| found == extension) {
                found.push(fs::read_to_string(path).unwrap());
            }
        }
    }
    let mut found = Vec::new();
    walk(&root().join(directory), extension, &mut found);
    assert!(!found.is_empty(), "no .{extension} file in {directory}");
    found
}

const RULES: &str = "config/components/prometheus-operator/rules.yaml";

/// All names of metrics in an expression of Prometheus: identifiers that are no function, no label and no keyword.
fn names_in(expression: &str) -> Vec<String> {
    // What is in braces and after `by` are labels; what is in quotes are values.
    let labels =
        Regex::new(r#"\{[^}]*\}|\b(by|without|on|ignoring)\s*\([^)]*\)|\[[^\]]*\]|"[^"]*""#)
            .unwrap();
    let rest = labels.replace_all(expression, " ");
    let name = Regex::new(r"([a-zA-Z_:][a-zA-Z0-9_:]*)\s*(\(?)").unwrap();
    name.captures_iter(&rest)
        .filter(|found| found[2].is_empty() && found[1].contains('_'))
        .map(|found| found[1].to_owned())
        .collect()
}

/// The expressions of a document, wherever they are.
fn expressions(document: &Value, found: &mut Vec<String>) {
    match document {
        Value::Object(fields) => {
            for (key, value) in fields {
                match value {
                    Value::String(text) if key == "expr" => found.push(text.clone()),
                    other => expressions(other, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| expressions(item, found)),
        _ => {}
    }
}

#[test]
fn metrics_of_dashboards_and_alerts_exist() {
    let code = texts("operators", "rs").concat();
    let mut found = Vec::new();
    for dashboard in texts("config/monitoring/dashboards", "json") {
        expressions(&serde_json::from_str(&dashboard).unwrap(), &mut found);
    }
    let rules: Value = serde_saphyr::from_str(&text(RULES)).unwrap();
    expressions(&rules, &mut found);
    let names: BTreeSet<String> = found.iter().flat_map(|one| names_in(one)).collect();
    assert!(names.len() > 10, "too few names were found: {names:?}");
    let suffix = Regex::new("_(bucket|sum|count|total)$").unwrap();
    let missing: Vec<&String> = names
        .iter()
        .filter(|name| !code.contains(&format!("\"{}\"", suffix.replace(name, ""))))
        .filter(|name| !code.contains(&format!("\"{name}\"")))
        .collect();
    assert!(missing.is_empty(), "no operator exports {missing:?}");
}

#[test]
fn prometheus_understands_the_rules() {
    let tools = Command::new(root().join("hack/tools")).output().unwrap();
    assert!(
        tools.status.success(),
        "{}",
        String::from_utf8_lossy(&tools.stderr)
    );
    let fetched = Path::new(String::from_utf8_lossy(&tools.stdout).trim()).join("promtool");
    let promtool = if fetched.exists() {
        fetched
    } else {
        PathBuf::from("promtool")
    };
    let rules: Value = serde_saphyr::from_str(&text(RULES)).unwrap();
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("rules.yaml");
    fs::write(&file, rules["spec"].to_string()).unwrap();
    let output = Command::new(promtool)
        .args(["check", "rules"])
        .arg(&file)
        .output()
        .unwrap();
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(
        output.status.success() && said.contains("rules found"),
        "{said}"
    );
}

#[test]
fn every_alert_is_explained() {
    let alerts = Regex::new(r"alert: (\w+)").unwrap();
    let page = text("docs/metrics.md");
    let rules = text(RULES);
    for found in alerts.captures_iter(&rules) {
        let heading = format!("\n### {}\n", &found[1]);
        assert!(
            page.contains(&heading),
            "docs/metrics.md has no section {}",
            &found[1]
        );
    }
}

#[test]
fn pods_pass_the_environment_that_operators_read() {
    let read = text("operators/kit/src/args.rs");
    let variable = Regex::new(r"name: (KARMADA_\w+)").unwrap();
    for manifest in texts("config", "yaml") {
        for found in variable.captures_iter(&manifest) {
            let name = &found[1];
            assert!(
                read.contains(&format!("\"{name}\"")),
                "no operator reads {name}"
            );
        }
    }
}
