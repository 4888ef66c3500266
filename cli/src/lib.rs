//! The command line of Karmada One.
