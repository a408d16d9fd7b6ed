//! Scratch memory for random access: zeroed, aligned to pages, in huge pages where there are any.

use crate::{Error, Result};
use memmap2::MmapMut;

/// An array of zeros that costs nothing until it is written.
///
/// With 4 KiB pages every second read of a neighbour would also miss the address cache; huge pages
/// make a hop about a tenth faster and the first touch four times cheaper (`benchmarks/spmm.py`).
pub(super) struct Pages {
    map: MmapMut,
    floats: usize,
}

impl Pages {
    /// `count` zeros.
    pub(super) fn zeroed(count: usize) -> Result<Self> {
        let refused =
            |need: u64| move |_| Error::Memory { what: "a tile of columns".into(), need, budget: 0 };
        // The system refuses empty maps.
        let bytes = count.max(1) * size_of::<f32>();
        let map = MmapMut::map_anon(bytes).map_err(refused(bytes as u64))?;
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
