//! Status on its way up: member object → Work → binding → template.

pub mod aggregate;
pub mod binding;
mod manifest;

pub use aggregate::{aggregate, stamp, status_patch};
pub use manifest::manifest_status;

#[cfg(test)]
mod tests;
