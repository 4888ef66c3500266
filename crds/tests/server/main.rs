//! The definitions and admission policies on a real API server.

mod admission;
mod bed;
mod cases;
mod defaults;
mod install;
mod printing;
mod round_trip;
