//! Measures a multi-cluster control plane from outside: counts and ratios, not opinions.
//!
//! It speaks only the wire contract (policies, templates, bindings, Works) and plain Kubernetes, so the same binary measures any control plane that
//! serves these CRDs. What it reads: watch events of members, the API servers' own `/metrics`, and `/proc` of the processes it is told about.
//!
//! | scenario | question |
//! |---|---|
//! | C0 | What does one write of each kind cost on this machine's API server? It gives the floor the others are held against. |
//! | M1 | How long from `POST` on the control plane to the object in the members, one at a time: create, update, delete? |
//! | M2 | How many objects a second in a burst: until the last is visible, and until everything is quiet? |
//! | M3 | How many requests does a template cost on the control plane and in the members? |
//! | M6 | How much memory do the system's own processes hold? |
//! | M7 | How much CPU does a template cost, own and of the API servers? |

pub mod bed;
pub mod burst;
pub mod calibration;
pub mod counters;
pub mod latency;
pub mod plane;
pub mod procs;
pub mod report;
pub mod sightings;
