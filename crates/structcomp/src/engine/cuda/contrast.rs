//! InfoNCE by panels: the similarities of some rows with all later ones are made twice, once for their sums and once
//! for the gradient, and never all at once. See [`Grace`](crate::model::Grace) for the formula.
//!
//! Rows have length one. So in half precision, with sums in `f32`, similarities are as accurate as in TF32.

use super::gpu::Gpu;
use super::operand::{GpuArray, GpuMatrix, TensorMap, args};
use crate::Result;
use crate::device::Precision;

/// Rows and columns of the similarities that a block goes over; as in the kernels.
const TILE: (usize, usize) = (64, 256);

/// Bytes of similarities that are held at once.
const PANEL: usize = 208 << 20;

/// Below this temperature, half precision would leave too few digits to what is exponentiated.
const LEAST_TAU: f64 = 0.3;

pub(super) struct PanelContrast {
    tau: f64,
    /// Of both views.
    rows: usize,
    width: usize,
    /// Rows of a panel.
    panel: usize,
    similarities: Similarities,
    scales: GpuArray<f32>,
    /// Sums of the tiles of a panel.
    by_row: GpuArray<f32>,
    by_col: GpuArray<f32>,
    sums: GpuArray<f64>,
    inverses: GpuArray<f32>,
    terms: GpuArray<f64>,
}

enum Similarities {
    Single(GpuArray<f32>),
    Half {
        rows: GpuArray<u16>,
        panel: GpuArray<u16>,
        /// How the kernels of `hopper.cu` fetch the rows, where they run.
        map: Option<Box<TensorMap>>,
    },
}

/// How much a contrast of so many rows holds.
struct PanelSizes {
    half: bool,
    panel: usize,
    stride: usize,
}

impl PanelSizes {
    fn new(precision: Precision, tau: f64, rows: usize, bytes: usize) -> Self {
        let half = precision != Precision::F32 && tau >= LEAST_TAU;
        // Whole vectors of eight numbers.
        let stride = rows.next_multiple_of(8);
        let fit = bytes / (stride.max(1) * if half { 2 } else { 4 });
        let panel = (fit / TILE.1 * TILE.1).max(TILE.1).min(rows.next_multiple_of(TILE.1));
        Self { half, panel, stride }
    }

    fn partial(&self, rows: usize) -> (usize, usize) {
        (rows.div_ceil(TILE.1) * self.panel, self.panel.div_ceil(TILE.0) * self.stride)
    }
}

impl PanelContrast {
    pub(super) fn new(gpu: &Gpu, tau: f64, rows: usize, width: usize) -> Result<Self> {
        Self::with_panel(gpu, tau, (rows, width), PANEL)
    }

    pub(super) fn with_panel(
        gpu: &Gpu,
        tau: f64,
        (rows, width): (usize, usize),
        bytes: usize,
    ) -> Result<Self> {
        let sizes = PanelSizes::new(gpu.precision(), tau, rows, bytes);
        let (by_row, by_col) = sizes.partial(rows);
        let panel = sizes.panel * sizes.stride;
        let similarities = match sizes.half {
            true => {
                let halves = gpu.zeros(rows * width)?;
                let map =
                    if gpu.is_hopper() { TensorMap::new(&halves, rows, width)?.map(Box::new) } else { None };
                Similarities::Half { rows: halves, panel: gpu.zeros(panel)?, map }
            }
            false => Similarities::Single(gpu.zeros(panel)?),
        };
        Ok(Self {
            tau,
            rows,
            width,
            panel: sizes.panel,
            similarities,
            scales: gpu.zeros(rows)?,
            by_row: gpu.zeros(by_row)?,
            by_col: gpu.zeros(by_col)?,
            sums: gpu.zeros(rows)?,
            inverses: gpu.zeros(rows)?,
            terms: gpu.zeros(rows)?,
        })
    }

    /// Bytes that it takes.
    pub(super) fn bytes(precision: Precision, tau: f64, rows: usize, width: usize) -> u64 {
        let sizes = PanelSizes::new(precision, tau, rows, PANEL);
        let (by_row, by_col) = sizes.partial(rows);
        let each = if sizes.half { 2 } else { 4 };
        let halves = if sizes.half { 2 * rows * width } else { 0 };
        (sizes.panel * sizes.stride * each + halves + 4 * (by_row + by_col) + 24 * rows) as u64
    }

