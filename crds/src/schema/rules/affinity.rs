//! Rules for what selects clusters and templates, shared by several kinds.

use super::{KEY, KEY_LENGTH, VALUE, VALUE_LENGTH};
use crate::schema::edit::Schema;

/// The most requirements in one selector.
const REQUIREMENTS: i32 = 64;

const NEEDS_VALUES: &str = "self.operator in ['In', 'NotIn'] ? has(self.values) && self.values.size() > 0 : !has(self.values) || self.values.size() == 0";

/// Rules for the cluster affinity at this path.
pub(super) fn clusters(schema: &mut Schema, path: &str) {
    labels(schema, &format!("{path}.labelSelector"));
    let requirements = format!("{path}.fieldSelector.matchExpressions");
    schema.at(&requirements).set("maxItems", REQUIREMENTS);
    schema
        .at(&format!("{requirements}[].key"))
        .one_of(&["provider", "region", "zone"])
        .set(
            "description",
            "The cluster's property: `provider`, `region` or `zone`.",
        );
    schema
        .at(&format!("{requirements}[].operator"))
        .one_of(&["In", "NotIn"])
        .set(
            "description",
            "Whether the property must have one of the values, or none of them.",
        );
    schema
        .at(&format!("{requirements}[].values"))
        .describe("The values.");
    schema.at(&format!("{requirements}[]")).rule_at(
        "values",
        "has(self.values) && self.values.size() > 0",
        "operators In and NotIn need at least one value",
    );
}

/// Rules for the label selector at this path.
pub(super) fn labels(schema: &mut Schema, path: &str) {
    let requirements = format!("{path}.matchExpressions");
    schema.at(&requirements).set("maxItems", REQUIREMENTS);
    schema
        .at(&format!("{requirements}[].key"))
        .set("maxLength", KEY_LENGTH)
        .set("pattern", KEY);
    schema.at(&format!("{requirements}[].operator")).one_of(&[
        "In",
        "NotIn",
        "Exists",
        "DoesNotExist",
    ]);
    schema
        .at(&format!("{requirements}[].values[]"))
        .set("maxLength", VALUE_LENGTH)
        .set("pattern", VALUE);
    schema.at(&format!("{requirements}[]")).rule_at(
        "values",
        NEEDS_VALUES,
        "operators In and NotIn need at least one value, Exists and DoesNotExist take none",
    );
    schema
        .at(&format!("{path}.matchLabels{{}}"))
        .set("maxLength", VALUE_LENGTH)
        .set("pattern", VALUE);
}

/// Rules for the resource selectors at this path.
pub(super) fn resources(schema: &mut Schema, path: &str) {
    schema.at(path).set("maxItems", 1000);
    schema.at(&format!("{path}[].apiVersion")).not_empty();
    schema.at(&format!("{path}[].kind")).not_empty();
    labels(schema, &format!("{path}[].labelSelector"));
}

/// Rules for the tolerations at this path.
pub(super) fn tolerations(schema: &mut Schema, path: &str) {
    let item = format!("{path}[]");
    schema.at(path).set("maxItems", 128);
    schema
        .at(&format!("{item}.key"))
        .set("maxLength", KEY_LENGTH)
        .set("pattern", format!("^$|{KEY}"))
        .describe("The key of the taints tolerated; absent means any.");
    schema
        .at(&format!("{item}.operator"))
        .one_of(&["Exists", "Equal", ""])
        .describe("`Exists` tolerates any value, `Equal` the one given; absent means `Equal`.");
    schema
        .at(&format!("{item}.effect"))
        .one_of(&["NoSchedule", "PreferNoSchedule", "NoExecute", ""])
        .describe("The effect of the taints tolerated; absent means any.");
    schema
        .at(&format!("{item}.value"))
        .set("maxLength", VALUE_LENGTH)
        .set("pattern", VALUE)
        .describe("The value of the taints tolerated; none with operator `Exists`.");
    schema.at(&format!("{item}.tolerationSeconds")).describe(
        "For how long a taint with effect `NoExecute` is tolerated; absent means for ever.",
    );
    schema
        .at(&item)
        .rule_at(
            "value",
            "!(has(self.operator) && self.operator == 'Exists' && has(self.value) && self.value != '')",
            "operator Exists takes no value: remove it, or use operator Equal",
        )
        .rule_at(
            "tolerationSeconds",
            "!has(self.tolerationSeconds) || !has(self.effect) || self.effect in ['NoExecute', '']",
            "tolerationSeconds is for effect NoExecute only",
        );
}

/// Rules for the suspension at this path.
pub(super) fn suspension(schema: &mut Schema, path: &str) {
    schema.at(path).rule_at(
        "dispatchingOnClusters",
        "!(has(self.dispatching) && self.dispatching && has(self.dispatchingOnClusters) \
            && has(self.dispatchingOnClusters.clusterNames) && self.dispatchingOnClusters.clusterNames.size() > 0)",
        "dispatching suspends every cluster: set it, or name clusters, not both",
    );
}
