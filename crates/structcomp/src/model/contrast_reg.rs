//! Contrast-Reg: a contrastive loss, and a regulariser that keeps its rows apart from those of permuted nodes.

use super::nearest::nearest;
use super::scores::{add, add_outer, dots, judged, narrow, times, weighted_sum};
use super::unitary::Unitary;
use super::{Blueprint, Compared, Contrastive, Loss, Objective, Step, Views};
use crate::compress::Coarsening;
use crate::graph::normalized_with_self_loops;
use crate::matrix::{Sum, View, add_sparse_product, dot, product, transposed};
use crate::{Activation, Csr, EncoderKind, Error, Result, Seed};
use rand::{RngExt, seq::SliceRandom};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// Anchors a, positives p and negatives n, a random permutation of the rows, are compared by
/// mean softplus(−pᵀW_c a) + mean softplus(nᵀW_c a). To this `ratio` times a regulariser is added: rows z
/// should be told from corrupted ones z̃ by a random direction r, mean softplus(−zᵀW_r r) + mean
/// softplus(z̃ᵀW_r r). W_c and W_r are learnt.
///
/// The curriculum of the authors' code, which adds rows to the loss one share after another, is left out.
///
/// # Reference
/// K. Ma, H. Yang, H. Yang, T. Jin, P. Chen, Y. Chen, B. Kamhoua, J. Cheng: Improving graph representation
/// learning by contrastive regularization. 2021.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct ContrastReg {
    /// What an anchor and its positive are.
    pub contrast: Contrast,
    /// LC: how many nearest rows are a positive.
    pub nearest: usize,
    /// The weight of the regulariser.
    pub ratio: f64,
}

/// What Contrast-Reg compares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Contrast {
    /// A row with the mean of those most like it, itself among them.
    #[default]
    Lc,
    /// What a row hears from its neighbours, in training on clusters those that edges lead to, with the row.
    Ml,
}

impl Default for ContrastReg {
    fn default() -> Self {
        Self { contrast: Contrast::Lc, nearest: 5, ratio: 1.0 }
    }
}

impl Contrastive for ContrastReg {
    fn blueprint(&self, _: usize) -> Blueprint {
        Blueprint {
            views: Views::Corrupted { mask: 0.0 },
            encoder: EncoderKind::Gcn,
            inner: Activation::Relu,
            activation: Activation::Relu,
            adjacency: match self.contrast {
                Contrast::Lc => None,
                Contrast::Ml => Some(Coarsening { self_loops: false, ..Coarsening::default() }),
            },
            ..Blueprint::default()
        }
    }

    fn check(&self) -> Result<()> {
        if self.nearest == 0 {
            return Err(Error::Input("nearest must be at least 1: a row needs a positive".into()));
        }
        if !(self.ratio >= 0.0 && self.ratio.is_finite()) {
            return Err(Error::Input(format!("ratio must be 0 or more, not {}", self.ratio)));
        }
        Ok(())
    }

    fn objective(&self, on: &Compared) -> Result<Box<dyn Objective + Send>> {
        let heard = on.adjacency.map(normalized_with_self_loops);
        Ok(Box::new(Regularised { config: self.clone(), heard, seed: on.seed }))
    }

    fn own(&self, width: usize, seed: Seed) -> Vec<f32> {
        let bound = 1.0 / (width.max(1) as f32).sqrt();
        let mut rng = seed.stream("contrast-reg");
        (0..2 * width * width).map(|_| bound * (2.0 * rng.random::<f32>() - 1.0)).collect()
    }

    fn cost(&self) -> super::LossCost {
        super::LossCost { by_width: 24.0, by_rows: 2.0, all_pairs: false }
    }

    #[cfg(test)]
    fn twin(&self, of: &super::Twin) -> f64 {
        let heard = of.on.adjacency.map(normalized_with_self_loops);
        let regularised = Regularised { config: self.clone(), heard, seed: of.on.seed };
        let near = regularised.means_of_nearest(&of.seen[..of.on.rows * of.width], of.width);
        tests::twin(&regularised, of.views, of.own, of.width, &near)
    }
}

struct Regularised {
    config: ContrastReg,
    /// ML: Â between the rows.
    heard: Option<Csr>,
    seed: Seed,
}

impl Objective for Regularised {
    fn loss(&self, z: Vec<f32>, width: usize, step: &Step) -> Result<Loss> {
        let (rows, corrupted) = z.split_at(step.rows * width);
        let mut gradient = vec![0f32; z.len()];
        let mut of_own = vec![0f32; step.own.len()];
        let ((compare, tell), (of_compare, of_tell)) =
            (step.own.split_at(width * width), of_own.split_at_mut(width * width));
        let (of_rows, of_corrupted) = gradient.split_at_mut(rows.len());
        let contrast = self.contrast(rows, compare, width, step.number, of_rows, of_compare)?;
        let regulariser =
            self.regulariser((rows, corrupted), tell, step.number, (of_rows, of_corrupted), of_tell);
        Ok(Loss { value: contrast + regulariser, gradient, of_own })
    }
}

