//! The encoder of a solved model: filters over hops side by side, each with rows of length one.

use super::ROWS;
use crate::graph::Hops;
use crate::matrix::{Sum, View, column_sums, product, sum_of_products};
use crate::nn::first_layer;
use crate::safetensors::{Tensors, Writer};
use crate::{Budget, Features, Graph, Normalization, Propagation, Result};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Features on a few axes, filtered over hops in several ways, side by side.
///
/// A row x of the features becomes p = x/‖x‖ · B − m. Each part filters these over its hops, maps them to its axes,
/// scales them to length one, and shifts and scales them to what the part counts.
#[derive(Clone, Debug, PartialEq)]
pub struct Filtered {
    /// B: one row per feature, one column per axis.
    basis: Vec<f32>,
    /// m.
    mean: Vec<f32>,
    columns: usize,
    parts: Vec<Part>,
}

/// A filter with the axes that it is mapped to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Part {
    hops: Hops,
    /// One row per column of the basis, one column per axis.
    map: Vec<f32>,
    /// The mean of filtered rows on the axes.
    shift: Vec<f32>,
    /// The mean of rows of length one.
    center: Vec<f32>,
    /// The factor at the end.
    scale: f32,
}

/// What is written as text.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct FilteredNote {
    features: usize,
    columns: usize,
    parts: Vec<PartNote>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct PartNote {
    hops: Hops,
    width: usize,
    scale: f32,
}

impl Part {
    /// Not yet centred; `scale` is relative to the other parts.
    pub(crate) fn new(hops: Hops, map: Vec<f32>, shift: Vec<f32>, scale: f64) -> Self {
        let center = vec![0.0; shift.len()];
        Self { hops, map, shift, center, scale: scale as f32 }
    }

    fn width(&self) -> usize {
        self.shift.len()
    }

    /// Rows of length one, from projected features.
    fn directions(&self, propagation: &Propagation, rows: &[f32], columns: usize) -> Result<Vec<f32>> {
        let width = self.width();
        let mut mapped = vec![0.0; rows.len() / columns * width];
        product(&mut mapped, View::new(rows, columns), View::new(&self.map, width), Sum::Set);
        if !self.hops.is_none() {
            mapped = self.hops.of_rows(propagation, &mapped, width)?;
        }
        mapped.par_chunks_mut(width).for_each(|row| {
            row.iter_mut().zip(&self.shift).for_each(|(value, shift)| *value -= shift);
            let square: f64 = row.iter().map(|&value| value as f64 * value as f64).sum();
            let inverse = inverse_root(square);
            row.iter_mut().for_each(|value| *value *= inverse);
        });
        Ok(mapped)
    }
}

impl Filtered {
    pub(crate) fn new(basis: Vec<f32>, mean: Vec<f32>, columns: usize, parts: Vec<Part>) -> Self {
        Self { basis, mean, columns, parts }
    }

    /// How many features it takes.
    pub(crate) fn inputs(&self) -> usize {
        self.basis.len() / self.columns.max(1)
    }

    /// The dimension of the embedding.
    pub(crate) fn outputs(&self) -> usize {
        self.parts.iter().map(Part::width).sum()
    }

    /// The same with rows that are centred on this graph, each part scaled to what it counts.
    pub(crate) fn balanced(mut self, graph: &Graph, x: &Features) -> Result<Self> {
        let rows = self.project(x);
        let propagation = Propagation::new(graph, Normalization::Symmetric);
        let count = x.rows().max(1) as f64;
        // Classifiers with a fixed regularisation depend on the length, and the noise of a mean over neighbours falls
        // with the root of their number.
        let length = (graph.targets().len() as f64 / count).sqrt().max(1.0);
        for part in &mut self.parts {
            let directions = part.directions(&propagation, &rows, self.columns)?;
            let mean: Vec<f64> =
                column_sums(&directions, part.width()).iter().map(|sum| sum / count).collect();
            let square = sum_of_products(&directions, &directions) / count;
            let spread = (square - mean.iter().map(|mean| mean * mean).sum::<f64>()).max(0.0).sqrt();
            part.center = mean.iter().map(|&mean| mean as f32).collect();
            part.scale *= if spread > 1e-6 { (length / spread) as f32 } else { 0.0 };
        }
        Ok(self)
    }

