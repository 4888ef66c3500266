//! Measures a control plane from outside: counts and ratios.
