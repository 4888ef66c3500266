//! Rules for member clusters.

use super::{KEY, KEY_LENGTH, VALUE, VALUE_LENGTH};
use crate::schema::edit::Schema;
use serde_json::json;

/// Where a node grade begins, the grade below ends; the lowest begins anywhere, and counts as if at zero.
const CONTIGUOUS: &str = "self.all(a, a.ranges.all(r, \
    !self.exists(b, b.grade < a.grade && b.ranges.exists(s, s.name == r.name)) \
    || self.exists_one(b, b.grade < a.grade && b.ranges.exists(s, s.name == r.name \
        && quantity(string(s.max)).compareTo(quantity(string(r.min))) == 0))))";

/// Adds the rules.
pub(super) fn add(schema: &mut Schema) {
    // The bound lets the API server know that the rule is cheap.
    schema.at("metadata").set(
        "properties",
        json!({"name": {"type": "string", "maxLength": 253}}),
    );
    schema.at("").rule_at(
        "metadata.name",
        "self.metadata.name.matches('^[a-z0-9]([-a-z0-9]{0,46}[a-z0-9])?$')",
        "a cluster's name has at most 48 characters: lower-case letters, digits and '-', and begins and ends with a letter or digit",
    );
    reachability(schema);
    location(schema);
    schema.at("spec.taints").set("maxItems", 256);
    schema
        .at("spec.taints[].effect")
        .one_of(&["NoSchedule", "NoExecute"])
        .describe("What the taint does: `NoSchedule` keeps new copies away, `NoExecute` drives copies out too.");
    schema
        .at("spec.taints[].key")
        .set("maxLength", KEY_LENGTH)
        .set("pattern", KEY);
    schema
        .at("spec.taints[].value")
        .set("maxLength", VALUE_LENGTH)
        .set("pattern", VALUE);
    models(schema);
}

fn reachability(schema: &mut Schema) {
    schema
        .at("spec.apiEndpoint")
        .set("maxLength", 2048)
        .rule(
            "self == '' || (isURL(self) && url(self).getHostname() != '')",
            "apiEndpoint must be a URL with a host, such as https://10.0.0.1:6443",
        )
        .rule(
            "!self.contains('@') && !self.contains('?') && !self.contains('#')",
            "apiEndpoint must have no user, query or fragment",
        );
    schema.at("spec.proxyURL").set("maxLength", 2048).rule(
        "self == '' || (isURL(self) && url(self).getScheme() in ['http', 'https', 'socks5'] && url(self).getHostname() != '')",
        "proxyURL must be a URL with scheme http, https or socks5, such as socks5://10.0.0.1:1080",
    );
    for secret in ["secretRef", "impersonatorSecretRef"] {
        schema.at(&format!("spec.{secret}.name")).not_empty();
        schema.at(&format!("spec.{secret}.namespace")).not_empty();
    }
}

fn location(schema: &mut Schema) {
    schema.at("spec").rule_at(
        "zone",
        "!(has(self.zone) && self.zone != '' && has(self.zones) && self.zones.size() > 0)",
        "zone is the old name of zones: name the zone there, and remove zone",
    );
    for field in ["provider", "region", "zone", "zones[]"] {
        schema
            .at(&format!("spec.{field}"))
            .set("maxLength", VALUE_LENGTH)
            .set("pattern", VALUE);
    }
}

fn models(schema: &mut Schema) {
    let models = "spec.resourceModels";
    schema
        .at(models)
        .set("maxItems", 32)
        .rule(
            "self.all(a, self.exists_one(b, b.grade == a.grade))",
            "each grade may be given once",
        )
        .rule(
            "self.all(a, self.all(b, a.ranges.size() == b.ranges.size() && a.ranges.all(r, b.ranges.exists_one(s, s.name == r.name))))",
            "every grade must have ranges for the same resources",
        )
        .rule(
            CONTIGUOUS,
            "for each resource the ranges must follow each other without gap or overlap: max of one grade is min of the next",
        );
    schema.at(&format!("{models}[].grade")).set("default", 0);
    schema
        .at(&format!("{models}[].ranges"))
        .set("maxItems", 8)
        .set("minItems", 1);
    schema
        .at(&format!("{models}[].ranges[].name"))
        .set("maxLength", 63)
        .not_empty();
    for end in ["min", "max"] {
        schema
            .at(&format!("{models}[].ranges[].{end}"))
            .set("maxLength", 40);
    }
    schema.at(&format!("{models}[].ranges[]")).rule_at(
        "max",
        "quantity(string(self.max)).isGreaterThan(quantity(string(self.min)))",
        "max must be greater than min",
    );
}
