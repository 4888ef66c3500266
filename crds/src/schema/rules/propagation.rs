//! Rules for propagation policies.

use super::{KEY, KEY_LENGTH, affinity};
use crate::schema::edit::Schema;

/// The most affinity terms, and the most overflow terms of one of them.
const TERMS: i32 = 32;
const OVERFLOW_TERMS: i32 = 16;

const SELECTS: &str = "has(self.labelSelector) || has(self.fieldSelector) \
    || (has(self.clusterNames) && self.clusterNames.size() > 0) || (has(self.exclude) && self.exclude.size() > 0)";

const UNIQUE_TERMS: &str = "self.all(a, self.exists_one(b, b.affinityName == a.affinityName))";

const UNIQUE_OVERFLOWS: &str = "!has(self.overflowAffinities) || self.overflowAffinities.all(o, \
    o.affinityName != self.affinityName \
    && self.overflowAffinities.exists_one(p, p.affinityName == o.affinityName))";

const OVERFLOW_COUNTS_ROOM: &str = "!has(self.clusterAffinities) \
    || !self.clusterAffinities.exists(a, has(a.overflowAffinities) && a.overflowAffinities.size() > 0) \
    || (has(self.replicaScheduling) && ((has(self.replicaScheduling.replicaDivisionPreference) \
        && self.replicaScheduling.replicaDivisionPreference == 'Aggregated') \
      || (has(self.replicaScheduling.weightPreference) && has(self.replicaScheduling.weightPreference.dynamicWeight))))";

/// Adds the rules.
pub(super) fn add(schema: &mut Schema) {
    affinity::resources(schema, "spec.resourceSelectors");
    spec(schema);
    placement(schema);
    spread(schema);
    failover(schema);
}

fn spec(schema: &mut Schema) {
    schema
        .at("spec")
        .rule_at(
            "propagateDeps",
            "!(has(self.failover) && has(self.failover.application)) || (has(self.propagateDeps) && self.propagateDeps) \
                || (has(self.association) && self.association)",
            "failover.application needs propagateDeps: true, so that what the application refers to moves with it",
        )
        .rule_at(
            "resourceSelectors",
            "self.preemption != 'Always' || self.resourceSelectors.all(s, has(s.name) && s.name != '')",
            "a policy with preemption Always must name every template it selects",
        );
    schema.at("spec.schedulerName").rule(
        "self == oldSelf",
        "schedulerName cannot be changed; delete the policy and make it anew",
    );
    affinity::suspension(schema, "spec.suspension");
    schema
        .at("spec.schedulePriority.priorityClassName")
        .not_empty();
}

fn placement(schema: &mut Schema) {
    affinity::clusters(schema, "spec.placement.clusterAffinity");
    affinity::tolerations(schema, "spec.placement.clusterTolerations");
    schema
        .at("spec.placement")
        .rule_at(
            "clusterAffinities",
            "!(has(self.clusterAffinity) && has(self.clusterAffinities) && self.clusterAffinities.size() > 0)",
            "set either clusterAffinity or clusterAffinities, not both",
        )
        .rule_at(
            "clusterAffinities",
            OVERFLOW_COUNTS_ROOM,
            "overflowAffinities need replicas that are divided by room: set replicaScheduling with \
             replicaDivisionPreference Aggregated or a dynamicWeight",
        );
    terms(schema);
    schema.at("spec.placement.replicaScheduling.weightPreference").rule_at(
        "dynamicWeight",
        "!(has(self.dynamicWeight) && has(self.staticWeightList) && self.staticWeightList.size() > 0)",
        "set either staticWeightList or dynamicWeight, not both",
    );
    let weights = "spec.placement.replicaScheduling.weightPreference.staticWeightList";
    schema.at(weights).set("maxItems", 1000);
    affinity::clusters(schema, &format!("{weights}[].targetCluster"));
    workload_affinity(schema);
}

