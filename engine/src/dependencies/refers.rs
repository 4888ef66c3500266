//! Whether a reference means an object.

use crate::interpret::Dependency;
use crate::policy::labels;
use crate::policy::selector::Identity;

/// Whether a reference means an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reference {
    /// It does.
    Yes,
    /// It does not.
    No,
    /// Its label selector is malformed: nobody can tell.
    Unclear,
}

/// Whether a reference means an object. A name makes the label selector irrelevant; a reference with neither means nothing.
pub fn refers(dependency: &Dependency, object: Identity<'_>) -> Reference {
    let namespace = dependency.namespace.as_deref().unwrap_or_default();
    if dependency.api_version != object.api_version
        || dependency.kind != object.kind
        || namespace != object.namespace
    {
        return Reference::No;
    }
    let name = dependency.name.as_deref().filter(|name| !name.is_empty());
    let meant = match (name, &dependency.label_selector) {
        (Some(name), _) => name == object.name,
        (None, Some(selector)) => match labels::matches(selector, object.labels) {
            Ok(matches) => matches,
            Err(_) => return Reference::Unclear,
        },
        (None, None) => false,
    };
    if meant { Reference::Yes } else { Reference::No }
}
