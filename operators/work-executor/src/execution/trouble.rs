//! Why an object is not in the member as its Work says.

use engine::dispatch::Ownership;
use engine::interpret::custom::Problem;
use kit::members::MemberError;
use kit::{Failure, RequestError};

use crate::key::ObjectKey;

/// What is in the way.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// There is no way to the member.
    Member(MemberError),
    /// The member does not serve the kind.
    NotServed,
    /// The object is somebody else's.
    NotOurs(Ownership),
    /// The namespace is not there yet, or is on its way out.
    NoNamespace(RequestError),
    /// The former object is on its way out.
    Leaving,
    /// The object changed while it was looked at.
    Moved,
    /// A manifest names no kind or no object.
    Nameless,
    /// A customization of the kind fails.
    Customization(Problem),
    /// The member refused, failed, or did not answer.
    Request(RequestError),
}

impl Trouble {
    pub(crate) fn of(error: RequestError) -> Self {
        let message = error.message();
        match error.failure() {
            Failure::NotFound if message.starts_with("namespaces ") => Self::NoNamespace(error),
            Failure::NotFound => Self::NotServed,
            Failure::Forbidden if message.contains("being terminated") => Self::NoNamespace(error),
            _ => Self::Request(error),
        }
    }

    /// Whether it usually passes by itself in a moment, so that nobody need be told at once.
    pub(crate) fn passes(&self) -> bool {
        matches!(self, Self::NoNamespace(_) | Self::Leaving | Self::Moved)
    }

    /// Whether nothing was heard of the member, so that what was true of it before may well be true still.
    pub(crate) fn is_silence(&self) -> bool {
        match self {
            Self::Member(_) => true,
            Self::Request(error) => error.failure().is_silence(),
            Self::NotServed
            | Self::NotOurs(_)
            | Self::NoNamespace(_)
            | Self::Leaving
            | Self::Moved
            | Self::Customization(_)
            | Self::Nameless => false,
        }
    }

    /// For a condition: which object, in which cluster, what is wrong, in the member's own words where it had any.
    pub(crate) fn message(&self, cluster: &str, object: Option<&ObjectKey>) -> String {
        let what = object.map_or_else(|| "a manifest".to_owned(), ToString::to_string);
        match self {
            Self::Member(error) => format!("{what}: {error}"),
            Self::NotServed => match object {
                Some(object) => format!(
                    "{what}: cluster {cluster} does not serve {} {}",
                    object.gvk.api_version(),
                    object.gvk.kind
                ),
                None => format!("{what}: cluster {cluster} does not serve its kind"),
            },
            Self::NotOurs(Ownership::OtherWork { namespace, name }) => {
                format!("{what} in cluster {cluster} belongs to Work {namespace}/{name}")
            }
            Self::NotOurs(Ownership::Foreign | Ownership::Ours) => format!(
                "{what} exists in cluster {cluster} and was not made by Karmada; \
                 set conflictResolution to Overwrite in the policy to take it over"
            ),
            Self::Leaving => format!("{what} in cluster {cluster} is still being deleted"),
            Self::Moved => format!("{what} in cluster {cluster} changed meanwhile"),
            Self::Customization(problem) => format!("{what} for cluster {cluster}: {problem}"),
            Self::Nameless => format!("{what} for cluster {cluster} has no kind or no name"),
            Self::NoNamespace(error) | Self::Request(error) => {
                let code = error.code().map_or_else(
                    || error.failure().to_string(),
                    |code| format!("HTTP {code}"),
                );
                format!(
                    "{what}: cluster {cluster} answered {code} to {}: {}",
                    error.verb,
                    error.message()
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::gvk;
    use kube::core::Status;

    fn answer(code: u16, reason: &str, message: &str) -> RequestError {
        let status = Status::failure(message, reason).with_code(code);
        RequestError::new(
            "create",
            "deployments a/web",
            kube::Error::Api(Box::new(status)),
        )
    }

    fn web() -> ObjectKey {
        ObjectKey {
            gvk: gvk("apps/v1", "Deployment"),
            namespace: "a".into(),
            name: "web".into(),
        }
    }

    #[test]
    fn refusal_carries_object_cluster_code_and_the_members_words() {
        let trouble = Trouble::of(answer(
            422,
            "Invalid",
            "spec.replicas: must not be negative",
        ));
        assert_eq!(
            trouble.message("m1", Some(&web())),
            "Deployment a/web: cluster m1 answered HTTP 422 to create: spec.replicas: must not be negative"
        );
        assert!(!trouble.passes());
    }

    #[test]
    fn missing_namespace_passes_and_a_missing_kind_does_not() {
        let namespace = Trouble::of(answer(404, "NotFound", "namespaces \"a\" not found"));
        assert!(matches!(namespace, Trouble::NoNamespace(_)) && namespace.passes());
        let kind = Trouble::of(answer(
            404,
            "NotFound",
            "the server could not find the requested resource",
        ));
        assert!(matches!(kind, Trouble::NotServed) && !kind.passes());
        assert_eq!(
            kind.message("m1", Some(&web())),
            "Deployment a/web: cluster m1 does not serve apps/v1 Deployment"
        );
    }
}
