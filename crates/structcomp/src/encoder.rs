//! A trained encoder: the weights of training, run with message passing on a whole graph.

use crate::hops::Hops;
use crate::linalg::{PRODUCT_ROWS, sum_of_products};
use crate::network::{Activation, Network, column_sums, first_layer};
use crate::{Dense, Error, Features, Graph, Normalization, Propagation, Result};
use std::borrow::Cow;

/// Linear layers, messages between nodes, and activations: H' = act(Σ cₖ Âᵏ H W + b).
///
/// Which hops a layer makes is a matter of [`EncoderKind`](crate::EncoderKind). The bias is never
/// propagated.
#[derive(Clone, Debug, PartialEq)]
pub struct Encoder {
    pub(crate) layers: Vec<EncoderLayer>,
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
    pub(crate) hops: Hops,
}

/// Rows that are handed out at once; whole blocks of the products, so that each row has the same bytes.
const ROWS: usize = 8 * PRODUCT_ROWS;

impl Encoder {
    /// The first `layers` of a network.
    pub(crate) fn new(network: &Network, parameters: &[f32], layers: usize) -> Self {
        let layer = |at: usize| EncoderLayer {
            outputs: network.layers()[at].outputs,
            weight: network.weight(at, parameters).to_vec(),
            bias: network.bias(at, parameters).to_vec(),
            slopes: network.slopes(at, parameters).to_vec(),
            activation: network.layers()[at].activation,
            hops: network.layers()[at].hops.clone(),
        };
        Self { layers: (0..layers).map(layer).collect() }
    }

    /// How many features it takes.
    pub fn inputs(&self) -> usize {
        self.layers.first().map_or(0, |layer| layer.inputs())
    }

    /// How many numbers a row of the embedding has.
    pub fn outputs(&self) -> usize {
        self.layers.last().map_or(0, |layer| layer.outputs)
    }

    /// The same encoder, shifted and scaled so that on this graph rows of the embedding have a mean of zero
    /// and `length` by root mean square. Its last layer must be linear.
    pub(crate) fn standardized(mut self, graph: &Graph, x: &Features, length: f64) -> Result<Self> {
        let width = self.outputs();
        let (mut sums, mut squares) = (vec![0f64; width], 0.0);
        self.embed_rows(graph, x, |rows| {
            squares += sum_of_products(rows, rows);
            sums.iter_mut().zip(column_sums(rows, width)).for_each(|(sum, add)| *sum += add);
            Ok(())
        })?;
        let nodes = x.rows().max(1) as f64;
        let mean: Vec<f64> = sums.iter().map(|sum| sum / nodes).collect();
        let spread = (squares / nodes - mean.iter().map(|mean| mean * mean).sum::<f64>()).max(0.0).sqrt();
        let scale = if spread > 0.0 { length / spread } else { 1.0 };
        if let Some(last) = self.layers.last_mut() {
            last.weight.iter_mut().for_each(|weight| *weight = (*weight as f64 * scale) as f32);
            let shift = |(bias, mean): (&mut f32, &f64)| *bias = ((*bias as f64 - mean) * scale) as f32;
            last.bias.iter_mut().zip(&mean).for_each(shift);
        }
        Ok(self)
    }

    /// The embedding of every node of a graph, also of one that was not trained on.
    pub fn embed(&self, graph: &Graph, x: &Features) -> Result<Dense> {
        let mut all = Vec::with_capacity(x.rows() * self.outputs());
        self.embed_rows(graph, x, |rows| {
            all.extend_from_slice(rows);
            Ok(())
        })?;
        Dense::new(x.rows(), self.outputs(), all)
    }

    /// The embedding some rows at a time, in order, for one that need not be held at once.
    ///
    /// Besides the graph and the features this holds at most two matrices of a row a node: what the last
    /// layer sees, or its result before the last hop, whichever is narrower.
    pub fn embed_rows(
        &self,
        graph: &Graph,
        x: &Features,
        mut sink: impl FnMut(&[f32]) -> Result<()>,
    ) -> Result<()> {
        if x.cols() != self.inputs() {
            return Err(Error::Input(format!(
                "the encoder takes {} features, but the nodes have {}",
                self.inputs(),
                x.cols()
            )));
        }
        let propagation = Propagation::new(graph, Normalization::Symmetric);
        let Some((last, before)) = self.layers.split_last() else { return Ok(()) };
        let mut h = Cow::Borrowed(x);
        for layer in before {
            let mut out = Vec::with_capacity(x.rows() * layer.outputs);
            layer.run(&propagation, h, |rows| {
                out.extend_from_slice(rows);
                Ok(())
            })?;
            h = Cow::Owned(Features::Dense(Dense::new(x.rows(), layer.outputs, out)?));
        }
        last.run(&propagation, h, &mut sink)
    }
}

impl EncoderLayer {
    fn inputs(&self) -> usize {
        self.weight.len() / self.outputs.max(1)
    }

