//! A word to the author of a workload that no policy selects. Alone it runs nowhere, which is easily overlooked.
//!
//! Only workloads are meant: a `ConfigMap` without a policy is the rule rather than a mistake. And only those of which no earlier process
//! can have told: a restart tells nobody anything again.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use crds::events;
use crds::work::ObjectReference;
use engine::snapshot::{Name, TemplateView};
use engine::trace::EventFact;
use engine::trace::reason::PolicyReason;
use jiff::Timestamp;
use kit::RequestError;

use crate::key::TemplateKey;
use crate::writes::Writes;

/// For so long a template may be without policy: policies often come after their template.
const PATIENCE: Duration = Duration::from_secs(10);

/// Tells authors, once for each template.
pub(crate) struct Unselected {
    writes: Writes,
    start: Timestamp,
    /// The uid of each template that was told about.
    told: Mutex<HashMap<TemplateKey, Name>>,
}

impl Unselected {
    pub(crate) fn new(writes: Writes) -> Self {
        Self {
            writes,
            start: Timestamp::now(),
            told: Mutex::default(),
        }
    }

    /// The template has a policy, or is gone.
    pub(crate) fn forget(&self, key: &TemplateKey) {
        self.told().remove(key);
    }

    /// No policy selects the template at `now`. Returns when to come again, if it is too early to say so.
    pub(crate) async fn look(
        &self,
        key: &TemplateKey,
        template: &TemplateView,
        now: Timestamp,
    ) -> Result<Option<Duration>, RequestError> {
        let (Some(created), Some(_), false) =
            (template.created, template.replicas, template.deleting)
        else {
            return Ok(None);
        };
        let patience = left(created, now);
        if !patience.is_zero() {
            return Ok(Some(patience));
        }
        let told_by_another = left(created, self.start).is_zero();
        if told_by_another || self.told().get(key) == Some(&template.uid) {
            return Ok(None);
        }
        let about = ObjectReference {
            api_version: template.api_version.to_string(),
            kind: template.kind.to_string(),
            namespace: Some(template.namespace.to_string()).filter(|ns| !ns.is_empty()),
            name: template.name.to_string(),
            uid: Some(template.uid.to_string()),
            resource_version: None,
        };
        let event = EventFact {
            warning: true,
            reason: events::APPLY_POLICY_FAILED.to_owned(),
            note: PolicyReason::NoneSelects.to_string(),
        };
        self.writes.event(&about, &event).await?;
        self.told().insert(key.clone(), template.uid.clone());
        Ok(None)
    }

    fn told(&self) -> MutexGuard<'_, HashMap<TemplateKey, Name>> {
        self.told
            .lock()
            .expect("nobody panics while holding the list")
    }
}

/// For how much longer a template of that age may be without policy.
fn left(created: Timestamp, now: Timestamp) -> Duration {
    let age = Duration::try_from(now.duration_since(created)).unwrap_or_default();
    PATIENCE.saturating_sub(age)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_is_told_about_by_the_process_that_saw_its_patience_end() {
        let at = |milliseconds| Timestamp::from_millisecond(milliseconds).unwrap();
        // The API server keeps whole seconds: what is made just after the start looks older.
        for (created, now, expected) in [
            (100_000, 100_900, 9_100),
            (100_000, 109_999, 1),
            (100_000, 110_000, 0),
            (100_000, 999_000, 0),
            (100_000, 99_000, 10_000),
        ] {
            let expected = Duration::from_millis(expected);
            assert_eq!(left(at(created), at(now)), expected, "{created} at {now}");
        }
    }
}
