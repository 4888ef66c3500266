//! Tells the whole story on real API servers, for people.
