//! Vectorised elementwise loops and sums.

use crate::matrix::{Kernel, Unit};
use rayon::prelude::*;

/// eˣ to about seven digits: 2ⁿ for the integer part of x/ln 2 times a polynomial for the rest. The result
/// is clamped to 2^±126.
#[inline(always)]
pub(crate) fn exp(x: f32) -> f32 {
    /// 1.5 · 2²³: adding it rounds to an integer, which then stands in the low bits.
    const WHOLE: f32 = 12_582_912.0;
    let power = (x * std::f32::consts::LOG2_E).clamp(-126.0, 126.0);
    let shifted = power + WHOLE;
    let whole = shifted - WHOLE;
    let rest = (power - whole) * std::f32::consts::LN_2;
    let terms = 1.0 / 120.0 + rest * (1.0 / 720.0 + rest * (1.0 / 5040.0));
    let terms = 0.5 + rest * (1.0 / 6.0 + rest * (1.0 / 24.0 + rest * terms));
    let fraction = 1.0 + rest * (1.0 + rest * terms);
    let exponent = shifted.to_bits().wrapping_sub(WHOLE.to_bits()).wrapping_add(127) << 23;
    fraction * f32::from_bits(exponent)
}

/// `count` zeros. Recycled memory is cleared by all threads. From 32 MiB on, glibc maps fresh memory, which
/// the system zeroes on first write.
pub(crate) fn zeros(count: usize) -> Vec<f32> {
    const FRESH: usize = (32 << 20) / size_of::<f32>();
    match count {
        FRESH.. => vec![0.0; count],
        _ => rayon::iter::repeat_n(0.0, count).with_min_len(SHARE).collect(),
    }
}

/// A copy made by all threads.
pub(crate) fn copied(values: &[f32]) -> Vec<f32> {
    values.par_iter().with_min_len(SHARE).copied().collect()
}

/// The least amount of numbers per task.
const SHARE: usize = 1 << 14;

/// a·b, summed in `f32` lanes that are combined in `f64`.
pub(crate) fn dot(a: &[f32], b: &[f32]) -> f64 {
    let mut sum = 0.0;
    Unit::widest().run(Dot { a, b, sum: &mut sum });
    sum
}

/// a·b for long vectors, by all threads.
pub(crate) fn sum_of_products(a: &[f32], b: &[f32]) -> f64 {
    const BLOCK: usize = 1 << 14;
    let partial: Vec<f64> = a.par_chunks(BLOCK).zip(b.par_chunks(BLOCK)).map(|(a, b)| dot(a, b)).collect();
    partial.iter().sum()
}

struct Dot<'a> {
    a: &'a [f32],
    b: &'a [f32],
    sum: &'a mut f64,
}

/// Numbers per lane sum in single precision.
const RUN: usize = 1024;

impl Kernel for Dot<'_> {
    #[inline(always)]
    fn run(self) {
        for (a, b) in self.a.chunks(RUN).zip(self.b.chunks(RUN)) {
            let mut sums = [0f32; 32];
            let (a_parts, b_parts) = (a.chunks_exact(32), b.chunks_exact(32));
            let rest: f32 = a_parts.remainder().iter().zip(b_parts.remainder()).map(|(a, b)| a * b).sum();
            for (a, b) in a_parts.zip(b_parts) {
                for lane in 0..32 {
                    sums[lane] += a[lane] * b[lane];
                }
            }
            *self.sum += sums.iter().map(|&sum| sum as f64).sum::<f64>() + rest as f64;
        }
    }
}

/// Replaces each entry x of a row-major matrix by f(x, y, [a, b, c]), where y is the same entry of `other` and
/// a, b, c are the entries of `columns` for its column.
pub(crate) fn map_columns(
    out: &mut [f32],
    other: &[f32],
    columns: [&[f32]; 3],
    f: impl Fn(f32, f32, [f32; 3]) -> f32 + Copy + Send + Sync,
) {
    const ROWS: usize = 32;
    let (task, unit) = (ROWS * columns[0].len().max(1), Unit::widest());
    out.par_chunks_mut(task).zip(other.par_chunks(task)).for_each(|(out, other)| {
        unit.run(Columns { out, other, columns, f });
    });
}

struct Columns<'a, F> {
    out: &'a mut [f32],
    other: &'a [f32],
    columns: [&'a [f32]; 3],
    f: F,
}

impl<F: Fn(f32, f32, [f32; 3]) -> f32> Kernel for Columns<'_, F> {
    #[inline(always)]
    fn run(self) {
        let Self { out, other, columns: [a, b, c], f } = self;
        let cols = a.len();
        for (out, other) in out.chunks_exact_mut(cols).zip(other.chunks_exact(cols)) {
            let columns = a.iter().zip(b).zip(c);
            for ((x, y), ((a, b), c)) in out.iter_mut().zip(other).zip(columns) {
                *x = f(*x, *y, [*a, *b, *c]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exponential_has_seven_digits() {
        for i in -20_000..=20_000 {
            let x = i as f32 / 1000.0;
            assert!((exp(x) as f64 / (x as f64).exp() - 1.0).abs() < 2e-6, "{x}");
        }
        assert!((0.0..1e-30).contains(&exp(-1e9)) && exp(1e9).is_finite());
    }

    #[test]
    fn products_are_those_of_a_plain_loop_on_every_unit() {
        for count in [0, 1, 31, 32, 1023, 1024, 5000] {
            let a: Vec<f32> = (0..count).map(|i| (i * 7 % 23) as f32 - 11.0).collect();
            let b: Vec<f32> = (0..count).map(|i| (i * 5 % 17) as f32 - 8.0).collect();
            let plain: f64 = a.iter().zip(&b).map(|(&a, &b)| a as f64 * b as f64).sum();
            for unit in Unit::all() {
                let mut sum = 0.0;
                unit.run(Dot { a: &a, b: &b, sum: &mut sum });
                assert_eq!(sum, plain);
            }
        }
    }
}
