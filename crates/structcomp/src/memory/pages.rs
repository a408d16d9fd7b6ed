//! A global allocator that requests huge pages for large allocations.
//!
//! An epoch on a full graph allocates and frees matrices of tens of megabytes, and each of their small
//! pages costs a page fault. Five epochs of Contrast-Reg on Pubmed (`structcomp train pubmed --mode full
//! --model contrast-reg --epochs 5`) take 9.1 s with this allocator and 13.7 s without.

use super::bound::{leave, take};
use std::alloc::{GlobalAlloc, Layout, System};

/// A global allocator: `#[global_allocator] static ALLOCATOR: LargePages = LargePages;`.
///
/// It requests huge pages, where the system has them, for allocations of 4 MiB and more, and counts what is held
/// ([`limit_process`](super::limit_process)). Everything else is left to the system's allocator.
#[derive(Clone, Copy, Debug, Default)]
pub struct LargePages;

/// Two huge pages on most systems; a smaller allocation rarely covers a whole one.
const LARGE: usize = 4 << 20;

#[allow(unsafe_code)] // the trait is unsafe to implement and to call
// SAFETY: all memory comes from the system's allocator and is freed by it.
unsafe impl GlobalAlloc for LargePages {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        take(layout.size());
        // SAFETY: the caller's guarantees are passed on, here and below.
        advised(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        take(layout.size());
        // SAFETY: as above.
        advised(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, piece: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // In this order, since a large piece usually grows where it is.
        leave(layout.size());
        take(size);
        // SAFETY: as above.
        advised(unsafe { System.realloc(piece, layout, size) }, size)
    }

    unsafe fn dealloc(&self, piece: *mut u8, layout: Layout) {
        leave(layout.size());
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
        #[allow(unsafe_code)] // a system call
        // SAFETY: this advice changes no contents, so it may also cover other data on the first page.
        // Its failure can be ignored.
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

/// Returns freed memory to the system, where the allocator supports it (glibc) and the process is large.
///
/// Called between stages, so that memory freed by one does not add to the peak of the next:
/// `structcomp run amazon-computers --model cca-ssg` peaks at 310 MB with it and 425 MB without.
pub fn give_back_memory() {
    const MUCH: u64 = 128 << 20;
    if super::rss_bytes().is_none_or(|held| held < MUCH) {
        return;
    }
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    #[allow(unsafe_code)] // a call into the C library
    // SAFETY: only memory that is not in use is returned.
    unsafe {
        libc::malloc_trim(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Installed here, it serves all tests of the library.
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
