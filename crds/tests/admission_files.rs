//! What is built in is what stands in `config/admission/`.

use serde_json::Value;
use std::{collections::BTreeSet, fs, path::Path};

fn ids(manifests: &[Value]) -> BTreeSet<String> {
    manifests
        .iter()
        .map(|manifest| {
            let kind = manifest["kind"].as_str().expect("a manifest has a kind");
            let name = manifest["metadata"]["name"]
                .as_str()
                .expect("a manifest has a name");
            format!("{kind}/{name}")
        })
        .collect()
}

#[test]
fn every_file_of_the_kustomization_is_built_in() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../config/admission");
    let read = |name: &str| {
        fs::read_to_string(directory.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    };
    let kustomization: Value =
        serde_saphyr::from_str(&read("kustomization.yaml")).expect("it is YAML");
    let mut found = Vec::new();
    for file in kustomization["resources"]
        .as_array()
        .expect("it lists resources")
    {
        let file = file.as_str().expect("resources are file names");
        found.extend(
            serde_saphyr::from_multiple::<Value>(&read(file))
                .unwrap_or_else(|error| panic!("{file}: {error}")),
        );
    }
    assert_eq!(ids(&crds::admission::manifests()), ids(&found));
}

#[test]
fn every_policy_has_a_binding_of_its_name() {
    let ids = ids(&crds::admission::manifests());
    let policies: Vec<_> = ids.iter().filter(|id| id.contains("Policy/")).collect();
    assert!(!policies.is_empty());
    for policy in policies {
        let binding = policy.replace("Policy/", "PolicyBinding/");
        assert!(ids.contains(&binding), "{policy} has no binding");
    }
}
