//! What decisions look at: the fleet, templates and policies, reduced to what matters and cheap to share.
//!
//! Nothing here knows where the facts come from. A snapshot may be stale; decisions have to stand that.

mod claim;
mod cluster;
mod name;
mod policy;
mod template;

pub use claim::{Claim, ClaimMarks};
pub use cluster::{ClusterView, Fleet, Readiness, Room};
pub use name::Name;
pub use policy::{PolicyScope, PolicyView};
pub use template::{BindingView, Scheduled, TemplateView};