    /// Runs the filters on the CPU and hands out the embedding block by block, in order.
    pub(crate) fn run(
        &self,
        graph: &Graph,
        x: &Features,
        sink: impl FnMut(&[f32]) -> Result<()>,
    ) -> Result<()> {
        let propagation = Propagation::new(graph, Normalization::Symmetric);
        let (nodes, width) = (x.rows(), self.outputs());
        let rows = self.project(x);
        let mut all = vec![0.0; nodes * width];
        let mut first = 0;
        for part in &self.parts {
            let directions = part.directions(&propagation, &rows, self.columns)?;
            let own = part.width();
            all.par_chunks_mut(width).zip(directions.par_chunks(own)).for_each(|(row, direction)| {
                let placed = row[first..first + own].iter_mut().zip(direction);
                placed.zip(&part.center).for_each(|((value, direction), center)| {
                    *value = (direction - center) * part.scale;
                });
            });
            first += own;
        }
        all.chunks(ROWS * width.max(1)).try_for_each(sink)
    }

    /// Every row scaled to length one, projected and centred.
    fn project(&self, x: &Features) -> Vec<f32> {
        let mut rows = vec![0.0; x.rows() * self.columns];
        first_layer::forward(x, &self.basis, self.columns, &mut rows);
        let scale = inverse_lengths(x);
        rows.par_chunks_mut(self.columns).zip(&scale).for_each(|(row, scale)| {
            row.iter_mut().zip(&self.mean).for_each(|(value, mean)| *value = *value * scale - mean);
        });
        rows
    }
}

impl Filtered {
    pub(crate) fn note(&self) -> FilteredNote {
        let part = |part: &Part| PartNote { hops: part.hops.clone(), width: part.width(), scale: part.scale };
        FilteredNote {
            features: self.inputs(),
            columns: self.columns,
            parts: self.parts.iter().map(part).collect(),
        }
    }

    /// The basis is `basis`, the means `mean`; part `i` is `parts.i.map`, `.shift` and `.center`.
    pub(crate) fn write<'a>(&'a self, to: &mut Writer<'a>) {
        to.single("basis", &[self.inputs(), self.columns], Cow::Borrowed(&self.basis[..]));
        to.single("mean", &[self.columns], Cow::Borrowed(&self.mean[..]));
        for (at, part) in self.parts.iter().enumerate() {
            let width = part.width();
            to.single(format!("parts.{at}.map"), &[self.columns, width], Cow::Borrowed(&part.map[..]));
            to.single(format!("parts.{at}.shift"), &[width], Cow::Borrowed(&part.shift[..]));
            to.single(format!("parts.{at}.center"), &[width], Cow::Borrowed(&part.center[..]));
        }
    }

    pub(crate) fn read(note: FilteredNote, from: &Tensors) -> Result<Self> {
        let FilteredNote { features, columns, parts } = note;
        if features == 0 || columns == 0 || parts.is_empty() || parts.iter().any(|part| part.width == 0) {
            return Err(from.wrong("has filters without axes"));
        }
        if parts.iter().any(|part| part.hops.check().is_err() || !part.scale.is_finite()) {
            return Err(from.wrong("has invalid hops"));
        }
        let widths = parts.iter().fold(features as u64, |sum, part| sum.saturating_add(part.width as u64));
        Budget::default().check_items("the weights", widths.saturating_mul(columns as u64), 4)?;
        let part = |(at, note): (usize, PartNote)| {
            let own = |name: &str, shape: &[usize]| from.single(&format!("parts.{at}.{name}"), shape);
            Ok(Part {
                map: own("map", &[columns, note.width])?,
                shift: own("shift", &[note.width])?,
                center: own("center", &[note.width])?,
                hops: note.hops,
                scale: note.scale,
            })
        };
        Ok(Self {
            basis: from.single("basis", &[features, columns])?,
            mean: from.single("mean", &[columns])?,
            columns,
            parts: parts.into_iter().enumerate().map(part).collect::<Result<_>>()?,
        })
    }
}

/// One over the length of each row; 0 for rows of zeros.
pub(crate) fn inverse_lengths(x: &Features) -> Vec<f32> {
    let square = |values: &[f32]| values.iter().map(|&value| value as f64 * value as f64).sum::<f64>();
    let of = |row: usize| match x {
        Features::Dense(x) => inverse_root(square(x.row(row))),
        Features::Sparse(x) => inverse_root(square(x.row(row).1)),
    };
    (0..x.rows()).into_par_iter().map(of).collect()
}

fn inverse_root(square: f64) -> f32 {
    if square > 1e-30 && square.is_finite() { (1.0 / square.sqrt()) as f32 } else { 0.0 }
}
