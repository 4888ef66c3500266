//! What is refused: everything that Karmada's own admission refuses, and what nobody can have meant besides.
//!
//! Rules are evaluated by the API server on each write, so their cost is bounded there before a definition is accepted:
//! lists that rules walk have a `maxItems` far above what anybody uses. A rule never speaks about a value that was not
//! changed: the server lets stored objects keep what they have.

mod affinity;
mod cluster;
mod others;
mod overrides;
mod propagation;

use super::edit::Schema;
use crate::Kind;

/// Adds the rules of a kind to its schema.
pub(super) fn add(kind: Kind, schema: &mut Schema) {
    match kind.kind {
        "PropagationPolicy" | "ClusterPropagationPolicy" => propagation::add(schema),
        "OverridePolicy" | "ClusterOverridePolicy" => overrides::add(schema),
        "Cluster" => cluster::add(schema),
        "FederatedResourceQuota" => others::quota(schema),
        "ClusterTaintPolicy" => others::taint_policy(schema),
        "ResourceInterpreterCustomization" => others::interpreter(schema),
        "WorkloadRebalancer" => others::rebalancer(schema),
        "ResourceBinding" | "ClusterResourceBinding" => others::binding(schema),
        _ => {}
    }
}

/// A label or taint key: a name, or a domain and a name.
const KEY: &str = r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)$";
/// A label or taint value.
const VALUE: &str = r"^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$";
/// The longest label or taint key.
const KEY_LENGTH: i32 = 317;
/// The longest label or taint value.
const VALUE_LENGTH: i32 = 63;
