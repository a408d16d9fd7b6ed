//! The system's allocator, with large pages for what is large.
//!
//! An epoch on a whole graph takes and gives back matrices of tens of megabytes, and the system hands out
//! each of their small pages in a trap of its own. Five epochs of Contrast-Reg on Pubmed (`structcomp train
//! pubmed --mode full --model contrast-reg --epochs 5`) take 9.1 s with this and 13.7 s without.

use std::alloc::{GlobalAlloc, Layout, System};

/// An allocator for programs: `#[global_allocator] static ALLOCATOR: LargePages = LargePages;`.
///
/// It asks the system for large pages, where it has them, for pieces of 4 MiB and more; all else is left to
/// the system's allocator.
#[derive(Clone, Copy, Debug, Default)]
pub struct LargePages;

/// Two large pages of most systems: in smaller pieces hardly one would lie whole.
const LARGE: usize = 4 << 20;

#[allow(unsafe_code)] // the trait is unsafe to implement and to call
// SAFETY: every piece is the system allocator's own, taken and given back by its rules.
unsafe impl GlobalAlloc for LargePages {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise is passed on, here and below.
        advised(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        advised(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, piece: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above.
        advised(unsafe { System.realloc(piece, layout, size) }, size)
    }

    unsafe fn dealloc(&self, piece: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(piece, layout) }
    }
}

#[cfg(target_os = "linux")]
#[inline]
fn advised(piece: *mut u8, size: usize) -> *mut u8 {
    const PAGE: usize = 4096;
    if size >= LARGE && !piece.is_null() {
        let before = piece.addr() % PAGE;
        #[allow(unsafe_code)] // a call of the system
        // SAFETY: this advice changes no contents, and whatever else lies on the first page may have it too.
        // Refused, it is of no consequence.
        unsafe {
            libc::madvise(
                piece.wrapping_sub(before).cast(),
                (before + size) / PAGE * PAGE,
                libc::MADV_HUGEPAGE,
            )
        };
    }
    piece
}

#[cfg(not(target_os = "linux"))]
#[inline]
fn advised(piece: *mut u8, _: usize) -> *mut u8 {
    piece
}

/// Gives the system back what was freed but kept for later, where its allocator can (glibc) and there may be much.
///
/// Between stages, so that what one has left behind does not count for the next: `structcomp run
/// amazon-computers --model cca-ssg` holds 310 MB at most with it, and 425 MB without.
pub fn give_back_memory() {
    const MUCH: u64 = 128 << 20;
    if super::rss_bytes().is_none_or(|held| held < MUCH) {
        return;
    }
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    #[allow(unsafe_code)] // a call of the system's library
    // SAFETY: only what nobody holds is given back.
    unsafe {
        libc::malloc_trim(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // So all tests of the library run with it.
    #[global_allocator]
    static ALLOCATOR: LargePages = LargePages;

    #[test]
    fn large_pieces_keep_what_is_in_them() {
        assert!(vec![0u8; 3 * LARGE + 17].iter().all(|&byte| byte == 0));
        let mut numbers: Vec<usize> = Vec::new();
        (0..LARGE).for_each(|number| numbers.push(number));
        assert!(numbers.iter().enumerate().all(|(at, &number)| at == number));
        numbers.truncate(100);
        numbers.shrink_to_fit();
        give_back_memory();
        assert!(numbers.iter().copied().eq(0..100));
    }
}
