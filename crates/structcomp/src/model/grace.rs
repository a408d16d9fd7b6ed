//! GRACE: two views of a row together, all other rows of both views apart.

use super::{Loss, Objective, positive};
use crate::Result;
use crate::linalg::{Sum, View, product};
use crate::vectors::{Kernel, Unit};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// InfoNCE between both views, over rows of a projection head scaled to length one.
///
/// Similarities are computed for a block of rows at a time, so memory grows with the rows and not with
/// their square.
///
/// # Reference
/// Y. Zhu, Y. Xu, F. Yu, Q. Liu, S. Wu, L. Wang: Deep graph contrastive representation learning. 2020.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct Grace {
    /// The temperature τ.
    pub tau: f64,
    /// The width of the projection head; that of the encoder where absent.
    pub projection: Option<usize>,
}

impl Default for Grace {
    fn default() -> Self {
        Self { tau: 0.5, projection: None }
    }
}

impl Grace {
    pub(super) fn objective(&self) -> Result<Box<dyn Objective>> {
        positive("tau", self.tau)?;
        Ok(Box::new(self.clone()))
    }
}

/// Rows whose similarities to all others are held at once, by each thread.
const BLOCK: usize = 128;

impl Objective for Grace {
    fn loss(&self, views: &[&[f32]], width: usize, _: usize) -> Result<Loss> {
        let (first, second) = (Unitary::new(views[0], width), Unitary::new(views[1], width));
        let (u, v) = (&first.values[..], &second.values[..]);
        let rows = u.len() / width;
        let tau = self.tau as f32;
        // The two denominators of each row; e^(1/τ) is taken out of all terms, and put back in the loss.
        let sums = |own: &[f32], other: &[f32]| -> Vec<f64> {
            let block = |(block, rows_of): (usize, &[f32])| {
                let within = similarities(rows_of, own, width, tau, Some(block * BLOCK));
                let across = similarities(rows_of, other, width, tau, None);
                let sum = |row: &[f32]| row.iter().map(|&e| e as f64).sum::<f64>();
                within.chunks(rows).zip(across.chunks(rows)).map(|(a, b)| sum(a) + sum(b)).collect::<Vec<_>>()
            };
            own.par_chunks(BLOCK * width).enumerate().map(block).collect::<Vec<_>>().concat()
        };
        let (of_u, of_v) = (sums(u, v), sums(v, u));
        let logs = of_u.iter().chain(&of_v).map(|sum| sum.ln() + 1.0 / self.tau).sum::<f64>();
        let agreement: f64 = (0..rows).map(|i| dot(&u[i * width..][..width], &v[i * width..][..width])).sum();
        let value = (logs - 2.0 * agreement / self.tau) / (2.0 * rows as f64);

        let scale = (1.0 / (2.0 * rows as f64 * self.tau)) as f32;
        let gradient = |own: &[f32], other: &[f32], own_sums: &[f64], other_sums: &[f64]| -> Vec<f32> {
            let inverse = |sums: &[f64]| -> Vec<f32> { sums.iter().map(|sum| (1.0 / sum) as f32).collect() };
            let (own_inverse, other_inverse) = (inverse(own_sums), inverse(other_sums));
            let mut out = vec![0f32; own.len()];
            let blocks = out.par_chunks_mut(BLOCK * width).zip(own.par_chunks(BLOCK * width)).enumerate();
            blocks.for_each(|(block, (out, rows_of))| {
                let first = block * BLOCK;
                let mut within = similarities(rows_of, own, width, tau, Some(first));
                weigh(&mut within, &own_inverse[first..], &own_inverse);
                let mut across = similarities(rows_of, other, width, tau, None);
                weigh(&mut across, &own_inverse[first..], &other_inverse);
                out.iter_mut()
                    .zip(&other[first * width..])
                    .for_each(|(out, other)| *out = -2.0 * scale * other);
                product(out, View::new(&within, rows), View::new(own, width), Sum::Add(scale));
                product(out, View::new(&across, rows), View::new(other, width), Sum::Add(scale));
            });
            out
        };
        let mut gradients = vec![gradient(u, v, &of_u, &of_v), gradient(v, u, &of_v, &of_u)];
        first.backward(&mut gradients[0]);
        second.backward(&mut gradients[1]);
        Ok(Loss { value, gradients })
    }
}

