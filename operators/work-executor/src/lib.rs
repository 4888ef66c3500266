//! Brings templates to member clusters as Works and their status back.
