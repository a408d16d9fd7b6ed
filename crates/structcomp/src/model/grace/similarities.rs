//! Similarities of all pairs of rows, of which only as many are held at once as memory allows.

use crate::matrix::{Kernel, Right, Sum, Unit, View, exp, zeros};
use rayon::prelude::*;
use std::ops::{AddAssign, Range};

/// Rows of a tile.
const TILE: usize = 256;
/// Its columns, so many that making its rows ready for a product costs little beside the product.
const PANEL: usize = 2 * TILE;

/// For rows P of length one and E = exp((PPᵀ − 1)/τ) with a diagonal of zeros: the row sums D of E, and
/// (E ∘ (wᵢ/Dᵢ + wⱼ/Dⱼ)) P, with weights w that are 1 if absent. At most `kept` bytes of E are stored between the two.
/// `room` is kept from call to call, since the system takes its time to hand out as much.
pub(super) fn sums_and_gradient(
    p: &[f32],
    width: usize,
    tau: f32,
    kept: usize,
    weights: Option<&[f32]>,
    room: &mut Vec<f32>,
) -> (Vec<f64>, Vec<f32>) {
    let (count, inverse, unit) = (p.len() / width, 1.0 / tau, Unit::widest());
    let rows = RowBlocks { p, width, count, inverse, unit, weights };
    match rows.count * rows.count <= kept / size_of::<f32>() {
        true => rows.stored(room),
        false => rows.streamed(),
    }
}

struct RowBlocks<'a> {
    p: &'a [f32],
    width: usize,
    count: usize,
    inverse: f32,
    unit: Unit,
    weights: Option<&'a [f32]>,
}

