//! Status on its way up: member object → Work → binding → template.

pub mod aggregate;
pub mod binding;

pub use aggregate::{aggregate, stamp, status_patch, template_status};

#[cfg(test)]
mod tests;
