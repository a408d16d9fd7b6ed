//! The one kernel module: loops compiled for several vector units, chosen while running.
//!
//! Every unit gives the same bits: lanes are columns, sums keep their order, and a product is
//! rounded before it is added, since Rust never fuses the two by itself.

/// A loop nest to be compiled once for each vector unit.
///
/// `run` and all that it calls must be `#[inline(always)]`; code that is not inlined keeps the
/// baseline instructions.
pub(crate) trait Kernel {
    fn run(self);
}

/// A vector unit that this processor has; only [`all`](Self::all) makes one.
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
    /// The units of this processor, the widest last.
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

    /// The widest unit of this processor.
    pub(crate) fn widest() -> Self {
        Self::all().next_back().unwrap_or(Self(Set::Baseline))
    }

    /// Runs `kernel` as compiled for this unit.
    #[allow(unsafe_code)] // calling code compiled for a unit that not every processor has
    pub(crate) fn run(self, kernel: impl Kernel) {
        match self.0 {
            Set::Baseline => kernel.run(),
            // SAFETY: the field is private, and `all` makes a unit only where it was detected.
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

/// Asks the processor to fetch the cache line of `item` before it is needed.
#[inline(always)]
#[allow(unsafe_code)] // the processor's hint takes a raw pointer
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
