//! Admission policies: defaults that depend on other fields, and refusals that a schema cannot express.
//!
//! They stand in `config/admission/`, where kustomize finds them, and are built in here for those who install without a
//! checkout. An API server takes a second or two until a policy that was just created is in force.

use serde_json::Value;

const FILES: [&str; 7] = [
    include_str!("../../config/admission/deletion-protection.yaml"),
    include_str!("../../config/admission/map-keys.yaml"),
    include_str!("../../config/admission/override-values.yaml"),
    include_str!("../../config/admission/permanent-id.yaml"),
    include_str!("../../config/admission/propagation-defaults.yaml"),
    include_str!("../../config/admission/selector-namespace.yaml"),
    include_str!("../../config/admission/warnings.yaml"),
];

/// All admission policies and their bindings, each a whole manifest.
///
/// # Panics
///
/// Never: the files are built in, and a test reads each of them.
pub fn manifests() -> Vec<Value> {
    FILES
        .iter()
        .flat_map(|file| {
            serde_saphyr::from_multiple::<Value>(file).expect("the files are built in and tested")
        })
        .collect()
}
