//! Losses that see rows only through a sum of squares and products: f(T) with T = tr(ZᵀMZ).
//!
//! For a linear encoder Z = XW + 1bᵀ there are two ways to compute one. By rows: Z, then MZ, then Xᵀ of
//! it. Or by the Gram matrix G = XᵀMX, as T = tr(WᵀGW) + …, whose size does not depend on the rows.

use super::{Loss, Objective};
use crate::matrix::{
    Kernel, Sum, Unit, View, column_sums, dot, product, sum_of_products, symmetric_product, zeros,
};
use crate::{Dense, Features, Result};
use rayon::prelude::*;
use std::borrow::Cow;

/// A loss f(T) of T = tr(ZᵀMZ), M symmetric and sparse.
pub(crate) trait Quadratic {
    /// M in an epoch.
    fn form(&self, epoch: usize) -> Cow<'_, Form>;
    /// Whether M is the same in every epoch.
    fn is_fixed(&self) -> bool;
    /// f(T) and its derivative.
    fn outer(&self, trace: f64) -> Result<(f64, f64)>;
}

/// A symmetric matrix M by what it does to rows: (MZ)_r = own_r z_r + Σ w (z_c − z_r).
///
/// With differences, a Laplacian loses no digits where rows are nearly equal.
#[derive(Clone, Debug, Default)]
pub(crate) struct Form {
    /// The sum of each row of M.
    pub(crate) own: Vec<f32>,
    /// Where each row's others start.
    pub(crate) starts: Vec<u64>,
    pub(crate) others: Vec<u32>,
    pub(crate) weights: Vec<f32>,
}

impl Form {
    /// MZ for rows of `width` numbers.
    fn times(&self, z: &[f32], width: usize) -> Vec<f32> {
        const ROWS: usize = 16;
        let mut out = zeros(z.len());
        let unit = Unit::widest();
        out.par_chunks_mut(ROWS * width).enumerate().for_each(|(task, out)| {
            unit.run(Differences { form: self, first: task * ROWS, z, width, out });
        });
        out
    }
}

struct Differences<'a> {
    form: &'a Form,
    first: usize,
    z: &'a [f32],
    width: usize,
    out: &'a mut [f32],
}

impl Kernel for Differences<'_> {
    #[inline(always)]
    fn run(self) {
        const STRIP: usize = 64;
        let Self { form, first, z, width, out } = self;
        for (row, out) in (first..).zip(out.chunks_exact_mut(width)) {
            let span = form.starts[row] as usize..form.starts[row + 1] as usize;
            let others = form.others[span.clone()].iter().zip(&form.weights[span]);
            for (strip, out) in out.chunks_mut(STRIP).enumerate() {
                let place = |row: usize| &z[row * width + strip * STRIP..][..out.len()];
                let own = place(row);
                let mut sum = [0f32; STRIP];
                sum.iter_mut().zip(own).for_each(|(sum, z)| *sum = form.own[row] * z);
                for (&other, &weight) in others.clone() {
                    let other = place(other as usize);
                    for ((sum, other), own) in sum.iter_mut().zip(other).zip(own) {
                        *sum += weight * (other - own);
                    }
                }
                out.copy_from_slice(&sum[..out.len()]);
            }
        }
    }
}

/// A quadratic loss by rows.
pub(super) fn loss_by_rows(of: &dyn Quadratic, z: &[f32], width: usize, epoch: usize) -> Result<Loss> {
    let mut gradient = of.form(epoch).times(z, width);
    let (value, derivative) = of.outer(sum_of_products(z, &gradient))?;
    let scale = (2.0 * derivative) as f32;
    gradient.par_iter_mut().with_min_len(1 << 12).for_each(|g| *g *= scale);
    Ok(Loss { value, gradient, ..Loss::default() })
}

/// A quadratic loss of a linear encoder by its Gram matrix.
pub(crate) struct Gram {
    fixed: Option<GramParts>,
}

/// XᵀMX, XᵀM1 and 1ᵀM1.
struct GramParts {
    gram: Vec<f32>,
    with_ones: Vec<f32>,
    ones: f64,
}

impl Gram {
    /// The way of fewer flops for `outputs` outputs: a Gram matrix, or nothing where rows cost less.
    pub(crate) fn if_cheaper(objective: &dyn Objective, x: &Features, outputs: usize) -> Option<Self> {
        /// What a flop of a sparse product costs in flops of a dense one.
        const SPARSE: f64 = 2.5;
        // Sparse features have few entries for their width.
        let (Features::Dense(x), Some(quadratic)) = (x, objective.quadratic()) else { return None };
        let (rows, cols, outputs) = (x.rows() as f64, x.cols() as f64, outputs as f64);
        let pairs = quadratic.form(0).others.len() as f64;
        let by_rows = 4.0 * rows * cols * outputs + 3.0 * SPARSE * pairs * outputs;
        let anew = if quadratic.is_fixed() { 0.0 } else { rows * cols * cols + 3.0 * SPARSE * pairs * cols };
        if 2.0 * cols * cols * outputs + anew >= by_rows {
            return None;
        }
        Some(Self { fixed: quadratic.is_fixed().then(|| GramParts::new(&quadratic.form(0), x)) })
    }

