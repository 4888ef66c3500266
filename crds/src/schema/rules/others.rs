//! Rules for quota, taint policies, interpreters, rebalancers and bindings.

use super::{KEY, KEY_LENGTH, VALUE, VALUE_LENGTH, affinity};
use crate::schema::edit::Schema;
use serde_json::json;

/// Shares are added as floating point numbers, which are not exact: less than a millionth part is no difference.
const SHARES_FIT: &str = "!has(self.staticAssignments) || self.overall.all(r, \
    self.staticAssignments.map(a, r in a.hard ? quantity(string(a.hard[r])).asApproximateFloat() : 0.0).sum() \
    <= quantity(string(self.overall[r])).asApproximateFloat() * 1.000001)";

const NOT_NEGATIVE: &str = "self.all(r, !quantity(string(self[r])).isLessThan(quantity('0')))";

/// Rules for [`crate::policy::FederatedResourceQuota`].
pub(super) fn quota(schema: &mut Schema) {
    schema.at("metadata").set(
        "properties",
        json!({"name": {"type": "string", "maxLength": 63}}),
    );
    let assignments = "spec.staticAssignments";
    schema.at(assignments).set("maxItems", 1000);
    schema
        .at(&format!("{assignments}[].clusterName"))
        .set("maxLength", 48)
        .set("pattern", "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$");
    for map in ["spec.overall".to_owned(), format!("{assignments}[].hard")] {
        schema.at(&format!("{map}{{}}")).set("maxLength", 40);
        schema
            .at(&map)
            .set("maxProperties", 64)
            .rule(NOT_NEGATIVE, "quantities must not be negative");
    }
    schema
        .at("spec")
        .rule_at(
            "staticAssignments",
            "!has(self.staticAssignments) || self.staticAssignments.all(a, a.hard.all(r, r in self.overall))",
            "a resource that is assigned to clusters must be in overall",
        )
        .rule_at(
            "overall",
            SHARES_FIT,
            "overall must not be less than what is assigned to clusters together",
        );
}

/// Rules for [`crate::policy::ClusterTaintPolicy`].
pub(super) fn taint_policy(schema: &mut Schema) {
    affinity::clusters(schema, "spec.targetClusters");
    schema.at("spec").rule_at(
        "addOnConditions",
        "(has(self.addOnConditions) && self.addOnConditions.size() > 0) \
            || (has(self.removeOnConditions) && self.removeOnConditions.size() > 0)",
        "the policy can neither add nor remove its taints: give addOnConditions or removeOnConditions",
    );
    for list in ["addOnConditions", "removeOnConditions"] {
        let item = format!("spec.{list}[]");
        schema.at(&format!("{item}.conditionType")).not_empty();
        schema
            .at(&format!("{item}.statusValues"))
            .set("minItems", 1);
        schema
            .at(&format!("{item}.statusValues[]"))
            .one_of(&["True", "False", "Unknown"]);
    }
    schema
        .at("spec.taints[].effect")
        .one_of(&["NoSchedule", "NoExecute"]);
    schema
        .at("spec.taints[].key")
        .set("maxLength", KEY_LENGTH)
        .set("pattern", KEY);
    schema
        .at("spec.taints[].value")
        .set("maxLength", VALUE_LENGTH)
        .set("pattern", VALUE);
}

/// Rules for [`crate::config::ResourceInterpreterCustomization`]. Lua itself cannot be parsed here.
pub(super) fn interpreter(schema: &mut Schema) {
    schema.at("spec.target.apiVersion").not_empty();
    schema.at("spec.target.kind").not_empty();
    for (field, function) in [
        ("retention", "Retain"),
        ("replicaResource", "GetReplicas"),
        ("componentResource", "GetComponents"),
        ("replicaRevision", "ReviseReplica"),
        ("statusReflection", "ReflectStatus"),
        ("statusAggregation", "AggregateStatus"),
        ("healthInterpretation", "InterpretHealth"),
        ("dependencyInterpretation", "GetDependencies"),
    ] {
        schema
            .at(&format!("spec.customizations.{field}.luaScript"))
            .rule(
                &format!("self.contains('{function}')"),
                &format!("the script must define the function {function}"),
            );
    }
}

/// Rules for [`crate::apps::WorkloadRebalancer`].
pub(super) fn rebalancer(schema: &mut Schema) {
    for field in ["apiVersion", "kind", "name"] {
        schema.at(&format!("spec.workloads[].{field}")).not_empty();
    }
    schema.at("spec.ttlSecondsAfterFinished").set("minimum", 0);
}

/// Rules for [`crate::work::ResourceBinding`] and its twin. Most of a binding is copied from a policy, which has passed.
pub(super) fn binding(schema: &mut Schema) {
    schema.at("spec.components[].name").not_empty();
    affinity::suspension(schema, "spec.suspension");
}