impl RowBlocks<'_> {
    /// What the row and the column of a similarity are weighed by.
    fn shares(&self, sums: &[f64]) -> Vec<f32> {
        let mut shares = inverses(sums);
        if let Some(weights) = self.weights {
            shares.iter_mut().zip(weights).for_each(|(share, weight)| *share *= weight);
        }
        shares
    }

    fn view(&self, rows: Range<usize>) -> View<'_> {
        View::new(&self.p[rows.start * self.width..rows.end * self.width], self.width)
    }

    /// By blocks of rows. In each block the columns from its own rows on are computed; what lies left of
    /// them is the transpose of what lies above.
    fn stored(&self, room: &mut Vec<f32>) -> (Vec<f64>, Vec<f32>) {
        let Self { width, count, .. } = *self;
        // Small blocks, since the first have more columns than the last.
        let block = (count / 16).next_multiple_of(32).clamp(32, 256);
        room.resize(count * count, 0.0);
        let e = &mut room[..];
        let transposed = Right::new(self.view(0..count).t(), count);
        let partial: Vec<(Vec<f64>, Vec<f64>)> = e
            .par_chunks_mut(block * count)
            .enumerate()
            .map(|(at, e)| {
                let first = at * block;
                let rows = first..first + e.len() / count;
                let part = (0..width, first..count);
                transposed.multiply_part(self.view(rows.clone()), part, e, first, Sum::Set);
                ProductTile { values: e, stride: count, first }.exponentials(self, Some(0))
            })
            .collect();
        let mut sums = vec![0f64; count];
        for (at, (of_rows, of_columns)) in partial.iter().enumerate() {
            // Columns of the block's own rows have the rows' sums.
            let (first, next) = (at * block, at * block + of_rows.len());
            add(&mut sums[first..], of_rows);
            add(&mut sums[next..], &of_columns[of_rows.len()..]);
        }
        let inverse = self.shares(&sums);
        e.par_chunks_mut(block * count).enumerate().for_each(|(at, e)| {
            let first = at * block;
            for (row, e) in e.chunks_mut(count).enumerate() {
                self.unit.run(Weigh {
                    values: &mut e[first..],
                    own: inverse[first + row],
                    others: &inverse[first..],
                });
            }
        });
        let mut out = zeros(self.p.len());
        let (all, p) = (View::new(e, count), Right::new(self.view(0..count), count));
        drop(transposed);
        out.par_chunks_mut(block * width).enumerate().for_each(|(at, out)| {
            let rows = at * block..at * block + out.len() / width;
            let beside = all.part(rows.clone(), rows.start..count);
            p.multiply_part(beside, (rows.start..count, 0..width), out, 0, Sum::Set);
            if rows.start > 0 {
                let above = all.part(0..rows.start, rows.clone()).t();
                p.multiply_part(above, (0..rows.start, 0..width), out, 0, Sum::Add(1.0));
            }
        });
        (sums, out)
    }

    /// By tiles, twice: once for the sums, once for the gradient. Memory grows with the rows alone.
    fn streamed(&self) -> (Vec<f64>, Vec<f32>) {
        let mut sums = vec![0f64; self.count];
        self.panels(&mut sums, 1, |task| {
            task.tiles(|tile, to| {
                let (of_rows, of_columns) = tile.exponentials(self, to.diagonal);
                add(to.rows, &of_rows);
                // Around the diagonal both halves are computed.
                if to.diagonal.is_none() {
                    add(to.panel, &of_columns);
                }
            });
        });
        let inverse = self.shares(&sums);
        let mut gradient = zeros(self.p.len());
        self.panels(&mut gradient, self.width, |task| {
            let (others, first) = (&inverse[task.panel.clone()], task.panel.start == 0);
            task.tiles(|tile, to| {
                tile.exponentials(self, to.diagonal);
                for (row, values) in to.range.clone().zip(tile.values.chunks_mut(others.len())) {
                    self.unit.run(Weigh { values, own: inverse[row], others });
                }
                let weights = View::new(tile.values, others.len());
                // What was never written to must not be read first: that costs a trap a page more.
                let sum = if first { Sum::Set } else { Sum::Add(1.0) };
                to.of_panel.multiply(weights, to.rows, sum);
                if to.diagonal.is_none() {
                    let rows = Right::here(self.view(to.range), others.len());
                    rows.multiply(weights.t(), to.panel, Sum::Add(1.0));
                }
            });
        });
        (sums, gradient)
    }

    /// Goes over the lower half of E by panels of columns. A panel's rows are shared out to tasks, which add
    /// to their own rows of `out`, and what they have for the panel's rows to sums of their own.
    fn panels<T: Copy + Default + Send + Sync + AddAssign>(
        &self,
        out: &mut [T],
        width: usize,
        task: impl Fn(Task<T>) + Sync,
    ) {
        /// So many that threads are kept busy; a fixed number, so that sums have a fixed order.
        const TASKS: usize = 8;
        // Kept from panel to panel, since the system takes its time to hand out as much.
        let mut rooms: Vec<Room<T>> = (0..TASKS).map(|_| Room::default()).collect();
        for first in (0..self.count).step_by(PANEL) {
            let panel = first..(first + PANEL).min(self.count);
            let share = (self.count - first).div_ceil(TASKS).next_multiple_of(TILE);
            let (rows, of_panel) = (self.count - first, self.view(panel.clone()));
            let across = Right::new(of_panel.t(), rows);
            // Sums of similarities are not multiplied by anything.
            let of_panel = Right::new(of_panel, if width > 1 { rows } else { 0 });
            let shares = out[first * width..].par_chunks_mut(share * width);
            let tasks = shares.len();
            shares.zip(&mut rooms).enumerate().for_each(|(at, (out, room))| {
                let first = first + at * share;
                let panel = panel.clone();
                task(Task {
                    rows: self,
                    panel,
                    first,
                    across: &across,
                    of_panel: &of_panel,
                    out,
                    width,
                    room,
                });
            });
            let own = &mut out[panel.start * width..panel.end * width];
            for room in &rooms[..tasks] {
                own.iter_mut().zip(&room.sums).for_each(|(out, &add)| *out += add);
            }
        }
    }
}

/// What a task works in.
#[derive(Default)]
struct Room<T> {
    products: Vec<f32>,
    /// What it adds to the panel's rows.
    sums: Vec<T>,
}

