//! The operator alone, on real API servers: a control plane and two members. The tests write the bindings themselves.

#![cfg(test)]

mod customizations;
mod delivery;
mod dependencies;
mod kinds;
mod leaving;
mod overrides;
mod quiet;
mod scene;
mod status;
mod trouble;
