//! What decisions look at: the fleet, templates and policies, reduced to what matters and cheap to share.
//!
//! Nothing here knows where the facts come from. A snapshot may be stale; decisions have to stand that.

mod claim;
mod cluster;
mod name;
mod policy;
mod room;
mod template;

pub use claim::{Claim, ClaimMarks};
pub use cluster::{ClusterView, Fleet, Readiness};
pub use name::Name;
pub use policy::{PolicyScope, PolicyView};
pub use room::{NodeGroup, PODS, Room};
pub use template::{BindingView, Scheduled, TemplateView, Unclear};
