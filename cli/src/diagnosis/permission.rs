//! What we may do, asked of the server.

use std::fmt;

use futures::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::authorization::v1::{
    NonResourceAttributes, ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec,
};
use kube::Client;
use kube::api::{Api, PostParams};

use crate::trouble::Trouble;

/// How many questions are asked at once.
const AT_ONCE: usize = 8;

/// One verb on one resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Permission {
    verb: &'static str,
    group: &'static str,
    resource: &'static str,
    namespace: Option<String>,
}

impl Permission {
    /// A verb on a resource everywhere.
    pub(crate) fn on(verb: &'static str, group: &'static str, resource: &'static str) -> Self {
        Self {
            verb,
            group,
            resource,
            namespace: None,
        }
    }

    /// Only within a namespace.
    #[must_use]
    pub(crate) fn within(mut self, namespace: &str) -> Self {
        self.namespace = Some(namespace.to_owned());
        self
    }

    fn question(&self) -> SelfSubjectAccessReview {
        let mut spec = SelfSubjectAccessReviewSpec::default();
        if self.resource.starts_with('/') {
            spec.non_resource_attributes = Some(NonResourceAttributes {
                path: Some(self.resource.to_owned()),
                verb: Some(self.verb.to_owned()),
            });
        } else {
            spec.resource_attributes = Some(ResourceAttributes {
                verb: Some(self.verb.to_owned()),
                group: Some(self.group.to_owned()),
                resource: Some(self.resource.to_owned()),
                namespace: self.namespace.clone(),
                ..ResourceAttributes::default()
            });
        }
        SelfSubjectAccessReview {
            spec,
            ..SelfSubjectAccessReview::default()
        }
    }
}

impl fmt::Display for Permission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.verb, self.resource)?;
        if !self.group.is_empty() {
            write!(f, ".{}", self.group)?;
        }
        match &self.namespace {
            Some(namespace) => write!(f, " in namespace {namespace}"),
            None => Ok(()),
        }
    }
}

/// Asks the server about each permission; the answers are in the same order.
pub(crate) async fn may(client: &Client, needs: &[Permission]) -> Result<Vec<bool>, Trouble> {
    let api: Api<SelfSubjectAccessReview> = Api::all(client.clone());
    futures::stream::iter(needs)
        .map(async |need| {
            let answer = api.create(&PostParams::default(), &need.question()).await;
            answer
                .map(|review| review.status.is_some_and(|status| status.allowed))
                .map_err(|error| Trouble::of(&error))
        })
        .buffered(AT_ONCE)
        .try_collect()
        .await
}
