//! What a Work says about one of its manifests.

use crds::work::{ManifestStatus, ResourceIdentifier};
use serde_json::Value;

use crate::interpret::{self, text};

/// The entry of manifest number `ordinal`, with what the member's object shows; `live` is `None` if the member has none.
pub fn manifest_status(ordinal: usize, manifest: &Value, live: Option<&Value>) -> ManifestStatus {
    let api_version = text(manifest, "/apiVersion");
    let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
    let given =
        |pointer: &str| Some(text(manifest, pointer).to_owned()).filter(|text| !text.is_empty());
    ManifestStatus {
        identifier: ResourceIdentifier {
            ordinal: i64::try_from(ordinal).unwrap_or(i64::MAX),
            group: Some(group.to_owned()).filter(|group| !group.is_empty()),
            version: version.to_owned(),
            kind: text(manifest, "/kind").to_owned(),
            resource: String::new(),
            namespace: given("/metadata/namespace"),
            name: text(manifest, "/metadata/name").to_owned(),
        },
        status: live.and_then(interpret::reflect),
        health: live.map(interpret::health),
    }
}
