//! The encoder: the weights of training, run with message passing on a whole graph.

mod file;
mod filtered;
mod fitted;
mod layers;
#[cfg(test)]
mod tests;
mod zoomed;

pub(crate) use file::EncoderNote;
pub use filtered::{Filtered, Projection};
pub(crate) use filtered::{
    Part, Projected, Scaling, Signal, block, column_products, inverse_root, neighbors,
};
pub use fitted::FittedEncoder;
pub(crate) use fitted::FittedEncoderNote;
pub use zoomed::Zoomed;

use crate::graph::Hops;
use crate::matrix::{PRODUCT_ROWS, Sum, View, mean_and_variance, product};
use crate::nn::{Activation, Layer, LayerView, Towers, first_layer};
use crate::{Dense, Features, Graph, Normalization, Propagation, Result};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Where an encoder passes messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EncoderKind {
    /// One hop in every layer: H' = act(Â H W + b).
    Gcn,
    /// All hops before the layers: Âᵏ X.
    Sgc,
    /// All hops before the layers, and near nodes as well: αX + (1 − α)/K Σ Âᵏ X for k from 1 to K.
    Ssgc,
}

/// Linear layers, messages between nodes, and activations: H' = act(Σ cₖ Âᵏ H W + b).
///
/// Which hops a layer makes depends on the [`EncoderKind`]. The bias is never propagated. Batch norm, if there is
/// any, comes before the activation.
#[derive(Clone, Debug, PartialEq)]
pub struct Encoder {
    /// The layers, and those of a second encoder of the same features whose result is added.
    towers: Towers,
    parameters: Vec<f32>,
    /// Running means and variances of batch norm.
    statistics: Vec<f32>,
    /// What is done to the last result: mostly nothing, for GGD H + ÂʳH.
    readout: Hops,
}

/// Rows that are handed out at once; whole blocks of the products, so that each row has the same bytes.
const ROWS: usize = 4 * PRODUCT_ROWS;

impl Encoder {
    /// Layers with the leading part of some parameters, of which a projection head may be the rest.
    pub(crate) fn new(towers: Towers, parameters: &[f32], statistics: &[f32], readout: Hops) -> Self {
        let parameters = parameters[..towers.len()].to_vec();
        let statistics = statistics[..towers.initial_statistics().len()].to_vec();
        Self { towers, parameters, statistics, readout }
    }

    /// How many features it takes.
    pub fn inputs(&self) -> usize {
        self.layers().first().map_or(0, |layer| layer.inputs)
    }

    /// The dimension of the embedding.
    pub fn outputs(&self) -> usize {
        self.layers().last().map_or(0, |layer| layer.outputs)
    }

    /// Whether its layers are one chain, and nothing is done to their result.
    #[cfg(feature = "cuda")]
    pub(crate) fn is_chain(&self) -> bool {
        self.chains().len() == 1 && self.readout.is_none()
    }

    /// The layers of the first chain.
    fn layers(&self) -> Vec<&Layer> {
        self.chains().first().map(|chain| chain.iter().map(|view| view.layer).collect()).unwrap_or_default()
    }

    /// Layers that follow each other: one chain, or two whose results are added.
    pub(crate) fn chains(&self) -> Vec<Vec<LayerView<'_>>> {
        let (mut parameters, mut statistics) = (&self.parameters[..], &self.statistics[..]);
        let mut chains: Vec<Vec<LayerView<'_>>> = Vec::new();
        for network in self.towers.networks() {
            let (own, more) = parameters.split_at(network.len());
            let (seen, more_statistics) = statistics.split_at(network.initial_statistics().len());
            let views = (0..network.layers().len()).map(|at| network.view(at, own, seen));
            match chains.last_mut() {
                Some(chain) if self.towers.is_detached() => chain.extend(views),
                _ => chains.push(views.collect()),
            }
            (parameters, statistics) = (more, more_statistics);
        }
        chains
    }

    /// The same encoder with the batch norm statistics of this graph's nodes.
    pub(crate) fn renormalized(mut self, graph: &Graph, x: &Features) -> Result<Self> {
        let propagation = Propagation::new(graph, Normalization::Symmetric);
        let mut statistics = Vec::with_capacity(self.statistics.len());
        for chain in self.chains() {
            let mut h = Cow::Borrowed(x);
            for view in chain {
                // Statistics of this layer have no part in what they are computed from.
                let own;
                let mut seen = view;
                if view.norm.is_some() {
                    let linear = Layer { activation: Activation::None, ..view.layer.clone() };
                    let sums = whole_layer(
                        LayerView { layer: &linear, norm: None, ..view },
                        &propagation,
                        h.clone(),
                    )?;
                    let (mean, variance) = mean_and_variance(sums.values(), sums.cols());
                    own = mean.iter().chain(&variance).map(|&value| value as f32).collect::<Vec<_>>();
                    statistics.extend_from_slice(&own);
                    seen.norm = view.norm.map(|norm| {
                        let (mean, variance) = own.split_at(view.layer.outputs);
                        crate::nn::NormView { mean, variance, ..norm }
                    });
                    h = Cow::Owned(Features::Dense(whole_layer(seen, &propagation, h)?));
                } else {
                    h = Cow::Owned(Features::Dense(whole_layer(seen, &propagation, h)?));
                }
            }
        }
        self.statistics = statistics;
        Ok(self)
    }

    /// The bias of its first layer.
    #[cfg(test)]
    pub(crate) fn first_bias(&self) -> &[f32] {
        self.towers.networks()[0].bias(0, &self.parameters)
    }

    /// Runs the layers on the CPU and hands out the embedding block by block, in order.
    pub(crate) fn run(
        &self,
        graph: &Graph,
        x: &Features,
        sink: impl FnMut(&[f32]) -> Result<()>,
    ) -> Result<()> {
        let propagation = Propagation::new(graph, Normalization::Symmetric);
        let chains = self.chains();
        if let ([only], true) = (&chains[..], self.readout.is_none()) {
            return run_chain(only, &propagation, x, sink);
        }
        let mut all = vec![0.0; x.rows() * self.outputs()];
        for chain in &chains {
            let mut at = 0;
            run_chain(chain, &propagation, x, |rows| {
                all[at..at + rows.len()].iter_mut().zip(rows).for_each(|(all, more)| *all += more);
                at += rows.len();
                Ok(())
            })?;
        }
        if !self.readout.is_none() {
            all = self.readout.of_rows(&propagation, &all, self.outputs())?;
        }
        all.chunks(ROWS * self.outputs().max(1)).try_for_each(sink)
    }

    /// The product of its layers' weights, whatever lies between them, and how many columns it has.
    pub fn linear_map(&self) -> (Vec<f32>, usize) {
        let chains = self.chains();
        let mut views = chains.first().into_iter().flatten();
        let Some(first) = views.next() else { return (Vec::new(), 1) };
        let (mut map, mut width) = (first.weight.to_vec(), first.layer.outputs);
        for view in views {
            let outputs = view.layer.outputs;
            let mut next = vec![0.0; map.len() / width * outputs];
            product(&mut next, View::new(&map, width), View::new(view.weight, outputs), Sum::Set);
            (map, width) = (next, outputs);
        }
        (map, width)
    }
}

