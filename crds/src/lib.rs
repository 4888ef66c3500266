//! The API of Karmada One: types, constants, names and admission rules.
//!
//! Everything here speaks Karmada's wire contract: the same groups, kinds, fields, defaults, labels, annotations,
//! finalizers, condition types and names, so that clients, tools and stored objects of Karmada work unchanged.
//! The crate knows no client, takes no decision and reads no clock.
//!
//! | module | what is in it |
//! |---|---|
//! | [`policy`] | propagation, override and taint policies, federated quota |
//! | [`work`] | bindings and works |
//! | [`cluster`] | member clusters |
//! | [`config`] | customised resource interpreters |
//! | [`apps`] | the workload rebalancer |
//! | [`labels`], [`annotations`], [`finalizers`], [`taints`], [`conditions`], [`events`] | the strings of the contract |
//! | [`names`], [`namespaces`] | how objects are called and where they live |
//! | [`scope`] | one view on the namespaced and the cluster-scoped twin of a kind |
//!
//! Rust conventions: an optional scalar is an `Option`, a field with a schema default is a plain value, a list or map
//! that is absent on the wire is empty here. Unknown fields are ignored; raw JSON stays [`serde_json::Value`].

#[macro_use]
mod kind;

pub mod admission;
pub mod annotations;
pub mod apps;
pub mod cluster;
pub mod conditions;
pub mod config;
pub mod events;
mod files;
pub mod finalizers;
pub mod labels;
pub mod names;
pub mod namespaces;
pub mod policy;
mod schema;
pub mod scope;
pub mod taints;
mod wire;
pub mod work;

pub use files::files;
pub use k8s_openapi::{
    api::core::v1::{NodeSelector, NodeSelectorRequirement, Taint, Toleration},
    apimachinery::pkg::{
        api::resource::Quantity,
        apis::meta::v1::{Condition, LabelSelector, LabelSelectorRequirement, Time},
    },
};
pub use kind::Kind;
pub use schema::all;
