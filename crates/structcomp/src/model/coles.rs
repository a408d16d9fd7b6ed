//! COLES: contrastive Laplacian eigenmaps.

use super::quadratic::{Form, Quadratic, loss_by_rows};
use super::{Blueprint, Compared, Contrastive, Loss, Objective, Step, positive};
use crate::compress::Coarsening;
use crate::graph::normalized;
use crate::{Csr, Error, Result, Seed};
use rand::RngExt;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// L = (λ tr(ZᵀNZ) − tr(ZᵀSZ)) / n', with S the normalised adjacency of the clusters and N that of
/// random pairs, drawn once.
///
/// The paper prints the Laplacians with the opposite sign; this is the form of the authors' code,
/// which pulls neighbours together. The loss has no lower bound: training stops by epochs.
///
/// # Reference
/// H. Zhu, K. Sun, P. Koniusz: Contrastive Laplacian eigenmaps. NeurIPS 2021.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct Coles {
    /// The weight λ of the random pairs.
    pub lambda: f64,
    /// Pairs drawn for each row.
    pub negatives: usize,
    /// Laplacians instead of adjacencies, which adds (1 − λ)‖Z‖²/n'.
    pub laplacian: bool,
    /// The graph between clusters.
    pub coarse: Coarsening,
}

impl Default for Coles {
    fn default() -> Self {
        Self { lambda: 0.8, negatives: 5, laplacian: false, coarse: Coarsening::default() }
    }
}

impl Contrastive for Coles {
    fn blueprint(&self, _: usize) -> Blueprint {
        Blueprint { adjacency: Some(self.coarse), ..Blueprint::default() }
    }

    fn check(&self) -> Result<()> {
        positive("lambda", self.lambda)?;
        positive("negatives", self.negatives as f64)
    }

    fn objective(&self, on: &Compared) -> Result<Box<dyn Objective + Send>> {
        let Some(adjacency) = on.adjacency else {
            return Err(Error::Input("COLES needs the adjacency between the rows of a batch".into()));
        };
        let positives = normalized(adjacency);
        let negatives = normalized(&random_pairs(on.rows, self.negatives, on.seed));
        let matrix = combined(&negatives, self.lambda as f32, &positives);
        let diagonal = if self.laplacian { 1.0 - self.lambda as f32 } else { 0.0 };
        Ok(Box::new(Eigenmaps::new(&matrix, diagonal)))
    }

    fn cost(&self) -> super::LossCost {
        super::LossCost::default()
    }

    #[cfg(test)]
    fn twin(&self, of: &super::Twin) -> f64 {
        tests::twin(of.views, of.width, self, &of.on)
    }
}

/// Every row with `count` others, from both sides; itself never, another as often as drawn.
pub(crate) fn random_pairs(rows: usize, count: usize, seed: Seed) -> Csr {
    let mut entries: Vec<BTreeMap<u32, f32>> = vec![BTreeMap::new(); rows];
    for row in 0..rows {
        let mut rng = seed.stream_at("coles negatives", row as u64);
        for _ in 0..count {
            let other = rng.random_range(0..rows);
            if other != row {
                *entries[row].entry(other as u32).or_default() += 1.0;
                *entries[other].entry(row as u32).or_default() += 1.0;
            }
        }
    }
    let rows: Vec<Vec<(u32, f32)>> = entries.into_iter().map(|row| row.into_iter().collect()).collect();
    Csr::from_sorted_rows(rows.len(), &rows)
}

/// λN − S.
fn combined(negatives: &Csr, lambda: f32, positives: &Csr) -> Csr {
    let row = |row: usize| {
        let mut entries: BTreeMap<u32, f32> = BTreeMap::new();
        for (matrix, scale) in [(negatives, lambda), (positives, -1.0)] {
            let (indices, values) = matrix.row(row);
            for (&index, &value) in indices.iter().zip(values) {
                *entries.entry(index).or_default() += scale * value;
            }
        }
        entries.into_iter().collect()
    };
    let rows: Vec<Vec<(u32, f32)>> = (0..negatives.rows()).map(row).collect();
    Csr::from_sorted_rows(negatives.cols(), &rows)
}

