//! Inner loops: sums of a node's row and its neighbours' rows, kept in registers.

use super::Propagation;
use crate::matrix::{Kernel, prefetch};
use std::ops::Range;

/// Columns in one cache line.
pub(super) const LINE: usize = 16;
/// Columns in two cache lines, which hardware often fetches together.
pub(super) const PAIR: usize = 2 * LINE;
/// Columns summed at once for wide rows: as many as fit in the registers.
pub(super) const WIDE: usize = 64;
/// Prefetch distance in numbers: a quarter of a typical L1 cache, the fastest of 16 to 128 cache lines.
const AHEAD: usize = 2048;

/// One hop for some rows, from tile to tile.
///
/// A tile holds `W` columns of X, with each row already multiplied by its inner scale.
pub(super) struct Hop<'a, const W: usize> {
    pub(super) all: &'a Propagation<'a>,
    pub(super) rows: Range<usize>,
    pub(super) from: &'a [[f32; W]],
    pub(super) out: &'a mut [[f32; W]],
    /// Whether another hop follows, whose input must be scaled.
    pub(super) more: bool,
}

impl<const W: usize> Kernel for Hop<'_, W> {
    #[inline(always)]
    fn run(self) {
        let Self { all, rows, from, out, more } = self;
        let ahead = |later: usize| from[later].iter().step_by(LINE).for_each(prefetch);
        for (row, out) in rows.zip(out) {
            let mut sum = all.gather(row, |node| from[node], ahead);
            scale(&mut sum, all.outer_scale(row));
            if more {
                scale(&mut sum, all.inner_scale(row));
            }
            *out = sum;
        }
    }
}

/// One hop for some rows, directly from X to the result.
pub(super) struct Direct<'a> {
    pub(super) all: &'a Propagation<'a>,
    pub(super) rows: Range<usize>,
    pub(super) x: &'a [f32],
    pub(super) width: usize,
    pub(super) out: &'a mut [f32],
}

impl Kernel for Direct<'_> {
    #[inline(always)]
    fn run(self) {
        let Self { all, rows, x, width, out } = self;
        let whole = width - width % WIDE;
        for (row, out) in rows.zip(out.chunks_exact_mut(width)) {
            for first in (0..whole).step_by(WIDE) {
                all.gather_columns::<WIDE>(row, x, width, first..first + WIDE, out);
            }
            for first in (whole..width).step_by(LINE) {
                all.gather_columns::<LINE>(row, x, width, first..width.min(first + LINE), out);
            }
        }
    }
}

impl Propagation<'_> {
    #[inline(always)]
    fn gather_columns<const W: usize>(
        &self,
        row: usize,
        x: &[f32],
        width: usize,
        columns: Range<usize>,
        out: &mut [f32],
    ) {
        let part = |node: usize| &x[node * width + columns.start..node * width + columns.end];
        let scaled = |node: usize| {
            let mut piece = load::<W>(part(node));
            scale(&mut piece, self.inner_scale(node));
            piece
        };
        let ahead = |later: usize| part(later).iter().step_by(LINE).for_each(prefetch);
        let mut sum = self.gather(row, scaled, ahead);
        scale(&mut sum, self.outer_scale(row));
        store(&sum, &mut out[columns]);
    }

    /// Sums the row itself and then its neighbours in ascending order. All code paths add in this order,
    /// so their results are bit-identical.
    #[inline(always)]
    fn gather<const W: usize>(
        &self,
        row: usize,
        piece: impl Fn(usize) -> [f32; W],
        ahead: impl Fn(usize),
    ) -> [f32; W] {
        let (offsets, targets) = (self.graph.offsets(), self.graph.targets());
        let entries = offsets[row] as usize..offsets[row + 1] as usize;
        let now = &targets[entries.clone()];
        // The same number of entries further ahead, mostly in later rows.
        let later = &targets[(entries.start + AHEAD / W).min(targets.len() - now.len())..][..now.len()];
        let mut sum = piece(row);
        match self.graph.weights() {
            None => {
                for (&node, &later) in now.iter().zip(later) {
                    ahead(later as usize);
                    let other = piece(node as usize);
                    (0..W).for_each(|c| sum[c] += other[c]);
                }
            }
            Some(weights) => {
                for ((&node, &later), &weight) in now.iter().zip(later).zip(&weights[entries]) {
                    ahead(later as usize);
                    let other = piece(node as usize);
                    (0..W).for_each(|c| sum[c] += other[c] * weight);
                }
            }
        }
        sum
    }
}

/// The values, padded with zeros.
#[inline(always)]
pub(super) fn load<const W: usize>(values: &[f32]) -> [f32; W] {
    // A copy of known length compiles to a few instructions, one of unknown length to a call.
    values.try_into().unwrap_or_else(|_| {
        let mut padded = [0.0; W];
        padded[..values.len()].copy_from_slice(values);
        padded
    })
}

/// Copies as much of `piece` as fits in `out`.
#[inline(always)]
pub(super) fn store<const W: usize>(piece: &[f32; W], out: &mut [f32]) {
    match <&mut [f32; W]>::try_from(&mut *out) {
        Ok(whole) => *whole = *piece,
        Err(_) => out.copy_from_slice(&piece[..out.len()]),
    }
}

#[inline(always)]
pub(super) fn scale<const W: usize>(piece: &mut [f32; W], by: f32) {
    piece.iter_mut().for_each(|value| *value *= by);
}

#[cfg(test)]
mod tests {
    use super::super::{Normalization, tests::random_graph};
    use super::*;
    use crate::matrix::Unit;

    #[test]
    fn every_vector_unit_gives_the_same_bits() {
        for weighted in [false, true] {
            let graph = random_graph(200, 900, weighted, 3);
            let all = Propagation::new(&graph, Normalization::Symmetric);
            let from: Vec<[f32; LINE]> =
                (0..200).map(|row| std::array::from_fn(|c| 1.0 / (1 + row * 7 + c) as f32)).collect();
            let x: Vec<f32> = (0..200 * 83).map(|i| 1.0 / (1 + i % 977) as f32).collect();
            let results = Unit::all().map(|unit| {
                let mut tile = vec![[0.0; LINE]; 200];
                unit.run(Hop { all: &all, rows: 0..200, from: &from, out: &mut tile, more: true });
                let mut straight = vec![0.0; x.len()];
                unit.run(Direct { all: &all, rows: 0..200, x: &x, width: 83, out: &mut straight });
                (tile, straight)
            });
            let results: Vec<_> = results.collect();
            assert!(results.iter().all(|result| *result == results[0]), "weighted: {weighted}");
        }
    }
}