/// Some rows of a panel.
struct Task<'a, T> {
    rows: &'a RowBlocks<'a>,
    panel: Range<usize>,
    first: usize,
    /// The panel's rows as columns, and as they are.
    across: &'a Right<'a>,
    of_panel: &'a Right<'a>,
    out: &'a mut [T],
    width: usize,
    room: &'a mut Room<T>,
}

/// Where what comes of a tile goes.
struct To<'a, T> {
    /// The tile's rows.
    range: Range<usize>,
    /// Where the diagonal starts, if it meets the tile.
    diagonal: Option<usize>,
    of_panel: &'a Right<'a>,
    rows: &'a mut [T],
    panel: &'a mut [T],
}

impl<T: Copy + Default> Task<'_, T> {
    /// Hands out products tile by tile.
    fn tiles(self, mut each: impl FnMut(&mut ProductTile, To<T>)) {
        let Self { rows: all, panel, first, across, of_panel, out, width, room } = self;
        room.products.resize(TILE * panel.len(), 0.0);
        room.sums.clear();
        room.sums.resize(panel.len() * width, T::default());
        for (at, rows) in out.chunks_mut(TILE * width).enumerate() {
            let start = first + at * TILE;
            let range = start..start + rows.len() / width;
            let values = &mut room.products[..range.len() * panel.len()];
            across.multiply(all.view(range.clone()), values, Sum::Set);
            let diagonal = (start < panel.end).then(|| start - panel.start);
            let mut tile = ProductTile { values, stride: panel.len(), first: 0 };
            each(&mut tile, To { range, diagonal, of_panel, rows, panel: &mut room.sums });
        }
    }
}

/// Products of some rows with others, in the columns from `first` on.
struct ProductTile<'a> {
    values: &'a mut [f32],
    stride: usize,
    first: usize,
}

impl ProductTile<'_> {
    /// Makes them similarities, and adds up rows and columns. `diagonal` is the column, if any, at which the
    /// first row is compared with itself: there it is zero, and so is the next row in the next column.
    fn exponentials(&mut self, of: &RowBlocks, diagonal: Option<usize>) -> (Vec<f64>, Vec<f64>) {
        let (rows, cols) = (self.values.len() / self.stride, self.stride - self.first);
        let (mut of_rows, mut columns) = (vec![0f64; rows], vec![0f32; cols]);
        for (row, values) in self.values.chunks_mut(self.stride).enumerate() {
            of.unit.run(Exponentials {
                values: &mut values[self.first..],
                inverse: of.inverse,
                diagonal: diagonal.map(|first| first + row),
                columns: &mut columns,
                sum: &mut of_rows[row],
            });
        }
        (of_rows, columns.iter().map(|&sum| sum as f64).collect())
    }
}

/// e^((x − 1)/τ) for a row, added to the sums of the columns and of the row.
struct Exponentials<'a> {
    values: &'a mut [f32],
    inverse: f32,
    diagonal: Option<usize>,
    columns: &'a mut [f32],
    sum: &'a mut f64,
}

impl Kernel for Exponentials<'_> {
    #[inline(always)]
    fn run(self) {
        for value in &mut *self.values {
            *value = exp((*value - 1.0) * self.inverse);
        }
        if let Some(at) = self.diagonal {
            self.values[at] = 0.0;
        }
        for (column, value) in self.columns.iter_mut().zip(&*self.values) {
            *column += value;
        }
        const LANES: usize = 32;
        for run in self.values.chunks(1024) {
            let mut sums = [0f32; LANES];
            let parts = run.chunks_exact(LANES);
            let rest: f32 = parts.remainder().iter().sum();
            for part in parts {
                for lane in 0..LANES {
                    sums[lane] += part[lane];
                }
            }
            *self.sum += sums.iter().map(|&sum| sum as f64).sum::<f64>() + rest as f64;
        }
    }
}

/// Each similarity times the sum of its row's and its column's factor.
struct Weigh<'a> {
    values: &'a mut [f32],
    own: f32,
    others: &'a [f32],
}

impl Kernel for Weigh<'_> {
    #[inline(always)]
    fn run(self) {
        for (value, other) in self.values.iter_mut().zip(self.others) {
            *value *= self.own + other;
        }
    }
}

