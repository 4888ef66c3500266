//! The stories told on real API servers, all operators together.
