//! What one run of a command made, so that it can be undone.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Client;
use kube::ResourceExt as _;
use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams, Preconditions};

use crate::objects::{MANAGER, Object};
use crate::trouble::Trouble;
use crate::ui::Ui;

/// Everything made so far, in order.
#[derive(Default)]
pub(crate) struct Ledger {
    entries: Vec<Entry>,
}

struct Entry {
    client: Client,
    /// The cluster it is in, in words.
    place: String,
    object: Object,
    /// `None` until the server confirmed it: a request that was cut off may still have arrived.
    uid: Option<String>,
}

/// What became of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It did not exist.
    Made,
    /// It existed; now it is as it should be.
    Kept,
}

/// An object could not be made.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
#[error("{place}: cannot {verb} {object}: {trouble}")]
#[diagnostic(help("{}", trouble.next()))]
pub(crate) struct Refusal {
    place: String,
    verb: &'static str,
    object: String,
    trouble: Trouble,
}

impl Ledger {
    /// Makes the object, or brings an existing one to this content. Only what did not exist is written down.
    pub(crate) async fn ensure(
        &mut self,
        client: &Client,
        place: &str,
        object: Object,
    ) -> Result<(DynamicObject, Outcome), Refusal> {
        let refusal = |verb, object: &Object, error: &kube::Error| Refusal {
            place: place.to_owned(),
            verb,
            object: object.to_string(),
            trouble: Trouble::of(error),
        };
        let (api, name) = (object.api(client), object.name());
        let existing = api
            .get_metadata_opt(&name)
            .await
            .map_err(|error| refusal("get", &object, &error))?;
        if existing.is_some() {
            let parameters = PatchParams::apply(MANAGER).force();
            let kept = api
                .patch(&name, &parameters, &Patch::Apply(&object.content))
                .await
                .map_err(|error| refusal("patch", &object, &error))?;
            return Ok((kept, Outcome::Kept));
        }
        let parameters = PostParams {
            field_manager: Some(MANAGER.to_owned()),
            ..PostParams::default()
        };
        self.entries.push(Entry {
            client: client.clone(),
            place: place.to_owned(),
            object: object.clone(),
            uid: None,
        });
        match api.create(&parameters, &object.content).await {
            Ok(made) => {
                if let Some(entry) = self.entries.last_mut() {
                    entry.uid = made.uid();
                }
                Ok((made, Outcome::Made))
            }
            Err(error) => {
                if matches!(&error, kube::Error::Api(_)) {
                    // A refusal is certain; only silence leaves the question open.
                    self.entries.pop();
                }
                Err(refusal("create", &object, &error))
            }
        }
    }

    /// Removes what was made, the last first. What cannot be removed is said, with the command that does it.
    pub(crate) async fn undo(self, ui: &Ui) {
        if self.entries.is_empty() {
            return;
        }
        ui.heading("Undoing what this run made");
        for entry in self.entries.into_iter().rev() {
            match entry.remove().await {
                Ok(true) => ui.good(
                    "removed",
                    format_args!("{} in {}", entry.object, entry.place),
                ),
                Ok(false) => {}
                Err(trouble) => ui.bad(
                    "stays",
                    format_args!(
                        "{object} in {place}: {trouble}; remove it with `kubectl delete {object}`",
                        object = entry.object,
                        place = entry.place
                    ),
                ),
            }
        }
    }
}

impl Entry {
    /// Returns whether there was something to remove.
    async fn remove(&self) -> Result<bool, Trouble> {
        let api = self.object.api(&self.client);
        let name = self.object.name();
        let uid = match &self.uid {
            Some(uid) => Some(uid.clone()),
            None => match api.get_metadata_opt(&name).await {
                // It did not exist a moment ago, and this command wrote it.
                Ok(Some(found)) if written_by_us(&found.metadata) => found.uid(),
                Ok(_) => return Ok(false),
                Err(error) => return Err(Trouble::of(&error)),
            },
        };
        let parameters = DeleteParams::background().preconditions(Preconditions {
            uid,
            resource_version: None,
        });
        match api.delete(&name, &parameters).await {
            Ok(_) => Ok(true),
            Err(kube::Error::Api(status)) if status.is_not_found() => Ok(false),
            Err(error) => Err(Trouble::of(&error)),
        }
    }
}

fn written_by_us(metadata: &ObjectMeta) -> bool {
    let managers = metadata.managed_fields.iter().flatten();
    managers
        .filter_map(|entry| entry.manager.as_deref())
        .any(|manager| manager == MANAGER)
}