impl Regularised {
    /// The contrastive loss; its gradients are written.
    fn contrast(
        &self,
        z: &[f32],
        compare: &[f32],
        width: usize,
        epoch: usize,
        of_z: &mut [f32],
        of_compare: &mut [f32],
    ) -> Result<f64> {
        let count = z.len() / width;
        // Anchors AZ and positives PZ; one of both matrices is the identity.
        let positives = match &self.heard {
            Some(_) => None,
            None => Some(self.means_of_nearest(z, width)),
        };
        let anchor = mixed(self.heard.as_ref(), z, width);
        let positive = mixed(positives.as_ref(), z, width);
        let other = self.permutation(count, epoch);
        // W_c a for each anchor a.
        let mut q = vec![0f32; z.len()];
        product(&mut q, View::new(&anchor, width), View::new(compare, width).t(), Sum::Set);
        let row = |rows: &'_ [f32], at: usize| -> std::ops::Range<usize> {
            debug_assert!(rows.len() >= (at + 1) * width);
            at * width..(at + 1) * width
        };
        let scores =
            |of: &(dyn Fn(usize) -> f64 + Sync)| -> Vec<f64> { (0..count).into_par_iter().map(of).collect() };
        let high = scores(&|i| dot(&positive[row(&positive, i)], &q[row(&q, i)]));
        let low = scores(&|i| dot(&z[row(z, other[i] as usize)], &q[row(&q, i)]));
        let share = 1.0 / count as f64;
        let ((good, alpha), (bad, beta)) = (judged(&high, true, share), judged(&low, false, share));

        // e = αp + βn: its rows by W_c are the gradient of the anchors, by the anchors that of W_c.
        let mut e = vec![0f32; z.len()];
        e.par_chunks_mut(width).enumerate().for_each(|(i, e)| {
            let pair = positive[row(&positive, i)].iter().zip(&z[row(z, other[i] as usize)]);
            e.iter_mut().zip(pair).for_each(|(e, (p, n))| *e = alpha[i] as f32 * p + beta[i] as f32 * n);
        });
        product(of_compare, View::new(&e, width).t(), View::new(&anchor, width), Sum::Set);
        let mut of_anchor = vec![0f32; z.len()];
        product(&mut of_anchor, View::new(&e, width), View::new(compare, width), Sum::Set);
        add_back(self.heard.as_ref(), &of_anchor, width, of_z);
        // αq goes to the positives, βq to the negatives.
        let scaled = |by: &[f64]| -> Vec<f32> {
            let rows = q.chunks(width).zip(by);
            rows.flat_map(|(q, &by)| q.iter().map(move |q| by as f32 * q)).collect()
        };
        add_back(positives.as_ref(), &scaled(&alpha), width, of_z);
        for (of, &to) in scaled(&beta).chunks(width).zip(&other) {
            of_z[to as usize * width..][..width].iter_mut().zip(of).for_each(|(out, of)| *out += of);
        }
        Ok(good + bad)
    }

    /// Rows told from corrupted ones by a random direction; gradients are added to those of rows.
    fn regulariser(
        &self,
        (rows, corrupted): (&[f32], &[f32]),
        tell: &[f32],
        epoch: usize,
        (of_rows, of_corrupted): (&mut [f32], &mut [f32]),
        of_tell: &mut [f32],
    ) -> f64 {
        let width = tell.len().isqrt();
        let mut rng = self.seed.stream_at("contrast-reg direction", epoch as u64);
        let r: Vec<f64> = (0..width).map(|_| rng.random::<f64>()).collect();
        let t = narrow(&times(tell, &r));
        let share = self.config.ratio * width as f64 / rows.len() as f64;
        let (good, p) = judged(&dots(rows, &t), true, share);
        let (bad, p_corrupted) = judged(&dots(corrupted, &t), false, share);
        for (of, p) in [(of_rows, &p), (of_corrupted, &p_corrupted)] {
            of.par_chunks_mut(width).zip(p).for_each(|(of, &p)| {
                of.iter_mut().zip(&t).for_each(|(of, t)| *of += p as f32 * t);
            });
        }
        let mut sum = weighted_sum(rows, width, &p);
        add(&mut sum, &weighted_sum(corrupted, width, &p_corrupted));
        add_outer(of_tell, &sum, &r);
        good + bad
    }

    fn means_of_nearest(&self, z: &[f32], width: usize) -> Csr {
        let count = z.len() / width;
        let near = nearest(&Unitary::new(z.to_vec(), width).values, width, self.config.nearest);
        let each = near.len() / count;
        let row = |near: &[u32]| {
            let mut near: Vec<(u32, f32)> = near.iter().map(|&at| (at, 1.0 / each as f32)).collect();
            near.sort_unstable_by_key(|entry| entry.0);
            near
        };
        Csr::from_sorted_rows(count, &near.chunks(each).map(row).collect::<Vec<_>>())
    }

    fn permutation(&self, rows: usize, epoch: usize) -> Vec<u32> {
        let mut order: Vec<u32> = (0..rows as u32).collect();
        order.shuffle(&mut self.seed.stream_at("contrast-reg negatives", epoch as u64));
        order
    }
}