fn terms(schema: &mut Schema) {
    let terms = "spec.placement.clusterAffinities";
    let overflows = format!("{terms}[].overflowAffinities");
    schema
        .at(terms)
        .set("maxItems", TERMS)
        .rule(UNIQUE_TERMS, "each affinityName may be used once");
    schema
        .at(&format!("{terms}[]"))
        .rule_at(
            "overflowAffinities",
            UNIQUE_OVERFLOWS,
            "each affinityName may be used once within a term, its own included",
        )
        .rule_at(
            "overflowAffinities",
            &format!("!has(self.overflowAffinities) || self.overflowAffinities.size() == 0 || {SELECTS}"),
            "an affinity that selects every cluster cannot overflow: give it clusterNames, exclude or a selector",
        );
    schema.at(&overflows).set("maxItems", OVERFLOW_TERMS);
    for item in [format!("{terms}[]"), format!("{overflows}[]")] {
        schema.at(&format!("{item}.affinityName")).rule(
            &format!("self.matches(r'{KEY}')"),
            "affinityName must be a name of letters, digits, '-', '_' and '.', perhaps after a domain and a slash",
        );
        affinity::clusters(schema, &item);
    }
}

fn workload_affinity(schema: &mut Schema) {
    for term in ["affinity", "antiAffinity"] {
        schema
            .at(&format!(
                "spec.placement.workloadAffinity.{term}.groupByLabelKey"
            ))
            .set("maxLength", KEY_LENGTH)
            .set("pattern", KEY);
    }
    schema.at("spec.placement.workloadAffinity").rule_at(
        "antiAffinity",
        "!(has(self.affinity) && has(self.antiAffinity)) || self.affinity.groupByLabelKey != self.antiAffinity.groupByLabelKey",
        "affinity and antiAffinity must group by different labels",
    );
}

fn spread(schema: &mut Schema) {
    let list = "spec.placement.spreadConstraints";
    schema
        .at(list)
        .set("maxItems", 16)
        .rule(
            "self.all(a, !has(a.spreadByField) || self.exists_one(b, has(b.spreadByField) && b.spreadByField == a.spreadByField))",
            "each spreadByField may be constrained once",
        )
        .rule(
            "!self.exists(c, has(c.spreadByField) && c.spreadByField != 'cluster') \
                || self.exists(c, has(c.spreadByField) && c.spreadByField == 'cluster')",
            "spreading by region, zone or provider needs a constraint with spreadByField cluster besides",
        );
    schema
        .at(&format!("{list}[]"))
        .rule_at(
            "spreadByLabel",
            "!(has(self.spreadByField) && has(self.spreadByLabel) && self.spreadByLabel != '')",
            "set either spreadByField or spreadByLabel, not both",
        )
        .rule_at(
            "maxGroups",
            "!has(self.maxGroups) || self.maxGroups == 0 || !has(self.minGroups) || self.maxGroups >= self.minGroups",
            "maxGroups must not be less than minGroups",
        );
    schema.at(&format!("{list}[].maxGroups")).set("minimum", 0);
    schema.at(&format!("{list}[].minGroups")).set("minimum", 0);
    schema
        .at(&format!("{list}[].spreadByLabel"))
        .set("maxLength", KEY_LENGTH)
        .set("pattern", format!("^$|{KEY}"));
}

fn failover(schema: &mut Schema) {
    schema
        .at("spec.failover.application.decisionConditions.tolerationSeconds")
        .set("minimum", 0);
    schema
        .at("spec.failover.application.gracePeriodSeconds")
        .set("minimum", 1);
    schema.at("spec.failover.application").rule_at(
        "gracePeriodSeconds",
        "!has(self.gracePeriodSeconds) || self.purgeMode == 'Gracefully'",
        "gracePeriodSeconds is for purgeMode Gracefully only",
    );
    for cause in ["application", "cluster"] {
        let rules = format!("spec.failover.{cause}.statePreservation.rules");
        schema.at(&rules).set("minItems", 1);
        schema
            .at(&format!("{rules}[].aliasLabelName"))
            .set("maxLength", KEY_LENGTH)
            .set("pattern", KEY);
        schema.at(&format!("{rules}[].jsonPath")).not_empty();
    }
}
