//! Features on a few axes, all of them at once or, where that would be large, some when they are asked for.

use super::part::inverse_root;
use super::scaling::Scaling;
use crate::matrix::zeros;
use crate::nn::first_layer;
use crate::{Error, Features, Result};
use rayon::prelude::*;

/// Numbers per block of columns: 64 MiB.
const BLOCK: usize = 1 << 24;
/// Columns per block at least: a row of a block is a line of cache then.
const NARROW: usize = 16;
/// Numbers of a projection that is computed once and kept: 256 MiB.
const KEPT: usize = 1 << 26;

/// Features on a few axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Projection {
    /// s and f.
    pub(crate) scaling: Scaling,
    /// diag(f) B: one row per feature, one column per axis.
    pub(crate) basis: Vec<f32>,
    /// m.
    pub(crate) mean: Vec<f32>,
}

/// Features on their axes: every row scaled to length one, projected and centred.
pub(crate) struct Projected<'a> {
    x: &'a Features,
    projection: &'a Projection,
    /// The squared lengths that rows had before they were scaled to one.
    pub(crate) squares: Vec<f64>,
    /// Every column of every row, if that is not too much.
    kept: Option<Vec<f32>>,
}

impl Projection {
    /// From its arrays: see [`Self::arrays`].
    pub fn of_arrays(shift: Vec<f32>, factor: Vec<f32>, basis: Vec<f32>, mean: Vec<f32>) -> Result<Self> {
        if shift.len() != factor.len() || basis.len() != shift.len() * mean.len() || mean.is_empty() {
            return Err(Error::Input("the arrays of a projection do not fit together".into()));
        }
        Ok(Self { scaling: Scaling { shift, factor }, basis, mean })
    }

    /// What is subtracted from each feature, the factor then, the basis with a row per feature, and the mean.
    pub fn arrays(&self) -> [&[f32]; 4] {
        [&self.scaling.shift, &self.scaling.factor, &self.basis, &self.mean]
    }

    /// All columns for some features, and their squared lengths after scaling.
    pub fn rows(&self, x: &Features) -> Result<(Vec<f32>, Vec<f64>)> {
        if x.cols() != self.inputs() {
            let (have, want) = (x.cols(), self.inputs());
            return Err(Error::Input(format!(
                "the model takes {want} features, but these nodes have {have}"
            )));
        }
        let squares = self.scaling.squares(x);
        let projected = Projected { x, projection: self, squares, kept: None };
        let rows = projected.computed(&self.basis, &self.mean);
        Ok((rows, projected.squares))
    }

    pub(crate) fn columns(&self) -> usize {
        self.mean.len()
    }

    /// Features as they are.
    #[cfg(test)]
    pub(super) fn of_axes(columns: usize) -> Self {
        let scaling = Scaling { shift: vec![0.0; columns], factor: vec![1.0; columns] };
        let basis = (0..columns * columns).map(|at| f32::from(u8::from(at % (columns + 1) == 0))).collect();
        Self { scaling, basis, mean: vec![0.0; columns] }
    }

    pub(super) fn inputs(&self) -> usize {
        self.basis.len() / self.columns().max(1)
    }
}

impl<'a> Projected<'a> {
    pub(crate) fn new(x: &'a Features, projection: &'a Projection) -> Self {
        Self::within(KEPT, x, projection)
    }

    /// Keeps so many numbers at most.
    fn within(most: usize, x: &'a Features, projection: &'a Projection) -> Self {
        let squares = projection.scaling.squares(x);
        let mut projected = Self { x, projection, squares, kept: None };
        if x.rows().saturating_mul(projection.columns()) <= most {
            projected.kept = Some(projected.computed(&projection.basis, &projection.mean));
        }
        projected
    }

    /// How many columns there are.
    pub(crate) fn width(&self) -> usize {
        self.projection.columns()
    }

    /// Some of the columns for every node.
    pub(crate) fn columns(&self, columns: &[u32]) -> Vec<f32> {
        let Projection { basis, mean, .. } = self.projection;
        match &self.kept {
            Some(rows) => picked(rows, mean.len(), columns),
            None => self.computed(&picked(basis, mean.len(), columns), &picked(mean, mean.len(), columns)),
        }
    }

    /// Rows that are known.
    #[cfg(test)]
    pub(super) fn known(
        x: &'a Features,
        projection: &'a Projection,
        rows: Vec<f32>,
        squares: Vec<f64>,
    ) -> Self {
        Self { x, projection, squares, kept: Some(rows) }
    }

    fn computed(&self, basis: &[f32], mean: &[f32]) -> Vec<f32> {
        let mut rows = zeros(self.x.rows() * mean.len());
        first_layer::forward(self.x, basis, mean.len(), &mut rows);
        let shift = column_products(&self.projection.scaling.shift, basis, mean.len());
        rows.par_chunks_mut(mean.len().max(1)).zip(&self.squares).for_each(|(row, &square)| {
            let scale = inverse_root(square);
            for ((value, shift), mean) in row.iter_mut().zip(&shift).zip(mean) {
                *value = (*value - shift) * scale - mean;
            }
        });
        rows
    }
}

/// Columns to compute at a time for so many nodes.
pub(crate) fn block(nodes: usize) -> usize {
    (BLOCK / nodes.max(1)).next_multiple_of(NARROW)
}

/// Some of the columns of rows with `size` of them.
pub(super) fn picked(rows: &[f32], size: usize, columns: &[u32]) -> Vec<f32> {
    let mut out = zeros(rows.len() / size.max(1) * columns.len());
    if out.is_empty() {
        return out;
    }
    out.par_chunks_mut(columns.len()).zip(rows.par_chunks(size)).for_each(|(out, row)| {
        out.iter_mut().zip(columns).for_each(|(out, &column)| *out = row[column as usize]);
    });
    out
}

/// The row `left` times a matrix with `size` columns.
pub(crate) fn column_products(left: &[f32], matrix: &[f32], size: usize) -> Vec<f32> {
    let mut sums = vec![0f64; size];
    for (left, row) in left.iter().zip(matrix.chunks_exact(size)) {
        sums.iter_mut().zip(row).for_each(|(sum, &value)| *sum += *left as f64 * value as f64);
    }
    sums.into_iter().map(|sum| sum as f32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seed;
    use crate::data::Synthetic;

    #[test]
    fn columns_are_the_same_whether_they_are_kept_or_not() {
        let x = Synthetic::named("demo").unwrap().generate(Seed(0)).unwrap().features.unwrap();
        let projection = crate::solve::axes(&x, 9, Seed(0));
        let (kept, asked) = (Projected::new(&x, &projection), Projected::within(0, &x, &projection));
        assert!(kept.kept.is_some() && asked.kept.is_none());
        let (a, b) = (kept.columns(&[8, 0, 3]), asked.columns(&[8, 0, 3]));
        assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-5));
    }
}