/// Hands out what a chain of layers makes of the features.
fn run_chain(
    layers: &[LayerView<'_>],
    propagation: &Propagation,
    x: &Features,
    sink: impl FnMut(&[f32]) -> Result<()>,
) -> Result<()> {
    let Some((last, before)) = layers.split_last() else { return Ok(()) };
    let mut h = Cow::Borrowed(x);
    for layer in before {
        h = Cow::Owned(Features::Dense(whole_layer(*layer, propagation, h)?));
    }
    run_layer(*last, propagation, h, sink)
}

/// The whole result of a layer.
fn whole_layer(view: LayerView<'_>, propagation: &Propagation, h: Cow<Features>) -> Result<Dense> {
    let (nodes, width) = (h.rows(), view.layer.outputs);
    let mut out = Vec::with_capacity(nodes * width);
    run_layer(view, propagation, h, |rows| {
        out.extend_from_slice(rows);
        Ok(())
    })?;
    Dense::new(nodes, width, out)
}

/// Hands out the result of a layer. Hops and the linear map can change places, so the hops are made on the
/// narrower side.
fn run_layer(
    view: LayerView<'_>,
    propagation: &Propagation,
    h: Cow<Features>,
    mut sink: impl FnMut(&[f32]) -> Result<()>,
) -> Result<()> {
    let Layer { inputs, outputs: width, hops, .. } = view.layer;
    let (nodes, width) = (h.rows(), *width);
    let blocks = (0..nodes).step_by(ROWS).map(|start| start..(start + ROWS).min(nodes));
    let mut block = vec![0.0; ROWS.min(nodes) * width];
    let finish = view.finish();
    let mut finished = |rows: &mut [f32]| {
        finish.apply(rows);
        sink(rows)
    };
    let narrow = *inputs <= width && matches!(*h, Features::Dense(_));
    if let (true, Some(power @ 1..), Features::Dense(x)) = (narrow, hops.as_power(), &*h) {
        return last_hop_by_blocks(view, propagation, x, power, finished);
    }
    if hops.is_none() || narrow {
        let h = if hops.is_none() { h } else { Cow::Owned(hops.of_features(propagation, &h)?) };
        for rows in blocks {
            let out = &mut block[..rows.len() * width];
            first_layer::forward_rows(&h, rows, view.weight, width, out);
            finished(out)?;
        }
        return Ok(());
    }
    let mut out = vec![0.0; nodes * width];
    first_layer::forward(&h, view.weight, width, &mut out);
    drop(h);
    let Some(power) = hops.as_power() else {
        out = hops.of_rows(propagation, &out, width)?;
        return out.chunks_mut(ROWS * width).try_for_each(finished);
    };
    if power > 1 {
        out = Hops::power(power - 1).of_rows(propagation, &out, width)?;
    }
    for rows in blocks {
        let made = &mut block[..rows.len() * width];
        propagation.hop_rows(rows, &out, width, made)?;
        finished(made)?;
    }
    Ok(())
}

/// Of the last hop only the rows at hand, so that none of it is held.
fn last_hop_by_blocks(
    view: LayerView<'_>,
    propagation: &Propagation,
    x: &Dense,
    power: usize,
    mut finished: impl FnMut(&mut [f32]) -> Result<()>,
) -> Result<()> {
    let (inputs, width, nodes) = (view.layer.inputs, view.layer.outputs, x.rows());
    let before = match power {
        1 => Cow::Borrowed(x.values()),
        _ => Hops::power(power - 1).of_rows(propagation, x.values(), inputs)?.into(),
    };
    let mut heard = vec![0.0; ROWS.min(nodes) * inputs];
    let mut block = vec![0.0; ROWS.min(nodes) * width];
    for start in (0..nodes).step_by(ROWS) {
        let rows = start..(start + ROWS).min(nodes);
        let (heard, out) = (&mut heard[..rows.len() * inputs], &mut block[..rows.len() * width]);
        propagation.hop_rows(rows, &before, inputs, heard)?;
        product(out, View::new(heard, inputs), View::new(view.weight, width), Sum::Set);
        finished(out)?;
    }
    Ok(())
}
