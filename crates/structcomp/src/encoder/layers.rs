//! The layers of an encoder one by one, for graphs that are elsewhere: between the linear map and what follows it,
//! somebody else makes the hops.

use super::{Encoder, LayerView};
use crate::graph::Hops;
use crate::matrix::zeros;
use crate::nn::first_layer;
use crate::{Error, Features, Result};
use serde::Serialize;

/// What somebody else must know of a layer.
#[derive(Serialize)]
struct LayerNote<'a> {
    inputs: usize,
    outputs: usize,
    /// How much each number of hops counts.
    hops: &'a Hops,
    norm: bool,
}

impl Encoder {
    /// Its layers as JSON; an error for encoders that are not a single chain of layers.
    pub(crate) fn layer_notes(&self) -> Result<serde_json::Value> {
        let note = |view: &LayerView<'_>| {
            let layer = view.layer;
            let (inputs, outputs) = (layer.inputs, layer.outputs);
            serde_json::to_value(LayerNote { inputs, outputs, hops: &layer.hops, norm: layer.norm })
        };
        let notes: serde_json::Result<Vec<_>> = self.chain()?.iter().map(note).collect();
        notes.map(Into::into).map_err(|error| Error::Input(error.to_string()))
    }

    /// The linear map of a layer.
    pub(crate) fn linear(&self, layer: usize, x: &Features) -> Result<Vec<f32>> {
        let view = self.layer(layer)?;
        if view.layer.inputs != x.cols() {
            let (want, have) = (view.layer.inputs, x.cols());
            return Err(Error::Input(format!(
                "the layer takes {want} numbers per node, but there are {have}"
            )));
        }
        let mut out = zeros(x.rows() * view.layer.outputs);
        first_layer::forward(x, view.weight, view.layer.outputs, &mut out);
        Ok(out)
    }

    /// What follows the linear map and the hops of a layer.
    pub(crate) fn finish_layer(&self, layer: usize, rows: &mut [f32]) -> Result<()> {
        let view = self.layer(layer)?;
        if !rows.len().is_multiple_of(view.layer.outputs.max(1)) {
            return Err(Error::Input("the rows are not those of the layer".into()));
        }
        view.finish().apply(rows);
        Ok(())
    }

    /// The same encoder whose batch norm in a layer has these means and variances of the linear map and the hops.
    pub(crate) fn with_statistics(mut self, layer: usize, mean: &[f32], variance: &[f32]) -> Result<Self> {
        let bias = self.layer(layer)?.bias.to_vec();
        let network = self.towers.networks().first().ok_or_else(several)?;
        let place = network.statistics_of(layer);
        if place.len() != mean.len() + variance.len() || mean.len() != bias.len() {
            return Err(Error::Input("the statistics are not those of the layer".into()));
        }
        let shifted = mean.iter().zip(&bias).map(|(mean, bias)| mean + bias);
        let all: Vec<f32> = shifted.chain(variance.iter().copied()).collect();
        self.statistics[place].copy_from_slice(&all);
        Ok(self)
    }

    fn layer(&self, at: usize) -> Result<LayerView<'_>> {
        self.chain()?.get(at).copied().ok_or_else(|| Error::Input(format!("there is no layer {at}")))
    }

    fn chain(&self) -> Result<Vec<LayerView<'_>>> {
        let single = self.towers.single().is_some() && self.readout.is_none();
        let chain = self.chains().into_iter().next().filter(|_| single).ok_or_else(several)?;
        if chain.iter().any(|view| view.layer.rectified) {
            return Err(several());
        }
        Ok(chain)
    }
}

fn several() -> Error {
    Error::Input("only encoders that are a single chain of layers can run layer by layer".into())
}
