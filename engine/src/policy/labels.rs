//! Label selectors, evaluated in place.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

/// Whether a selector matches labels; an empty selector matches everything.
///
/// # Errors
/// An operator that does not exist, in words. What is malformed matches nothing.
pub fn matches(
    selector: &LabelSelector,
    labels: &BTreeMap<String, String>,
) -> Result<bool, String> {
    for (key, value) in selector.match_labels.iter().flatten() {
        if labels.get(key) != Some(value) {
            return Ok(false);
        }
    }
    let mut all = true;
    for requirement in selector.match_expressions.iter().flatten() {
        let values = requirement.values.as_deref().unwrap_or_default();
        let present = labels.get(&requirement.key);
        all &= match requirement.operator.as_str() {
            "In" => present.is_some_and(|value| values.contains(value)),
            "NotIn" => present.is_none_or(|value| !values.contains(value)),
            "Exists" => present.is_some(),
            "DoesNotExist" => present.is_none(),
            other => return Err(format!("unknown operator {other:?}")),
        };
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelectorRequirement;

    use super::*;

    fn labels(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs
            .iter()
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
            .collect()
    }

    fn expression(key: &str, operator: &str, values: &[&str]) -> LabelSelector {
        LabelSelector {
            match_expressions: Some(vec![LabelSelectorRequirement {
                key: key.into(),
                operator: operator.into(),
                values: Some(values.iter().map(|v| (*v).to_owned()).collect()),
            }]),
            match_labels: None,
        }
    }

    #[test]
    fn operators_follow_the_kubernetes_rules() {
        let blue = labels(&[("tier", "blue")]);
        let none = labels(&[]);
        for (operator, values, on_blue, on_none) in [
            ("In", &["blue", "green"][..], true, false),
            ("In", &["green"][..], false, false),
            ("NotIn", &["green"][..], true, true),
            ("NotIn", &["blue"][..], false, true),
            ("Exists", &[][..], true, false),
            ("DoesNotExist", &[][..], false, true),
        ] {
            let selector = expression("tier", operator, values);
            assert_eq!(
                matches(&selector, &blue),
                Ok(on_blue),
                "{operator} {values:?}"
            );
            assert_eq!(
                matches(&selector, &none),
                Ok(on_none),
                "{operator} {values:?}"
            );
        }
    }

    #[test]
    fn an_empty_selector_matches_everything() {
        assert_eq!(matches(&LabelSelector::default(), &labels(&[])), Ok(true));
    }

    #[test]
    fn an_unknown_operator_is_said_not_guessed() {
        assert!(matches(&expression("a", "Near", &[]), &labels(&[])).is_err());
    }
}
