//! What a template refers to, written down on its binding.

use crate::interpret::Dependency;

/// The value of the annotation on a binding.
#[expect(
    clippy::missing_panics_doc,
    reason = "what has string keys only can always be written as JSON"
)]
pub fn record(dependencies: &[Dependency]) -> String {
    serde_json::to_string(dependencies).expect("a reference has string keys only, so it is JSON")
}

/// What the annotation says; `None` if it cannot be read, so that nothing is concluded from it.
pub fn read(annotation: &str) -> Option<Vec<Dependency>> {
    // A list without items may have been written as null.
    serde_json::from_str::<Option<Vec<Dependency>>>(annotation)
        .ok()
        .map(Option::unwrap_or_default)
}
