//! Namespaces with a meaning.

/// Where the operators run, and their leases live.
pub const KARMADA_SYSTEM: &str = "karmada-system";
/// Where the Secrets with the members' credentials live.
pub const KARMADA_CLUSTER: &str = "karmada-cluster";
/// The namespace of objects that name none.
pub const DEFAULT: &str = "default";

/// What the name of every execution namespace begins with.
pub const EXECUTION_PREFIX: &str = "karmada-es-";

/// The namespace that holds the Works of this cluster.
pub fn execution(cluster: &str) -> String {
    format!("{EXECUTION_PREFIX}{cluster}")
}

/// The cluster whose Works this namespace holds; `None` when it is no execution namespace.
pub fn cluster_of_execution(namespace: &str) -> Option<&str> {
    namespace
        .strip_prefix(EXECUTION_PREFIX)
        .filter(|cluster| !cluster.is_empty())
}

/// Whether the namespace belongs to the control plane itself, so that nothing in it is ever propagated.
pub fn is_reserved(namespace: &str) -> bool {
    namespace == KARMADA_SYSTEM
        || namespace == KARMADA_CLUSTER
        || namespace.starts_with(EXECUTION_PREFIX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn execution_namespace_and_cluster_are_inverse() {
        assert_eq!(execution("member1"), "karmada-es-member1");
        assert_eq!(cluster_of_execution("karmada-es-member1"), Some("member1"));
        assert_eq!(cluster_of_execution("karmada-es-"), None);
        assert_eq!(cluster_of_execution("default"), None);
    }

    #[test]
    fn only_the_control_planes_own_namespaces_are_reserved() {
        for reserved in ["karmada-system", "karmada-cluster", "karmada-es-member1"] {
            assert!(is_reserved(reserved), "{reserved}");
        }
        for free in ["default", "kube-system", "karmada", "karmada-systems"] {
            assert!(!is_reserved(free), "{free}");
        }
    }
}
