//! The encoder of a solved model: what a node's features, its neighbourhood and its position say, side by side.

mod part;
mod projection;
mod scaling;

pub(crate) use part::{Part, Signal, inverse_root, neighbors};
pub use projection::Projection;
pub(crate) use projection::{Projected, block, column_products};
pub(crate) use scaling::Scaling;

use super::ROWS;
use crate::matrix::{Sum, View, product, zeros};
use crate::safetensors::{Tensors, Writer};
use crate::{Budget, Features, Graph, Result};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Parts side by side, turned to their common axes.
///
/// A row x of the features becomes p = y/‖y‖ · B − m with y = f (x − s). Each part makes rows of length one of these,
/// or of what else is known of a node. Side by side they are u, and the embedding is (u − c) T.
#[derive(Clone, Debug, PartialEq)]
pub struct Filtered {
    pub(crate) projection: Projection,
    pub(crate) parts: Vec<Part>,
    /// c.
    pub(crate) center: Vec<f32>,
    /// T: one row per column of all parts, one column per output.
    pub(crate) turn: Vec<f32>,
}

/// What is written as text.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct FilteredNote {
    features: usize,
    axes: usize,
    outputs: usize,
    parts: Vec<PartNote>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct PartNote {
    signal: Signal,
    columns: Vec<u32>,
}

impl Filtered {
    /// How many features it takes.
    pub(crate) fn inputs(&self) -> usize {
        self.projection.inputs()
    }

    /// The dimension of the embedding.
    pub(crate) fn outputs(&self) -> usize {
        self.turn.len() / self.center.len().max(1)
    }

    /// Whether all of its parts say something about the nodes of this graph.
    pub(crate) fn knows(&self, graph: &Graph) -> bool {
        self.parts.iter().all(|part| match &part.signal {
            Signal::Positions(positions) => positions.knows(graph),
            _ => true,
        })
    }

    /// Runs the parts on the CPU and hands out the embedding block by block, in order.
    pub(crate) fn run(
        &self,
        graph: &Graph,
        x: &Features,
        sink: impl FnMut(&[f32]) -> Result<()>,
    ) -> Result<()> {
        let outputs = self.outputs();
        let x = Projected::new(x, &self.projection);
        let center = column_products(&self.center, &self.turn, outputs);
        let mut out = zeros(graph.nodes() * outputs);
        out.par_chunks_mut(outputs).for_each(|row| {
            row.iter_mut().zip(&center).for_each(|(value, center)| *value = -center);
        });
        let mut turn = &self.turn[..];
        for part in &self.parts {
            let (own, others) = turn.split_at(part.width() * outputs);
            part.add(graph, &x, own, &mut out)?;
            turn = others;
        }
        out.chunks(ROWS * outputs).try_for_each(sink)
    }
}

impl Filtered {
    /// The embedding of some nodes from the rows of each part.
    pub(crate) fn of_parts(&self, mut rows: Vec<Vec<f32>>) -> Result<Vec<f32>> {
        let outputs = self.outputs();
        let nodes = rows.first().map_or(0, Vec::len) / self.parts.first().map_or(1, Part::width);
        let fits = |(part, rows): (&Part, &Vec<f32>)| rows.len() == nodes * part.width();
        if rows.len() != self.parts.len() || !self.parts.iter().zip(&rows).all(fits) {
            return Err(crate::Error::Input("the rows are not those of the parts".into()));
        }
        let center = column_products(&self.center, &self.turn, outputs);
        let mut out: Vec<f32> = (0..nodes).flat_map(|_| center.iter().map(|center| -center)).collect();
        let mut turn = &self.turn[..];
        for (part, rows) in self.parts.iter().zip(&mut rows) {
            let (own, others) = turn.split_at(part.width() * outputs);
            part.scale_rows(rows);
            product(&mut out, View::new(rows, part.width()), View::new(own, outputs), Sum::Add(1.0));
            turn = others;
        }
        Ok(out)
    }

    /// The signal of each part and its columns, as in a file.
    pub(crate) fn part_notes(&self) -> impl Serialize {
        self.note().parts
    }

    pub(crate) fn note(&self) -> FilteredNote {
        let part = |part: &Part| PartNote { signal: part.signal.clone(), columns: part.columns.clone() };
        FilteredNote {
            features: self.inputs(),
            axes: self.projection.columns(),
            outputs: self.outputs(),
            parts: self.parts.iter().map(part).collect(),
        }
    }

    /// s is `shift`, f `factor`, diag(f) B `basis`, m `mean`, c `center` and T `turn`; part `i` has `parts.i.shift` and
    /// `parts.i.scale`.
    pub(crate) fn write<'a>(&'a self, to: &mut Writer<'a>) {
        let Projection { scaling, basis, mean } = &self.projection;
        to.single("shift", &[self.inputs()], Cow::Borrowed(&scaling.shift[..]));
        to.single("factor", &[self.inputs()], Cow::Borrowed(&scaling.factor[..]));
        to.single("basis", &[self.inputs(), mean.len()], Cow::Borrowed(&basis[..]));
        to.single("mean", &[mean.len()], Cow::Borrowed(&mean[..]));
        to.single("center", &[self.center.len()], Cow::Borrowed(&self.center[..]));
        to.single("turn", &[self.center.len(), self.outputs()], Cow::Borrowed(&self.turn[..]));
        for (at, part) in self.parts.iter().enumerate() {
            to.single(format!("parts.{at}.shift"), &[part.width()], Cow::Borrowed(&part.shift[..]));
            to.single(format!("parts.{at}.scale"), &[part.width()], Cow::Borrowed(&part.scale[..]));
        }
    }

    pub(crate) fn read(note: FilteredNote, from: &Tensors) -> Result<Self> {
        let FilteredNote { features, axes, outputs, parts } = note;
        let empty = parts.is_empty() || parts.iter().any(|part| part.columns.is_empty());
        if features == 0 || axes == 0 || outputs == 0 || empty {
            return Err(from.wrong("has parts without columns"));
        }
        let wide: usize = parts.iter().map(|part| part.columns.len()).sum();
        let numbers = (features as u64).saturating_mul(axes as u64);
        let numbers = numbers.saturating_add((wide as u64).saturating_mul(outputs as u64));
        Budget::default().check_items("the weights", numbers, 4)?;
        let part = |(at, note): (usize, PartNote)| {
            let (fits, size) = match &note.signal {
                Signal::Hops(hops) => (hops.check().is_ok(), axes),
                Signal::Neighbors => (true, axes),
                Signal::Positions(positions) => (true, positions.width()),
                Signal::Sizes { mean } => (mean.is_finite() && *mean > 0.0, 2),
            };
            if !fits || note.columns.iter().any(|&column| column as usize >= size) {
                return Err(from.wrong("has invalid hops or columns"));
            }
            let own = |name: &str| from.single(&format!("parts.{at}.{name}"), &[note.columns.len()]);
            Ok(Part {
                shift: own("shift")?,
                scale: own("scale")?,
                signal: note.signal,
                columns: note.columns,
            })
        };
        Ok(Self {
            projection: Projection {
                scaling: Scaling {
                    shift: from.single("shift", &[features])?,
                    factor: from.single("factor", &[features])?,
                },
                basis: from.single("basis", &[features, axes])?,
                mean: from.single("mean", &[axes])?,
            },
            parts: parts.into_iter().enumerate().map(part).collect::<Result<_>>()?,
            center: from.single("center", &[wide])?,
            turn: from.single("turn", &[wide, outputs])?,
        })
    }
}