    /// Scales the rows of `z` to length one; writes their gradient and the loss.
    pub(super) fn loss(
        &mut self,
        gpu: &Gpu,
        z: &GpuArray<f32>,
        gradient: &mut GpuArray<f32>,
        outcome: &GpuArray<f64>,
    ) -> Result<()> {
        let (rows, cols) = (self.rows as u32, self.width as u32);
        let halves = match &self.similarities {
            Similarities::Half { rows, .. } => rows.from(0),
            Similarities::Single(_) => super::operand::Arg::NOTHING,
        };
        let by_warps = (self.rows.div_ceil(8), 1);
        gpu.launch("unit_rows", by_warps, (256, 1), args![z, rows, cols, &self.scales, halves])?;
        if !self.sums_at_once(gpu)? {
            gpu.clear(&mut self.sums)?;
            self.panels().try_for_each(|start| self.add_sums(gpu, z, start))?;
            let args = args![&self.sums, rows, &self.inverses];
            gpu.launch("inverses", (self.rows.div_ceil(256), 1), (256, 1), args)?;
        }
        // Half precision holds neither very small nor very large weights, whose mean is about 2/n.
        let by = match self.similarities {
            Similarities::Half { .. } => self.rows as f32 / 4.0,
            Similarities::Single(_) => 1.0,
        };
        gpu.clear(gradient)?;
        self.panels().try_for_each(|start| self.add_gradient(gpu, z, gradient, start, by))?;
        let scale = 1.0 / (self.rows as f64 * self.tau);
        let (of_product, of_partner) = ((scale / by as f64) as f32, (2.0 * scale) as f32);
        let Self { scales, sums, terms, tau, .. } = self;
        let args = args![&*gradient, z, &*scales, &*sums, rows, cols, of_product, of_partner, *tau, &*terms];
        gpu.launch("contrast_rows", by_warps, (256, 1), args)?;
        let args = args![&*terms, self.rows as u64, 1.0 / self.rows as f64, 0i32, outcome];
        gpu.launch("sum_doubles", (1, 1), (1024, 1), args)
    }

    /// The first row of every panel.
    fn panels(&self) -> impl Iterator<Item = usize> + use<> {
        (0..self.rows).step_by(self.panel)
    }

    /// How many rows a panel has, and how many similarities each of them.
    fn shape(&self, start: usize) -> (usize, usize) {
        (self.panel.min(self.rows - start), self.rows - start)
    }

    /// Makes the similarities of a panel's rows with themselves and all later ones; how far apart their rows are.
    fn similarities(&self, gpu: &Gpu, z: &GpuArray<f32>, start: usize) -> Result<usize> {
        let (rows, cols) = self.shape(start);
        let stride = cols.next_multiple_of(8);
        let (own, all) = (self.operand(z, start, rows), self.operand(z, start, cols));
        let panel = match &self.similarities {
            Similarities::Single(panel) => panel.matrix(0, rows, cols),
            Similarities::Half { panel, .. } => panel.matrix(0, rows, cols),
        };
        gpu.product(panel.stride(stride), own, all.t(), false)?;
        Ok(stride)
    }

    /// Rows as they are multiplied.
    fn operand(&self, z: &GpuArray<f32>, start: usize, rows: usize) -> GpuMatrix {
        match &self.similarities {
            Similarities::Single(_) => z.matrix(start * self.width, rows, self.width),
            Similarities::Half { rows: halves, .. } => halves.matrix(start * self.width, rows, self.width),
        }
    }

    fn factor(&self) -> f32 {
        (std::f64::consts::LOG2_E / self.tau) as f32
    }

    /// Makes all sums without writing a similarity, where that is possible; whether it is.
    fn sums_at_once(&self, gpu: &Gpu) -> Result<bool> {
        let Similarities::Half { panel, map: Some(map), .. } = &self.similarities else { return Ok(false) };
        // Sums of tiles of 128 x 256 similarities, in the place of a panel.
        let stride = self.rows.next_multiple_of(64);
        let (by_row, by_col) = (self.rows.div_ceil(256) * stride, self.rows.div_ceil(128) * stride);
        if 2 * (by_row + by_col) > panel.len() {
            return Ok(false);
        }
        let (rows, depth) = (self.rows as u32, self.width as u32);
        let (by_row, by_col) = (panel.from(0), panel.from(2 * by_row));
        let args = args![**map, rows, depth, self.factor(), stride as u32, by_row, by_col];
        gpu.launch_hopper("pair_sums", args)?;
        let args = args![by_row, by_col, rows, stride as u32, &self.sums, &self.inverses];
        gpu.launch("add_pair_sums", (self.rows.div_ceil(256), 1), (256, 1), args)?;
        Ok(true)
    }

