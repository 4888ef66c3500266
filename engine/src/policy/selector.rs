//! Resource selectors: does a policy describe this template, and how closely.

use std::collections::BTreeMap;

use crds::policy::ResourceSelector;

use super::labels;
pub use crate::trace::reason::{MatchStrength, SelectorMismatch};

/// What a selector looks at in a template.
#[derive(Clone, Copy, Debug)]
pub struct Identity<'a> {
    /// apiVersion, for example `apps/v1`.
    pub api_version: &'a str,
    /// Kind.
    pub kind: &'a str,
    /// Namespace; empty for an object of cluster scope.
    pub namespace: &'a str,
    /// Name.
    pub name: &'a str,
    /// Labels.
    pub labels: &'a BTreeMap<String, String>,
}

/// How closely a selector describes an object.
///
/// A name makes the label selector irrelevant, as in Karmada. An empty namespace in the selector matches every namespace: a policy of
/// a namespace is confined to it by its caller ([`strongest`]).
///
/// # Errors
/// The first part that does not match.
pub fn check_selector(
    selector: &ResourceSelector,
    object: Identity<'_>,
) -> Result<MatchStrength, SelectorMismatch> {
    if selector.api_version != object.api_version || selector.kind != object.kind {
        return Err(SelectorMismatch::Kind);
    }
    if let Some(namespace) = given(selector.namespace.as_deref())
        && namespace != object.namespace
    {
        return Err(SelectorMismatch::Namespace);
    }
    if let Some(name) = given(selector.name.as_deref()) {
        return if name == object.name {
            Ok(MatchStrength::Name)
        } else {
            Err(SelectorMismatch::Name)
        };
    }
    let Some(wanted) = &selector.label_selector else {
        return Ok(MatchStrength::All);
    };
    match labels::matches(wanted, object.labels) {
        Ok(true) => Ok(MatchStrength::Label),
        Ok(false) => Err(SelectorMismatch::Labels),
        Err(why) => Err(SelectorMismatch::Malformed(why)),
    }
}

/// How closely the closest of a policy's selectors describes an object.
///
/// `policy_namespace` is empty for a policy of cluster scope; a policy of a namespace only ever selects in its own namespace,
/// whatever its selectors say.
///
/// # Errors
/// Why the selector that came nearest does not match.
pub fn strongest(
    selectors: &[ResourceSelector],
    policy_namespace: &str,
    object: Identity<'_>,
) -> Result<MatchStrength, SelectorMismatch> {
    if !policy_namespace.is_empty() && policy_namespace != object.namespace {
        return Err(SelectorMismatch::Namespace);
    }
    let mut best: Option<MatchStrength> = None;
    let mut nearest = SelectorMismatch::Kind;
    for selector in selectors {
        match check_selector(selector, object) {
            Ok(strength) => best = best.max(Some(strength)),
            Err(mismatch) if nearness(&mismatch) > nearness(&nearest) => nearest = mismatch,
            Err(_) => {}
        }
    }
    best.ok_or(nearest)
}

fn nearness(mismatch: &SelectorMismatch) -> u8 {
    match mismatch {
        SelectorMismatch::Kind => 0,
        SelectorMismatch::Namespace => 1,
        SelectorMismatch::Name => 2,
        SelectorMismatch::Labels => 3,
        SelectorMismatch::Malformed(_) => 4,
    }
}

/// An empty string in a selector means the same as none.
fn given(text: Option<&str>) -> Option<&str> {
    text.filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

    use super::*;

    fn selector(name: &str, label: Option<(&str, &str)>) -> ResourceSelector {
        ResourceSelector {
            api_version: "apps/v1".into(),
            kind: "Deployment".into(),
            namespace: None,
            name: Some(name.to_owned()).filter(|n| !n.is_empty()),
            label_selector: label.map(|(k, v)| LabelSelector {
                match_labels: Some([(k.to_owned(), v.to_owned())].into()),
                match_expressions: None,
            }),
        }
    }

    fn check(
        selectors: &[ResourceSelector],
        policy_namespace: &str,
        expected: &Result<MatchStrength, SelectorMismatch>,
    ) {
        let labels = BTreeMap::from([("app".to_owned(), "web".to_owned())]);
        let web = Identity {
            api_version: "apps/v1",
            kind: "Deployment",
            namespace: "default",
            name: "web",
            labels: &labels,
        };
        assert_eq!(&strongest(selectors, policy_namespace, web), expected);
    }

    #[test]
    fn a_name_beats_labels_and_labels_beat_the_kind() {
        check(&[selector("", None)], "default", &Ok(MatchStrength::All));
        check(
            &[selector("", Some(("app", "web"))), selector("", None)],
            "default",
            &Ok(MatchStrength::Label),
        );
        check(
            &[
                selector("", None),
                selector("", Some(("app", "web"))),
                selector("web", None),
            ],
            "",
            &Ok(MatchStrength::Name),
        );
    }

    #[test]
    fn with_a_name_the_labels_do_not_count() {
        check(
            &[selector("web", Some(("app", "other")))],
            "default",
            &Ok(MatchStrength::Name),
        );
    }

    #[test]
    fn a_namespaced_policy_stays_in_its_namespace() {
        check(
            &[selector("web", None)],
            "elsewhere",
            &Err(SelectorMismatch::Namespace),
        );
    }

    #[test]
    fn the_nearest_miss_is_reported() {
        let mut other_kind = selector("", None);
        other_kind.kind = "StatefulSet".into();
        check(&[other_kind.clone()], "", &Err(SelectorMismatch::Kind));
        check(
            &[
                other_kind,
                selector("", Some(("app", "db"))),
                selector("db", None),
            ],
            "",
            &Err(SelectorMismatch::Labels),
        );
    }

    #[test]
    fn another_version_of_the_kind_is_another_kind() {
        let mut beta = selector("web", None);
        beta.api_version = "apps/v1beta1".into();
        check(&[beta], "", &Err(SelectorMismatch::Kind));
    }
}
