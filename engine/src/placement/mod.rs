//! Which clusters run a workload, and with how many replicas.

pub mod affinity;
