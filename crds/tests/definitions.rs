//! What is in `config/crd/` is what the types say.

use serde_json::Value;
use std::{collections::BTreeSet, fs, path::PathBuf};

fn directory() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../config/crd")
}

#[test]
fn config_crd_is_up_to_date() {
    let expected = crds::files().expect("the definitions can be written as YAML");
    let names: BTreeSet<_> = expected.iter().map(|(name, _)| name.clone()).collect();
    let found: BTreeSet<_> = fs::read_dir(directory())
        .expect("config/crd exists")
        .map(|entry| {
            entry
                .expect("its entries can be read")
                .file_name()
                .into_string()
                .expect("names are UTF-8")
        })
        .collect();
    assert_eq!(found, names, "run `cargo run -p crds --features generate`");
    for (name, yaml) in expected {
        let text = fs::read_to_string(directory().join(&name)).expect("it was just listed");
        let found: Value =
            serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        let expected: Value = serde_saphyr::from_str(&yaml).expect("what was written can be read");
        assert!(
            found == expected,
            "{name} is out of date: run `cargo run -p crds --features generate`"
        );
    }
}

/// `kubectl apply` keeps the whole object in an annotation, and annotations end at 256 KiB.
#[test]
fn definitions_fit_into_the_annotation_of_kubectl_apply() {
    for crd in crds::all() {
        let bytes = serde_json::to_vec(&crd)
            .expect("a definition is JSON")
            .len();
        let name = crd.metadata.name.expect("a definition has a name");
        assert!(bytes < 200 * 1024, "{name} takes {bytes} bytes");
    }
}
