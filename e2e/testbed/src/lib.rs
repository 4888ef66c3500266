//! Real Kubernetes API servers as processes, for tests and the demo.
