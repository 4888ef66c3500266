//! What the account of the control plane may do in a member.
//!
//! Enough for two things, and no more: cluster-health looks at nodes, pods and the served kinds; work-executor applies the
//! kinds that are usually propagated. It may not read what it does not propagate, run commands in pods, act as somebody
//! else, or give itself more: Kubernetes refuses roles that grant more than their author has.
//!
//! A kind that is missing is added in the member by a `ClusterRole` with the label [`EXTENSION`]; Kubernetes adds its rules
//! to a role that the account has as well.

use k8s_openapi::api::rbac::v1::PolicyRule;

/// The label of `ClusterRoles` in a member whose rules the account gets too. Value `true`.
pub(crate) const EXTENSION: &str = "rbac.karmada.io/aggregate-to-member";

const READ: [&str; 3] = ["get", "list", "watch"];
const WRITE: [&str; 7] = [
    "get", "list", "watch", "create", "update", "patch", "delete",
];

/// The kinds that are usually propagated, by API group.
const PROPAGATED: [(&str, &[&str]); 10] = [
    (
        "",
        &[
            "configmaps",
            "limitranges",
            "namespaces",
            "persistentvolumeclaims",
            "pods",
            "podtemplates",
            "replicationcontrollers",
            "resourcequotas",
            "secrets",
            "serviceaccounts",
            "services",
        ],
    ),
    (
        "apps",
        &["daemonsets", "deployments", "replicasets", "statefulsets"],
    ),
    ("autoscaling", &["horizontalpodautoscalers"]),
    ("batch", &["cronjobs", "jobs"]),
    (
        "networking.k8s.io",
        &["ingressclasses", "ingresses", "networkpolicies"],
    ),
    ("node.k8s.io", &["runtimeclasses"]),
    ("policy", &["poddisruptionbudgets"]),
    (
        "rbac.authorization.k8s.io",
        &[
            "clusterrolebindings",
            "clusterroles",
            "rolebindings",
            "roles",
        ],
    ),
    ("scheduling.k8s.io", &["priorityclasses"]),
    ("storage.k8s.io", &["storageclasses"]),
];

/// The rules of the account.
pub(crate) fn rules(everything: bool) -> Vec<PolicyRule> {
    if everything {
        return vec![
            rule("*", &["*"], &["*"]),
            PolicyRule {
                non_resource_urls: Some(vec!["*".to_owned()]),
                verbs: vec!["get".to_owned()],
                ..PolicyRule::default()
            },
        ];
    }
    let mut rules = vec![
        PolicyRule {
            non_resource_urls: Some(
                [
                    "/healthz", "/livez", "/readyz", "/version", "/api", "/api/*", "/apis",
                    "/apis/*",
                ]
                .map(str::to_owned)
                .into(),
            ),
            verbs: vec!["get".to_owned()],
            ..PolicyRule::default()
        },
        rule("", &["nodes"], &READ),
        rule(
            "apiextensions.k8s.io",
            &["customresourcedefinitions"],
            &WRITE,
        ),
    ];
    rules.extend(
        PROPAGATED
            .iter()
            .map(|(group, resources)| rule(group, resources, &WRITE)),
    );
    rules
}

fn rule(group: &str, resources: &[&str], verbs: &[&str]) -> PolicyRule {
    let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
    PolicyRule {
        api_groups: Some(vec![group.to_owned()]),
        resources: Some(words(resources)),
        verbs: words(verbs),
        ..PolicyRule::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_being_asked_nothing_is_granted_wholesale() {
        for rule in rules(false) {
            let groups = rule.api_groups.unwrap_or_default();
            let resources = rule.resources.unwrap_or_default();
            assert!(!groups.contains(&"*".to_owned()));
            assert!(!resources.contains(&"*".to_owned()));
            for verb in ["*", "escalate", "bind", "impersonate"] {
                assert!(!rule.verbs.contains(&verb.to_owned()), "{verb}");
            }
            assert!(
                !resources.iter().any(|one| one.contains('/')),
                "{resources:?}"
            );
        }
    }
}
