//! What happens to each number after a linear map.

use crate::matrix::{Kernel, Unit, exp};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// An element-wise function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Activation {
    /// x.
    #[default]
    None,
    /// max(x, 0).
    Relu,
    /// x, or eˣ − 1 below zero.
    Elu,
    /// x, or a·x below zero with a learnt slope for each column.
    Prelu,
    /// x, or a·x below zero with one learnt slope.
    PreluShared,
}

impl Activation {
    /// How many slopes are learnt for rows of `outputs` numbers.
    pub(crate) fn slopes(self, outputs: usize) -> usize {
        match self {
            Self::Prelu => outputs,
            Self::PreluShared => 1,
            Self::None | Self::Relu | Self::Elu => 0,
        }
    }

    /// Whether its derivative can be told from its result.
    pub(crate) fn is_told_by_result(self) -> bool {
        matches!(self, Self::None | Self::Relu | Self::Elu)
    }

    /// Adds a bias to each row and applies it.
    pub(crate) fn apply(self, values: &mut [f32], bias: &[f32], slopes: &[f32]) {
        let unit = Unit::widest();
        let task = bias.len().max(1) * ROWS;
        values.par_chunks_mut(task).for_each(|rows| {
            unit.run(Apply { activation: self, rows, bias, slopes });
        });
    }

    /// Turns the gradient of its result into that of what it was applied to; gives that of the slopes. `own`
    /// is the result, or what it was applied to where the result does not tell.
    pub(crate) fn backward(self, gradient: &mut [f32], own: &[f32], cols: usize, slopes: &[f32]) -> Vec<f32> {
        if self == Self::None {
            return Vec::new();
        }
        let unit = Unit::widest();
        let partial: Vec<Vec<f32>> = gradient
            .par_chunks_mut(cols * ROWS)
            .zip(own.par_chunks(cols * ROWS))
            .map(|(gradient, own)| {
                let mut sums = vec![0f32; if slopes.is_empty() { 0 } else { cols }];
                unit.run(ActivationGradient {
                    activation: self,
                    gradient,
                    own,
                    cols,
                    slopes,
                    sums: &mut sums,
                });
                sums
            })
            .collect();
        let mut total = vec![0f64; if slopes.is_empty() { 0 } else { cols }];
        for sums in &partial {
            total.iter_mut().zip(sums).for_each(|(total, &sum)| *total += sum as f64);
        }
        match self {
            Self::PreluShared => vec![total.iter().sum::<f64>() as f32],
            _ => total.iter().map(|&sum| sum as f32).collect(),
        }
    }
}

/// Rows that a task goes over.
const ROWS: usize = 32;

struct Apply<'a> {
    activation: Activation,
    rows: &'a mut [f32],
    bias: &'a [f32],
    slopes: &'a [f32],
}

impl Kernel for Apply<'_> {
    #[inline(always)]
    fn run(self) {
        let Self { activation, rows, bias, slopes } = self;
        for row in rows.chunks_exact_mut(bias.len()) {
            let pairs = row.iter_mut().zip(bias);
            match activation {
                Activation::None => pairs.for_each(|(x, bias)| *x += bias),
                Activation::Relu => pairs.for_each(|(x, bias)| *x = (*x + bias).max(0.0)),
                Activation::Elu => pairs.for_each(|(x, bias)| {
                    let y = *x + bias;
                    // The smaller of both, so that no branch is needed; near zero the series is closer.
                    let below = y.min(0.0);
                    let near = below * (1.0 + below * (0.5 + below * (1.0 / 6.0)));
                    let far = exp(below) - 1.0;
                    *x = y.max(0.0) + if below > -0.02 { near } else { far };
                }),
                Activation::Prelu => pairs.zip(slopes).for_each(|((x, bias), slope)| {
                    let y = *x + bias;
                    *x = y.max(0.0) + slope * y.min(0.0);
                }),
                Activation::PreluShared => pairs.for_each(|(x, bias)| {
                    let y = *x + bias;
                    *x = y.max(0.0) + slopes[0] * y.min(0.0);
                }),
            }
        }
    }
}

struct ActivationGradient<'a> {
    activation: Activation,
    gradient: &'a mut [f32],
    own: &'a [f32],
    cols: usize,
    slopes: &'a [f32],
    /// Σ gradient · min(x, 0) of each column, for slopes.
    sums: &'a mut [f32],
}

impl Kernel for ActivationGradient<'_> {
    #[inline(always)]
    fn run(self) {
        let Self { activation, gradient, own, cols, slopes, sums } = self;
        for (gradient, own) in gradient.chunks_exact_mut(cols).zip(own.chunks_exact(cols)) {
            let pairs = gradient.iter_mut().zip(own);
            match activation {
                Activation::None => {}
                Activation::Relu => pairs.for_each(|(g, &y)| *g = if y > 0.0 { *g } else { 0.0 }),
                Activation::Elu => pairs.for_each(|(g, &y)| *g *= 1.0 + y.min(0.0)),
                Activation::Prelu => {
                    pairs.zip(slopes).zip(&mut *sums).for_each(|(((g, &x), &slope), sum)| {
                        *sum += *g * x.min(0.0);
                        *g *= if x > 0.0 { 1.0 } else { slope };
                    });
                }
                Activation::PreluShared => pairs.zip(&mut *sums).for_each(|((g, &x), sum)| {
                    *sum += *g * x.min(0.0);
                    *g *= if x > 0.0 { 1.0 } else { slopes[0] };
                }),
            }
        }
    }
}
