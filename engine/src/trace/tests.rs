use super::reason::{AffinityMismatch, PlacementReason, PolicyReason};
use super::*;

fn taint() -> PlacementReason {
    PlacementReason::UntoleratedTaint {
        key: "gpu".into(),
        value: "true".into(),
        effect: "NoSchedule".into(),
    }
}

#[test]
fn a_message_names_every_cluster_once_with_its_first_reason() {
    let mut trace = Trace::new();
    trace.unfit_cluster(&"m3".into(), taint());
    trace.unfit_cluster(&"m1".into(), taint());
    trace.unfit_cluster(
        &"m2".into(),
        PlacementReason::AffinityMismatch {
            because: AffinityMismatch::Names,
        },
    );
    trace.unfit_cluster(&"m2".into(), taint());
    assert_eq!(
        trace.message("0/3 clusters are available"),
        "0/3 clusters are available: m1, m3 had untolerated taint {gpu: true} (NoSchedule); \
         m2 did not match the placement cluster affinity constraint: not among its cluster names."
    );
}

#[test]
fn a_message_is_the_same_whatever_the_order_of_the_steps() {
    let mut forward = Trace::new();
    let mut backward = Trace::new();
    let names: Vec<Name> = ["a", "b", "c"].map(Name::from).to_vec();
    for name in &names {
        forward.unfit_cluster(name, taint());
    }
    for name in names.iter().rev() {
        backward.unfit_cluster(name, taint());
    }
    assert_eq!(forward.message("x"), backward.message("x"));
}

#[test]
fn a_fleet_of_thousands_still_gives_a_short_message() {
    let mut trace = Trace::new();
    for n in 0..5000 {
        trace.unfit_cluster(&format!("member-{n:04}").into(), taint());
    }
    let message = trace.message("0/5000 clusters are available");
    assert!(message.contains("member-0015 and 4984 more"), "{message}");
    assert!(trace.note_text("x").len() <= MAX_EVENT_NOTE);
}

#[test]
fn cutting_never_splits_a_character() {
    let text = "ä".repeat(100);
    for max in 3..200 {
        assert!(bounded(&text, max).len() <= max.max(3));
    }
    assert_eq!(bounded("short", 5), "short");
}

#[test]
fn a_trace_survives_json() {
    let mut trace = Trace::new();
    trace.unfit_cluster(&"m1".into(), taint());
    trace.note_cluster(&"m2".into(), PlacementReason::Copied);
    trace.unfit_policy(
        &PolicyRef::new("PropagationPolicy", "default", "p2"),
        PolicyReason::AlreadyClaimed {
            owner: PolicyRef::new("PropagationPolicy", "default", "p1"),
        },
    );
    trace.note(PlacementReason::StillValid);
    let json = serde_json::to_string(&trace).unwrap();
    assert!(json.contains(r#""reason":"UntoleratedTaint""#), "{json}");
    let back: Trace = serde_json::from_str(&json).unwrap();
    assert_eq!(back, trace);
}

#[test]
fn text_has_a_line_a_step() {
    let mut trace = Trace::new();
    trace.note(PlacementReason::StillValid);
    trace.unfit_cluster(&"m1".into(), PlacementReason::Evicting);
    assert_eq!(
        trace.text(),
        "· the present result still holds\n✗ cluster m1 is in the process of eviction\n"
    );
}
