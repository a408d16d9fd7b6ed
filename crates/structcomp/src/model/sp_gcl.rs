//! SP-GCL: a single view, whose nearest rows are positives; made for graphs whose neighbours differ.

use super::nearest::nearest;
use super::unitary::Unitary;
use super::{Blueprint, Compared, Contrastive, Head, Loss, Objective, Step};
use crate::matrix::dot;
use crate::sample::Neighborhood;
use crate::{Activation, Budget, EncoderKind, Error, Result, Seed};
use rand::RngExt;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// For similarities S of the projected rows of a batch of M, each scaled to length one:
/// L = −2/(Mk) Σ S of each row with its k nearest + 1/M Σ S² of each row with R random ones.
///
/// A step compares all rows if there are no more than `batch`, and otherwise a sample of those a few hops around
/// some roots.
///
/// # Reference
/// H. Wang, J. Zhang, Q. Zhu, W. Huang, K. Kawaguchi, X. Xiao: Single-pass contrastive learning can work for
/// both homophilic and heterophilic graph. TMLR 2023.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct SpGcl {
    /// How many nearest rows k are positives, the row itself among them.
    pub positives: usize,
    /// How many random rows R are negatives.
    pub negatives: usize,
    /// The most rows M of an epoch.
    pub batch: usize,
    /// Around how many rows a sample is drawn.
    pub roots: usize,
    /// How many hops around them.
    pub reach: usize,
    /// The width of the projection head; that of the encoder where absent.
    pub projection: Option<usize>,
    /// What is between its layers.
    pub projection_activation: Activation,
}

impl Default for SpGcl {
    fn default() -> Self {
        Self {
            positives: 5,
            negatives: 100,
            batch: 1024,
            roots: 128,
            reach: 2,
            projection: None,
            projection_activation: Activation::PreluShared,
        }
    }
}

impl Contrastive for SpGcl {
    fn blueprint(&self, hidden: usize) -> Blueprint {
        let width = self.projection.unwrap_or(hidden);
        Blueprint {
            encoder: EncoderKind::Gcn,
            inner: Activation::PreluShared,
            activation: Activation::PreluShared,
            batch_norm: true,
            neighborhood: Some(Neighborhood { size: self.batch, roots: self.roots, reach: self.reach }),
            head: Some(Head { width, activation: self.projection_activation, rectified: true }),
            ..Blueprint::default()
        }
    }

    fn check(&self) -> Result<()> {
        let named = [
            ("positives", self.positives),
            ("negatives", self.negatives),
            ("batch", self.batch),
            ("roots", self.roots),
        ];
        if let Some((name, value)) = named.iter().find(|(_, value)| !(1..=1_000_000).contains(value)) {
            return Err(Error::Input(format!("{name} must be from 1 to 1000000, not {value}")));
        }
        Ok(())
    }

    fn objective(&self, on: &Compared) -> Result<Box<dyn Objective + Send>> {
        let pairs = (self.positives + self.negatives) as u64 * on.rows.min(self.batch) as u64;
        Budget::default().check_items("the pairs of SP-GCL", pairs, 32)?;
        let (positives, negatives) = (self.positives, self.negatives);
        Ok(Box::new(SinglePass { positives, negatives, seed: on.seed }))
    }

    #[cfg(test)]
    fn twin(&self, of: &super::Twin) -> f64 {
        let (positives, negatives) = (self.positives, self.negatives);
        let single = SinglePass { positives, negatives, seed: of.on.seed };
        let unit = Unitary::new(of.seen.to_vec(), of.width);
        let pairs = single.pairs(&unit.values, of.width, of.on.rows, 0);
        tests::twin(of.views, of.width, &pairs)
    }
}

struct SinglePass {
    positives: usize,
    negatives: usize,
    seed: Seed,
}

impl Objective for SinglePass {
    fn loss(&self, z: Vec<f32>, width: usize, step: &Step) -> Result<Loss> {
        let unit = Unitary::new(z, width);
        let pairs = self.pairs(&unit.values, width, step.rows, step.number);
        let (value, mut gradient) = pairs.loss(&unit.values, width, step.rows);
        unit.backward(&mut gradient);
        Ok(Loss { value, gradient, ..Loss::default() })
    }
}

impl SinglePass {
    /// The nearest rows of each row, and random ones.
    fn pairs(&self, unit: &[f32], width: usize, rows: usize, epoch: usize) -> DrawnPairs {
        let positives = nearest(unit, width, self.positives);
        let draw = |row: usize| {
            let mut rng = self.seed.stream_at("sp-gcl negatives", (epoch as u64) << 32 | row as u64);
            (0..self.negatives).map(move |_| rng.random_range(0..rows as u32)).collect::<Vec<_>>()
        };
        let negatives = (0..rows).into_par_iter().flat_map_iter(draw).collect();
        DrawnPairs { positives, negatives }
    }
}

