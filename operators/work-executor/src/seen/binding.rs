//! Bindings of either scope.

use std::sync::Arc;

use crds::Condition;
use crds::conditions::FULLY_APPLIED;
use crds::labels::{CLUSTER_PROPAGATION_POLICY_PERMANENT_ID, PROPAGATION_POLICY_PERMANENT_ID};
use crds::scope::Binding;
use crds::work::{AggregatedStatusItem, ResourceBindingSpec};
use engine::dispatch::is_owned;
use kube::ResourceExt as _;

use super::TemplateSeen;

const CLAIMS: [&str; 2] = [
    PROPAGATION_POLICY_PERMANENT_ID,
    CLUSTER_PROPAGATION_POLICY_PERMANENT_ID,
];

/// A binding.
#[derive(Debug, PartialEq)]
pub(crate) struct BindingSeen {
    pub(crate) version: u64,
    pub(crate) uid: String,
    pub(crate) generation: i64,
    pub(crate) deleting: bool,
    /// Whether it waits for its Works to go.
    pub(crate) finalized: bool,
    /// Whether somebody answers for it.
    pub(crate) owned: bool,
    /// The label with which a policy claims it, and its template.
    claim: Option<(&'static str, String)>,
    pub(crate) permanent_id: String,
    pub(crate) spec: Arc<ResourceBindingSpec>,
    /// What it says about its copies.
    pub(crate) fully_applied: Option<Condition>,
    /// What it says about the members, as JSON: it is large and seldom looked at.
    aggregated: Box<[u8]>,
}

impl BindingSeen {
    pub(crate) fn of<B: Binding>(binding: &B) -> Self {
        let meta = binding.meta();
        let status = binding.status();
        let mut spec = binding.spec().clone();
        spec.replica_requirements = None;
        Self {
            version: super::version(meta),
            uid: meta.uid.clone().unwrap_or_default(),
            generation: meta.generation.unwrap_or_default(),
            deleting: meta.deletion_timestamp.is_some(),
            finalized: binding.finalizers().iter().any(|f| f == B::FINALIZER),
            owned: is_owned(binding.labels(), binding.spec()),
            claim: CLAIMS.into_iter().find_map(|label| {
                let id = binding.labels().get(label).filter(|id| !id.is_empty())?;
                Some((label, id.clone()))
            }),
            permanent_id: binding
                .labels()
                .get(B::PERMANENT_ID_LABEL)
                .cloned()
                .unwrap_or_default(),
            spec: Arc::new(spec),
            fully_applied: status
                .into_iter()
                .flat_map(|status| &status.conditions)
                .find(|condition| condition.type_ == FULLY_APPLIED)
                .cloned(),
            aggregated: status
                .map(|status| {
                    serde_json::to_vec(&status.aggregated_status)
                        .expect("what was read from JSON can be written as JSON")
                })
                .unwrap_or_default()
                .into(),
        }
    }

    /// What it says about the members.
    pub(crate) fn aggregated(&self) -> Vec<AggregatedStatusItem> {
        if self.aggregated.is_empty() {
            return Vec::new();
        }
        serde_json::from_slice(&self.aggregated).expect("it was written from the same type")
    }

    /// Whether the policy that claims it has claimed the template too, as far as is seen: the scheduler writes both, one after
    /// the other, and a Work made in between would have to be written twice.
    pub(crate) fn shares_its_claim_with(&self, template: &TemplateSeen) -> bool {
        self.claim
            .as_ref()
            .is_none_or(|(label, id)| template.labels.get(*label) == Some(id))
    }

    /// Whether its Works may have to change because this one took the place of `old`.
    pub(crate) fn differs_for_works(&self, old: &Self) -> bool {
        self.deleting != old.deleting
            || self.finalized != old.finalized
            || self.owned != old.owned
            || self.claim != old.claim
            || self.permanent_id != old.permanent_id
            || self.uid != old.uid
            || self.spec != old.spec
    }
}
