//! Puts a cluster's share of the replicas into its copy.

use serde_json::{Value, json};

use super::Native;

/// Sets the replicas of a copy; a kind without replicas stays as it is.
pub fn revise(manifest: &mut Value, replicas: i32) {
    let field = match Native::of(manifest) {
        Native::Deployment | Native::ReplicaSet | Native::StatefulSet => "replicas",
        Native::Job => "parallelism",
        Native::DaemonSet
        | Native::CronJob
        | Native::Pod
        | Native::Service
        | Native::ServiceAccount
        | Native::Secret
        | Native::Ingress
        | Native::PersistentVolume
        | Native::PersistentVolumeClaim
        | Native::PodDisruptionBudget
        | Native::HorizontalPodAutoscaler
        | Native::Other => return,
    };
    if let Some(spec) = manifest.get_mut("spec").and_then(Value::as_object_mut) {
        spec.insert(field.to_owned(), json!(replicas));
    }
}

/// A cluster's share of `total` (for example the completions of a Job), in proportion to its weight among all.
///
/// `weights` are the clusters in the binding's order, `index` is the one asked for. What a proportional share rounds off goes to the largest
/// remainders, then to the first in order, so that all shares together are the total.
pub fn share(total: i64, weights: &[i64], index: usize) -> i64 {
    let sum: i64 = weights.iter().map(|w| (*w).max(0)).sum();
    if sum == 0 || total <= 0 {
        return 0;
    }
    let exact = |weight: i64| i128::from(total) * i128::from(weight.max(0));
    let floor = |weight: i64| exact(weight) / i128::from(sum);
    let remainder = |weight: i64| exact(weight) % i128::from(sum);
    let given: i128 = weights.iter().map(|w| floor(*w)).sum();
    let left = usize::try_from(i128::from(total) - given).unwrap_or(0);
    let mut order: Vec<usize> = (0..weights.len()).collect();
    order.sort_by_key(|at| (std::cmp::Reverse(remainder(weights[*at])), *at));
    let extra = i128::from(order.iter().take(left).any(|at| *at == index));
    weights.get(index).map_or(0, |weight| {
        i64::try_from(floor(*weight) + extra).unwrap_or(total)
    })
}
