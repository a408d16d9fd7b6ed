//! Products of sparse with dense matrices.

use crate::Csr;
use crate::matrix::{Kernel, Unit};
use rayon::prelude::*;

/// Rows per task.
const ROWS: usize = 32;
/// Columns summed in registers.
const STRIP: usize = 64;

/// `out += X M` for sparse X.
pub(crate) fn add_sparse_product(x: &Csr, matrix: &[f32], cols: usize, out: &mut [f32]) {
    add_sparse_rows(x, 0, matrix, cols, out);
}

/// `out += X M` for the rows of X from `first` on, as many as `out` has.
pub(crate) fn add_sparse_rows(x: &Csr, first: usize, matrix: &[f32], cols: usize, out: &mut [f32]) {
    let unit = Unit::widest();
    out.par_chunks_mut(ROWS * cols).enumerate().for_each(|(task, out)| {
        unit.run(SparseRows { x, first: first + task * ROWS, matrix, cols, out });
    });
}

struct SparseRows<'a> {
    x: &'a Csr,
    first: usize,
    matrix: &'a [f32],
    cols: usize,
    out: &'a mut [f32],
}

impl Kernel for SparseRows<'_> {
    #[inline(always)]
    fn run(self) {
        let Self { x, first, matrix, cols, out } = self;
        for (row, out) in (first..).zip(out.chunks_exact_mut(cols)) {
            let (indices, values) = x.row(row);
            let mut strips = out.chunks_exact_mut(STRIP);
            let mut at = 0;
            for strip in &mut strips {
                let mut sum = [0f32; STRIP];
                for (&index, &value) in indices.iter().zip(values) {
                    let from = index as usize * cols + at;
                    for (sum, &add) in sum.iter_mut().zip(&matrix[from..from + STRIP]) {
                        *sum += value * add;
                    }
                }
                strip.iter_mut().zip(sum).for_each(|(out, sum)| *out += sum);
                at += STRIP;
            }
            let rest = strips.into_remainder();
            for (&index, &value) in indices.iter().zip(values) {
                let from = index as usize * cols + at;
                let len = rest.len();
                for (out, &add) in rest.iter_mut().zip(&matrix[from..from + len]) {
                    *out += value * add;
                }
            }
        }
    }
}

/// The transpose, with sorted rows.
pub(crate) fn transposed(x: &Csr) -> Csr {
    let (offsets, indices, values) = x.parts();
    let mut starts = vec![0u64; x.cols() + 1];
    indices.iter().for_each(|&index| starts[index as usize + 1] += 1);
    for col in 0..x.cols() {
        starts[col + 1] += starts[col];
    }
    let mut next = starts.clone();
    let (mut rows, mut entries) = (vec![0u32; indices.len()], vec![0f32; indices.len()]);
    for row in 0..x.rows() {
        for at in offsets[row] as usize..offsets[row + 1] as usize {
            let place = &mut next[indices[at] as usize];
            rows[*place as usize] = row as u32;
            entries[*place as usize] = values[at];
            *place += 1;
        }
    }
    Csr::new(x.rows(), starts, rows, entries).unwrap_or_else(|_| unreachable!("a transpose is a matrix"))
}