/// exp((x·y − 1)/τ) for each of some rows and all `others`; zero on the diagonal that starts at `own`.
fn similarities(rows: &[f32], others: &[f32], width: usize, tau: f32, own: Option<usize>) -> Vec<f32> {
    let count = others.len() / width;
    let mut out = vec![0f32; rows.len() / width * count];
    product(&mut out, View::new(rows, width), View::new(others, width).t(), Sum::Set);
    Unit::widest().run(Exponential { values: &mut out, inverse: 1.0 / tau });
    if let Some(first) = own {
        out.chunks_mut(count).enumerate().for_each(|(row, out)| out[first + row] = 0.0);
    }
    out
}

/// Multiplies each similarity by the sum of its row's and its column's factor.
fn weigh(values: &mut [f32], of_row: &[f32], of_column: &[f32]) {
    for (row, values) in values.chunks_mut(of_column.len()).enumerate() {
        values.iter_mut().zip(of_column).for_each(|(value, column)| *value *= of_row[row] + column);
    }
}

/// e^((x − 1)/τ) of many numbers at once, to about seven digits: 2^n for the whole part and a
/// polynomial for the rest, which vector units can do.
struct Exponential<'a> {
    values: &'a mut [f32],
    inverse: f32,
}

impl Kernel for Exponential<'_> {
    #[inline(always)]
    fn run(self) {
        for value in self.values {
            // Cosines are at most 1 but for rounding; far below, the result is as good as zero.
            let power = ((*value - 1.0) * self.inverse * std::f32::consts::LOG2_E).clamp(-126.0, 126.0);
            let whole = power.round_ties_even();
            let rest = (power - whole) * std::f32::consts::LN_2;
            let terms = 1.0 / 120.0 + rest * (1.0 / 720.0 + rest * (1.0 / 5040.0));
            let terms = 0.5 + rest * (1.0 / 6.0 + rest * (1.0 / 24.0 + rest * terms));
            let fraction = 1.0 + rest * (1.0 + rest * terms);
            let exponent = ((whole as i32 + 127) << 23) as u32;
            *value = fraction * f32::from_bits(exponent);
        }
    }
}

/// Rows scaled to length one; rows of zeros stay so.
struct Unitary {
    values: Vec<f32>,
    width: usize,
    /// One over the length, zero for a row of zeros.
    scale: Vec<f32>,
}

impl Unitary {
    fn new(rows: &[f32], width: usize) -> Self {
        let scale: Vec<f32> = rows
            .par_chunks(width)
            .map(|row| {
                let length = dot(row, row).sqrt();
                if length > 1e-12 { (1.0 / length) as f32 } else { 0.0 }
            })
            .collect();
        let mut values = rows.to_vec();
        values.par_chunks_mut(width).zip(&scale).for_each(|(row, scale)| {
            row.iter_mut().for_each(|value| *value *= scale);
        });
        Self { values, width, scale }
    }

    /// Turns the gradient of the scaled rows into that of the rows.
    fn backward(&self, gradient: &mut [f32]) {
        let rows = self.values.par_chunks(self.width).zip(&self.scale);
        gradient.par_chunks_mut(self.width).zip(rows).for_each(|(gradient, (unit, scale))| {
            let along = dot(gradient, unit) as f32;
            gradient.iter_mut().zip(unit).for_each(|(g, unit)| *g = scale * (*g - along * unit));
        });
    }
}

fn dot(a: &[f32], b: &[f32]) -> f64 {
    // Sixteen sums side by side, which vector units can do, then one.
    let mut sums = [0f32; 16];
    let (a_parts, b_parts) = (a.chunks_exact(16), b.chunks_exact(16));
    let rest: f32 = a_parts.remainder().iter().zip(b_parts.remainder()).map(|(a, b)| a * b).sum();
    for (a, b) in a_parts.zip(b_parts) {
        sums.iter_mut().zip(a).zip(b).for_each(|((sum, a), b)| *sum += a * b);
    }
    sums.iter().map(|&sum| sum as f64).sum::<f64>() + rest as f64
}

