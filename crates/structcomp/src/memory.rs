//! The memory limit, and how much memory the process uses.

mod bound;
mod pages;

pub use crate::error::human_bytes;
pub use bound::{Exceeded, limit_process};
pub use pages::{LargePages, give_back_memory};

use crate::{Error, Result};

/// Limit for a single allocation whose size comes from a file.
///
/// Readers check it before they allocate, so a damaged length or a compression bomb ends in
/// [`Error::Memory`] and not in the system's out-of-memory killer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Bytes allowed.
    pub bytes: u64,
}

/// What the commands take for every node, edges or not: row starts, degrees, ids, clusters.
const BYTES_PER_NODE: u64 = 56;

impl Default for Budget {
    /// Three quarters of the machine's memory, or 8 GiB if that is unknown.
    fn default() -> Self {
        let bytes = status_bytes("/proc/meminfo", "MemTotal:").map_or(8 << 30, |total| total / 4 * 3);
        Self { bytes }
    }
}

impl Budget {
    /// Fails if `need` bytes for `what` exceed the limit.
    pub fn check(&self, what: &str, need: u64) -> Result<()> {
        if need <= self.bytes {
            return Ok(());
        }
        Err(Error::Memory { what: what.to_owned(), need, budget: self.bytes })
    }

    /// Fails if a graph of so many nodes is more than can be worked with. A few bytes of a file can claim any number.
    pub fn check_nodes(&self, nodes: usize) -> Result<()> {
        self.check_items(&format!("a graph of {nodes} nodes"), nodes as u64, BYTES_PER_NODE)
    }

    /// The same for features in so many columns, of which each thread may hold a row.
    pub fn check_columns(&self, columns: usize) -> Result<()> {
        let rows = 4 + rayon::current_num_threads() as u64;
        self.check_items(&format!("rows of {columns} columns"), columns as u64, 4 * rows)
    }

    /// [`check`](Self::check) for `count` items of `size` bytes, without overflow.
    pub fn check_items(&self, what: &str, count: u64, size: u64) -> Result<()> {
        self.check(what, count.saturating_mul(size))
    }
}

/// Peak memory of this process, where the system reports it (Linux).
pub fn peak_rss_bytes() -> Option<u64> {
    status_bytes("/proc/self/status", "VmHWM:")
}

/// Current memory of this process, where the system reports it (Linux).
pub(crate) fn rss_bytes() -> Option<u64> {
    status_bytes("/proc/self/status", "VmRSS:")
}

/// Reads a `Name:   123 kB` line of a Linux status file, in bytes.
fn status_bytes(file: &str, name: &str) -> Option<u64> {
    let text = std::fs::read_to_string(file).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    let kilobytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_what_is_over_and_what_overflows() {
        let budget = Budget { bytes: 1000 };
        assert!(budget.check("a table", 1000).is_ok());
        assert!(matches!(budget.check("a table", 1001), Err(Error::Memory { need: 1001, .. })));
        assert!(budget.check_items("a table", u64::MAX, 8).is_err());
    }
}
