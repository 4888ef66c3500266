//! Override policies of either scope.

use crds::policy::ResourceSelector;
use crds::scope::Override;
use engine::overrides::OverrideView;
use engine::policy::selector::{Identity, strongest};

/// An override policy.
#[derive(Debug, PartialEq)]
pub(crate) struct OverrideSeen {
    pub(crate) view: OverrideView,
}

impl OverrideSeen {
    pub(crate) fn of<P: Override>(policy: &P) -> Self {
        Self {
            view: OverrideView::of(policy),
        }
    }

    /// Whether it may select this object, whatever labels that has.
    pub(crate) fn may_select(&self, object: Identity<'_>) -> bool {
        let namespace = self.view.policy.namespace.as_str();
        let selectors = &self.view.spec.resource_selectors;
        if selectors.is_empty() {
            return namespace.is_empty() || namespace == object.namespace;
        }
        let any_labels: Vec<ResourceSelector> = selectors
            .iter()
            .map(|selector| ResourceSelector {
                label_selector: None,
                ..selector.clone()
            })
            .collect();
        strongest(&any_labels, namespace, object).is_ok()
    }
}
