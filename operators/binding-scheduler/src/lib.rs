//! Decides which policy owns a template and which clusters run it.
//!
//! # Flow
//!
//! Watches ([`observe`]) fill the [`world`], which says by index what a change concerns. A key is taken from the queue, looked up in
//! the world, decided on by the engine ([`decide`]), and the plan is written ([`apply`]). A template and its binding are one key, so a
//! binding is created with its clusters already in it. Policies are keys of their own ([`policy`]).
//!
//! # Guarantees
//!
//! - Nothing is written that is there already; a restart with nothing changed writes nothing.
//! - What runs is removed only when the affinity no longer selects its cluster or a replacement is placed (`engine::placement`).
//! - A user's mistake is a condition and an event, never an endless retry.
//!
//! # Writes
//!
//! | what | how | field manager |
//! |---|---|---|
//! | `ResourceBinding`, `ClusterResourceBinding`: all but eviction tasks | POST, then merge patch | `karmada-binding-scheduler/template` |
//! | their status: Scheduled, observed generation, affinity name, last time | server-side apply | `karmada-binding-scheduler/binding` |
//! | claim labels and annotations of templates | merge patch | `karmada-binding-scheduler/template` |
//! | permanent id and finalizer of policies | merge patch, JSON patch | `karmada-binding-scheduler/template` |
//!
//! # Caveats
//!
//! Room in clusters is what their status says; two decisions within one report may count the same room twice.

mod apply;
mod controller;
mod decide;
mod forbidden;
pub mod key;
mod metrics;
mod observe;
mod policy;
pub mod template;
mod unselected;
pub mod world;
mod writes;

pub use controller::run;
