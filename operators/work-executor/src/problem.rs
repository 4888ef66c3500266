//! Why a Work could not be made.

/// What keeps one cluster from getting its copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    /// The cluster.
    pub(crate) cluster: String,
    /// In words: which policy, rule and path.
    pub(crate) message: String,
    /// Whether an override policy is to blame.
    pub(crate) overriding: bool,
}
