//! Whether the features of nodes and those of their neighbours are correlated at all.

use super::Sample;
use crate::matrix::mean_and_variance;

/// Axes that are compared: the strongest.
const AXES: usize = 64;

/// How many standard deviations the correlations of a node's axes with the means over its neighbours are above what
/// chance would give: about 0 where edges are drawn without regard to the features, also if these say little.
///
/// For n nodes, n times the square of a correlation by chance is distributed as χ² with one degree of freedom.
pub(super) fn significance(own: &[f32], near: &[f32], size: usize, sample: &Sample) -> f64 {
    let axes = size.min(AXES);
    let count = sample.connected.len() as f64;
    let [own, near] = [own, near].map(|rows| sample.connected(rows, size));
    let (own_mean, own_variance) = mean_and_variance(&own, size);
    let (near_mean, near_variance) = mean_and_variance(&near, size);
    let mut products = vec![0f64; axes];
    for (own, near) in own.chunks_exact(size).zip(near.chunks_exact(size)) {
        for (at, product) in products.iter_mut().enumerate() {
            *product += (own[at] as f64 - own_mean[at]) * (near[at] as f64 - near_mean[at]);
        }
    }
    let of_axis = |(at, product): (usize, &f64)| {
        let scale = own_variance[at] * near_variance[at];
        if scale > 0.0 { product * product / (count * scale) } else { 1.0 }
    };
    let total: f64 = products.iter().enumerate().map(of_axis).sum();
    (total - axes as f64) / (2.0 * axes as f64).sqrt()
}
