//! CCA-SSG's loss on the GPU; see [`CcaSsg`](crate::model::CcaSsg) for the formula.

use super::gpu::Gpu;
use super::layers::{ROWS, blocks};
use super::operand::{Arg, GpuArray, args};
use crate::Result;

pub(super) struct Correlation {
    lambda: f64,
    /// Of each view.
    rows: usize,
    width: usize,
    /// The standardised columns of both views.
    standard: GpuArray<f32>,
    products: GpuArray<f32>,
    /// One over the deviation of each column of each view.
    scales: GpuArray<f32>,
    mean: GpuArray<f32>,
    along: GpuArray<f32>,
    partial: GpuArray<f64>,
    terms: GpuArray<f64>,
}

/// Blocks that a sum over all numbers is split into.
const PARTS: usize = 1024;

impl Correlation {
    /// For `rows` rows in each view.
    pub(super) fn new(gpu: &Gpu, lambda: f64, rows: usize, width: usize) -> Result<Self> {
        Ok(Self {
            lambda,
            rows,
            width,
            standard: gpu.zeros(2 * rows * width)?,
            products: gpu.zeros(width * width)?,
            scales: gpu.zeros(2 * width)?,
            mean: gpu.zeros(width)?,
            along: gpu.zeros(width)?,
            partial: gpu.zeros(2 * rows.div_ceil(ROWS) * width)?,
            terms: gpu.zeros(PARTS.max(width))?,
        })
    }

    pub(super) fn bytes(rows: usize, width: usize) -> u64 {
        (4 * (2 * rows * width + width * width + 4 * width)
            + 8 * (2 * rows.div_ceil(ROWS) * width + PARTS.max(width))) as u64
    }

    /// Writes the gradient of the rows `z` of both views and the loss.
    pub(super) fn loss(
        &self,
        gpu: &Gpu,
        z: &GpuArray<f32>,
        gradient: &GpuArray<f32>,
        outcome: &GpuArray<f64>,
    ) -> Result<()> {
        let (size, cols) = (self.rows * self.width, self.width as u32);
        let Self { standard, mean, .. } = self;
        for view in 0..2 {
            let (z, out) = (z.from(view * size), standard.from(view * size));
            let scale = self.scales.from(view * self.width);
            self.moments(gpu, z, z, scale)?;
            let args = args![z, mean, scale, size as u64, cols, out];
            gpu.launch("standardize", (blocks(size), 1), (256, 1), args)?;
        }
        let (first, second) = (standard.from(0), standard.from(size));
        gpu.launch("dots", (PARTS, 1), (256, 1), args![first, second, size as u64, &self.terms])?;
        let args = args![&self.terms, PARTS as u64, -1.0 / self.rows as f64, 0i32, outcome];
        gpu.launch("sum_doubles", (1, 1), (1024, 1), args)?;
        (0..2).try_for_each(|view| self.decorrelate(gpu, view, gradient, outcome))
    }

    /// Mean and scale of each column of a.
    fn moments(&self, gpu: &Gpu, a: Arg, b: Arg, second: Arg) -> Result<()> {
        let (rows, cols) = (self.rows as u32, self.width as u32);
        gpu.launch("moments", self.tiles(), (32, 8), args![a, b, rows, cols, &self.partial])?;
        self.finish_moments(gpu, false, second)
    }

    /// Blocks for 32 columns and some rows each.
    fn tiles(&self) -> (usize, usize) {
        (self.width.div_ceil(32), self.rows.div_ceil(ROWS))
    }

    fn finish_moments(&self, gpu: &Gpu, back: bool, second: Arg) -> Result<()> {
        let (columns, parts) = self.tiles();
        let (rows, cols) = (self.rows as u32, self.width as u32);
        let args = args![&self.partial, parts as u32, rows, cols, i32::from(back), &self.mean, second];
        gpu.launch("finish_moments", (columns, 1), (32, 32), args)
    }

    fn decorrelate(
        &self,
        gpu: &Gpu,
        view: usize,
        gradient: &GpuArray<f32>,
        outcome: &GpuArray<f64>,
    ) -> Result<()> {
        let (rows, width, size) = (self.rows, self.width, self.rows * self.width);
        let own = self.standard.matrix(view * size, rows, width);
        let products = self.products.matrix(0, width, width);
        gpu.product(products, own.t(), own, false)?;
        gpu.product(gradient.matrix(view * size, rows, width), own, products, false)?;
        let args = args![&self.products, width as u32, rows as f64, &self.terms];
        gpu.launch("off_identity", (width, 1), (256, 1), args)?;
        let args = args![&self.terms, width as u64, self.lambda, 1i32, outcome];
        gpu.launch("sum_doubles", (1, 1), (1024, 1), args)?;

        let n = rows as f32;
        let scale = -4.0 * self.lambda as f32 / n;
        let (cubed, crossed) = (-scale / n, -1.0 / n);
        let (g, z) = (gradient.from(view * size), self.standard.from(view * size));
        let other = self.standard.from((1 - view) * size);
        let args = args![g, z, other, cubed, scale, crossed, rows as u32, width as u32, &self.partial];
        gpu.launch("combine", self.tiles(), (32, 8), args)?;
        self.finish_moments(gpu, true, self.along.from(0))?;
        let (mean, along, scales) = (&self.mean, &self.along, self.scales.from(view * width));
        let args = args![g, z, mean, along, scales, size as u64, width as u32];
        gpu.launch("unstandardize", (blocks(size), 1), (256, 1), args)
    }
}
