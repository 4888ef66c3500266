//! Claims: how templates and bindings say which policy they belong to.

use std::collections::BTreeMap;

use crds::{annotations, labels};
use serde_json::{Map, Value};

use super::{Name, PolicyScope, PolicyView};
use crate::trace::PolicyRef;

/// Which policy a template says it belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The policy's scope.
    pub scope: PolicyScope,
    /// The policy's namespace; empty for cluster scope.
    pub namespace: Name,
    /// The policy's name.
    pub name: Name,
    /// The policy's permanent id; empty if the template does not say it.
    pub permanent_id: Name,
}

impl Claim {
    /// Reads the claim from labels and annotations; a claim of a namespaced policy comes first.
    pub fn read(
        labels: &BTreeMap<String, String>,
        annotations: &BTreeMap<String, String>,
    ) -> Option<Self> {
        let text = |map: &BTreeMap<String, String>, key: &str| -> Option<Name> {
            map.get(key).filter(|text| !text.is_empty()).map(Name::from)
        };
        if let (Some(name), Some(namespace)) = (
            text(annotations, annotations::PROPAGATION_POLICY_NAME),
            text(annotations, annotations::PROPAGATION_POLICY_NAMESPACE),
        ) {
            return Some(Self {
                scope: PolicyScope::Namespaced,
                namespace,
                name,
                permanent_id: text(labels, labels::PROPAGATION_POLICY_PERMANENT_ID)
                    .unwrap_or_default(),
            });
        }
        text(annotations, annotations::CLUSTER_PROPAGATION_POLICY_NAME).map(|name| Self {
            scope: PolicyScope::Cluster,
            namespace: Name::default(),
            name,
            permanent_id: text(labels, labels::CLUSTER_PROPAGATION_POLICY_PERMANENT_ID)
                .unwrap_or_default(),
        })
    }

    /// The claim that a policy has on what it owns.
    pub fn of(policy: &PolicyView) -> Self {
        Self {
            scope: policy.scope,
            namespace: policy.policy.namespace.clone(),
            name: policy.policy.name.clone(),
            permanent_id: policy.permanent_id.clone().unwrap_or_default(),
        }
    }

    /// Whether this is a claim of that policy.
    pub fn is_of(&self, policy: &PolicyView) -> bool {
        self.scope == policy.scope
            && self.name == policy.policy.name
            && self.namespace == policy.policy.namespace
    }

    /// The policy as users name it.
    pub fn policy(&self) -> PolicyRef {
        PolicyRef {
            kind: match self.scope {
                PolicyScope::Namespaced => "PropagationPolicy".into(),
                PolicyScope::Cluster => "ClusterPropagationPolicy".into(),
            },
            namespace: self.namespace.clone(),
            name: self.name.clone(),
        }
    }

    /// The labels of the claim.
    pub fn labels(&self) -> BTreeMap<String, String> {
        let key = match self.scope {
            PolicyScope::Namespaced => labels::PROPAGATION_POLICY_PERMANENT_ID,
            PolicyScope::Cluster => labels::CLUSTER_PROPAGATION_POLICY_PERMANENT_ID,
        };
        BTreeMap::from([(key.to_owned(), String::from(&self.permanent_id))])
    }

    /// The annotations of the claim.
    pub fn annotations(&self) -> BTreeMap<String, String> {
        match self.scope {
            PolicyScope::Namespaced => BTreeMap::from([
                (
                    annotations::PROPAGATION_POLICY_NAMESPACE.to_owned(),
                    String::from(&self.namespace),
                ),
                (
                    annotations::PROPAGATION_POLICY_NAME.to_owned(),
                    String::from(&self.name),
                ),
            ]),
            PolicyScope::Cluster => BTreeMap::from([(
                annotations::CLUSTER_PROPAGATION_POLICY_NAME.to_owned(),
                String::from(&self.name),
            )]),
        }
    }
}

const LABEL_KEYS: [&str; 2] = [
    labels::PROPAGATION_POLICY_PERMANENT_ID,
    labels::CLUSTER_PROPAGATION_POLICY_PERMANENT_ID,
];

const ANNOTATION_KEYS: [&str; 3] = [
    annotations::PROPAGATION_POLICY_NAMESPACE,
    annotations::PROPAGATION_POLICY_NAME,
    annotations::CLUSTER_PROPAGATION_POLICY_NAME,
];

