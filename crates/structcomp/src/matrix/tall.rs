//! Products of tall matrices with few columns: YᵀZ and YC, with values in `f32` and sums in `f64`.

use crate::matrix::{Kernel, Unit};
use rayon::prelude::*;

/// Rows are padded with zeros to a multiple of this.
pub(crate) const PAD: usize = 16;
/// Rows of Y, or of YᵀZ, computed together, so that the other factor is read once for all of them.
const ROWS: usize = 4;
/// Partial sums at most; fixed, so that sums are the same for any number of threads.
const PARTS: usize = 64;

/// YᵀZ, `size` by `size`, from rows of `stride` values.
pub(crate) fn gram(y: &[f32], z: &[f32], stride: usize, size: usize) -> Vec<f64> {
    let rows = (y.len() / stride).div_ceil(PARTS).max(1024);
    let unit = Unit::widest();
    let partial: Vec<Vec<f64>> = y
        .par_chunks(rows * stride)
        .zip(z.par_chunks(rows * stride))
        .map(|(y, z)| {
            let mut out = vec![0.0; stride * stride];
            unit.run(TallGram { y, z, stride, out: &mut out });
            out
        })
        .collect();
    let mut total = vec![0.0; size * size];
    for part in &partial {
        for (total, part) in total.chunks_exact_mut(size).zip(part.chunks_exact(stride)) {
            total.iter_mut().zip(part).for_each(|(total, part)| *total += part);
        }
    }
    total
}

/// Replaces Y by YC, for `c` of `size` by `size`.
pub(crate) fn rotate(y: &mut [f32], c: &[f64], stride: usize, size: usize) {
    let mut padded = vec![0.0; size * stride];
    for (padded, c) in padded.chunks_exact_mut(stride).zip(c.chunks_exact(size)) {
        padded[..size].copy_from_slice(c);
    }
    let unit = Unit::widest();
    y.par_chunks_mut(256 * stride).for_each(|y| unit.run(Rotate { y, c: &padded, stride }));
}

struct TallGram<'a> {
    y: &'a [f32],
    z: &'a [f32],
    stride: usize,
    out: &'a mut [f64],
}

impl Kernel for TallGram<'_> {
    #[inline(always)]
    fn run(self) {
        let Self { y, z, stride, out } = self;
        for i in (0..stride).step_by(ROWS) {
            for j in (0..stride).step_by(PAD) {
                let mut sums = [[0f64; PAD]; ROWS];
                for (y, z) in y.chunks_exact(stride).zip(z.chunks_exact(stride)) {
                    let z = wide(&z[j..]);
                    for (sums, &y) in sums.iter_mut().zip(&y[i..i + ROWS]) {
                        for (sum, z) in sums.iter_mut().zip(z) {
                            *sum += y as f64 * z;
                        }
                    }
                }
                for (r, sums) in sums.iter().enumerate() {
                    out[(i + r) * stride + j..][..PAD].copy_from_slice(sums);
                }
            }
        }
    }
}

struct Rotate<'a> {
    y: &'a mut [f32],
    c: &'a [f64],
    stride: usize,
}

impl Kernel for Rotate<'_> {
    #[inline(always)]
    fn run(self) {
        let Self { y, c, stride } = self;
        let mut old = vec![0.0; ROWS * stride];
        for y in y.chunks_mut(ROWS * stride) {
            // If the last rows are fewer, the leftovers of the rows before are computed and ignored.
            old[..y.len()].copy_from_slice(y);
            for j in (0..stride).step_by(PAD) {
                let mut sums = [[0f64; PAD]; ROWS];
                for (k, c) in c.chunks_exact(stride).enumerate() {
                    let c = &c[j..j + PAD];
                    for (r, sums) in sums.iter_mut().enumerate() {
                        let old = old[r * stride + k] as f64;
                        for (sum, c) in sums.iter_mut().zip(c) {
                            *sum += old * c;
                        }
                    }
                }
                for (y, sums) in y.chunks_exact_mut(stride).zip(&sums) {
                    y[j..j + PAD].iter_mut().zip(sums).for_each(|(y, &sum)| *y = sum as f32);
                }
            }
        }
    }
}

#[inline(always)]
fn wide(values: &[f32]) -> [f64; PAD] {
    let mut wide = [0.0; PAD];
    wide.iter_mut().zip(values).for_each(|(wide, &value)| *wide = value as f64);
    wide
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_match_the_definition() {
        // 4099 rows: several parts, and a last group of rows that is not full.
        let (rows, stride, size) = (4099, 32, 19);
        let value =
            |row: usize, c: usize| if c < size { ((row * 31 + c * 17) % 97) as f32 - 48.0 } else { 0.0 };
        let y: Vec<f32> = (0..rows * stride).map(|at| value(at / stride, at % stride)).collect();
        let z: Vec<f32> = (0..rows * stride).map(|at| value(at / stride + 5, at % stride)).collect();
        let g = gram(&y, &z, stride, size);
        for (i, j) in [(0, 0), (3, 18), (18, 2), (7, 11)] {
            let want: f64 = (0..rows).map(|r| (y[r * stride + i] * z[r * stride + j]) as f64).sum();
            assert_eq!(g[i * size + j], want);
        }
        let c: Vec<f64> = (0..size * size).map(|at| (at % 7) as f64 - 3.0).collect();
        let mut turned = y.clone();
        rotate(&mut turned, &c, stride, size);
        for (row, j) in [(0, 0), (1, 18), (4098, 5), (4097, 17)] {
            let want: f64 = (0..size).map(|k| y[row * stride + k] as f64 * c[k * size + j]).sum();
            assert_eq!(turned[row * stride + j], want as f32);
        }
        assert_eq!(turned[19..32], [0.0; 13]);
    }
}
