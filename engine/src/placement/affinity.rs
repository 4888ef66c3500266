//! Cluster affinity: does a placement (or an override, or a taint policy) mean this cluster.

use crds::policy::{ClusterAffinity, ClusterAffinityTerm, FieldSelector};

use crate::policy::labels;
use crate::snapshot::ClusterView;
pub use crate::trace::reason::AffinityMismatch;

/// The parts of an affinity, wherever they are written: in a plain affinity or inline in a named term.
#[derive(Clone, Copy, Debug)]
pub struct Affinity<'a> {
    /// Labels to have.
    pub label_selector: Option<&'a k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector>,
    /// Provider, region, zones to have.
    pub field_selector: Option<&'a FieldSelector>,
    /// Names to be among; empty means any.
    pub cluster_names: &'a [String],
    /// Names not to be among.
    pub exclude: &'a [String],
}

impl<'a> From<&'a ClusterAffinity> for Affinity<'a> {
    fn from(affinity: &'a ClusterAffinity) -> Self {
        Self {
            label_selector: affinity.label_selector.as_ref(),
            field_selector: affinity.field_selector.as_ref(),
            cluster_names: &affinity.cluster_names,
            exclude: &affinity.exclude,
        }
    }
}

impl<'a> From<&'a ClusterAffinityTerm> for Affinity<'a> {
    fn from(term: &'a ClusterAffinityTerm) -> Self {
        Self::from(&term.affinity)
    }
}

/// Whether an affinity means a cluster. An affinity without any part means every cluster.
///
/// # Errors
/// The first part that does not match.
pub fn check_affinity<'a>(
    affinity: impl Into<Affinity<'a>>,
    cluster: &ClusterView,
) -> Result<(), AffinityMismatch> {
    let affinity = affinity.into();
    let name = cluster.name.as_str();
    if affinity.exclude.iter().any(|excluded| excluded == name) {
        return Err(AffinityMismatch::Excluded);
    }
    if !affinity.cluster_names.is_empty() && !affinity.cluster_names.iter().any(|n| n == name) {
        return Err(AffinityMismatch::Names);
    }
    if let Some(selector) = affinity.label_selector {
        match labels::matches(selector, &cluster.labels) {
            Ok(true) => {}
            Ok(false) => return Err(AffinityMismatch::Labels),
            Err(why) => return Err(AffinityMismatch::Malformed(why)),
        }
    }
    if let Some(selector) = affinity.field_selector {
        check_fields(selector, cluster)?;
    }
    Ok(())
}

/// A cluster may have several zones: `In` wants all of them among the values, `NotIn` none of them; without zones `In` fails.
fn check_fields(selector: &FieldSelector, cluster: &ClusterView) -> Result<(), AffinityMismatch> {
    for requirement in &selector.match_expressions {
        let values = requirement.values.as_deref().unwrap_or_default();
        let among = |text: &str| values.iter().any(|value| value == text);
        let (all, any) = match requirement.key.as_str() {
            "provider" => (among(&cluster.provider), among(&cluster.provider)),
            "region" => (among(&cluster.region), among(&cluster.region)),
            "zone" => (
                !cluster.zones.is_empty() && cluster.zones.iter().all(|zone| among(zone)),
                cluster.zones.iter().any(|zone| among(zone)),
            ),
            other => {
                return Err(AffinityMismatch::Malformed(format!(
                    "unknown field {other:?}"
                )));
            }
        };
        let fits = match requirement.operator.as_str() {
            "In" => all,
            "NotIn" => !any,
            other => {
                return Err(AffinityMismatch::Malformed(format!(
                    "unknown operator {other:?}"
                )));
            }
        };
        if !fits {
            return Err(AffinityMismatch::Fields);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use crds::{LabelSelector, NodeSelectorRequirement};

    use super::*;

    fn cluster() -> ClusterView {
        ClusterView {
            name: "m1".into(),
            labels: BTreeMap::from([("phase".to_owned(), "ready".to_owned())]),
            provider: "aws".into(),
            region: "eu".into(),
            zones: vec!["eu-1".into(), "eu-2".into()],
            ..ClusterView::default()
        }
    }

    fn fields(key: &str, operator: &str, values: &[&str]) -> ClusterAffinity {
        ClusterAffinity {
            field_selector: Some(FieldSelector {
                match_expressions: vec![NodeSelectorRequirement {
                    key: key.into(),
                    operator: operator.into(),
                    values: Some(values.iter().map(|v| (*v).to_owned()).collect()),
                }],
            }),
            ..ClusterAffinity::default()
        }
    }

    fn names(names: &[&str]) -> ClusterAffinity {
        ClusterAffinity {
            cluster_names: names.iter().map(|n| (*n).to_owned()).collect(),
            ..ClusterAffinity::default()
        }
    }

    #[test]
    fn an_affinity_without_parts_means_every_cluster() {
        assert_eq!(
            check_affinity(&ClusterAffinity::default(), &cluster()),
            Ok(())
        );
    }

    #[test]
    fn an_excluded_name_loses_even_when_it_is_also_wanted() {
        let both = ClusterAffinity {
            exclude: vec!["m1".into()],
            ..names(&["m1"])
        };
        assert_eq!(
            check_affinity(&both, &cluster()),
            Err(AffinityMismatch::Excluded)
        );
    }

    #[test]
    fn every_part_has_to_match() {
        let ready = LabelSelector {
            match_labels: Some(BTreeMap::from([("phase".to_owned(), "ready".to_owned())])),
            ..LabelSelector::default()
        };
        let both = ClusterAffinity {
            label_selector: Some(ready),
            ..names(&["m1", "m2"])
        };
        assert_eq!(check_affinity(&both, &cluster()), Ok(()));
        let mut other = cluster();
        other.labels.clear();
        assert_eq!(check_affinity(&both, &other), Err(AffinityMismatch::Labels));
        other.name = "m3".into();
        assert_eq!(check_affinity(&both, &other), Err(AffinityMismatch::Names));
    }

    #[test]
    fn provider_region_and_zone_follow_their_operators() {
        let differ = Err(AffinityMismatch::Fields);
        for (key, operator, values, expected) in [
            ("provider", "In", &["aws", "gcp"][..], Ok(())),
            ("provider", "NotIn", &["aws"][..], differ.clone()),
            ("region", "In", &["us"][..], differ.clone()),
            ("zone", "In", &["eu-1", "eu-2", "eu-3"][..], Ok(())),
            ("zone", "In", &["eu-1"][..], differ.clone()),
            ("zone", "NotIn", &["us-1"][..], Ok(())),
            ("zone", "NotIn", &["eu-2"][..], differ.clone()),
        ] {
            assert_eq!(
                check_affinity(&fields(key, operator, values), &cluster()),
                expected,
                "{key} {operator} {values:?}"
            );
        }
    }

    #[test]
    fn what_the_schema_would_refuse_is_called_malformed_here() {
        for affinity in [fields("planet", "In", &[]), fields("zone", "Gt", &[])] {
            assert!(matches!(
                check_affinity(&affinity, &cluster()),
                Err(AffinityMismatch::Malformed(_))
            ));
        }
    }
}