/// The labels and annotations of an object that belong to claims, as they stand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClaimMarks {
    labels: BTreeMap<String, String>,
    annotations: BTreeMap<String, String>,
}

impl ClaimMarks {
    /// Picks them out of all labels and annotations.
    pub fn read(labels: &BTreeMap<String, String>, annotations: &BTreeMap<String, String>) -> Self {
        let pick = |from: &BTreeMap<String, String>, keys: &[&str]| {
            keys.iter()
                .filter_map(|key| Some(((*key).to_owned(), from.get(*key)?.clone())))
                .collect()
        };
        Self {
            labels: pick(labels, &LABEL_KEYS),
            annotations: pick(annotations, &ANNOTATION_KEYS),
        }
    }

    /// The claim they make.
    pub fn claim(&self) -> Option<Claim> {
        Claim::read(&self.labels, &self.annotations)
    }

    /// Whether there is nothing of a claim, not even a part.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.annotations.is_empty()
    }

    /// The merge patch of `metadata` that leaves exactly this claim; `None` if it is so already.
    pub fn patch_to(&self, wanted: Option<&Claim>) -> Option<Map<String, Value>> {
        let labels = wanted.map(Claim::labels).unwrap_or_default();
        let annotations = wanted.map(Claim::annotations).unwrap_or_default();
        let mut metadata = Map::new();
        for (field, keys, now, then) in [
            ("labels", &LABEL_KEYS[..], &self.labels, labels),
            (
                "annotations",
                &ANNOTATION_KEYS[..],
                &self.annotations,
                annotations,
            ),
        ] {
            let changes: Map<String, Value> = keys
                .iter()
                .filter(|key| now.get(**key) != then.get(**key))
                .map(|key| {
                    let value = then.get(*key).cloned().map_or(Value::Null, Value::String);
                    ((*key).to_owned(), value)
                })
                .collect();
            if !changes.is_empty() {
                metadata.insert(field.to_owned(), Value::Object(changes));
            }
        }
        (!metadata.is_empty()).then_some(metadata)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs
            .iter()
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
            .collect()
    }

    fn claim(scope: PolicyScope) -> Claim {
        Claim {
            scope,
            namespace: match scope {
                PolicyScope::Namespaced => "default".into(),
                PolicyScope::Cluster => Name::default(),
            },
            name: "web".into(),
            permanent_id: "id-1".into(),
        }
    }

    #[test]
    fn what_a_claim_writes_is_what_it_reads() {
        for scope in [PolicyScope::Namespaced, PolicyScope::Cluster] {
            let claim = claim(scope);
            let marks = ClaimMarks::read(&claim.labels(), &claim.annotations());
            assert_eq!(marks.claim(), Some(claim.clone()));
            assert_eq!(marks.patch_to(Some(&claim)), None, "nothing to do");
        }
    }

    #[test]
    fn foreign_labels_are_never_touched() {
        let marks = ClaimMarks::read(&map(&[("app", "web")]), &map(&[("note", "x")]));
        assert!(marks.is_empty());
        assert_eq!(marks.patch_to(None), None);
    }

    #[test]
    fn a_change_of_scope_removes_the_other_scopes_marks() {
        let old = claim(PolicyScope::Cluster);
        let marks = ClaimMarks::read(&old.labels(), &old.annotations());
        assert_eq!(
            Value::Object(
                marks
                    .patch_to(Some(&claim(PolicyScope::Namespaced)))
                    .unwrap()
            ),
            json!({
                "labels": {
                    "propagationpolicy.karmada.io/permanent-id": "id-1",
                    "clusterpropagationpolicy.karmada.io/permanent-id": null,
                },
                "annotations": {
                    "propagationpolicy.karmada.io/namespace": "default",
                    "propagationpolicy.karmada.io/name": "web",
                    "clusterpropagationpolicy.karmada.io/name": null,
                }
            })
        );
    }

    #[test]
    fn half_a_claim_is_cleaned_up_too() {
        let marks = ClaimMarks::read(
            &map(&[("propagationpolicy.karmada.io/permanent-id", "id")]),
            &map(&[]),
        );
        assert_eq!(marks.claim(), None);
        assert!(marks.patch_to(None).is_some());
    }
}
