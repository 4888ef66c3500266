//! Tells the authors of customizations what is wrong with them.

use std::sync::Arc;

use crds::config::ResourceInterpreterCustomization;
use crds::events;
use engine::snapshot::Name;
use kit::events::{Severity, reference};
use kit::queue::Outcome;

use crate::hub::Hub;

/// Tells what is wrong with one customization, once.
pub(crate) async fn look(hub: Arc<Hub>, name: Name) -> Outcome {
    let Some(customization) = hub.customization(&name) else {
        return Outcome::Done;
    };
    let about = reference::<ResourceInterpreterCustomization>(&customization);
    let interpreter = hub.interpreter();
    let faults = interpreter
        .problems()
        .iter()
        .filter(|problem| problem.customization == name)
        .map(ToString::to_string);
    let note = faults.collect::<Vec<_>>().join("; ");
    if note.is_empty() {
        return Outcome::Done;
    }
    match hub
        .recorder
        .emit(
            &about,
            Severity::Warning,
            events::INVALID_CUSTOMIZATION,
            &note,
        )
        .await
    {
        Ok(()) => Outcome::Done,
        Err(error) => {
            tracing::warn!(customization = %name, error = %error.message(), "an event was not written");
            Outcome::Retry
        }
    }
}
