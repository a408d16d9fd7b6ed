//! Scores that should be high or low, for models that tell rows from corrupted ones.

use crate::matrix::dot;
use rayon::prelude::*;

/// Rows that one task adds up.
const TASK: usize = 128;

/// The row products r·u for rows as long as `u`.
pub(super) fn dots(rows: &[f32], u: &[f32]) -> Vec<f64> {
    rows.par_chunks(u.len().max(1)).map(|row| dot(row, u)).collect()
}

/// Σ wᵢ rᵢ over rows of `width` numbers.
pub(super) fn weighted_sum(rows: &[f32], width: usize, weights: &[f64]) -> Vec<f64> {
    let partial: Vec<Vec<f64>> = rows
        .par_chunks(TASK * width)
        .zip(weights.par_chunks(TASK))
        .map(|(rows, weights)| {
            let mut sum = vec![0f64; width];
            for (row, weight) in rows.chunks(width).zip(weights) {
                sum.iter_mut().zip(row).for_each(|(sum, &x)| *sum += weight * x as f64);
            }
            sum
        })
        .collect();
    let mut total = vec![0f64; width];
    partial.iter().for_each(|sum| add(&mut total, sum));
    total
}

/// `to += more`.
pub(super) fn add(to: &mut [f64], more: &[f64]) {
    to.iter_mut().zip(more).for_each(|(to, more)| *to += more);
}

/// Each row of `out` becomes wᵢ u.
pub(super) fn spread(out: &mut [f32], weights: &[f64], u: &[f32]) {
    out.par_chunks_mut(u.len().max(1)).zip(weights).for_each(|(row, &weight)| {
        row.iter_mut().zip(u).for_each(|(out, u)| *out = (weight * *u as f64) as f32);
    });
}

/// Adds the same to each row.
pub(super) fn add_to_rows(out: &mut [f32], more: &[f64]) {
    out.par_chunks_mut(more.len().max(1)).for_each(|row| {
        row.iter_mut().zip(more).for_each(|(out, more)| *out += *more as f32);
    });
}

/// The mean row.
pub(super) fn mean(rows: &[f32], width: usize) -> Vec<f64> {
    let count = (rows.len() / width.max(1)).max(1);
    weighted_sum(rows, width, &vec![1.0 / count as f64; count])
}

/// M v, for a matrix with a row of as many numbers as `v` has.
pub(super) fn times(matrix: &[f32], v: &[f64]) -> Vec<f64> {
    let row = |row: &[f32]| row.iter().zip(v).map(|(m, v)| *m as f64 * v).sum();
    matrix.par_chunks(v.len().max(1)).map(row).collect()
}

/// Mᵀ v, for a matrix with a row for each number of `v`.
pub(super) fn times_transposed(matrix: &[f32], v: &[f64]) -> Vec<f64> {
    weighted_sum(matrix, matrix.len() / v.len().max(1), v)
}

/// a bᵀ, added to `out`.
pub(super) fn add_outer(out: &mut [f32], a: &[f64], b: &[f64]) {
    out.par_chunks_mut(b.len().max(1)).zip(a).for_each(|(row, a)| {
        row.iter_mut().zip(b).for_each(|(out, b)| *out += (a * b) as f32);
    });
}

pub(super) fn narrow(values: &[f64]) -> Vec<f32> {
    values.iter().map(|&value| value as f32).collect()
}

/// σ(x).
pub(super) fn logistic(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// ln(1 + eˣ), without an overflow.
fn softplus(x: f64) -> f64 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}

/// The cross entropy of scores that should all be high, or all be low, times `share`; and its derivative in
/// each.
pub(super) fn judged(scores: &[f64], high: bool, share: f64) -> (f64, Vec<f64>) {
    let sign = if high { -1.0 } else { 1.0 };
    let value = share * scores.iter().map(|score| softplus(sign * score)).sum::<f64>();
    (value, scores.iter().map(|score| share * sign * logistic(sign * score)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_of_zero_cost_the_logarithm_of_two() {
        let (value, of_scores) = judged(&[0.0, 0.0], true, 0.5);
        assert!((value - 2f64.ln()).abs() < 1e-12 && of_scores == [-0.25; 2]);
        let (far, _) = judged(&[-1e4], true, 1.0);
        assert_eq!((far, judged(&[1e4], true, 1.0).0), (1e4, 0.0));
    }

    #[test]
    fn products_are_those_of_hand() {
        let m = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        assert_eq!(times(&m, &[1.0, 0.0, -1.0]), [-2.0, -2.0]);
        assert_eq!(times_transposed(&m, &[1.0, -1.0]), [-3.0; 3]);
        assert_eq!(mean(&m, 3), [2.5, 3.5, 4.5]);
        let mut out = vec![1.0; 6];
        add_outer(&mut out, &[1.0, 2.0], &[0.0, 1.0, 2.0]);
        assert_eq!(out, [1.0, 2.0, 3.0, 1.0, 3.0, 5.0]);
    }
}
