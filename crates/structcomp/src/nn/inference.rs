//! A layer as embedding and judging see it: with its parameters and running statistics, one block of rows at a
//! time.

use super::norm::LEAST_VARIANCE;
use super::{Layer, Network, first_layer};
use crate::Features;
use crate::matrix::{Sum, View, product};
use rayon::prelude::*;
use std::borrow::Cow;
use std::ops::Range;

/// A layer with its parameters.
#[derive(Clone, Copy)]
pub(crate) struct LayerView<'p> {
    pub(crate) layer: &'p Layer,
    /// One row per input.
    pub(crate) weight: &'p [f32],
    pub(crate) bias: &'p [f32],
    pub(crate) slopes: &'p [f32],
    pub(crate) norm: Option<NormView<'p>>,
}

/// Batch norm with what it learnt and its running statistics.
#[derive(Clone, Copy)]
pub(crate) struct NormView<'p> {
    pub(crate) scale: &'p [f32],
    pub(crate) shift: &'p [f32],
    pub(crate) mean: &'p [f32],
    pub(crate) variance: &'p [f32],
}

/// What follows the linear map and the messages of a layer, ready for many blocks of rows.
pub(crate) struct Finish<'p> {
    view: LayerView<'p>,
    /// Of each column; empty without batch norm.
    scale: Vec<f32>,
    /// The bias, with what batch norm adds.
    bias: Cow<'p, [f32]>,
}

impl<'p> LayerView<'p> {
    pub(crate) fn finish(self) -> Finish<'p> {
        let Some(norm) = self.norm else {
            return Finish { view: self, scale: Vec::new(), bias: Cow::Borrowed(self.bias) };
        };
        // Batch norm with fixed statistics is a map of each column, of which the bias becomes a part.
        let one = |(scale, variance): (&f32, &f32)| {
            (*scale as f64 / (*variance as f64 + LEAST_VARIANCE).sqrt()) as f32
        };
        let scale: Vec<f32> = norm.scale.iter().zip(norm.variance).map(one).collect();
        let columns = self.bias.iter().zip(&scale).zip(norm.shift.iter().zip(norm.mean));
        let bias = columns.map(|((bias, scale), (shift, mean))| (bias - mean) * scale + shift).collect();
        Finish { view: self, scale, bias }
    }
}

#[cfg(feature = "cuda")]
impl Finish<'_> {
    /// The weight, whose columns batch norm scales.
    pub(crate) fn scaled_weight(&self) -> Cow<'_, [f32]> {
        let weight = self.view.weight;
        if self.scale.is_empty() {
            return weight.into();
        }
        let row = |row: &[f32]| row.iter().zip(&self.scale).map(|(w, scale)| w * scale).collect::<Vec<_>>();
        weight.chunks(self.scale.len()).flat_map(row).collect()
    }

    pub(crate) fn bias(&self) -> &[f32] {
        &self.bias
    }
}

impl Finish<'_> {
    /// Turns the results of the linear map into those of the layer.
    pub(crate) fn apply(&self, rows: &mut [f32]) {
        let width = self.view.layer.outputs;
        if !self.scale.is_empty() {
            let scaled = |row: &mut [f32]| row.iter_mut().zip(&self.scale).for_each(|(h, scale)| *h *= scale);
            rows.par_chunks_mut(width).for_each(scaled);
        }
        self.view.layer.activation.apply(rows, &self.bias, self.view.slopes);
    }
}

impl Network {
    /// The result for some rows without messages and without dropout, by the running statistics.
    pub(crate) fn predict(
        &self,
        parameters: &[f32],
        running: &[f32],
        x: &Features,
        rows: Range<usize>,
    ) -> Vec<f32> {
        let count = rows.len();
        let mut h = Vec::new();
        for at in 0..self.layers().len() {
            let view = self.view(at, parameters, running);
            let mut out = vec![0.0; count * view.layer.outputs];
            if at == 0 {
                first_layer::forward_rows(x, rows.clone(), view.weight, view.layer.outputs, &mut out);
            } else {
                let input = view.layer.input(&h);
                let weight = View::new(view.weight, view.layer.outputs);
                product(&mut out, View::new(&input, view.layer.inputs), weight, Sum::Set);
            }
            view.finish().apply(&mut out);
            h = out;
        }
        h
    }
}
