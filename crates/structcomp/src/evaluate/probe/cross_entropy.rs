//! The cross entropy of softmax(z), as its gradient in the logits z.

use crate::matrix::{Kernel, Unit, exp};
use rayon::prelude::*;

/// Rows per task.
const ROWS: usize = 64;

/// Turns logits into the gradient of Σ wᵢ · −log softmax(zᵢ)[classᵢ]. A row holds `classes` logits for each of some
/// splits, each with a weight of its own.
pub(super) fn backward(logits: &mut [f32], classes: usize, labels: &[u32], weights: &[f32]) {
    let splits = weights.len() / labels.len().max(1);
    let unit = Unit::widest();
    logits
        .par_chunks_mut(ROWS * splits * classes)
        .zip(labels.par_chunks(ROWS))
        .zip(weights.par_chunks(ROWS * splits))
        .for_each(|((logits, labels), weights)| unit.run(LogitGradient { logits, classes, labels, weights }));
}

struct LogitGradient<'a> {
    logits: &'a mut [f32],
    classes: usize,
    labels: &'a [u32],
    weights: &'a [f32],
}

impl Kernel for LogitGradient<'_> {
    #[inline(always)]
    fn run(self) {
        let Self { logits, classes, labels, weights } = self;
        let splits = weights.len() / labels.len();
        let rows = logits.chunks_exact_mut(splits * classes).zip(weights.chunks_exact(splits));
        for ((row, weights), &class) in rows.zip(labels) {
            for z in row.chunks_exact_mut(classes) {
                let largest = z.iter().copied().fold(f32::NEG_INFINITY, f32::max);
                z.iter_mut().for_each(|z| *z -= largest);
            }
            // Over the whole row, since a split's few classes would not fill a vector.
            row.iter_mut().for_each(|z| *z = exp(*z));
            for (p, &weight) in row.chunks_exact_mut(classes).zip(weights) {
                let scale = weight / p.iter().sum::<f32>();
                p.iter_mut().for_each(|p| *p *= scale);
                p[class as usize] -= weight;
            }
        }
    }
}

/// The loss as defined, in `f64`, for logits of one split.
#[cfg(test)]
pub(super) fn naive(logits: &[f64], classes: usize, labels: &[u32], weights: &[f32]) -> f64 {
    let rows = logits.chunks(classes).zip(labels).zip(weights);
    rows.map(|((z, &class), &weight)| {
        weight as f64 * (z.iter().map(|z| z.exp()).sum::<f64>().ln() - z[class as usize])
    })
    .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gradient_agrees_with_finite_differences() {
        // 150 rows of two splits with three classes each; the second split leaves out every third row.
        let z: Vec<f32> = (0..900).map(|at| (at * 37 % 101) as f32 / 10.0 - 5.0).collect();
        let labels: Vec<u32> = (0..150).map(|row| row * row % 3).collect();
        let weights: Vec<f32> =
            (0..150).flat_map(|row| [0.5, if row % 3 == 0 { 0.0 } else { 0.25 }]).collect();
        let mut gradient = z.clone();
        backward(&mut gradient, 3, &labels, &weights);
        for split in 0..2 {
            let own = |all: &[f32]| -> Vec<f64> {
                all.chunks(6).flat_map(|row| &row[3 * split..3 * split + 3]).map(|&z| z as f64).collect()
            };
            let weights: Vec<f32> = weights.iter().skip(split).step_by(2).copied().collect();
            let (z, gradient) = (own(&z), own(&gradient));
            for at in 0..z.len() {
                let moved = |by: f64| {
                    let mut moved = z.clone();
                    moved[at] += by;
                    naive(&moved, 3, &labels, &weights)
                };
                let expected = (moved(1e-5) - moved(-1e-5)) / 2e-5;
                assert!((gradient[at] - expected).abs() < 1e-6, "{split} {at}: {} {expected}", gradient[at]);
            }
        }
    }

    #[test]
    fn logits_of_any_size_have_a_finite_gradient() {
        let mut z = [1e30, -1e30, 0.0];
        backward(&mut z, 3, &[1], &[1.0]);
        assert!(z[0] == 1.0 && z[1] == -1.0 && z[2] < 1e-30, "{z:?}");
    }
}