/// MZ, or Z without a matrix.
fn mixed<'z>(matrix: Option<&Csr>, z: &'z [f32], width: usize) -> std::borrow::Cow<'z, [f32]> {
    let Some(matrix) = matrix else { return z.into() };
    let mut out = vec![0f32; z.len()];
    add_sparse_product(matrix, z, width, &mut out);
    out.into()
}

/// Adds the gradient of Z, given that of `mixed`.
fn add_back(matrix: Option<&Csr>, of_mixed: &[f32], width: usize, of_z: &mut [f32]) {
    match matrix {
        Some(matrix) => add_sparse_product(&transposed(matrix), of_mixed, width, of_z),
        None => of_z.par_iter_mut().with_min_len(1 << 12).zip(of_mixed).for_each(|(out, of)| *out += of),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{check_step, some_rows};
    use super::*;
    use crate::{Graph, Partition};

    type Rows = Vec<Vec<f64>>;

    fn rows_of(view: &[f64], width: usize) -> Rows {
        view.chunks(width).map(<[f64]>::to_vec).collect()
    }

    fn bilinear(a: &[f64], matrix: &[f64], b: &[f64]) -> f64 {
        let width = b.len();
        (0..width * width).map(|at| a[at / width] * matrix[at] * b[at % width]).sum()
    }

    fn softplus(x: f64) -> f64 {
        (1.0 + x.exp()).ln()
    }

    /// The loss by its formula, with the nearest rows and draws as they are.
    pub(super) fn twin(of: &Regularised, views: &[Vec<f64>], own: &[f64], width: usize, near: &Csr) -> f64 {
        let (z, corrupted) = (rows_of(&views[0], width), rows_of(&views[1], width));
        let count = z.len();
        let mean = |matrix: &Csr, row: usize| -> Vec<f64> {
            let (at, weights) = matrix.row(row);
            let cell = |j: usize| at.iter().zip(weights).map(|(&at, &w)| w as f64 * z[at as usize][j]).sum();
            (0..width).map(cell).collect()
        };
        let (compare, tell) = own.split_at(width * width);
        let other = of.permutation(count, 0);
        let contrast = |i: usize| {
            let (anchor, positive) = match &of.heard {
                Some(heard) => (mean(heard, i), z[i].clone()),
                None => (z[i].clone(), mean(near, i)),
            };
            softplus(-bilinear(&positive, compare, &anchor))
                + softplus(bilinear(&z[other[i] as usize], compare, &anchor))
        };
        let mut rng = of.seed.stream_at("contrast-reg direction", 0);
        let r: Vec<f64> = (0..width).map(|_| rng.random::<f64>()).collect();
        let told =
            |i: usize| softplus(-bilinear(&z[i], tell, &r)) + softplus(bilinear(&corrupted[i], tell, &r));
        (0..count).map(|i| contrast(i) + of.config.ratio * told(i)).sum::<f64>() / count as f64
    }

    #[test]
    fn the_gradient_is_that_of_the_formula() {
        let (rows, width) = (8, 3);
        let graph = Graph::from_edges(rows, &[(0, 1), (1, 2), (2, 3), (4, 5), (0, 6)]).unwrap();
        let partition = Partition::new((0..rows as u32).collect()).unwrap();
        let views = [some_rows(rows, width, 1), some_rows(rows, width, 2)];
        let own = some_rows(2 * width, width, 3);
        let coarse = Coarsening { self_loops: false, ..Coarsening::default() };
        let coarse = coarse.adjacency(&graph, &partition).unwrap();
        for contrast in [Contrast::Lc, Contrast::Ml] {
            let config = ContrastReg { contrast, nearest: 3, ratio: 0.7 };
            let heard = (contrast == Contrast::Ml).then(|| normalized_with_self_loops(&coarse));
            let of = Regularised { config, heard, seed: Seed(2) };
            let near = of.means_of_nearest(&views[0], width);
            let step = Step { own: &own, ..Step::default() };
            check_step(&of, &views, width, &step, |views, own| twin(&of, views, own, width, &near));
        }
    }
}