fn add(sums: &mut [f64], more: &[f64]) {
    sums.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
}

/// One over each sum. A single row has nothing to be told from, and a sum of zero.
fn inverses(sums: &[f64]) -> Vec<f32> {
    sums.iter().map(|&sum| if sum > 0.0 { (1.0 / sum) as f32 } else { 0.0 }).collect()
}

#[cfg(test)]
mod tests {
    use super::super::super::some_rows;
    use super::*;

    /// As the formulas have it, in full precision.
    fn naive(p: &[f32], width: usize, tau: f64) -> (Vec<f64>, Vec<f64>) {
        let count = p.len() / width;
        let row = |i: usize| &p[i * width..][..width];
        let e = |i: usize, j: usize| {
            let product: f64 = row(i).iter().zip(row(j)).map(|(&a, &b)| a as f64 * b as f64).sum();
            if i == j { 0.0 } else { ((product - 1.0) / tau).exp() }
        };
        let sums: Vec<f64> = (0..count).map(|i| (0..count).map(|j| e(i, j)).sum()).collect();
        let gradient = |i: usize, k: usize| -> f64 {
            (0..count).map(|j| e(i, j) * (1.0 / sums[i] + 1.0 / sums[j]) * row(j)[k] as f64).sum()
        };
        let gradient = (0..count * width).map(|at| gradient(at / width, at % width)).collect();
        (sums, gradient)
    }

    #[test]
    fn stored_and_streamed_are_what_the_formulas_say() {
        for count in [2, 31, 64, 300, PANEL, PANEL + TILE + 90] {
            let width = 5;
            let p: Vec<f32> = some_rows(count, width, 3).iter().map(|x| x * 0.4).collect();
            let (sums, gradient) = naive(&p, width, 0.5);
            for kept in [usize::MAX, 0] {
                let (got_sums, got) = sums_and_gradient(&p, width, 0.5, kept, None, &mut vec![7.0; 10]);
                assert!(
                    got_sums.iter().zip(&sums).all(|(a, b)| (a / b - 1.0).abs() < 1e-5),
                    "{count} {kept}"
                );
                for (a, b) in got.iter().zip(&gradient) {
                    assert!((*a as f64 - b).abs() < 1e-5, "{count} {kept}: {a} {b}");
                }
            }
        }
    }

    #[test]
    fn threads_change_nothing() {
        let p = some_rows(PANEL + 700, 8, 1);
        for kept in [usize::MAX, 0] {
            let run = |threads| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                pool.install(|| sums_and_gradient(&p, 8, 0.5, kept, None, &mut Vec::new()))
            };
            let one = run(1);
            assert!([2, 3, 8].into_iter().all(|threads| run(threads) == one));
        }
    }

    /// Wide enough for tiles, where there are any, and with several tiles to a task.
    #[test]
    fn many_rows_streamed_are_as_stored() {
        let (count, width) = (2 * PANEL + 8 * TILE + 90, 40);
        let p: Vec<f32> = some_rows(count, width, 3).iter().map(|x| x * 0.15).collect();
        let run = |threads: usize, kept: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| sums_and_gradient(&p, width, 0.5, kept, None, &mut Vec::new()))
        };
        let (stored, streamed) = (run(2, usize::MAX), run(1, 0));
        assert!(streamed == run(3, 0));
        assert!(stored.0.iter().zip(&streamed.0).all(|(a, b)| (a / b - 1.0).abs() < 1e-4));
        let largest = stored.1.iter().fold(0f32, |largest, g| largest.max(g.abs()));
        assert!(stored.1.iter().zip(&streamed.1).all(|(a, b)| (a - b).abs() < 1e-3 * largest));
    }

    #[test]
    fn a_single_row_is_like_no_other() {
        for kept in [usize::MAX, 0] {
            let (sums, gradient) = sums_and_gradient(&[0.6, 0.8], 2, 0.5, kept, None, &mut Vec::new());
            assert_eq!((sums, gradient), (vec![0.0], vec![0.0; 2]));
        }
    }
}
