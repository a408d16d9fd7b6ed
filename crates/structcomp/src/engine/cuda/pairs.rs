//! The losses of SCE and COLES on the GPU: functions of T = tr(ZᵀMZ) for a sparse M, which for SCE is drawn in every
//! step.

use super::gpu::Gpu;
use super::layers::blocks;
use super::operand::{Arg, GpuArray, args};
use crate::model::{Compared, Form, Model, Sce};
use crate::{Error, Result, Seed};

pub(super) struct PairLoss {
    rows: usize,
    width: usize,
    /// α of SCE; zero for COLES.
    alpha: f64,
    drawn: Option<StepPairs>,
    starts: GpuArray<u32>,
    others: GpuArray<u32>,
    /// The sums of M's rows and its entries, where it is no plain Laplacian.
    own: Option<(GpuArray<f32>, GpuArray<f32>)>,
    terms: GpuArray<f64>,
}

/// What random pairs are drawn by and in.
struct StepPairs {
    key: u64,
    negatives: usize,
    pairs: GpuArray<u32>,
    counts: GpuArray<u32>,
    next: GpuArray<u32>,
}

impl PairLoss {
    /// Random pairs, anew in every step.
    pub(super) fn sce(gpu: &Gpu, sce: &Sce, seed: Seed, rows: usize, width: usize) -> Result<Self> {
        let pairs = rows.checked_mul(sce.negatives).filter(|&pairs| pairs < (1 << 31));
        let pairs = pairs.ok_or_else(|| Error::Input("more than 2^31 pairs".into()))?;
        Ok(Self {
            rows,
            width,
            alpha: sce.alpha,
            drawn: Some(StepPairs {
                key: seed.key("sce negatives"),
                negatives: sce.negatives,
                pairs: gpu.zeros(pairs)?,
                counts: gpu.zeros(rows)?,
                next: gpu.zeros(rows)?,
            }),
            starts: gpu.zeros(rows + 1)?,
            others: gpu.zeros(2 * pairs)?,
            own: None,
            terms: gpu.zeros(rows)?,
        })
    }

    /// The pairs that COLES is made from, once.
    pub(super) fn coles(gpu: &Gpu, model: &Model, on: &Compared, width: usize) -> Result<Self> {
        let objective = model.objective(on)?;
        let quadratic = objective.quadratic();
        let quadratic = quadratic.ok_or_else(|| Error::Input("the loss is no quadratic form".into()))?;
        let form = quadratic.form(0);
        let Form { own, starts, others, weights } = &*form;
        let starts: Vec<u32> = starts.iter().map(|&start| start as u32).collect();
        Ok(Self {
            rows: on.rows,
            width,
            alpha: 0.0,
            drawn: None,
            starts: gpu.upload(&starts)?,
            others: gpu.upload(others)?,
            own: Some((gpu.upload(own)?, gpu.upload(weights)?)),
            terms: gpu.zeros(on.rows)?,
        })
    }

    /// Bytes for so many entries of M.
    pub(super) fn bytes(rows: usize, entries: usize) -> u64 {
        (24 * rows + 8 * entries) as u64
    }

    /// Whether the loss divides by T, which is zero where all rows are equal.
    pub(super) fn divides(&self) -> bool {
        self.alpha > 0.0
    }

    /// Writes the gradient of the rows `z` and the loss.
    pub(super) fn loss(
        &mut self,
        gpu: &Gpu,
        clock: &GpuArray<u64>,
        z: &GpuArray<f32>,
        gradient: &GpuArray<f32>,
        (outcome, scalars): (&GpuArray<f64>, &GpuArray<f32>),
    ) -> Result<()> {
        self.draw(gpu, clock)?;
        let (rows, cols, size) = (self.rows, self.width as u32, self.rows * self.width);
        let (own, weights) = match &self.own {
            Some((own, weights)) => (own.from(0), weights.from(0)),
            None => (Arg::NOTHING, Arg::NOTHING),
        };
        let args = args![own, &self.starts, &self.others, weights, z, cols, gradient, &self.terms];
        gpu.launch("differences", (rows, 1), (128, 1), args)?;
        let args = args![&self.terms, rows as u64, 1.0f64, 0i32, outcome.from(1)];
        gpu.launch("sum_doubles", (1, 1), (1024, 1), args)?;
        gpu.launch("outer", (1, 1), (1, 1), args![self.alpha, rows as f64, outcome, scalars])?;
        gpu.launch("scale_all", (blocks(size), 1), (256, 1), args![gradient, size as u64, scalars])
    }

    fn draw(&mut self, gpu: &Gpu, clock: &GpuArray<u64>) -> Result<()> {
        let Some(StepPairs { key, negatives, pairs, counts, next }) = &mut self.drawn else { return Ok(()) };
        let (rows, each) = (self.rows as u32, *negatives as u32);
        let by_rows = (self.rows.div_ceil(128), 1);
        gpu.clear(counts)?;
        let args = args![clock, *key, rows, each, &*pairs, &*counts];
        gpu.launch("draw_pairs", by_rows, (128, 1), args)?;
        let args = args![&*counts, rows, &self.starts, &*next];
        gpu.launch("pair_starts", (1, 1), (1024, 1), args)?;
        let args = args![&*pairs, rows, each, &*next, &self.others];
        gpu.launch("list_pairs", (pairs.len().div_ceil(256), 1), (256, 1), args)?;
        gpu.launch("sort_pairs", by_rows, (128, 1), args![&self.starts, rows, &self.others])
    }
}
