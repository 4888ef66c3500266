//! Real Kubernetes API servers as processes, for tests and the demo. Nothing here is a mock.
//!
//! [`Testbed::builder`] starts one etcd, a control plane and any number of member clusters on this machine, without
//! containers: the upstream kube-apiserver, kube-controller-manager and kube-scheduler, with kwok in place of kubelets, so that
//! a Deployment in a member becomes available for real and only its containers are pretended. [`Shared`] is one bed for all
//! tests of a binary; each test works in its own [`Namespace`].
//!
//! # Guarantees
//!
//! - All processes end with the process that started them, also when that one panics, is interrupted or is killed.
//! - When something fails, the logs of all processes stay, and stderr says where.
//! - Each cluster can fail as clusters do: [`Cluster::freeze`], [`Cluster::kill`], [`Cluster::set_network`].
//!
//! # Requirements
//!
//! Linux, `sh`, and the binaries that `hack/kubernetes/build` finds or builds.

mod access;
mod bed;
mod binaries;
mod cluster;
mod join;
mod kubeconfig;
mod namespace;
mod pki;
mod ports;
mod process;
mod proxy;
mod reaper;
mod requests;
mod server;
mod servers;
mod shape;
mod shared;
mod system;
pub mod wait;

use std::path::Path;

pub use access::Account;
pub use bed::{Builder, Testbed};
pub use cluster::Cluster;
pub use namespace::Namespace;
pub use process::{Memory, Process, ProcessBuilder, binary, tool};
pub use proxy::{Network, Proxy};
pub use requests::{Request, Requests};
pub use shape::Member;
pub use shared::Shared;
pub use system::{NAMESPACE, OPERATORS, System};

/// The root of this repository's checkout.
pub fn repository() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}
