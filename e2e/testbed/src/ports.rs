//! Free TCP ports on the loopback address.

use std::collections::BTreeSet;
use std::hash::{BuildHasher as _, RandomState};
use std::net::{Ipv4Addr, TcpListener};
use std::sync::{Mutex, PoisonError};

use anyhow::{Result, bail};

/// Below the range from which the kernel takes ports for outgoing connections, so that a killed server finds its port
/// free when it is started again.
const RANGE: std::ops::Range<u16> = 18_000..32_000;

static GIVEN: Mutex<BTreeSet<u16>> = Mutex::new(BTreeSet::new());

/// A port nobody listens on, never the same twice in one process.
pub(crate) fn free() -> Result<u16> {
    let mut given = GIVEN.lock().unwrap_or_else(PoisonError::into_inner);
    let width = u64::from(RANGE.end - RANGE.start);
    // Test binaries run side by side: start at a random place, so that two of them seldom try the same port.
    let start = RandomState::new().hash_one(std::process::id()) % width;
    for step in 0..width {
        let offset = u16::try_from((start + step) % width).expect("the range is smaller than u16");
        let port = RANGE.start + offset;
        if !given.contains(&port) && TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            given.insert(port);
            return Ok(port);
        }
    }
    bail!("no free port between {} and {}", RANGE.start, RANGE.end)
}
