//! Moves workloads away from clusters that are lost.
