//! The Work that a target should have.

use std::sync::Arc;

use crds::policy::ConflictResolution;
use crds::work::{ResourceBindingSpec, WorkSpec, WorkloadTemplate};
use engine::dispatch::{Draft, Target};
use engine::interpret::Interpreter;
use engine::overrides::Conflict;
use engine::render::{self, RenderInput, RenderProblem, Rendered};
use engine::snapshot::ClusterView;
use jiff::Timestamp;
use serde_json::Value;

use crate::key::Origin;
use crate::problem::Problem;
use crate::seen::{BindingSeen, OverrideSeen};

/// What a Work is made from.
pub(super) struct Source<'a> {
    pub(super) origin: &'a Origin,
    /// Absent for a namespace.
    pub(super) binding: Option<&'a BindingSeen>,
    pub(super) template: &'a Value,
    pub(super) interpreter: &'a Interpreter,
    /// Those of cluster scope and those of the template's namespace.
    pub(super) policies: &'a [Arc<OverrideSeen>],
}

impl Source<'_> {
    /// The Work, and where policies disagree about it.
    pub(super) fn draft(
        &self,
        target: &Target,
        cluster: &ClusterView,
    ) -> Result<(Draft, Vec<Conflict>), Problem> {
        let origin = match (self.origin, self.binding) {
            (Origin::Binding { namespace, name }, Some(binding)) => render::Origin::Binding {
                namespace,
                name,
                id: &binding.permanent_id,
            },
            (Origin::Namespace(_) | Origin::Binding { .. }, _) => render::Origin::Namespace {
                uid: self
                    .template
                    .pointer("/metadata/uid")
                    .and_then(Value::as_str)
                    .unwrap_or_default(),
            },
        };
        let spec = self.binding.map(|binding| &*binding.spec);
        let weights = spec.map(weights).unwrap_or_default();
        let place = spec.and_then(|spec| {
            spec.clusters
                .iter()
                .position(|chosen| *target.cluster == *chosen.name.as_str())
        });
        let rendered = render::render(RenderInput {
            interpreter: self.interpreter,
            now: Timestamp::now(),
            template: self.template,
            origin,
            cluster,
            replicas: target.replicas,
            shares: place
                .filter(|_| target.replicas.is_some() && is_divided(spec))
                .map(|index| (weights.as_slice(), index)),
            conflict_resolution: spec
                .map_or(ConflictResolution::Abort, |spec| spec.conflict_resolution),
            overrides: self.policies.iter().map(|policy| &policy.view),
        })
        .map_err(|problem| Problem {
            cluster: target.cluster.as_str().to_owned(),
            message: problem.to_string(),
            overriding: matches!(problem, RenderProblem::Override(_)),
        })?;
        let Rendered {
            labels,
            annotations,
            manifest,
            namespace: _,
            name: _,
            applied,
        } = rendered;
        let draft = Draft {
            labels,
            annotations,
            spec: WorkSpec {
                workload: WorkloadTemplate {
                    manifests: vec![manifest],
                },
                suspend_dispatching: target.suspended.then_some(true),
                preserve_resources_on_deletion: spec
                    .and_then(|spec| spec.preserve_resources_on_deletion)
                    .filter(|preserve| *preserve),
            },
        };
        Ok((draft, applied.conflicts))
    }
}

fn weights(spec: &ResourceBindingSpec) -> Vec<i64> {
    spec.clusters
        .iter()
        .map(|chosen| i64::from(chosen.replicas.unwrap_or_default()))
        .collect()
}

/// Whether the clusters share the replicas rather than each having all.
fn is_divided(spec: Option<&ResourceBindingSpec>) -> bool {
    spec.and_then(|spec| spec.placement.as_ref()?.replica_scheduling.as_ref())
        .is_some_and(|scheduling| {
            scheduling.replica_scheduling_type == crds::policy::ReplicaSchedulingType::Divided
        })
}

/// Whether a binding was made from a template with as many replicas as this one.
///
/// A customization that cannot say is no reason to wait: where its answer is needed, its failure is told.
pub(super) fn follows(
    spec: &ResourceBindingSpec,
    template: &Value,
    interpreter: &Interpreter,
) -> bool {
    let wanted = interpreter
        .replicas(template, Timestamp::now())
        .ok()
        .and_then(|replicas| replicas.count);
    spec.replicas.is_none() || wanted.is_none() || spec.replicas == wanted
}
