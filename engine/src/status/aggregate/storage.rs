//! Volumes and claims: the phase of the copy that is worst off.

use serde_json::{Value, json};

use super::Copy;
use crate::interpret::text;

fn worst(copies: &[Copy<'_>], worst_first: &[&str]) -> Option<Value> {
    let phase = worst_first.iter().find(|phase| {
        copies
            .iter()
            .any(|copy| text(copy.status, "/phase") == **phase)
    })?;
    Some(json!({ "phase": phase }))
}

pub(super) fn volume(copies: &[Copy<'_>]) -> Option<Value> {
    worst(
        copies,
        &["Failed", "Pending", "Available", "Bound", "Released"],
    )
}

pub(super) fn claim(copies: &[Copy<'_>]) -> Option<Value> {
    let mut status = worst(copies, &["Lost", "Pending", "Bound"])?;
    // What was provisioned is the same everywhere or cannot be told in one status.
    for field in ["accessModes", "capacity"] {
        let mut values = copies.iter().filter_map(|copy| copy.status.get(field));
        if let Some(first) = values.next()
            && values.all(|value| value == first)
        {
            status[field] = first.clone();
        }
    }
    Some(status)
}
