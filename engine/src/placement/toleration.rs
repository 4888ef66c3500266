//! Taints and tolerations, with the meaning they have for pods and nodes.

use crds::{Taint, Toleration, taints};

/// Whether a toleration tolerates a taint.
pub fn tolerates(toleration: &Toleration, taint: &Taint) -> bool {
    let said = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    if said(&toleration.effect).is_some_and(|effect| effect != taint.effect) {
        return false;
    }
    let operator = said(&toleration.operator);
    let exists = operator.as_deref() == Some("Exists");
    match said(&toleration.key) {
        Some(key) if key != taint.key => return false,
        None if !exists => return false,
        _ => {}
    }
    match operator.as_deref() {
        Some("Exists") => true,
        None | Some("Equal") => said(&toleration.value) == said(&taint.value),
        Some(_) => false,
    }
}

/// The first of the taints that keeps new copies away and that nothing tolerates.
pub fn first_untolerated(
    tolerations: &[Toleration],
    taints: impl IntoIterator<Item = Taint>,
) -> Option<Taint> {
    taints.into_iter().find(|taint| {
        (taint.effect == taints::NO_SCHEDULE || taint.effect == taints::NO_EXECUTE)
            && !tolerations
                .iter()
                .any(|toleration| tolerates(toleration, taint))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn toleration(key: &str, operator: &str, value: &str, effect: &str) -> Toleration {
        let text = |s: &str| Some(s.to_owned()).filter(|s| !s.is_empty());
        Toleration {
            key: text(key),
            operator: text(operator),
            value: text(value),
            effect: text(effect),
            toleration_seconds: None,
        }
    }

    fn gpu() -> Taint {
        Taint {
            key: "gpu".into(),
            value: Some("a100".into()),
            effect: taints::NO_SCHEDULE.into(),
            time_added: None,
        }
    }

    #[test]
    fn tolerations_match_as_they_do_for_pods() {
        for (key, operator, value, effect, expected) in [
            ("gpu", "Equal", "a100", "NoSchedule", true),
            ("gpu", "", "a100", "", true),
            ("gpu", "Exists", "", "", true),
            ("", "Exists", "", "", true),
            ("gpu", "Equal", "h100", "", false),
            ("gpu", "Exists", "", "NoExecute", false),
            ("disk", "Exists", "", "", false),
            ("", "Equal", "a100", "", false),
            ("gpu", "Gt", "1", "", false),
        ] {
            assert_eq!(
                tolerates(&toleration(key, operator, value, effect), &gpu()),
                expected,
                "{key} {operator} {value} {effect}"
            );
        }
    }

    #[test]
    fn a_preference_keeps_nobody_away() {
        let mut soft = gpu();
        soft.effect = taints::PREFER_NO_SCHEDULE.into();
        assert_eq!(first_untolerated(&[], [soft]), None);
        assert_eq!(first_untolerated(&[], [gpu()]), Some(gpu()));
        assert_eq!(
            first_untolerated(&[toleration("gpu", "Exists", "", "")], [gpu()]),
            None
        );
    }
}
