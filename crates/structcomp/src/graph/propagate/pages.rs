//! Scratch memory for random access: zeroed, aligned to pages, in huge pages where there are any.

use crate::{Error, Result, human_bytes};
use memmap2::MmapMut;

/// An array of zeros that costs nothing until it is written.
///
/// Rows are read in no order, so most reads need an address translation of their own. On the graph
/// of `benchmarks/spmm.py` huge pages take an eighth off Â²X, half of it in the first touch.
pub(super) struct Pages {
    map: MmapMut,
    floats: usize,
}

impl Pages {
    /// `count` zeros.
    pub(super) fn zeroed(count: usize) -> Result<Self> {
        // The system refuses empty maps.
        let bytes = count.max(1) * size_of::<f32>();
        let map = MmapMut::map_anon(bytes).map_err(|error| {
            let size = human_bytes(bytes as u64);
            Error::Input(format!("the system refused {size} for some columns of a product: {error}"))
        })?;
        #[cfg(target_os = "linux")]
        // Only advice: a system without huge pages does as well, more slowly.
        let _ = map.advise(memmap2::Advice::HugePage);
        Ok(Self { map, floats: count })
    }

    /// The array as rows of `W`.
    pub(super) fn rows<const W: usize>(&self) -> &[[f32; W]] {
        let values: &[f32] = bytemuck::cast_slice(&self.map);
        values[..self.floats].as_chunks().0
    }

    /// The array as rows of `W`, to be written.
    pub(super) fn rows_mut<const W: usize>(&mut self) -> &mut [[f32; W]] {
        let values: &mut [f32] = bytemuck::cast_slice_mut(&mut self.map);
        values[..self.floats].as_chunks_mut().0
    }
}
