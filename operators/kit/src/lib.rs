//! What every operator process has, and nothing that one of them decides.
//!
//! | module | what it is |
//! |---|---|
//! | [`process`] | [`process::main`]: arguments → logs, client, election, metrics server, signals → the operator's own `run` |
//! | [`client`] | HTTP/2 clients with bounded budgets, timeouts and a latency metric for every request |
//! | [`store`], [`watch`], [`dynamic`] | watches that keep compact values instead of whole objects, for kinds known at build time or not |
//! | [`queue`] | keyed work queues: no key twice at once, backoff per key, two priorities |
//! | [`writer`] | the only way to change anything in an API server |
//! | [`members`] | clients of member clusters, rebuilt when credentials change |
//! | [`events`], [`conditions`], [`text`] | what users see of transitions |
//! | [`metrics`], [`server`], [`readiness`], [`election`] | what the platform sees of the process |
//!
//! Not one word of policy or placement is known here.

pub mod args;
pub mod client;
pub mod conditions;
pub mod dynamic;
pub mod election;
pub mod events;
pub mod failure;
pub mod members;
pub mod metrics;
pub mod process;
pub mod queue;
pub mod readiness;
pub mod server;
pub mod store;
pub mod text;
pub mod watch;
pub mod writer;

pub use args::Args;
pub use failure::{Failure, RequestError};
pub use process::{Runtime, main};
pub use store::{Key, Store};
pub use tokio_util::sync::CancellationToken;

/// The allocator of every operator: glibc's keeps what a burst of lists once needed. Without huge pages (its `no_thp`), which make
/// four times as much of an idle operator's heap resident.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
