//! Rules for override policies. Whether an operator needs a value is said by an admission policy: rules in a schema cannot
//! see values that may be of any JSON type.

use super::{VALUE, VALUE_LENGTH, affinity};
use crate::schema::edit::Schema;

/// The most rules in a policy, and the most overriders of one sort in a rule.
const RULES: i32 = 1000;
const OVERRIDERS: i32 = 64;
/// The most changes in one document.
const PATCHES: i32 = 50;

/// A tilde in a JSON pointer stands for itself only as `~0`, and for a slash as `~1`.
const TILDES: &str = "^([^~]|~[01])*$";

const ANY_OVERRIDER: &str = "(has(self.plaintext) && self.plaintext.size() > 0) \
    || (has(self.imageOverrider) && self.imageOverrider.size() > 0) \
    || (has(self.commandOverrider) && self.commandOverrider.size() > 0) \
    || (has(self.argsOverrider) && self.argsOverrider.size() > 0) \
    || (has(self.labelsOverrider) && self.labelsOverrider.size() > 0) \
    || (has(self.annotationsOverrider) && self.annotationsOverrider.size() > 0) \
    || (has(self.fieldOverrider) && self.fieldOverrider.size() > 0)";

/// Adds the rules.
pub(super) fn add(schema: &mut Schema) {
    affinity::resources(schema, "spec.resourceSelectors");
    schema
        .at("spec")
        .rule_at(
            "overrideRules",
            "!(has(self.overrideRules) && self.overrideRules.size() > 0 && (has(self.targetCluster) || has(self.overriders)))",
            "overrideRules replace targetCluster and overriders: move those into a rule",
        )
        .rule_at(
            "overrideRules",
            "has(self.overriders) || (has(self.overrideRules) && self.overrideRules.size() > 0)",
            "an override policy needs at least one rule",
        );
    affinity::clusters(schema, "spec.targetCluster");
    schema.at("spec.overrideRules").set("maxItems", RULES);
    affinity::clusters(schema, "spec.overrideRules[].targetCluster");
    overriders(schema, "spec.overriders");
    overriders(schema, "spec.overrideRules[].overriders");
}

fn overriders(schema: &mut Schema, path: &str) {
    schema.at(path).rule(
        ANY_OVERRIDER,
        "there is nothing to override: add at least one overrider",
    );
    for sort in [
        "plaintext",
        "imageOverrider",
        "commandOverrider",
        "argsOverrider",
        "labelsOverrider",
        "annotationsOverrider",
        "fieldOverrider",
    ] {
        schema
            .at(&format!("{path}.{sort}"))
            .set("maxItems", OVERRIDERS);
    }
    plaintext(schema, &format!("{path}.plaintext[]"));
    image(schema, &format!("{path}.imageOverrider[]"));
    for sort in ["commandOverrider", "argsOverrider"] {
        let item = format!("{path}.{sort}[]");
        schema.at(&format!("{item}.containerName")).not_empty();
        schema.at(&item).rule_at(
            "value",
            "has(self.value) && self.value.size() > 0",
            "say which items to add or remove",
        );
    }
    for sort in ["labelsOverrider", "annotationsOverrider"] {
        schema
            .at(&format!("{path}.{sort}[].value"))
            .set("minProperties", 1);
    }
    schema
        .at(&format!("{path}.labelsOverrider[].value{{}}"))
        .set("maxLength", VALUE_LENGTH)
        .set("pattern", VALUE);
    field(schema, &format!("{path}.fieldOverrider[]"));
}

fn plaintext(schema: &mut Schema, item: &str) {
    pointer(schema, &format!("{item}.path"));
    schema.at(&format!("{item}.path")).rule(
        "!(self in ['/apiVersion', '/kind', '/metadata', '/metadata/name', '/metadata/namespace', '/metadata/uid'])",
        "the identity of an object cannot be overridden",
    );
}

fn image(schema: &mut Schema, item: &str) {
    pointer(schema, &format!("{item}.predicate.path"));
    schema.at(item).rule_at(
        "value",
        "(self.operator == 'remove') != (has(self.value) && self.value != '')",
        "operators add and replace need a value, remove takes none",
    );
}

fn field(schema: &mut Schema, item: &str) {
    pointer(schema, &format!("{item}.fieldPath"));
    schema.at(item).rule(
        "(has(self.json) && self.json.size() > 0) != (has(self.yaml) && self.yaml.size() > 0)",
        "give either json or yaml: at least one change, in one of the two",
    );
    for format in ["json", "yaml"] {
        let patch = format!("{item}.{format}[]");
        schema
            .at(&format!("{item}.{format}"))
            .set("maxItems", PATCHES);
        pointer_or_all(schema, &format!("{patch}.subPath"));
    }
}

/// The string at this path must be a JSON pointer to something within the document.
fn pointer(schema: &mut Schema, path: &str) {
    pointer_that(schema, path, "self.startsWith('/')");
}

/// The string at this path must be a JSON pointer, perhaps to the whole document.
fn pointer_or_all(schema: &mut Schema, path: &str) {
    pointer_that(schema, path, "self == '' || self.startsWith('/')");
}

fn pointer_that(schema: &mut Schema, path: &str, begins: &str) {
    schema
        .at(path)
        .set("maxLength", 4096)
        .set("pattern", TILDES)
        .rule(begins, "must be a JSON pointer such as /spec/replicas");
}
