//! CCA-SSG: two views correlated column by column, columns decorrelated from each other.

use super::{Blueprint, Compared, Contrastive, Loss, Objective, Step, Views, positive};
use crate::matrix::{
    Sum, View, column_moments, map_columns, product, sum_of_products, symmetric_product, zeros,
};
use crate::{Activation, EncoderKind, Error, Result};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// L = −tr(Z̃₁ᵀZ̃₂)/n + λ(‖I − Z̃₁ᵀZ̃₁/n‖² + ‖I − Z̃₂ᵀZ̃₂/n‖²) for columns standardised over rows.
///
/// This is the form of the authors' code; the paper's λ is twice as large for the same loss.
///
/// # Reference
/// H. Zhang, Q. Wu, J. Yan, D. Wipf, P. Yu: From canonical correlation analysis to self-supervised graph
/// neural networks. NeurIPS 2021.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct CcaSsg {
    /// The weight λ of decorrelation.
    pub lambda: f64,
}

impl Default for CcaSsg {
    fn default() -> Self {
        Self { lambda: 5e-4 }
    }
}

impl Contrastive for CcaSsg {
    fn blueprint(&self, _: usize) -> Blueprint {
        Blueprint {
            views: Views::Two,
            encoder: EncoderKind::Gcn,
            activation: Activation::Prelu,
            ..Blueprint::default()
        }
    }

    fn check(&self) -> Result<()> {
        positive("lambda", self.lambda)
    }

    fn objective(&self, _: &Compared) -> Result<Box<dyn Objective + Send>> {
        Ok(Box::new(self.clone()))
    }

    fn cost(&self) -> super::LossCost {
        super::LossCost { by_width: 8.0, ..super::LossCost::default() }
    }

    #[cfg(test)]
    fn twin(&self, of: &super::Twin) -> f64 {
        tests::twin(of.views, of.width, self.lambda)
    }
}

impl Objective for CcaSsg {
    fn loss(&self, mut z: Vec<f32>, width: usize, _: &Step) -> Result<Loss> {
        let half = z.len() / 2;
        let rows = half / width.max(1);
        if rows < 2 {
            return Err(Error::Input("columns of a single row cannot be standardised".into()));
        }
        let mut standardized = zeros(z.len());
        let (first, second) = standardized.split_at_mut(half);
        let first = Standardized::new(&z[..half], width, first);
        let second = Standardized::new(&z[half..], width, second);
        let agreement: f64 = sum_of_products(first.values, second.values) / rows as f64;
        let mut value = -agreement;
        // From here on the gradient.
        let (of_first, of_second) = z.split_at_mut(half);
        for (own, other, gradient) in [(&first, &second, of_first), (&second, &first, of_second)] {
            value += decorrelated(own.values, other.values, width, self.lambda, gradient);
            own.backward(gradient);
        }
        Ok(Loss { value, gradient: z, of_own: Vec::new() })
    }
}

/// λ‖I − ZᵀZ/n‖² for the rows Z of a view; the gradient −Z'/n − (4λ/n) Z (I − ZᵀZ/n) of this and of the
/// correlation −tr(ZᵀZ')/n with the other view is written.
pub(super) fn decorrelated(
    own: &[f32],
    other: &[f32],
    width: usize,
    lambda: f64,
    gradient: &mut [f32],
) -> f64 {
    let rows = own.len() / width;
    let n = rows as f32;
    let z = View::new(own, width);
    // The smaller of ZᵀZ and ZZᵀ is computed, and ZZᵀZ by it.
    let size = rows.min(width);
    let mut products = zeros(size * size);
    let apart = if rows < width {
        symmetric_product(&mut products, z, z.t());
        product(gradient, View::new(&products, rows), z, Sum::Set);
        // ‖I − ZᵀZ/n‖² = h − 2 tr(ZZᵀ)/n + ‖ZZᵀ‖²/n².
        let trace: f64 = (0..rows).map(|row| products[row * (rows + 1)] as f64).sum();
        let squares = sum_of_products(&products, &products);
        width as f64 - 2.0 * trace / rows as f64 + squares / (rows as f64).powi(2)
    } else {
        symmetric_product(&mut products, z.t(), z);
        product(gradient, z, View::new(&products, width), Sum::Set);
        let of_row = |(row, cells): (usize, &[f32])| {
            let rest = |(col, &cell): (usize, &f32)| f64::from(u8::from(row == col)) - (cell / n) as f64;
            cells.iter().enumerate().map(rest).map(|rest| rest * rest).sum::<f64>()
        };
        products.par_chunks(width).enumerate().map(of_row).collect::<Vec<f64>>().iter().sum()
    };
    let scale = -4.0 * lambda as f32 / n;
    let (cubed, crossed) = (-scale / n, -1.0 / n);
    let beside = own.par_chunks(width).zip(other.par_chunks(width));
    gradient.par_chunks_mut(width).zip(beside).for_each(|(out, (z, other))| {
        for ((out, z), other) in out.iter_mut().zip(z).zip(other) {
            *out = cubed * *out + scale * z + crossed * other;
        }
    });
    lambda * apart
}

