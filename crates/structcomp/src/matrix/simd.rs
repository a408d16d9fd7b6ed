//! SIMD dispatch: loops compiled for several instruction sets, chosen at run time.
//!
//! All instruction sets give bit-identical results: lanes are columns, sums keep their order, and products
//! are rounded before they are added, since Rust never fuses the two by itself.

/// A loop nest compiled once per instruction set.
///
/// `run` and everything it calls must be `#[inline(always)]`; code that is not inlined is compiled for the
/// baseline.
pub(crate) trait Kernel {
    fn run(self);
}

/// An instruction set that this processor supports; only [`all`](Self::all) creates one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unit(Set);

#[derive(Clone, Copy, Debug)]
enum Set {
    Baseline,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Unit {
    /// The instruction sets of this processor, widest last.
    pub(crate) fn all() -> impl DoubleEndedIterator<Item = Self> {
        #[cfg(target_arch = "x86_64")]
        let wider = [
            is_x86_feature_detected!("avx2").then_some(Set::Avx2),
            is_x86_feature_detected!("avx512f").then_some(Set::Avx512),
        ];
        #[cfg(not(target_arch = "x86_64"))]
        let wider: [Option<Set>; 0] = [];
        std::iter::once(Set::Baseline).chain(wider.into_iter().flatten()).map(Self)
    }

    /// The widest instruction set of this processor.
    pub(crate) fn widest() -> Self {
        Self::all().next_back().unwrap_or(Self(Set::Baseline))
    }

    /// Runs `kernel` as compiled for this instruction set.
    #[allow(unsafe_code)] // calls code that needs instructions not every processor has
    pub(crate) fn run(self, kernel: impl Kernel) {
        match self.0 {
            Set::Baseline => kernel.run(),
            // SAFETY: the field is private, and `all` only returns detected instruction sets.
            #[cfg(target_arch = "x86_64")]
            Set::Avx2 => unsafe { on_avx2(kernel) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Set::Avx512 => unsafe { on_avx512(kernel) },
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn on_avx2(kernel: impl Kernel) {
    kernel.run();
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn on_avx512(kernel: impl Kernel) {
    kernel.run();
}

/// Prefetches the cache line of `item`.
#[inline(always)]
#[allow(unsafe_code)] // the intrinsic takes a raw pointer
pub(crate) fn prefetch<T>(item: &T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the pointer comes from a reference; a prefetch reads and writes nothing visible.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(item).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = item;
}