struct Eigenmaps {
    /// λN − S, and (1 − λ)I for Laplacians.
    form: Form,
}

impl Eigenmaps {
    fn new(matrix: &Csr, diagonal: f32) -> Self {
        let (starts, others, weights) = matrix.parts();
        let own = (0..matrix.rows()).map(|row| matrix.row(row).1.iter().sum::<f32>() + diagonal).collect();
        let form = Form { own, starts: starts.into(), others: others.into(), weights: weights.into() };
        Self { form }
    }
}

impl Objective for Eigenmaps {
    fn loss(&self, z: Vec<f32>, width: usize, step: &Step) -> Result<Loss> {
        loss_by_rows(self, &z, width, step.number)
    }

    fn quadratic(&self) -> Option<&dyn Quadratic> {
        Some(self)
    }
}

impl Quadratic for Eigenmaps {
    fn form(&self, _: usize) -> Cow<'_, Form> {
        Cow::Borrowed(&self.form)
    }

    fn is_fixed(&self) -> bool {
        true
    }

    fn outer(&self, trace: f64) -> Result<(f64, f64)> {
        let rows = self.form.own.len() as f64;
        match trace.is_finite() {
            true => Ok((trace / rows, 1.0 / rows)),
            false => Err(Error::Input("the loss has no lower bound and grew beyond all numbers".into())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{check_gradient, some_rows};
    use super::*;
    use crate::{Graph, Partition};

    fn ring() -> (Graph, Partition) {
        let edges: Vec<_> = (0..24).map(|u| (u, (u + 1) % 24)).collect();
        (
            Graph::from_edges(26, &edges).unwrap(),
            Partition::new((0..26).map(|node| node / 2).collect()).unwrap(),
        )
    }

    fn dense(matrix: Csr) -> Vec<f64> {
        crate::Features::Sparse(matrix).to_dense().values().iter().map(|&value| value as f64).collect()
    }

    /// The loss as its formula has it.
    pub(super) fn twin(views: &[Vec<f64>], width: usize, coles: &Coles, on: &Compared) -> f64 {
        let rows = on.rows;
        let s = dense(normalized(on.adjacency.unwrap()));
        let n = dense(normalized(&random_pairs(rows, coles.negatives, on.seed)));
        let row = |i: usize| &views[0][i * width..][..width];
        let dot = |i: usize, j: usize| row(i).iter().zip(row(j)).map(|(a, b)| a * b).sum::<f64>();
        // The Laplacian I − M, with the sign of the adjacency M.
        let identity = |i: usize, j: usize| f64::from(u8::from(i == j && coles.laplacian));
        let trace = |matrix: &[f64]| {
            let cells = (0..rows).flat_map(|i| (0..rows).map(move |j| (i, j)));
            cells.map(|(i, j)| (matrix[i * rows + j] - identity(i, j)) * dot(i, j)).sum::<f64>()
        };
        (coles.lambda * trace(&n) - trace(&s)) / rows as f64
    }

    #[test]
    fn the_gradient_is_that_of_both_traces() {
        let (graph, partition) = ring();
        let coarse = Coarsening::default().adjacency(&graph, &partition).unwrap();
        let on =
            Compared { rows: partition.clusters(), adjacency: Some(&coarse), weights: None, seed: Seed(4) };
        for laplacian in [false, true] {
            let coles = Coles { lambda: 0.7, laplacian, ..Coles::default() };
            let objective = coles.objective(&on).unwrap();
            let rows = some_rows(on.rows, 3, 3);
            check_gradient(&*objective, &[rows], 3, |views| twin(views, 3, &coles, &on));
        }
    }

    #[test]
    fn random_pairs_are_symmetric_and_never_of_one_row() {
        let n = dense(random_pairs(30, 5, Seed(0)));
        assert!((0..30).all(|i| n[i * 30 + i] == 0.0 && (0..30).all(|j| n[i * 30 + j] == n[j * 30 + i])));
        let total: f64 = n.iter().sum();
        assert!((250.0..=300.0).contains(&total), "{total}");
    }
}