    /// Makes the weights of a panel's rows; how far apart their rows are.
    fn weights(&self, gpu: &Gpu, z: &GpuArray<f32>, start: usize, by: f32) -> Result<usize> {
        let (rows, cols) = self.shape(start);
        if let Similarities::Half { panel, map: Some(map), .. } = &self.similarities {
            let stride = cols.next_multiple_of(8);
            let (start, width, inverses) = (start as u32, self.width as u32, &self.inverses);
            let (rows, cols, factor) = (rows as u32, cols as u32, self.factor());
            let args = args![**map, start, rows, cols, width, factor, inverses, by, stride as u32, panel];
            return gpu.launch_hopper("pair_weights", args).map(|()| stride);
        }
        let stride = self.similarities(gpu, z, start)?;
        let tiles = (cols.div_ceil(TILE.1), rows.div_ceil(TILE.0));
        let inverses = self.inverses.from(start);
        let (kernel, place) = match &self.similarities {
            Similarities::Single(panel) => ("weights_single", panel.from(0)),
            Similarities::Half { panel, .. } => ("weights_half", panel.from(0)),
        };
        let args = args![place, stride as u32, rows as u32, cols as u32, self.factor(), inverses, by];
        gpu.launch(kernel, tiles, (256, 1), args)?;
        Ok(stride)
    }

    /// Without the kernels of `hopper.cu`, for tests.
    #[cfg(test)]
    pub(super) fn plain(mut self) -> Self {
        if let Similarities::Half { map, .. } = &mut self.similarities {
            *map = None;
        }
        self
    }

    fn add_sums(&self, gpu: &Gpu, z: &GpuArray<f32>, start: usize) -> Result<()> {
        let (rows, cols) = self.shape(start);
        let stride = self.similarities(gpu, z, start)?;
        let tiles = (cols.div_ceil(TILE.1), rows.div_ceil(TILE.0));
        let (kernel, panel) = match &self.similarities {
            Similarities::Single(panel) => ("exp_sums_single", panel.from(0)),
            Similarities::Half { panel, .. } => ("exp_sums_half", panel.from(0)),
        };
        let (rows, cols, factor) = (rows as u32, cols as u32, self.factor());
        let (by_row, by_col, stride) = (&self.by_row, &self.by_col, stride as u32);
        let args = args![panel, stride, rows, cols, factor, by_row, self.panel as u32, by_col, stride];
        gpu.launch(kernel, tiles, (256, 1), args)?;
        let (col_tiles, row_tiles) = (tiles.0 as u32, tiles.1 as u32);
        let sums = self.sums.from(start);
        let args = args![by_row, col_tiles, self.panel as u32, by_col, row_tiles, stride, rows, cols, sums];
        gpu.launch("add_exp_sums", ((cols as usize).div_ceil(256), 1), (256, 1), args)
    }

    fn add_gradient(
        &self,
        gpu: &Gpu,
        z: &GpuArray<f32>,
        gradient: &GpuArray<f32>,
        start: usize,
        by: f32,
    ) -> Result<()> {
        let (rows, cols) = self.shape(start);
        let stride = self.weights(gpu, z, start, by)?;
        let weights = |from: usize, cols: usize| match &self.similarities {
            Similarities::Single(panel) => panel.matrix(from, rows, cols).stride(stride),
            Similarities::Half { panel, .. } => panel.matrix(from, rows, cols).stride(stride),
        };
        let width = self.width;
        let of_own = gradient.matrix(start * width, rows, width);
        gpu.product(of_own, weights(0, cols), self.operand(z, start, cols), true)?;
        let later = cols - rows;
        if later == 0 {
            return Ok(());
        }
        // The same weights, seen from the later rows.
        let of_later = gradient.matrix((start + rows) * width, later, width);
        gpu.product(of_later, weights(rows, later).t(), self.operand(z, start, rows), true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panels_hold_a_fixed_number_of_bytes() {
        for rows in [2, 542, 40_000, 50_000, 200_000] {
            for precision in [Precision::F32, Precision::Tf32] {
                let sizes = PanelSizes::new(precision, 0.5, rows, PANEL);
                let bytes = sizes.panel * sizes.stride * if sizes.half { 2 } else { 4 };
                assert!(bytes <= PANEL || sizes.panel == TILE.1, "{rows}: {bytes}");
                assert!(sizes.panel.is_multiple_of(TILE.1) && sizes.half == (precision == Precision::Tf32));
            }
        }
        // A low temperature leaves half precision too few digits.
        assert!(!PanelSizes::new(Precision::Bf16, 0.1, 1000, PANEL).half);
        let (fast, strict) = (Precision::Tf32, Precision::F32);
        // At the size of ogbn-products: less than 400 MB.
        assert!(PanelContrast::bytes(fast, 0.5, 50_000, 512) < 400 << 20);
        assert!(PanelContrast::bytes(strict, 0.5, 50_000, 512) < 400 << 20);
    }
}
