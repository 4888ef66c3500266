//! Decides which policy owns a template and which clusters run it.
