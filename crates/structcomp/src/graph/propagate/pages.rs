//! Zeroed scratch memory for random access, in huge pages if available.

use crate::memory::human_bytes;
use crate::{Error, Result};
use memmap2::MmapMut;

/// A zeroed array that uses no memory until it is written.
///
/// Rows are read in random order, so most reads miss the TLB. On the graph of `benchmarks/spmm.py` huge
/// pages reduce the time of Â²X by an eighth, half of it in page faults.
pub(super) struct HugePages {
    map: MmapMut,
    floats: usize,
}

impl HugePages {
    pub(super) fn zeroed(count: usize) -> Result<Self> {
        // Empty maps are not allowed.
        let bytes = count.max(1) * size_of::<f32>();
        let map = MmapMut::map_anon(bytes).map_err(|error| {
            let size = human_bytes(bytes as u64);
            Error::Input(format!("the system refused {size} for some columns of a product: {error}"))
        })?;
        #[cfg(target_os = "linux")]
        // Only a hint: without huge pages it is just slower.
        let _ = map.advise(memmap2::Advice::HugePage);
        Ok(Self { map, floats: count })
    }

    /// The array as rows of `W` numbers.
    pub(super) fn rows<const W: usize>(&self) -> &[[f32; W]] {
        let values: &[f32] = bytemuck::cast_slice(&self.map);
        values[..self.floats].as_chunks().0
    }

    /// The array as mutable rows of `W` numbers.
    pub(super) fn rows_mut<const W: usize>(&mut self) -> &mut [[f32; W]] {
        let values: &mut [f32] = bytemuck::cast_slice_mut(&mut self.map);
        values[..self.floats].as_chunks_mut().0
    }
}
