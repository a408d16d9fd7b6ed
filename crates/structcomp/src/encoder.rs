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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Csr, Graph};

    fn layer(inputs: usize, outputs: usize, activation: Activation, salt: usize) -> EncoderLayer {
        let number = |i: usize| ((i * 7 + salt) % 11) as f32 * 0.2 - 1.0;
        let slopes = vec![0.25; activation.slopes(outputs)];
        let weight = (0..inputs * outputs).map(number).collect();
        EncoderLayer {
            outputs,
            weight,
            bias: (0..outputs).map(|i| number(i + 3)).collect(),
            slopes,
            activation,
        }
    }

    /// The same by dense matrices in full precision: hops first, then the layer, as the formulas have it.
    fn naive(encoder: &Encoder, graph: &Graph, x: &Features) -> Vec<f64> {
        let nodes = graph.nodes();
        let root = |v: usize| 1.0 / (1.0 + graph.degree(v as u32) as f64).sqrt();
        let hop = |h: &[Vec<f64>]| -> Vec<Vec<f64>> {
            let row = |v: usize| {
                let mut near: Vec<usize> = graph.neighbors(v as u32).iter().map(|&u| u as usize).collect();
                near.push(v);
                (0..h[0].len()).map(|j| near.iter().map(|&u| root(v) * root(u) * h[u][j]).sum()).collect()
            };
            (0..nodes).map(row).collect()
        };
        let dense = x.to_dense();
        let mut h: Vec<Vec<f64>> =
            (0..nodes).map(|v| dense.row(v).iter().map(|&value| value as f64).collect()).collect();
        for (at, layer) in encoder.layers.iter().enumerate() {
            let hops = encoder.hops.map_or(1, |hops| if at == 0 { hops } else { 0 });
            (0..hops).for_each(|_| h = hop(&h));
            let unit = |row: &[f64], j: usize| {
                let weight = |i: usize| layer.weight[i * layer.outputs + j] as f64;
                let sum =
                    layer.bias[j] as f64 + row.iter().enumerate().map(|(i, x)| x * weight(i)).sum::<f64>();
                if sum < 0.0 && layer.activation == Activation::Prelu { 0.25 * sum } else { sum }
            };
            h = h.iter().map(|row| (0..layer.outputs).map(|j| unit(row, j)).collect()).collect();
        }
        h.concat()
    }

    #[test]
    fn embeddings_are_those_of_dense_matrices() {
        let graph = Graph::from_edges(6, &[(0, 1), (1, 2), (2, 3), (0, 2), (3, 4)]).unwrap();
        let csr = Csr::new(
            3,
            vec![0, 1, 3, 3, 4, 5, 6],
            vec![0, 1, 2, 0, 2, 1],
            vec![1.0, 2.0, -1.0, 0.5, 3.0, 1.5],
        );
        let sparse = Features::Sparse(csr.unwrap());
        let dense = Features::Dense(sparse.to_dense());
        let layers = vec![layer(3, 4, Activation::None, 1), layer(4, 2, Activation::Prelu, 5)];
        for hops in [None, Some(0), Some(2)] {
            let encoder = Encoder { layers: layers.clone(), hops };
            for x in [&sparse, &dense] {
                let embedding = encoder.embed(&graph, x).unwrap();
                let close = |(got, want): (&f32, &f64)| (*got as f64 - want).abs() < 1e-5;
                let twin = naive(&encoder, &graph, x);
                assert!(embedding.values().iter().zip(&twin).all(close), "{hops:?}: {embedding:?} {twin:?}");
            }
        }
    }
}
