//! Pods: what is told of several copies is what is told of the one that is worst off.

use serde_json::{Map, Value, json};

use super::Copy;
use crate::interpret::{items, text};

const WORST_FIRST: [&str; 5] = ["Failed", "Unknown", "Pending", "Running", "Succeeded"];

pub(super) fn pod(copies: &[Copy<'_>]) -> Option<Value> {
    let worst = copies.iter().min_by_key(|copy| rank(copy))?;
    let phase = WORST_FIRST.get(rank(worst))?;
    let mut status = Map::new();
    status.insert("phase".to_owned(), json!(phase));
    for field in ["reason", "message"] {
        // Of a copy that is better now, nothing remains.
        status.insert(
            field.to_owned(),
            json!(text(worst.status, &format!("/{field}"))),
        );
    }
    let is_true = |condition: &Value| text(condition, "/status") == "True";
    status.insert(
        "conditions".to_owned(),
        by_name(copies, "/conditions", "/type", is_true),
    );
    let is_ready = |container: &Value| container.get("ready") == Some(&Value::Bool(true));
    for list in ["containerStatuses", "initContainerStatuses"] {
        status.insert(
            list.to_owned(),
            by_name(copies, &format!("/{list}"), "/name", is_ready),
        );
    }
    Some(Value::Object(status))
}

fn rank(copy: &Copy<'_>) -> usize {
    let phase = if copy.fresh {
        text(copy.status, "/phase")
    } else {
        "Unknown"
    };
    WORST_FIRST
        .iter()
        .position(|other| *other == phase)
        .unwrap_or(WORST_FIRST.len())
}

/// The entries of all copies, one for each name: the first that is not well, else the first.
fn by_name(copies: &[Copy<'_>], list: &str, name: &str, is_well: impl Fn(&Value) -> bool) -> Value {
    let mut chosen: Vec<Value> = Vec::new();
    for entry in copies.iter().flat_map(|copy| items(copy.status, list)) {
        let same = chosen
            .iter_mut()
            .find(|other| text(other, name) == text(entry, name));
        match same {
            None => chosen.push(entry.clone()),
            Some(other) if is_well(other) && !is_well(entry) => *other = entry.clone(),
            Some(_) => {}
        }
    }
    Value::Array(chosen)
}