    /// Hands out the layer's result. Hops and the linear map can change places, so the hops are made on
    /// the narrower side.
    fn run(
        &self,
        propagation: &Propagation,
        h: Cow<Features>,
        mut sink: impl FnMut(&[f32]) -> Result<()>,
    ) -> Result<()> {
        let (nodes, width) = (h.rows(), self.outputs);
        let blocks = (0..nodes).step_by(ROWS).map(|start| start..(start + ROWS).min(nodes));
        let mut block = vec![0.0; ROWS.min(nodes) * width];
        let mut finish = |rows: &mut [f32]| {
            self.activation.apply(rows, &self.bias, &self.slopes);
            sink(rows)
        };
        if self.hops.is_none() || (self.inputs() < width && matches!(*h, Features::Dense(_))) {
            let h = if self.hops.is_none() { h } else { Cow::Owned(self.hops.of_features(propagation, &h)?) };
            for rows in blocks {
                let out = &mut block[..rows.len() * width];
                first_layer::forward_rows(&h, rows, &self.weight, width, out);
                finish(out)?;
            }
            return Ok(());
        }
        let mut out = vec![0.0; nodes * width];
        first_layer::forward(&h, &self.weight, width, &mut out);
        drop(h);
        match self.hops.as_power() {
            Some(hops) => {
                if hops > 1 {
                    out = Hops::power(hops - 1).of_rows(propagation, &out, width)?;
                }
                for rows in blocks {
                    let made = &mut block[..rows.len() * width];
                    propagation.hop_rows(rows, &out, width, made)?;
                    finish(made)?;
                }
            }
            None => {
                out = self.hops.of_rows(propagation, &out, width)?;
                for rows in out.chunks_mut(ROWS * width) {
                    finish(rows)?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Csr, Graph};

    fn layer(inputs: usize, outputs: usize, activation: Activation, salt: usize, hops: Hops) -> EncoderLayer {
        let number = |i: usize| ((i * 7 + salt) % 11) as f32 * 0.2 - 1.0;
        let slopes = vec![0.25; activation.slopes(outputs)];
        let weight = (0..inputs * outputs).map(number).collect();
        EncoderLayer {
            outputs,
            weight,
            bias: (0..outputs).map(|i| number(i + 3)).collect(),
            slopes,
            activation,
            hops,
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
        for layer in &encoder.layers {
            let mut heard = vec![vec![0.0; h[0].len()]; nodes];
            for &weight in layer.hops.weights() {
                let add = |(sum, row): (&mut f64, &f64)| *sum += weight as f64 * row;
                heard.iter_mut().flatten().zip(h.iter().flatten()).for_each(add);
                h = hop(&h);
            }
            h = heard;
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
    fn rows_come_in_order_and_in_blocks() {
        let nodes = ROWS + 300;
        let edges: Vec<(u32, u32)> = (1..nodes as u32).map(|v| (v * 7919 % v, v)).collect();
        let graph = Graph::from_edges(nodes, &edges).unwrap();
        let x: Vec<f32> = (0..3 * nodes).map(|i| (i * 7 % 11) as f32 - 5.0).collect();
        let x = Features::Dense(Dense::new(nodes, 3, x).unwrap());
        for (outputs, hops) in [(4, Hops::power(1)), (2, Hops::power(2)), (2, Hops::ssgc(2, 0.5))] {
            let encoder = Encoder { layers: vec![layer(3, outputs, Activation::Prelu, 2, hops)] };
            let twin = naive(&encoder, &graph, &x);
            let (mut got, mut blocks) = (Vec::new(), 0);
            let take = |rows: &[f32]| {
                got.extend_from_slice(rows);
                blocks += 1;
                Ok(())
            };
            encoder.embed_rows(&graph, &x, take).unwrap();
            assert_eq!(blocks, 2);
            assert!(got.iter().zip(&twin).all(|(&got, want)| (got as f64 - want).abs() < 1e-4));
            assert_eq!(got.len(), twin.len());
            let broken = encoder.embed_rows(&graph, &x, |_| Err(Error::Input("full".into())));
            assert_eq!(broken.unwrap_err().to_string(), "full");
        }
    }

    #[test]
    fn standardized_rows_have_no_mean_and_the_length_asked_for() {
        let graph = Graph::from_edges(40, &(1..40).map(|v| (v * 7 % v, v)).collect::<Vec<_>>()).unwrap();
        let x: Vec<f32> = (0..120).map(|i| (i * 7 % 11) as f32).collect();
        let x = Features::Dense(Dense::new(40, 3, x).unwrap());
        let layers = vec![layer(3, 5, Activation::None, 1, Hops::power(2))];
        let plain = Encoder { layers };
        let moved = plain.clone().standardized(&graph, &x, 4.0).unwrap();
        let (before, after) = (plain.embed(&graph, &x).unwrap(), moved.embed(&graph, &x).unwrap());
        let sums = column_sums(after.values(), 5);
        assert!(sums.iter().all(|sum| sum.abs() < 1e-3), "{sums:?}");
        assert!((sum_of_products(after.values(), after.values()) / 40.0 - 16.0).abs() < 1e-3);
        // Differences of rows have kept their direction.
        let difference = |z: &Dense, j: usize| z.row(0)[j] - z.row(1)[j];
        let ratio = difference(&after, 0) / difference(&before, 0);
        assert!((1..5).all(|j| (difference(&after, j) / difference(&before, j) / ratio - 1.0).abs() < 1e-3));
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
        // Hops before a wider layer and behind a narrower one, of all kinds.
        let kinds = [Hops::none(), Hops::power(1), Hops::power(2), Hops::ssgc(3, 0.2)];
        for hops in kinds.iter().flat_map(|a| kinds.iter().map(move |b| [a, b])) {
            let layers = vec![
                layer(3, 4, Activation::None, 1, hops[0].clone()),
                layer(4, 2, Activation::Prelu, 5, hops[1].clone()),
            ];
            let encoder = Encoder { layers };
            for x in [&sparse, &dense] {
                let embedding = encoder.embed(&graph, x).unwrap();
                let close = |(got, want): (&f32, &f64)| (*got as f64 - want).abs() < 1e-5;
                let twin = naive(&encoder, &graph, x);
                assert!(embedding.values().iter().zip(&twin).all(close), "{hops:?}: {embedding:?} {twin:?}");
            }
        }
    }
}
