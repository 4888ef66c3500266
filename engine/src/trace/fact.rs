//! What a decision wants users to see: condition and event facts, without clock readings.

use serde::{Deserialize, Serialize};

/// The status of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ConditionStatus {
    /// `True`.
    True,
    /// `False`.
    False,
    /// `Unknown`.
    Unknown,
}

impl ConditionStatus {
    /// The word as it stands in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }
}

/// A condition without its transition time, which the writer sets when the status changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConditionFact {
    /// Condition type, for example `Scheduled`.
    pub r#type: String,
    /// Status.
    pub status: ConditionStatus,
    /// CamelCase reason.
    pub reason: String,
    /// Words for people; bounded.
    pub message: String,
    /// Generation of the object this speaks of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}

/// An event that is due when the decision differs from the one before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EventFact {
    /// Whether it is a warning.
    pub warning: bool,
    /// CamelCase reason.
    pub reason: String,
    /// Words for people; at most 1 KiB, or the API server would refuse the event.
    pub note: String,
}

/// The text, cut at a character boundary to at most `max` bytes, with an ellipsis where it was cut.
pub fn bounded(text: &str, max: usize) -> String {
    const ELLIPSIS: &str = "…";
    if text.len() <= max {
        return text.to_owned();
    }
    let mut end = max.saturating_sub(ELLIPSIS.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}{ELLIPSIS}", &text[..end])
}
