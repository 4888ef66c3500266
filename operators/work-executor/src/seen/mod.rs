//! What is kept of the objects that are watched: enough to decide, and no more.

mod binding;
mod cluster;
mod policy;
mod template;
mod work;

pub(crate) use binding::BindingSeen;
pub(crate) use cluster::ClusterSeen;
pub(crate) use policy::OverrideSeen;
pub(crate) use template::{TemplateSeen, reference};
pub(crate) use work::WorkSeen;

use kube::core::ObjectMeta;

/// How new a sight of an object is. API servers count resource versions upwards; what is no number counts as new.
pub(crate) fn version(meta: &ObjectMeta) -> u64 {
    meta.resource_version
        .as_deref()
        .and_then(|version| version.parse().ok())
        .unwrap_or(u64::MAX)
}
