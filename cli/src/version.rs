//! `version`: of this command, and of the control plane it talks to.

use serde_json::json;

use crate::access::Access;
use crate::arguments::{Document, Global, Version};
use crate::trouble::Trouble;
use crate::ui::{Ui, json as pretty, yaml};

/// The version of this command.
const OWN: &str = concat!("v", env!("CARGO_PKG_VERSION"));

/// Shows the versions. A control plane that does not answer is a warning: the own version is known all the same.
pub(crate) async fn run(ui: &Ui, global: &Global, version: &Version) -> miette::Result<()> {
    let server = if version.client {
        None
    } else {
        match server(global).await {
            Ok(server) => Some(server),
            Err(report) => {
                ui.warning(format_args!(
                    "the control plane's version is unknown: {report}"
                ));
                None
            }
        }
    };
    Ok(ui.result(&render(server.as_deref(), version.output))?)
}

async fn server(global: &Global) -> miette::Result<String> {
    let access = Access::control_plane(global).await?;
    match access.client.apiserver_version().await {
        Ok(info) => Ok(info.git_version),
        Err(error) => Err(miette::miette!("{}", Trouble::of(&error))),
    }
}

fn render(server: Option<&str>, document: Option<Document>) -> String {
    let mut versions = json!({"clientVersion": {"gitVersion": OWN}});
    if let Some(server) = server {
        versions["serverVersion"] = json!({"gitVersion": server});
    }
    match document {
        Some(Document::Json) => pretty(&versions),
        Some(Document::Yaml) => yaml(&versions),
        None => {
            let server = server.map(|server| format!("control plane: Kubernetes {server}\n"));
            format!("karmadactl: {OWN}\n{}", server.unwrap_or_default())
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn versions_are_shown_to_people_and_to_scripts() {
        assert_eq!(render(None, None), format!("karmadactl: {OWN}\n"));
        assert_eq!(
            render(Some("v1.37.2"), None),
            format!("karmadactl: {OWN}\ncontrol plane: Kubernetes v1.37.2\n")
        );
        let json: Value =
            serde_json::from_str(&render(Some("v1.37.2"), Some(Document::Json))).expect("JSON");
        assert_eq!(json["serverVersion"]["gitVersion"], "v1.37.2");
        let yaml: Value =
            serde_saphyr::from_str(&render(None, Some(Document::Yaml))).expect("YAML");
        assert_eq!(yaml, json!({"clientVersion": {"gitVersion": OWN}}));
    }
}
