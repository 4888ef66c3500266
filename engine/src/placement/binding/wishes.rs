//! What template and policy put into the spec of a binding. Fields with other writers are left as they are.

use crds::policy::{ActivationPreference, PropagationSpec};
use crds::work::{BindingSuspension, ResourceBindingSpec};

use super::reference;
use crate::policy::Owner;
use crate::snapshot::{BindingView, Claim, TemplateView};

/// Takes over what the template says.
pub(super) fn take_template(spec: &mut ResourceBindingSpec, template: &TemplateView) {
    let resource_version = spec.resource.resource_version.take();
    spec.resource = reference(template);
    spec.resource.resource_version = resource_version;
    // Failing over with the numbers of before is better than not at all.
    if template.unclear.is_none() {
        spec.replicas = template.replicas;
        spec.replica_requirements = template.requirements.as_deref().cloned();
        spec.components.clone_from(&template.components);
    }
}

/// Takes over what the policy says.
pub(super) fn take_policy(spec: &mut ResourceBindingSpec, policy: &PropagationSpec) {
    let PropagationSpec {
        resource_selectors: _,
        association: _,
        propagate_deps: _,
        placement,
        priority: _,
        preemption: _,
        dependent_overrides: _,
        scheduler_name,
        failover,
        conflict_resolution,
        activation_preference: _,
        suspension,
        preserve_resources_on_deletion,
        // The number comes from a PriorityClass, which whoever sorts the queue by it has to resolve.
        schedule_priority: _,
    } = policy;
    spec.placement = Some(placement.clone());
    spec.scheduler_name = Some(scheduler_name.clone());
    spec.failover.clone_from(failover);
    spec.conflict_resolution = *conflict_resolution;
    spec.preserve_resources_on_deletion = *preserve_resources_on_deletion;
    spec.propagate_deps = policy.propagates_deps().then_some(true);
    // Whoever suspended scheduling did so in the binding, so that part is theirs.
    let scheduling = spec.suspension.as_ref().and_then(|s| s.scheduling);
    let suspension = BindingSuspension {
        dispatching: suspension.as_ref().and_then(|s| s.dispatching),
        dispatching_on_clusters: suspension
            .as_ref()
            .and_then(|s| s.dispatching_on_clusters.clone()),
        scheduling,
    };
    spec.suspension = Some(suspension).filter(|s| *s != BindingSuspension::default());
}

/// Whether changes of the policy wait for the next change of the template.
pub(super) fn is_lazy(owner: &Owner) -> bool {
    owner.policy.spec.activation_preference == Some(ActivationPreference::Lazy)
}

/// Whether the template is still the one that the policy was last applied to.
pub(super) fn holds_back(binding: &BindingView, template: &TemplateView, claim: &Claim) -> bool {
    binding.claim.claim().as_ref() == Some(claim)
        && binding.lazy_version.as_ref() == Some(&template.version)
}
