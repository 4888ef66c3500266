//! The arrows between the rooms: who may depend on whom. A new arrow is a decision, so it is made here.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use cargo_metadata::{DependencyKind, MetadataCommand};

/// What each package may use, beside what everybody may use in tests: `testbed`.
const ARROWS: [(&str, &[&str]); 13] = [
    ("crds", &[]),
    ("engine", &["crds"]),
    ("kit", &["crds"]),
    ("cluster-health", &["crds", "engine", "kit"]),
    ("binding-scheduler", &["crds", "engine", "kit"]),
    ("work-executor", &["crds", "engine", "kit"]),
    ("failover", &["crds", "engine", "kit"]),
    ("karmadactl", &["crds", "engine"]),
    ("testbed", &["crds"]),
    ("stories", &["crds", "testbed"]),
    ("tidy", &[]),
    ("bench", &["testbed"]),
    ("storyteller", &["testbed"]),
];

#[test]
fn the_rooms_use_only_what_they_may() {
    let metadata = MetadataCommand::new().no_deps().exec().unwrap();
    let members: BTreeSet<String> = metadata
        .packages
        .iter()
        .map(|package| package.name.to_string())
        .collect();
    let allowed: BTreeMap<&str, &[&str]> = ARROWS.into();
    assert_eq!(
        members.iter().map(String::as_str).collect::<Vec<_>>(),
        allowed.keys().copied().collect::<Vec<_>>(),
        "each package has a line in ARROWS"
    );
    for package in &metadata.packages {
        for dependency in &package.dependencies {
            let name = dependency.name.as_str();
            if !members.contains(name) {
                continue;
            }
            let in_tests = dependency.kind == DependencyKind::Development && name == "testbed";
            // A package may enable its own test fixtures.
            let own = name == package.name.as_str();
            assert!(
                in_tests || own || allowed[package.name.as_str()].contains(&name),
                "{} may not use {name}; if it has to, add the arrow to hack/tidy and say why",
                package.name
            );
        }
    }
}

#[test]
fn every_package_has_the_shared_lints() {
    for package in MetadataCommand::new().no_deps().exec().unwrap().packages {
        let manifest = std::fs::read_to_string(&package.manifest_path).unwrap();
        assert!(
            manifest.contains("[lints]\nworkspace = true"),
            "{} lacks `[lints] workspace = true`",
            package.manifest_path
        );
    }
}

#[test]
fn decisions_reach_neither_the_network_nor_a_runtime() {
    for package in ["crds", "engine"] {
        let output = Command::new(env!("CARGO"))
            .args([
                "tree",
                "--locked",
                "--offline",
                "--edges",
                "normal",
                "--prefix",
                "none",
                "--package",
                package,
            ])
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let tree = String::from_utf8(output.stdout).unwrap();
        for banned in ["tokio", "hyper", "reqwest", "kube-client", "kube-runtime"] {
            assert!(
                !tree
                    .lines()
                    .any(|line| line.split_whitespace().next() == Some(banned)),
                "{package} depends on {banned}; `cargo tree -p {package} -i {banned}` shows the way"
            );
        }
    }
}