    /// The loss for a weight with a row a feature and a bias, and its gradient, which is written.
    pub(crate) fn loss(
        &self,
        of: &dyn Quadratic,
        x: &Dense,
        (weight, bias): (&[f32], &[f32]),
        epoch: usize,
        (of_weight, of_bias): (&mut [f32], &mut [f32]),
    ) -> Result<f64> {
        let drawn;
        let parts = match &self.fixed {
            Some(parts) => parts,
            None => {
                drawn = GramParts::new(&of.form(epoch), x);
                &drawn
            }
        };
        let (features, outputs) = (x.cols(), bias.len());
        product(of_weight, View::new(&parts.gram, features), View::new(weight, outputs), Sum::Set);
        let squares = sum_of_products(weight, of_weight);
        // Wᵀ XᵀM1, then what the bias adds.
        of_bias.fill(0.0);
        let with_ones = View::new(&parts.with_ones, features);
        product(of_bias, with_ones, View::new(weight, outputs), Sum::Set);
        let trace = squares + 2.0 * dot(of_bias, bias) + parts.ones * dot(bias, bias);
        let (value, derivative) = of.outer(trace)?;
        let scale = (2.0 * derivative) as f32;
        of_weight.par_chunks_mut(outputs).zip(&parts.with_ones).for_each(|(row, &ones)| {
            row.iter_mut().zip(bias).for_each(|(g, bias)| *g = scale * (*g + ones * bias));
        });
        of_bias.iter_mut().zip(bias).for_each(|(g, bias)| *g = scale * (*g + parts.ones as f32 * bias));
        Ok(value)
    }
}

impl GramParts {
    fn new(form: &Form, x: &Dense) -> Self {
        let cols = x.cols();
        let mut gram = vec![0.0; cols * cols];
        let spread = form.times(x.values(), cols);
        symmetric_product(&mut gram, View::new(x.values(), cols).t(), View::new(&spread, cols));
        // M1 are the sums of its rows, so XᵀM1 is the sum of MX's.
        let with_ones = column_sums(&spread, cols).into_iter().map(|sum| sum as f32).collect();
        Self { gram, with_ones, ones: form.own.iter().map(|&own| own as f64).sum() }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Step, some_rows};
    use super::*;

    /// T itself, and one over it.
    struct Example {
        form: Form,
        inverse: bool,
    }

    impl Quadratic for Example {
        fn form(&self, _: usize) -> Cow<'_, Form> {
            Cow::Borrowed(&self.form)
        }

        fn is_fixed(&self) -> bool {
            !self.inverse
        }

        fn outer(&self, trace: f64) -> Result<(f64, f64)> {
            Ok(if self.inverse { (1.0 / trace, -1.0 / (trace * trace)) } else { (trace, 1.0) })
        }
    }

    impl Objective for Example {
        fn loss(&self, z: Vec<f32>, width: usize, step: &Step) -> Result<Loss> {
            loss_by_rows(self, &z, width, step.number)
        }

        fn quadratic(&self) -> Option<&dyn Quadratic> {
            Some(self)
        }
    }

    /// A ring with a chord, and rows that weigh themselves differently.
    fn example(rows: u32, inverse: bool) -> Example {
        let mut form = Form { starts: vec![0], ..Form::default() };
        for row in 0..rows {
            for (other, weight) in [((row + 1) % rows, -1.5), ((row + rows - 1) % rows, -1.5)] {
                form.others.push(other);
                form.weights.push(weight);
            }
            form.starts.push(form.others.len() as u64);
            form.own.push(if inverse { 0.0 } else { row as f32 * 0.1 - 0.2 });
        }
        Example { form, inverse }
    }

    #[test]
    fn both_ways_agree() {
        let (rows, cols, outputs) = (40, 6, 70);
        let x = Features::Dense(Dense::new(rows, cols, some_rows(rows, cols, 1)).unwrap());
        let (weight, bias) = (some_rows(cols, outputs, 2), some_rows(1, outputs, 3));
        for inverse in [false, true] {
            let example = example(rows as u32, inverse);
            let gram = Gram::if_cheaper(&example, &x, outputs).unwrap();
            let (mut of_weight, mut of_bias) = (vec![9.0; weight.len()], vec![9.0; outputs]);
            let value = gram
                .loss(&example, &x.to_dense(), (&weight, &bias), 0, (&mut of_weight, &mut of_bias))
                .unwrap();

            let mut z = bias.repeat(rows);
            let rows_of = x.to_dense().values().to_vec();
            product(&mut z, View::new(&rows_of, cols), View::new(&weight, outputs), Sum::Add(1.0));
            let loss = example.loss(z, outputs, &Step::default()).unwrap();
            assert!((loss.value / value - 1.0).abs() < 1e-5, "{} {value}", loss.value);
            let mut twin = vec![0.0; weight.len()];
            product(&mut twin, View::new(&rows_of, cols).t(), View::new(&loss.gradient, outputs), Sum::Set);
            let most = twin.iter().fold(0f32, |most, g| most.max(g.abs()));
            assert!(twin.iter().zip(&of_weight).all(|(a, b)| (a - b).abs() < 1e-4 * most));
            let sums = column_sums(&loss.gradient, outputs);
            assert!(sums.iter().zip(&of_bias).all(|(a, b)| (*a as f32 - b).abs() < 1e-4 * most));
        }
        // Wide features of few rows cost more by a Gram matrix.
        let wide = Features::Dense(Dense::new(2, 500, some_rows(2, 500, 1)).unwrap());
        assert!(Gram::if_cheaper(&example(2, false), &wide, 8).is_none());
    }
}
