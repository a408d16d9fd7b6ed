//! Theorem 4.2: the mean over random pairs of clusters of E f(h̃) − f(h), for f(x) = log(e^(x·hᵢ) + e^(x·hⱼ)), h = x̄W,
//! and h̃ with members dropped.

use crate::Regularizer;
use rand::RngExt;
use rayon::prelude::*;
use structcomp::{Compressed, DropMember, Features, Partition, Result, Seed};

/// How often members are dropped.
const DRAWS: usize = 200;
/// How many pairs of clusters are drawn.
const PAIRS: usize = 400;

/// The regularizer by draws, by ½ p(1−p) (hᵢ−hⱼ)ᵀ Cov(h̃) (hᵢ−hⱼ), and by half of that, as published.
pub(super) fn regularizer(
    x: &Features,
    compressed: &Compressed,
    (weight, width): (&[f32], usize),
    how: DropMember,
    seed: Seed,
) -> Result<Regularizer> {
    let h = Linear { weight, width }.rows(compressed.features());
    // Scaled to a length of ½, so that the second-order formula describes the log of a sum of exponentials well.
    let squares: f64 = h.iter().map(|h| dot(h, h)).sum();
    let length = (squares / h.len().max(1) as f64).sqrt();
    let scale = if length > 0.0 { 0.5 / length } else { 1.0 };
    let mut rng = seed.stream("pairs of clusters");
    let drawn: Vec<(usize, usize)> =
        (0..PAIRS).map(|_| (rng.random_range(0..h.len()), rng.random_range(0..h.len()))).collect();
    let pair = |&(i, j): &(usize, usize)| Pair::new(i as u32, &h[i], &h[j], &Linear { weight, width }, scale);
    let pairs: Vec<Pair> = drawn.par_iter().map(pair).collect();

    let formula = |pair: &Pair| pair.formula(x, compressed.partition(), how);
    let formula = mean(&pairs.par_iter().map(formula).collect::<Vec<_>>());
    let mut gains = Vec::with_capacity(DRAWS);
    for draw in 0..DRAWS {
        let dropped = compressed.drop_member(how, seed, draw)?;
        let gain = |pair: &Pair| pair.gain(&dropped);
        gains.push(mean(&pairs.par_iter().map(gain).collect::<Vec<_>>()));
    }
    let drawn = mean(&gains);
    let variance = gains.iter().map(|gain| (gain - drawn).powi(2)).sum::<f64>() / (DRAWS - 1) as f64;
    let standard_error = (variance / DRAWS as f64).sqrt();
    Ok(Regularizer { drawn, standard_error, formula, printed: formula / 2.0, draws: DRAWS })
}

/// A linear map, one row of `weight` per feature.
struct Linear<'a> {
    weight: &'a [f32],
    width: usize,
}

impl Linear<'_> {
    /// XW, row by row.
    fn rows(&self, x: &Features) -> Vec<Vec<f64>> {
        let row = |at: usize| {
            let mut out = vec![0.0; self.width];
            for (x, weight) in row_of(x, at).iter().zip(self.weight.chunks_exact(self.width)) {
                if *x != 0.0 {
                    out.iter_mut().zip(weight).for_each(|(out, weight)| *out += x * *weight as f64);
                }
            }
            out
        };
        (0..x.rows()).into_par_iter().map(row).collect()
    }

    /// Wv: the direction in feature space along which XW changes by v.
    fn transposed(&self, v: &[f64]) -> Vec<f64> {
        let weights = self.weight.chunks_exact(self.width);
        weights.map(|weight| weight.iter().zip(v).map(|(weight, v)| *weight as f64 * v).sum()).collect()
    }
}

/// Two clusters, the first of which drops members.
struct Pair {
    cluster: u32,
    /// W(hᵢ − hⱼ) by scaled weights: x̃ times this is h̃·(hᵢ − hⱼ).
    direction: Vec<f64>,
    /// hᵢ·(hᵢ − hⱼ), and the derivative of the softplus there.
    at: f64,
    p: f64,
}

impl Pair {
    fn new(cluster: u32, own: &[f64], other: &[f64], map: &Linear, scale: f64) -> Self {
        let apart: Vec<f64> = own.iter().zip(other).map(|(a, b)| scale * scale * (a - b)).collect();
        let at = dot(own, &apart);
        Self { cluster, direction: map.transposed(&apart), at, p: 1.0 / (1.0 + (-at).exp()) }
    }

    /// ½ p(1−p) κ/(s−1) Σ ((x_l − x̄)W · (hᵢ − hⱼ))².
    fn formula(&self, x: &Features, partition: &Partition, how: DropMember) -> f64 {
        let members = partition.members(self.cluster);
        if members.len() < 2 {
            return 0.0;
        }
        let along = |&node: &u32| dot(&row_of(x, node as usize), &self.direction) - self.at;
        let squares: f64 = members.iter().map(|node| along(node).powi(2)).sum();
        let variance = how.variance_share(members.len()) * squares / (members.len() - 1) as f64;
        0.5 * self.p * (1.0 - self.p) * variance
    }

    /// f(h̃) − f(h) − ∇f·(h̃ − h). The linear part has mean zero and would hide the rest. The same holds for x·hⱼ, which
    /// is in both terms of f: without it, f is the softplus of x·(hᵢ − hⱼ).
    fn gain(&self, dropped: &Features) -> f64 {
        let softplus = |x: f64| x.max(0.0) + (-x.abs()).exp().ln_1p();
        let after = dot(&row_of(dropped, self.cluster as usize), &self.direction);
        softplus(after) - softplus(self.at) - self.p * (after - self.at)
    }
}

fn row_of(x: &Features, row: usize) -> Vec<f64> {
    let mut values = vec![0.0; x.cols()];
    x.write_row(row, &mut values);
    values.into_iter().map(f64::from).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use structcomp::{Dense, data::Synthetic};

    #[test]
    fn draws_agree_with_the_formula_and_not_with_the_published_one() {
        let demo = Synthetic { nodes: 600, edges: 1500, ..Synthetic::default() }.generate(Seed(1)).unwrap();
        let x = demo.features.unwrap();
        let partition = Partition::new((0..600).map(|node| node / 9).collect()).unwrap();
        let compressed = Compressed::new(&x, &partition).unwrap();
        let weight: Vec<f32> = (0..x.cols() * 16).map(|at| (at * 7919 % 101) as f32 / 50.0 - 1.0).collect();
        let found = regularizer(&x, &compressed, (&weight, 16), DropMember::Half, Seed(0)).unwrap();
        assert!((found.drawn / found.formula - 1.0).abs() < 0.1, "{found:?}");
        assert!(found.drawn - found.printed > 5.0 * found.standard_error, "{found:?}");
    }

    #[test]
    fn dropping_equal_members_changes_nothing() {
        let values = vec![1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0];
        let x = Features::Dense(Dense::new(6, 2, values).unwrap());
        let partition = Partition::new(vec![0, 0, 0, 1, 1, 1]).unwrap();
        let compressed = Compressed::new(&x, &partition).unwrap();
        let identity = [1.0, 0.0, 0.0, 1.0];
        let found = regularizer(&x, &compressed, (&identity, 2), DropMember::Half, Seed(0)).unwrap();
        assert!(found.drawn.abs() < 1e-9 && found.formula.abs() < 1e-9, "{found:?}");
    }
}
