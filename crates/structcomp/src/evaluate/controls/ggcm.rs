//! The sharpening half of GGCM (arXiv 2309.13599).
//!
//! GGCM is αX + (1 − α)/K Σₜ (Sₜ + Rₜ)/2 with Sₜ = Âᵗ X and Rₜ = (1 − βₜ) Sₜ₋₁ + βₜ (2I − A_r) Sₜ₋₁ / (k + 2), where
//! A_r is a random k-regular graph, drawn anew in every step, and βₜ halves. The authors take k twenty times the mean
//! degree, which costs twenty hops a hop; here k is 8, so that the random part is as cheap as a hop, and steps with
//! βₜ below one percent leave it out.

use crate::random::Rng;
use crate::{Dense, Seed};
use rand::seq::SliceRandom;
use rayon::prelude::*;

/// k / 2: a random regular graph is the union of so many random permutations and their inverses.
const PERMUTATIONS: usize = 4;
const LEAST: f32 = 0.01;

/// Σ Rₜ.
pub(super) struct Sharpening {
    sum: Vec<f32>,
    rows: usize,
    cols: usize,
    strength: f32,
    rng: Rng,
}

impl Sharpening {
    pub(super) fn new(x: &Dense) -> Self {
        let (rows, cols) = (x.rows(), x.cols());
        Self { sum: vec![0.0; rows * cols], rows, cols, strength: 1.0, rng: Seed(0).stream("ggcm") }
    }

    /// Adds Rₜ, given Sₜ₋₁.
    pub(super) fn add(&mut self, before: &[f32]) {
        let (cols, strength) = (self.cols.max(1), self.strength);
        let order = if strength < LEAST { Vec::new() } else { self.neighbors() };
        let scale = strength / (2 * PERMUTATIONS + 2) as f32;
        let own = if order.is_empty() { 1.0 } else { 1.0 - strength + 2.0 * scale };
        self.sum.par_chunks_mut(cols).enumerate().for_each(|(row, sum)| {
            sum.iter_mut().zip(&before[row * cols..]).for_each(|(sum, value)| *sum += own * value);
            for &other in order.get(row).into_iter().flatten() {
                let other = &before[other as usize * cols..];
                sum.iter_mut().zip(other).for_each(|(sum, value)| *sum -= scale * value);
            }
        });
        self.strength /= 2.0;
    }

    /// The neighbours of every row in a random regular graph.
    fn neighbors(&mut self) -> Vec<[u32; 2 * PERMUTATIONS]> {
        let mut neighbors = vec![[0; 2 * PERMUTATIONS]; self.rows];
        let mut order: Vec<u32> = (0..self.rows as u32).collect();
        for permutation in 0..PERMUTATIONS {
            order.shuffle(&mut self.rng);
            for (row, &other) in order.iter().enumerate() {
                neighbors[row][2 * permutation] = other;
                neighbors[other as usize][2 * permutation + 1] = row as u32;
            }
        }
        neighbors
    }

    /// Σ (Sₜ + Rₜ), given Σ Sₜ.
    pub(super) fn with(mut self, sum: &[f32]) -> Vec<f32> {
        super::rows::add(&mut self.sum, sum);
        self.sum
    }
}
