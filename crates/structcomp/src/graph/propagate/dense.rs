//! Â^k X for a dense result, a few columns at a time.
//!
//! A hop reads a row of X for every edge, in random order. Columns are independent, though: a tile of 16
//! columns of X is small enough to stay in the cache for all hops. Main memory then transfers X and the
//! result once, and the neighbour lists once per tile and hop.

use super::Propagation;
use super::gather::{Direct, Hop, LINE, PAIR, WIDE, load, scale, store};
use super::pages::HugePages;
use crate::matrix::Unit;
use crate::{Features, Result};
use rayon::prelude::*;
use std::ops::Range;

/// Columns copied together, so that whole cache lines of X and of the result are used.
const GROUP: usize = WIDE;
/// Two tiles of up to this total size are assumed to fit in the cache; L3 caches of 32 MiB are common.
const CACHED: usize = 32 << 20;
/// Entries plus rows per task. Small, so that there are many more tasks than threads.
const TASK: u64 = 1 << 15;

impl Propagation<'_> {
    /// Writes Â^k X to `out`, for `hops >= 1`.
    pub(super) fn dense_power(&self, x: Operand<'_>, hops: usize, out: &mut [f32]) -> Result<()> {
        if out.is_empty() {
            return Ok(());
        }
        // On a million nodes, which exceed the cache, tiles of two cache lines took an eighth less time, and
        // wider ones no less.
        match 2 * self.graph.nodes() * LINE * size_of::<f32>() <= CACHED {
            true => self.tiled::<LINE>(x, hops, out),
            false => self.tiled::<PAIR>(x, hops, out),
        }
    }

    /// Â^k X in tiles of `W` columns; `W` divides [`GROUP`].
    pub(super) fn tiled<const W: usize>(&self, x: Operand<'_>, hops: usize, out: &mut [f32]) -> Result<()> {
        let (nodes, width, unit) = (self.graph.nodes(), x.width(), Unit::widest());
        let tasks = self.tasks(0..nodes);
        let count = width.min(GROUP).div_ceil(W);
        let mut tiles = (0..count).map(|_| HugePages::zeroed(nodes * W)).collect::<Result<Vec<_>>>()?;
        let mut spare = HugePages::zeroed(nodes * W)?;
        for first in (0..width).step_by(GROUP) {
            let columns = first..width.min(first + GROUP);
            let tiles = &mut tiles[..columns.len().div_ceil(W)];
            self.pack::<W>(x, columns.clone(), &tasks, tiles);
            for tile in tiles.iter_mut() {
                for hop in 1..=hops {
                    let (from, more) = (tile.rows(), hop < hops);
                    split(spare.rows_mut::<W>(), &tasks, |rows| rows.len())
                        .into_par_iter()
                        .for_each(|(rows, out)| unit.run(Hop { all: self, rows, from, out, more }));
                    std::mem::swap(tile, &mut spare);
                }
            }
            unpack::<W>(tiles, columns, width, &tasks, out);
        }
        Ok(())
    }

    /// Copies columns of X into tiles, with each row multiplied by its inner scale.
    fn pack<const W: usize>(
        &self,
        x: Operand<'_>,
        columns: Range<usize>,
        tasks: &[Range<usize>],
        tiles: &mut [HugePages],
    ) {
        let parts = tiles.iter_mut().map(|tile| split(tile.rows_mut::<W>(), tasks, |rows| rows.len()));
        let mut parts: Vec<_> = parts.map(Vec::into_iter).collect();
        let jobs: Vec<(Range<usize>, Vec<_>)> = tasks
            .iter()
            .map(|rows| (rows.clone(), parts.iter_mut().filter_map(Iterator::next).collect()))
            .collect();
        jobs.into_par_iter().for_each(|(rows, mut tiles)| {
            for (at, row) in rows.enumerate() {
                let mut group = x.columns(row, columns.clone());
                scale(&mut group, self.inner_scale(row));
                for ((_, tile), piece) in tiles.iter_mut().zip(group.as_chunks::<W>().0) {
                    tile[at] = *piece;
                }
            }
        });
    }

    /// Computes some rows of Â X directly from X, without tiles.
    pub(super) fn direct(&self, rows: Range<usize>, x: &[f32], width: usize, out: &mut [f32]) {
        if out.is_empty() {
            return;
        }
        let unit = Unit::widest();
        split(out, &self.tasks(rows), |rows| rows.len() * width)
            .into_par_iter()
            .for_each(|(rows, out)| unit.run(Direct { all: self, rows, x, width, out }));
    }

    /// Splits `rows` into ranges of about equal work, independent of the number of threads.
    pub(super) fn tasks(&self, rows: Range<usize>) -> Vec<Range<usize>> {
        let offsets = self.graph.offsets();
        let work = |rows: &Range<usize>| offsets[rows.end] - offsets[rows.start] + rows.len() as u64;
        let mut tasks = Vec::new();
        let mut start = rows.start;
        for end in rows.start + 1..=rows.end {
            if work(&(start..end)) >= TASK || end == rows.end {
                tasks.push(start..end);
                start = end;
            }
        }
        tasks
    }
}

/// Pairs each task with its part of `out`.
pub(super) fn split<'o, T>(
    mut out: &'o mut [T],
    tasks: &[Range<usize>],
    length: impl Fn(&Range<usize>) -> usize,
) -> Vec<(Range<usize>, &'o mut [T])> {
    let mut parts = Vec::with_capacity(tasks.len());
    for rows in tasks {
        let (part, others) = out.split_at_mut(length(rows));
        parts.push((rows.clone(), part));
        out = others;
    }
    parts
}

/// Copies tiles into columns of the result.
fn unpack<const W: usize>(
    tiles: &[HugePages],
    columns: Range<usize>,
    width: usize,
    tasks: &[Range<usize>],
    out: &mut [f32],
) {
    let tiles: Vec<&[[f32; W]]> = tiles.iter().map(HugePages::rows).collect();
    split(out, tasks, |rows| rows.len() * width).into_par_iter().for_each(|(rows, out)| {
        for (row, out) in rows.zip(out.chunks_exact_mut(width)) {
            for (piece, tile) in out[columns.clone()].chunks_mut(W).zip(&tiles) {
                store(&tile[row], piece);
            }
        }
    });
}

/// The matrix X in any representation.
#[derive(Clone, Copy)]
pub(super) enum Operand<'x> {
    Values { values: &'x [f32], width: usize },
    Features(&'x Features),
}

impl Operand<'_> {
    fn width(&self) -> usize {
        match self {
            Self::Values { width, .. } => *width,
            Self::Features(x) => x.cols(),
        }
    }

    /// Columns of a row, padded with zeros.
    fn columns(&self, row: usize, columns: Range<usize>) -> [f32; GROUP] {
        match self {
            Self::Values { values, width } => load(&values[row * width..(row + 1) * width][columns]),
            Self::Features(Features::Dense(x)) => load(&x.row(row)[columns]),
            Self::Features(Features::Sparse(x)) => {
                let (indices, values) = x.row(row);
                let place = |column: usize| indices.partition_point(|&other| (other as usize) < column);
                let mut group = [0.0; GROUP];
                for at in place(columns.start)..place(columns.end) {
                    group[indices[at] as usize - columns.start] = values[at];
                }
                group
            }
        }
    }
}