#[cfg(test)]
mod tests {
    use super::super::{check_gradient, some_rows};
    use super::*;

    /// The loss as its formula has it.
    fn twin(views: &[Vec<f64>], width: usize, tau: f64) -> f64 {
        let unit = |z: &[f64]| -> Vec<Vec<f64>> {
            z.chunks(width)
                .map(|row| {
                    let length = row.iter().map(|z| z * z).sum::<f64>().sqrt();
                    row.iter().map(|z| z / length).collect()
                })
                .collect()
        };
        let (u, v) = (unit(&views[0]), unit(&views[1]));
        let e = |a: &[f64], b: &[f64]| (a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>() / tau).exp();
        let side = |own: &[Vec<f64>], other: &[Vec<f64>]| -> f64 {
            (0..own.len())
                .map(|i| {
                    let within: f64 = (0..own.len()).filter(|&j| j != i).map(|j| e(&own[i], &own[j])).sum();
                    let across: f64 = other.iter().map(|other| e(&own[i], other)).sum();
                    -(e(&own[i], &other[i]) / (within + across)).ln()
                })
                .sum()
        };
        (side(&u, &v) + side(&v, &u)) / (2.0 * u.len() as f64)
    }

    #[test]
    fn the_gradient_is_that_of_the_formula() {
        let objective = Grace { tau: 0.4, projection: None };
        let views = [some_rows(7, 5, 1), some_rows(7, 5, 2)];
        check_gradient(&objective, &views, 5, |views| twin(views, 5, 0.4));
    }

    #[test]
    fn blocks_of_rows_make_no_difference() {
        // More rows than a block, so that diagonals start elsewhere than at zero.
        let rows = BLOCK + 37;
        let views = [some_rows(rows, 6, 3), some_rows(rows, 6, 4)];
        let loss = Grace::default().loss(&[&views[0], &views[1]], 6, 0).unwrap();
        let exact: Vec<Vec<f64>> =
            views.iter().map(|view| view.iter().map(|&z| z as f64).collect()).collect();
        assert!((loss.value - twin(&exact, 6, 0.5)).abs() < 1e-5);
        for at in [0, 6 * BLOCK - 1, 6 * BLOCK, 6 * rows - 1] {
            let moved = |by: f64| {
                let mut moved = exact.clone();
                moved[0][at] += by;
                twin(&moved, 6, 0.5)
            };
            let derivative = (moved(1e-5) - moved(-1e-5)) / 2e-5;
            assert!((loss.gradients[0][at] as f64 - derivative).abs() < 1e-6, "{at}");
        }
    }

    #[test]
    fn the_exponential_has_seven_digits() {
        let mut values: Vec<f32> = (0..2001).map(|i| i as f32 / 1000.0 - 1.0).collect();
        let exact: Vec<f64> = values.iter().map(|&x| ((x as f64 - 1.0) / 0.2).exp()).collect();
        for unit in Unit::all() {
            let mut values = values.clone();
            unit.run(Exponential { values: &mut values, inverse: 5.0 });
            assert!(values.iter().zip(&exact).all(|(&got, &want)| (got as f64 / want - 1.0).abs() < 2e-6));
        }
        values.fill(-1e9);
        Unit::widest().run(Exponential { values: &mut values, inverse: 5.0 });
        assert!(values.iter().all(|&value| (0.0..1e-30).contains(&value)));
    }

    #[test]
    fn a_row_of_zeros_has_no_gradient() {
        let mut views = [some_rows(5, 4, 1), some_rows(5, 4, 2)];
        views[0][..4].fill(0.0);
        let loss = Grace::default().loss(&[&views[0], &views[1]], 4, 0).unwrap();
        assert!(loss.value.is_finite() && loss.gradients[0][..4].iter().all(|&g| g == 0.0));
    }
}
