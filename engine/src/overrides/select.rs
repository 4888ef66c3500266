//! Which rules apply to an object in a cluster, and in which order.

use crds::policy::Overriders;

use super::{Chosen, OverrideView};
use crate::placement::affinity::check_affinity;
use crate::policy::selector::{Identity, MatchStrength, strongest};
use crate::snapshot::ClusterView;

/// The policies that select the object and have rules for the cluster, in the order of application.
pub fn select<'a>(
    policies: impl IntoIterator<Item = &'a OverrideView>,
    object: Identity<'_>,
    cluster: &ClusterView,
) -> Vec<Chosen<'a>> {
    let mut found: Vec<(bool, MatchStrength, Chosen<'a>)> = policies
        .into_iter()
        .filter_map(|view| {
            let strength = strength(view, object)?;
            let rules = rules(view, cluster);
            let chosen = Chosen {
                policy: &view.policy,
                rules,
            };
            (!chosen.rules.is_empty()).then_some((
                !view.policy.namespace.is_empty(),
                strength,
                chosen,
            ))
        })
        .collect();
    found.sort_by(|a, b| (a.0, a.1, &a.2.policy.name).cmp(&(b.0, b.1, &b.2.policy.name)));
    found.into_iter().map(|(_, _, chosen)| chosen).collect()
}

/// How closely a policy describes an object; one without selectors means everything it can see.
fn strength(view: &OverrideView, object: Identity<'_>) -> Option<MatchStrength> {
    let namespace = view.policy.namespace.as_str();
    if view.spec.resource_selectors.is_empty() {
        return (namespace.is_empty() || namespace == object.namespace)
            .then_some(MatchStrength::All);
    }
    strongest(&view.spec.resource_selectors, namespace, object).ok()
}

/// Rules whose target cluster is not given or means the cluster. The older form is one rule.
fn rules<'a>(view: &'a OverrideView, cluster: &ClusterView) -> Vec<(usize, &'a Overriders)> {
    let spec = &view.spec;
    if spec.override_rules.is_empty() {
        let means = spec
            .target_cluster
            .as_ref()
            .is_none_or(|target| check_affinity(target, cluster).is_ok());
        return if means && !spec.overriders.is_empty() {
            vec![(0, &spec.overriders)]
        } else {
            Vec::new()
        };
    }
    spec.override_rules
        .iter()
        .enumerate()
        .filter(|(_, rule)| {
            rule.target_cluster
                .as_ref()
                .is_none_or(|target| check_affinity(target, cluster).is_ok())
        })
        .map(|(index, rule)| (index, &rule.overriders))
        .collect()
}