/// Columns less their mean, over their standard deviation; a constant column is zero.
struct Standardized<'a> {
    values: &'a [f32],
    width: usize,
    /// One over the standard deviation, zero for a constant column.
    scale: Vec<f32>,
}

impl<'a> Standardized<'a> {
    fn new(z: &[f32], width: usize, values: &'a mut [f32]) -> Self {
        let rows = (z.len() / width) as f64;
        let (sums, squares) = column_moments(z, z, width);
        let mean: Vec<f32> = sums.iter().map(|sum| (sum / rows) as f32).collect();
        let scale: Vec<f32> = sums
            .iter()
            .zip(squares)
            .map(|(sum, squares)| {
                let mean = sum / rows;
                let deviation = ((squares - mean * sum).max(0.0) / (rows - 1.0)).sqrt();
                // Rounding leaves a constant column a spread of its last digit.
                if deviation <= 1e-6 * mean.abs() || deviation == 0.0 {
                    0.0
                } else {
                    (1.0 / deviation) as f32
                }
            })
            .collect();
        map_columns(values, z, [&mean, &scale, &scale], |_, z, [mean, scale, _]| (z - mean) * scale);
        Self { values, width, scale }
    }

    /// Turns the gradient of the standardised columns into that of the columns.
    fn backward(&self, gradient: &mut [f32]) {
        let rows = (self.values.len() / self.width) as f64;
        let (sums, products) = column_moments(gradient, self.values, self.width);
        let mean: Vec<f32> = sums.iter().map(|sum| (sum / rows) as f32).collect();
        let along: Vec<f32> = products.iter().map(|sum| (sum / (rows - 1.0)) as f32).collect();
        let columns = [&mean[..], &along, &self.scale];
        map_columns(gradient, self.values, columns, |g, z, [mean, along, scale]| {
            scale * (g - mean - z * along)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::{check_gradient, some_rows};
    use super::*;

    /// The loss as its formula has it.
    pub(super) fn twin(views: &[Vec<f64>], width: usize, lambda: f64) -> f64 {
        let rows = views[0].len() / width;
        let standardized = |z: &[f64]| {
            let mut out = z.to_vec();
            for j in 0..width {
                let column = || z.iter().skip(j).step_by(width);
                let mean = column().sum::<f64>() / rows as f64;
                let deviation =
                    (column().map(|z| (z - mean).powi(2)).sum::<f64>() / (rows - 1) as f64).sqrt();
                out.iter_mut().skip(j).step_by(width).for_each(|z| *z = (*z - mean) / deviation);
            }
            out
        };
        let z: Vec<Vec<f64>> = views.iter().map(|view| standardized(view)).collect();
        let dot = |a: &[f64], b: &[f64], j: usize, k: usize| {
            (0..rows).map(|i| a[i * width + j] * b[i * width + k]).sum::<f64>() / rows as f64
        };
        let apart = |z: &[f64]| {
            let cells = (0..width).flat_map(|j| (0..width).map(move |k| (j, k)));
            cells.map(|(j, k)| (f64::from(u8::from(j == k)) - dot(z, z, j, k)).powi(2)).sum::<f64>()
        };
        let together: f64 = (0..width).map(|j| dot(&z[0], &z[1], j, j)).sum();
        -together + lambda * (apart(&z[0]) + apart(&z[1]))
    }

    #[test]
    fn the_gradient_is_that_of_the_formula() {
        let objective = CcaSsg { lambda: 0.3 };
        let views = [some_rows(9, 4, 1), some_rows(9, 4, 2)];
        check_gradient(&objective, &views, 4, |views| twin(views, 4, 0.3));
        // Fewer rows than columns.
        let views = [some_rows(4, 6, 1), some_rows(4, 6, 2)];
        check_gradient(&objective, &views, 6, |views| twin(views, 6, 0.3));
    }

    #[test]
    fn a_constant_column_has_no_gradient_and_no_nan() {
        let mut views = [some_rows(8, 3, 1), some_rows(8, 3, 2)];
        views[0].iter_mut().skip(1).step_by(3).for_each(|z| *z = 0.7);
        let loss = CcaSsg::default().loss(views.concat(), 3, &Step::default()).unwrap();
        assert!(loss.value.is_finite());
        assert!(loss.gradient[..24].iter().skip(1).step_by(3).all(|&g| g == 0.0));
        assert!(loss.gradient.iter().all(|g| g.is_finite()));
        assert!(CcaSsg::default().loss(vec![1.0, 2.0], 1, &Step::default()).is_err());
    }
}
