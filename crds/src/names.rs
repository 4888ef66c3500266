//! How objects are called. Every name is a pure function of what it is for, so that any writer finds the same one.

/// The name of the binding of a template: its name and kind, in lower case.
pub fn binding(name: &str, kind: &str) -> String {
    plain(&format!("{name}-{kind}"))
}

/// The name of the Work of a template: its name, then a hash of namespace, name and kind.
pub fn work(kind: &str, name: &str, namespace: Option<&str>) -> String {
    let name = plain(name);
    let whole = match namespace.filter(|ns| !ns.is_empty()) {
        Some(namespace) => format!("{namespace}-{name}-{kind}"),
        None => format!("{name}-{kind}"),
    };
    format!("{name}-{}", hash(&whole.to_lowercase()))
}

/// The label on an attached binding that leads back to a binding which depends on it.
pub fn depended_by_label(namespace: Option<&str>, binding: &str) -> String {
    let key = match namespace.filter(|ns| !ns.is_empty()) {
        Some(namespace) => format!("{namespace}/{binding}"),
        None => binding.to_owned(),
    };
    format!("{}{}", crate::labels::DEPENDED_BY_PREFIX, hash(&key))
}

/// The Secret in `karmada-cluster` with the token that may impersonate users in this cluster.
pub fn impersonator_secret(cluster: &str) -> String {
    format!("{cluster}-impersonator")
}

/// The Lease in the operators' namespace that is renewed as long as somebody observes the member clusters: what Cluster
/// objects say is only as good as that.
pub const OBSERVATION_LEASE: &str = "cluster-health-observation";

/// A short hash that is safe in names: FNV-1a of the text, printed in decimal, its digits replaced so that no word can
/// come out.
pub fn hash(text: &str) -> String {
    const DIGITS: [char; 10] = ['4', '5', '6', '7', '8', '9', 'b', 'c', 'd', 'f'];
    let sum = text.bytes().fold(0x811c_9dc5_u32, |sum, byte| {
        (sum ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    sum.to_string()
        .bytes()
        .map(|digit| DIGITS[usize::from(digit - b'0')])
        .collect()
}

/// Lower case, and without the colons that names of RBAC objects may have.
fn plain(name: &str) -> String {
    name.to_lowercase().replace(':', ".")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hash_gives_the_contracts_vectors() {
        assert_eq!(hash("default-nginx-deployment"), "687f7fb96f");
        assert_eq!(hash("ns-foorand"), "b4978784");
    }

    #[test]
    fn works_are_named_as_stored_ones() {
        assert_eq!(
            work("Deployment", "nginx", Some("default")),
            "nginx-687f7fb96f"
        );
        assert_eq!(
            work("Deployment", "Nginx", Some("default")),
            "nginx-687f7fb96f"
        );
    }

    #[test]
    fn work_of_a_cluster_scoped_object_hashes_no_namespace() {
        let name = work("ClusterRole", "system:node", None);
        assert_eq!(
            name,
            format!("system.node-{}", hash("system.node-clusterrole"))
        );
        assert_eq!(name, work("ClusterRole", "system:node", Some("")));
    }

    #[test]
    fn bindings_are_named_after_the_template() {
        assert_eq!(binding("nginx", "Deployment"), "nginx-deployment");
        assert_eq!(
            binding("system:Node", "ClusterRole"),
            "system.node-clusterrole"
        );
    }

    #[test]
    fn depended_by_label_covers_the_namespace() {
        assert_eq!(
            depended_by_label(Some("default"), "nginx-deployment"),
            format!(
                "resourcebinding.karmada.io/depended-by-{}",
                hash("default/nginx-deployment")
            )
        );
        assert_ne!(
            depended_by_label(Some("a"), "x"),
            depended_by_label(None, "x")
        );
    }
}
