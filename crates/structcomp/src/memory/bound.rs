//! A limit on what this process allocates.
//!
//! Readers check sizes before they allocate, which gives the best messages. This limit is for everything else: what
//! training, embedding or judging need in all. Mapped files do not count, as the system can drop their pages.
//!
//! An allocation cannot fail with an error in Rust. So where one would exceed the limit, a function is called that ends
//! the process.

use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicIsize, AtomicUsize, Ordering::Relaxed};

/// Smaller pieces are counted thread by thread, in steps of so many bytes. They never end the process: whoever asks for
/// a small piece may hold a lock that the end needs.
const SMALL: usize = 64 << 10;

/// The program itself needs some of this.
const LEAST: u64 = 4 << 20;

/// May be below zero for a moment, where pieces that others have not added yet are given back.
static HELD: AtomicIsize = AtomicIsize::new(0);
static LIMIT: AtomicUsize = AtomicUsize::new(usize::MAX);
static EXCEEDED: OnceLock<fn(Exceeded)> = OnceLock::new();

thread_local! {
    /// Small pieces that are not in `HELD` yet.
    static OWN: Cell<isize> = const { Cell::new(0) };
}

/// An allocation that would exceed the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exceeded {
    /// Bytes allowed.
    pub limit: usize,
    /// Bytes in use.
    pub held: usize,
    /// Bytes that were asked for.
    pub asked: usize,
}

/// Limits what the process holds with [`LargePages`](super::LargePages) as its allocator, to 4 MiB at least. Where more
/// would be held, `exceeded` is called, once, and has to end the process.
pub fn limit_process(bytes: u64, exceeded: fn(Exceeded)) {
    let _ = EXCEEDED.set(exceeded);
    LIMIT.store(usize::try_from(bytes.max(LEAST)).unwrap_or(usize::MAX), Relaxed);
}

/// Counts a piece of memory that is about to be allocated.
#[inline]
pub(super) fn take(size: usize) {
    if size < SMALL {
        return count_small(size as isize);
    }
    let held = HELD.fetch_add(size as isize, Relaxed).max(0) as usize;
    if held.saturating_add(size) > LIMIT.load(Relaxed) {
        exceed(held, size);
    }
}

/// Counts a piece that is given back.
#[inline]
pub(super) fn leave(size: usize) {
    match size < SMALL {
        true => count_small(-(size as isize)),
        false => drop(HELD.fetch_sub(size as isize, Relaxed)),
    }
}

#[inline]
fn count_small(change: isize) {
    // Without a destructor, it can be used until the thread has ended.
    OWN.with(|own| {
        let sum = own.get() + change;
        if sum.unsigned_abs() < SMALL {
            return own.set(sum);
        }
        own.set(0);
        HELD.fetch_add(sum, Relaxed);
    });
}

#[cold]
fn exceed(held: usize, asked: usize) {
    // Only the first; what the end itself allocates is not limited.
    let limit = LIMIT.swap(usize::MAX, Relaxed);
    if let (true, Some(exceeded)) = (limit < usize::MAX, EXCEEDED.get()) {
        exceeded(Exceeded { limit, held, asked });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_and_left_cancels() {
        // Other tests allocate at the same time, so only the own share is compared.
        let own = || OWN.with(Cell::get);
        let before = own();
        (0..1000).for_each(|size| count_small(size % 97));
        (0..1000).for_each(|size| count_small(-(size % 97)));
        assert!((own() - before).unsigned_abs() < 2 * SMALL);
        let large = vec![1u8; 100 * SMALL];
        assert!(HELD.load(Relaxed) > 50 * SMALL as isize, "{}", large.len());
    }
}
