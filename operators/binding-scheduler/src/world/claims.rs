//! Which templates and bindings say that they belong to which policy.

use std::collections::{BTreeMap, BTreeSet};

use engine::trace::PolicyRef;

use crate::key::TemplateKey;

/// Claims by policy, of templates and of bindings; both go by the template's key.
#[derive(Debug, Default)]
pub(super) struct Claims {
    templates: Side,
    bindings: Side,
}

impl Claims {
    /// A template says it belongs to this policy, or to none. Returns the policy that has no claim on the key any more.
    pub(super) fn template(
        &mut self,
        key: &TemplateKey,
        policy: Option<PolicyRef>,
    ) -> Option<PolicyRef> {
        let lost = self.templates.put(key, policy)?;
        (!self.bindings.holds(&lost, key)).then_some(lost)
    }

    /// The same for the binding of a template.
    pub(super) fn binding(
        &mut self,
        key: &TemplateKey,
        policy: Option<PolicyRef>,
    ) -> Option<PolicyRef> {
        let lost = self.bindings.put(key, policy)?;
        (!self.templates.holds(&lost, key)).then_some(lost)
    }

    /// Everything that says it belongs to a policy.
    pub(super) fn of(&self, policy: &PolicyRef) -> Vec<TemplateKey> {
        let all: BTreeSet<TemplateKey> = [&self.templates, &self.bindings]
            .into_iter()
            .filter_map(|side| side.by_policy.get(policy))
            .flatten()
            .cloned()
            .collect();
        all.into_iter().collect()
    }
}

#[derive(Debug, Default)]
struct Side {
    by_policy: BTreeMap<PolicyRef, BTreeSet<TemplateKey>>,
    by_key: BTreeMap<TemplateKey, PolicyRef>,
}

impl Side {
    fn holds(&self, policy: &PolicyRef, key: &TemplateKey) -> bool {
        self.by_key.get(key) == Some(policy)
    }

    /// Returns the policy that lost the key.
    fn put(&mut self, key: &TemplateKey, policy: Option<PolicyRef>) -> Option<PolicyRef> {
        if self.by_key.get(key) == policy.as_ref() {
            return None;
        }
        let lost = self.by_key.remove(key);
        if let Some(lost) = &lost
            && let Some(keys) = self.by_policy.get_mut(lost)
        {
            keys.remove(key);
            if keys.is_empty() {
                self.by_policy.remove(lost);
            }
        }
        if let Some(policy) = policy {
            self.by_policy
                .entry(policy.clone())
                .or_default()
                .insert(key.clone());
            self.by_key.insert(key.clone(), policy);
        }
        lost
    }
}
