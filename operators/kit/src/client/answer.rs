//! The body of an answer: cut off when it stops in the middle, unless it is a watch, which may be silent for long.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use tokio::time::{Instant, Sleep};
use tower::BoxError;

use super::lanes::Slot;

/// No answer in time, or it stopped in the middle.
#[derive(Debug)]
pub struct TimedOut(pub(super) Duration);

impl fmt::Display for TimedOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no answer within {:?}", self.0)
    }
}

impl std::error::Error for TimedOut {}

/// Body of an answer.
pub(super) struct Answer {
    body: Incoming,
    end: End,
}

enum End {
    /// Each piece has to come within that time.
    Pieces {
        limit: Duration,
        deadline: Pin<Box<Sleep>>,
    },
    /// Open for as long as it likes; the place on the connection is free again afterwards.
    Watch { _slot: Arc<Slot> },
}

impl Answer {
    pub(super) fn of_request(body: Incoming, limit: Duration) -> Self {
        Self {
            body,
            end: End::Pieces {
                limit,
                deadline: Box::pin(tokio::time::sleep(limit)),
            },
        }
    }

    pub(super) fn of_watch(body: Incoming, slot: Arc<Slot>) -> Self {
        Self {
            body,
            end: End::Watch { _slot: slot },
        }
    }
}

impl Body for Answer {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let piece = Pin::new(&mut self.body).poll_frame(context);
        if let End::Pieces { limit, deadline } = &mut self.end {
            if piece.is_ready() {
                deadline.as_mut().reset(Instant::now() + *limit);
            } else if deadline.as_mut().poll(context).is_ready() {
                return Poll::Ready(Some(Err(TimedOut(*limit).into())));
            }
        }
        piece.map_err(Into::into)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
