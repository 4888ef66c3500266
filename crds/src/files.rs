//! The files of `config/crd/`.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

const HEADER: &str = "# Written by `cargo run -p crds --features generate`; do not edit.\n";

/// The files of `config/crd/`: one for each kind, and a kustomization that lists them.
pub fn files() -> Result<Vec<(String, String)>, serde_saphyr::SerializeError> {
    let mut files = Vec::new();
    let mut kustomization = format!(
        "{HEADER}apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n"
    );
    for crd in crate::all() {
        let name = file_name(&crd);
        kustomization.push_str("  - ");
        kustomization.push_str(&name);
        kustomization.push('\n');
        files.push((name, format!("{HEADER}{}", serde_saphyr::to_string(&crd)?)));
    }
    files.push(("kustomization.yaml".to_owned(), kustomization));
    Ok(files)
}

fn file_name(crd: &CustomResourceDefinition) -> String {
    format!("{}_{}.yaml", crd.spec.group, crd.spec.names.plural)
}