/// As many of each kind for every row, those of the first row first.
struct DrawnPairs {
    positives: Vec<u32>,
    negatives: Vec<u32>,
}

impl DrawnPairs {
    /// The loss and its gradient in rows of length one.
    fn loss(&self, unit: &[f32], width: usize, rows: usize) -> (f64, Vec<f32>) {
        let row = |at: usize| &unit[at * width..][..width];
        let products = |others: &[u32]| -> Vec<f32> {
            let each = others.len() / rows;
            let product = |(at, &other): (usize, &u32)| dot(row(at / each), row(other as usize)) as f32;
            others.par_iter().enumerate().map(product).collect()
        };
        let (near, far) = (products(&self.positives), products(&self.negatives));
        let sum: f64 = near.iter().map(|&s| s as f64).sum();
        let squares: f64 = far.iter().map(|&s| (s as f64).powi(2)).sum();
        let count = rows as f64;
        let value = -2.0 * sum / near.len() as f64 + squares / count;

        let of_near = -2.0 / near.len() as f32;
        let kinds = [
            (&self.positives, vec![of_near; near.len()]),
            (&self.negatives, far.iter().map(|s| 2.0 * s / rows as f32).collect()),
        ];
        let (starts, others) = both_sides(rows, &kinds);
        let mut gradient = vec![0f32; unit.len()];
        gradient.par_chunks_mut(width).enumerate().for_each(|(at, out)| {
            for &(other, weight) in &others[starts[at] as usize..starts[at + 1] as usize] {
                out.iter_mut().zip(row(other as usize)).for_each(|(out, u)| *out += weight * u);
            }
        });
        (value, gradient)
    }
}

/// For each row where its pairs start, and each pair's other row and weight from either side, so that a row
/// can add up its own.
fn both_sides(rows: usize, kinds: &[(&Vec<u32>, Vec<f32>); 2]) -> (Vec<u64>, Vec<(u32, f32)>) {
    let pairs = || {
        kinds.iter().flat_map(|(others, weights)| {
            let each = others.len() / rows;
            let pair =
                move |(at, (&other, &weight)): (usize, (&u32, &f32))| (at / each, other as usize, weight);
            others.iter().zip(weights).enumerate().map(pair)
        })
    };
    let mut starts = vec![0u64; rows + 1];
    for (row, other, _) in pairs() {
        starts[row + 1] += 1;
        starts[other + 1] += 1;
    }
    for row in 0..rows {
        starts[row + 1] += starts[row];
    }
    let mut next = starts.clone();
    let mut sorted = vec![(0, 0.0); starts[rows] as usize];
    for (row, other, weight) in pairs() {
        for (own, other) in [(row, other), (other, row)] {
            sorted[next[own] as usize] = (other as u32, weight);
            next[own] += 1;
        }
    }
    (starts, sorted)
}

#[cfg(test)]
mod tests {
    use super::super::{check_step, some_rows};
    use super::*;

    /// The loss as its formula has it, with the pairs as they are.
    pub(super) fn twin(views: &[Vec<f64>], width: usize, pairs: &DrawnPairs) -> f64 {
        let rows = views[0].len() / width;
        let row = |at: usize| &views[0][at * width..][..width];
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let cos = |a: usize, b: usize| {
            let (a, b) = (row(a), row(b));
            dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
        };
        let each = |others: &[u32], of: &dyn Fn(f64) -> f64| -> f64 {
            let count = others.len() / rows;
            others.iter().enumerate().map(|(at, &j)| of(cos(at / count, j as usize))).sum()
        };
        let near = each(&pairs.positives, &|cos| cos);
        let far = each(&pairs.negatives, &|cos| cos * cos);
        -2.0 / pairs.positives.len() as f64 * near + far / rows as f64
    }

    #[test]
    fn the_gradient_is_that_of_the_formula() {
        let (rows, width) = (8, 4);
        let view = some_rows(rows, width, 1);
        let objective = SinglePass { positives: 3, negatives: 5, seed: Seed(2) };
        let pairs = objective.pairs(&Unitary::new(view.clone(), width).values, width, rows, 0);
        let views = std::slice::from_ref(&view);
        check_step(&objective, views, width, &Step::default(), |views, _| twin(views, width, &pairs));
    }
}
