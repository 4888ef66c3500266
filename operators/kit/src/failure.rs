//! What can go wrong with a request, in the terms a controller acts on.

use std::fmt;
use std::time::Duration;

use crate::client::TimedOut;

/// The kind of failure; a closed set, so it may be a metric label, an event reason and a decision's input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Failure {
    /// The object, its kind or its namespace does not exist.
    NotFound,
    /// An object of that name exists already.
    AlreadyExists,
    /// Somebody changed the object meanwhile, or a precondition does not hold.
    Conflict,
    /// The server refuses the object as it is: only a change of it helps.
    Invalid,
    /// The caller may not do this.
    Forbidden,
    /// The server does not know the caller.
    Unauthorized,
    /// The server asks to come back later.
    Throttled,
    /// The server failed.
    Server,
    /// No answer in time.
    Timeout,
    /// No connection, or it broke.
    Unreachable,
    /// Somebody answers, but not as the server that was expected: its certificate is not trusted, or it does not speak TLS.
    Tls,
    /// The answer was not understood.
    Unreadable,
}

impl Failure {
    /// CamelCase name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotFound => "NotFound",
            Self::AlreadyExists => "AlreadyExists",
            Self::Conflict => "Conflict",
            Self::Invalid => "Invalid",
            Self::Forbidden => "Forbidden",
            Self::Unauthorized => "Unauthorized",
            Self::Throttled => "Throttled",
            Self::Server => "ServerError",
            Self::Timeout => "Timeout",
            Self::Unreachable => "Unreachable",
            Self::Tls => "TlsFailed",
            Self::Unreadable => "Unreadable",
        }
    }

    /// Whether the same request may well succeed a little later, without anybody changing anything.
    pub fn is_transient(self) -> bool {
        matches!(
            self,
            Self::Conflict | Self::Throttled | Self::Server | Self::Timeout | Self::Unreachable
        )
    }

    /// Whether the server was not reached, so that nothing is known about the outcome.
    pub fn is_silence(self) -> bool {
        matches!(self, Self::Timeout | Self::Unreachable)
    }

    /// Classifies a client error.
    pub fn of(error: &kube::Error) -> Self {
        match error {
            kube::Error::Api(status) => match (status.code, status.reason.as_str()) {
                (404, _) => Self::NotFound,
                (409, "AlreadyExists") => Self::AlreadyExists,
                (409 | 410, _) => Self::Conflict,
                (401, _) => Self::Unauthorized,
                (403, _) => Self::Forbidden,
                (429, _) => Self::Throttled,
                (408 | 504, _) => Self::Timeout,
                (400..=499, _) => Self::Invalid,
                _ => Self::Server,
            },
            kube::Error::SerdeError(_) | kube::Error::FromUtf8(_) => Self::Unreadable,
            kube::Error::Auth(_) => Self::Unauthorized,
            other if has_cause::<TimedOut>(other) => Self::Timeout,
            other if has_cause::<rustls::Error>(other) => Self::Tls,
            _ => Self::Unreachable,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A request that failed: what was tried, on what, and why it did not work.
#[derive(Debug, thiserror::Error)]
#[error("failed to {verb} {object}")]
pub struct RequestError {
    /// What was tried, for example `create`.
    pub verb: &'static str,
    /// On what, as `resource namespace/name`.
    pub object: String,
    /// What went wrong.
    #[source]
    pub source: Box<kube::Error>,
}

impl RequestError {
    /// A failed request.
    pub fn new(verb: &'static str, object: impl Into<String>, source: kube::Error) -> Self {
        Self {
            verb,
            object: object.into(),
            source: Box::new(source),
        }
    }

    /// The kind of failure.
    pub fn failure(&self) -> Failure {
        Failure::of(&self.source)
    }

    /// The HTTP code, if there was an answer.
    pub fn code(&self) -> Option<u16> {
        match &*self.source {
            kube::Error::Api(status) => Some(status.code),
            _ => None,
        }
    }

    /// The server's own words, or what kept it from speaking. The same failure gives the same text, so that it may stand in a
    /// condition.
    pub fn message(&self) -> String {
        match &*self.source {
            kube::Error::Api(status) => status.message.clone(),
            other => root_cause(other),
        }
    }

    /// How long the server asks to wait.
    pub fn retry_after(&self) -> Option<Duration> {
        match &*self.source {
            kube::Error::Api(status) => status
                .details
                .as_ref()
                .map(|details| details.retry_after_seconds)
                .filter(|seconds| *seconds > 0)
                .map(|seconds| Duration::from_secs(seconds.into())),
            _ => None,
        }
    }
}

fn chain<'a>(
    error: &'a (dyn std::error::Error + 'static),
) -> impl Iterator<Item = &'a (dyn std::error::Error + 'static)> {
    std::iter::successors(Some(error), |error| {
        // What an IO error wraps is not among its sources: those are the sources of what it wraps.
        let wrapped = error
            .downcast_ref::<std::io::Error>()
            .and_then(std::io::Error::get_ref);
        match wrapped {
            Some(wrapped) => Some(wrapped as &(dyn std::error::Error + 'static)),
            None => error.source(),
        }
    })
}

fn has_cause<E: std::error::Error + 'static>(error: &(dyn std::error::Error + 'static)) -> bool {
    chain(error).any(<dyn std::error::Error + 'static>::is::<E>)
}

/// The innermost cause, which says most.
pub fn root_cause(error: &(dyn std::error::Error + 'static)) -> String {
    chain(error)
        .last()
        .map_or_else(|| error.to_string(), ToString::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;
    use kube::core::Status;

    fn answer(code: u16, reason: &str) -> kube::Error {
        kube::Error::Api(Box::new(Status::failure("words", reason).with_code(code)))
    }

    #[test]
    fn answers_are_told_apart_by_code_and_reason() {
        for (code, reason, expected) in [
            (404, "NotFound", Failure::NotFound),
            (409, "AlreadyExists", Failure::AlreadyExists),
            (409, "Conflict", Failure::Conflict),
            (401, "Unauthorized", Failure::Unauthorized),
            (403, "Forbidden", Failure::Forbidden),
            (422, "Invalid", Failure::Invalid),
            (400, "BadRequest", Failure::Invalid),
            (429, "TooManyRequests", Failure::Throttled),
            (500, "InternalError", Failure::Server),
            (503, "ServiceUnavailable", Failure::Server),
            (504, "Timeout", Failure::Timeout),
        ] {
            assert_eq!(
                Failure::of(&answer(code, reason)),
                expected,
                "{code} {reason}"
            );
        }
    }

    #[test]
    fn the_message_is_the_servers_own() {
        let error = RequestError::new("create", "works a/b", answer(403, "Forbidden"));
        assert_eq!(error.message(), "words");
        assert_eq!(error.to_string(), "failed to create works a/b");
        assert_eq!(error.code(), Some(403));
    }
}
