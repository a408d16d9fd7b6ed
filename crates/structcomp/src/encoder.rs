//! A trained encoder: the weights of training, run with message passing on a whole graph.

use crate::linalg::{Sum, View, product};
use crate::network::{Activation, Network, first_layer};
use crate::{Dense, Error, Features, Graph, Normalization, Propagation, Result};
use rayon::prelude::*;

/// Linear layers and what happens between them.
///
/// A GCN passes messages in every layer: H' = act(Â H W + b). With `hops`, messages are passed first
/// and the layers follow: Z = act(Âᵏ X W + b), which is SGC. The bias is never propagated.
#[derive(Clone, Debug, PartialEq)]
pub struct Encoder {
    pub(crate) layers: Vec<EncoderLayer>,
    /// Hops before the layers; none for one in each layer.
    pub(crate) hops: Option<usize>,
}

/// One layer of an encoder.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct EncoderLayer {
    pub(crate) outputs: usize,
    /// A row an input.
    pub(crate) weight: Vec<f32>,
    pub(crate) bias: Vec<f32>,
    pub(crate) slopes: Vec<f32>,
    pub(crate) activation: Activation,
}

impl Encoder {
    pub(crate) fn new(network: &Network, parameters: &[f32], layers: usize, hops: Option<usize>) -> Self {
        let layer = |at: usize| EncoderLayer {
            outputs: network.layers()[at].outputs,
            weight: network.weight(at, parameters).to_vec(),
            bias: network.bias(at, parameters).to_vec(),
            slopes: network.slopes(at, parameters).to_vec(),
            activation: network.layers()[at].activation,
        };
        Self { layers: (0..layers).map(layer).collect(), hops }
    }

    /// How many features it takes.
    pub fn inputs(&self) -> usize {
        self.layers.first().map_or(0, |layer| layer.weight.len() / layer.outputs.max(1))
    }

    /// How many numbers a row of the embedding has.
    pub fn outputs(&self) -> usize {
        self.layers.last().map_or(0, |layer| layer.outputs)
    }

    /// The embedding of every node of a graph, also of one that was not trained on.
    pub fn embed(&self, graph: &Graph, x: &Features) -> Result<Dense> {
        if x.cols() != self.inputs() {
            return Err(Error::Input(format!(
                "the encoder takes {} features, but the nodes have {}",
                self.inputs(),
                x.cols()
            )));
        }
        let propagation = Propagation::new(graph, Normalization::Symmetric);
        let mut h: Option<Vec<f32>> = None;
        for (at, layer) in self.layers.iter().enumerate() {
            let width = layer.outputs;
            let mut out = vec![0.0; x.rows() * width];
            match &h {
                None => first_layer::forward(x, &layer.weight, width, &mut out),
                Some(h) => {
                    let inputs = layer.weight.len() / width;
                    product(&mut out, View::new(h, inputs), View::new(&layer.weight, width), Sum::Set);
                }
            }
            // Hops and layers commute up to the bias, so the hops are done on the narrower side.
            let hops = match self.hops {
                Some(hops) if at == 0 => hops,
                Some(_) => 0,
                None => 1,
            };
            let mut spread = vec![0.0; out.len()];
            propagation.power_into(&out, width, hops, &mut spread)?;
            spread.par_chunks_mut(width).for_each(|row| {
                row.iter_mut().zip(&layer.bias).for_each(|(value, bias)| *value += bias);
            });
            layer.activation.apply(&mut spread, width, &layer.slopes);
            h = Some(spread);
        }
        Dense::new(x.rows(), self.outputs(), h.unwrap_or_default())
    }
}
