//! What happens to each number after a linear map.

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

    /// Applies it to rows of `cols` numbers.
    pub(crate) fn apply(self, values: &mut [f32], cols: usize, slopes: &[f32]) {
        values.par_chunks_mut(cols).for_each(|row| match self {
            Self::None => {}
            Self::Relu => row.iter_mut().for_each(|x| *x = x.max(0.0)),
            Self::Elu => row.iter_mut().for_each(|x| *x = if *x > 0.0 { *x } else { x.exp_m1() }),
            Self::Prelu => {
                row.iter_mut().zip(slopes).for_each(|(x, a)| *x = if *x > 0.0 { *x } else { a * *x });
            }
            Self::PreluShared => row.iter_mut().for_each(|x| *x = if *x > 0.0 { *x } else { slopes[0] * *x }),
        });
    }

    /// Turns the gradient of its result into that of `before`, and adds that of the slopes.
    pub(crate) fn backward(
        self,
        gradient: &mut [f32],
        before: &[f32],
        cols: usize,
        slopes: &[f32],
        of_slopes: &mut [f32],
    ) {
        if !slopes.is_empty() {
            let sums = below_zero(gradient, before, cols);
            match self {
                Self::PreluShared => of_slopes[0] += sums.iter().sum::<f64>() as f32,
                _ => of_slopes.iter_mut().zip(sums).for_each(|(sum, add)| *sum += add as f32),
            }
        }
        gradient.par_chunks_mut(cols).zip(before.par_chunks(cols)).for_each(|(gradient, before)| {
            for (i, (g, &x)) in gradient.iter_mut().zip(before).enumerate() {
                *g *= match self {
                    _ if x > 0.0 => 1.0,
                    Self::None => 1.0,
                    Self::Relu => 0.0,
                    Self::Elu => x.exp(),
                    Self::Prelu => slopes[i],
                    Self::PreluShared => slopes[0],
                };
            }
        });
    }
}

/// Σ gradient · min(x, 0) of each column.
fn below_zero(gradient: &[f32], before: &[f32], cols: usize) -> Vec<f64> {
    const ROWS: usize = 256;
    let partial: Vec<Vec<f64>> = gradient
        .par_chunks(ROWS * cols)
        .zip(before.par_chunks(ROWS * cols))
        .map(|(gradient, before)| {
            let mut sums = vec![0.0; cols];
            for (gradient, before) in gradient.chunks_exact(cols).zip(before.chunks_exact(cols)) {
                for ((sum, &g), &x) in sums.iter_mut().zip(gradient).zip(before) {
                    *sum += (g * x.min(0.0)) as f64;
                }
            }
            sums
        })
        .collect();
    let mut total = vec![0.0; cols];
    partial.iter().for_each(|sums| total.iter_mut().zip(sums).for_each(|(total, sum)| *total += sum));
    total
}
