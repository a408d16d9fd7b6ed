//! A trained encoder: the weights of training, run with message passing on a whole graph.

use crate::hops::Hops;
use crate::linalg::{PRODUCT_ROWS, Sum, View, product, sum_of_products};
use crate::network::{
    Activation, LEAST_VARIANCE, Network, Towers, column_products, column_sums, first_layer,
};
use crate::{Dense, Error, Features, Graph, Normalization, Propagation, Result};
use rayon::prelude::*;
use std::borrow::Cow;

/// Linear layers, messages between nodes, and activations: H' = act(Σ cₖ Âᵏ H W + b).
///
/// Which hops a layer makes is a matter of [`EncoderKind`](crate::EncoderKind). The bias is never
/// propagated. Batch norm, where there is one, comes before the activation.
#[derive(Clone, Debug, PartialEq)]
pub struct Encoder {
    pub(crate) layers: Vec<EncoderLayer>,
    /// A second encoder of the same features, whose result is added; mostly none.
    pub(crate) beside: Vec<EncoderLayer>,
    /// What is made of the last result: mostly nothing, for GGD H + ÂʳH.
    pub(crate) readout: Hops,
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
    pub(crate) norm: Option<EncoderNorm>,
}

/// Batch norm with the statistics that embedding uses.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct EncoderNorm {
    pub(crate) scale: Vec<f32>,
    pub(crate) shift: Vec<f32>,
    pub(crate) mean: Vec<f32>,
    pub(crate) variance: Vec<f32>,
}

/// Rows that are handed out at once; whole blocks of the products, so that each row has the same bytes.
const ROWS: usize = 4 * PRODUCT_ROWS;

impl Encoder {
    /// The first `layers` of each network, with the running statistics of their batch norm.
    pub(crate) fn new(
        towers: &Towers,
        parameters: &[f32],
        running: &[f32],
        layers: usize,
        readout: Hops,
    ) -> Self {
        let (mut start, mut seen) = (0, 0);
        let mut chains: Vec<Vec<EncoderLayer>> = Vec::new();
        for network in towers.networks() {
            let statistics = network.initial_statistics().len();
            let parameters = &parameters[start..start + network.len()];
            chains.push(layers_of(network, parameters, &running[seen..seen + statistics], layers));
            (start, seen) = (start + network.len(), seen + statistics);
        }
        if towers.is_detached() {
            chains = vec![chains.concat()];
        }
        let beside = if chains.len() > 1 { chains.swap_remove(1) } else { Vec::new() };
        Self { layers: chains.swap_remove(0), beside, readout }
    }

    /// Layers alone.
    #[cfg(test)]
    pub(crate) fn of(layers: Vec<EncoderLayer>) -> Self {
        Self { layers, beside: Vec::new(), readout: Hops::none() }
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

    /// The same encoder with the statistics of batch norm that the nodes of this graph have.
    pub(crate) fn renormalized(mut self, graph: &Graph, x: &Features) -> Result<Self> {
        let propagation = Propagation::new(graph, Normalization::Symmetric);
        for chain in [&mut self.layers, &mut self.beside] {
            let mut h = Cow::Borrowed(x);
            for layer in chain {
                if let Some(norm) = layer.norm.take() {
                    let activation = std::mem::take(&mut layer.activation);
                    let sums = layer.whole(&propagation, Cow::Borrowed(&h))?;
                    (layer.norm, layer.activation) = (Some(norm.seeing(&sums)), activation);
                }
                h = Cow::Owned(Features::Dense(layer.whole(&propagation, h)?));
            }
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
    /// Besides the graph and the features this holds two blocks of rows where there is one layer with one hop
    /// that makes rows no narrower; else, with a row a node, what the last layer sees or its result before the
    /// last hop, whichever is narrower, and what that is made from.
    pub fn embed_rows(
        &self,
        graph: &Graph,
        x: &Features,
        sink: impl FnMut(&[f32]) -> Result<()>,
    ) -> Result<()> {
        if x.cols() != self.inputs() {
            return Err(Error::Input(format!(
                "the encoder takes {} features, but the nodes have {}",
                self.inputs(),
                x.cols()
            )));
        }
        let propagation = Propagation::new(graph, Normalization::Symmetric);
        if self.beside.is_empty() && self.readout.is_none() {
            return run(&self.layers, &propagation, x, sink);
        }
        let mut all = whole(&self.layers, &propagation, x)?;
        if !self.beside.is_empty() {
            let more = whole(&self.beside, &propagation, x)?;
            all.iter_mut().zip(more).for_each(|(all, more)| *all += more);
        }
        if !self.readout.is_none() {
            all = self.readout.of_rows(&propagation, &all, self.outputs())?;
        }
        all.chunks(ROWS * self.outputs().max(1)).try_for_each(sink)
    }
}

/// The first `layers` of a network, with running statistics.
fn layers_of(network: &Network, parameters: &[f32], running: &[f32], layers: usize) -> Vec<EncoderLayer> {
    let mut running = running;
    let layer = |at: usize| {
        let own = &network.layers()[at];
        let norm = own.norm.then(|| {
            let (scale, shift) = network.norm(at, parameters).split_at(own.outputs);
            let (statistics, rest) = running.split_at(2 * own.outputs);
            running = rest;
            let (mean, variance) = statistics.split_at(own.outputs);
            let [scale, shift, mean, variance] = [scale, shift, mean, variance].map(<[f32]>::to_vec);
            EncoderNorm { scale, shift, mean, variance }
        });
        EncoderLayer {
            outputs: own.outputs,
            weight: network.weight(at, parameters).to_vec(),
            bias: network.bias(at, parameters).to_vec(),
            slopes: network.slopes(at, parameters).to_vec(),
            activation: own.activation,
            hops: own.hops.clone(),
            norm,
        }
    };
    (0..layers.min(network.layers().len())).map(layer).collect()
}

/// Hands out what a chain of layers makes of the features.
fn run(
    layers: &[EncoderLayer],
    propagation: &Propagation,
    x: &Features,
    sink: impl FnMut(&[f32]) -> Result<()>,
) -> Result<()> {
    let Some((last, before)) = layers.split_last() else { return Ok(()) };
    let mut h = Cow::Borrowed(x);
    for layer in before {
        h = Cow::Owned(Features::Dense(layer.whole(propagation, h)?));
    }
    last.run(propagation, h, sink)
}

fn whole(layers: &[EncoderLayer], propagation: &Propagation, x: &Features) -> Result<Vec<f32>> {
    let mut all = Vec::new();
    run(layers, propagation, x, |rows| {
        all.extend_from_slice(rows);
        Ok(())
    })?;
    Ok(all)
}

impl EncoderNorm {
    /// The same with the statistics of these rows.
    fn seeing(self, rows: &Dense) -> Self {
        let (count, width) = (rows.rows().max(1) as f64, rows.cols());
        let mean: Vec<f64> = column_sums(rows.values(), width).iter().map(|sum| sum / count).collect();
        let centred: Vec<f32> = rows
            .values()
            .chunks(width.max(1))
            .flat_map(|row| row.iter().zip(&mean).map(|(x, mean)| (*x as f64 - mean) as f32))
            .collect();
        let squares = column_products(&centred, &centred, width);
        Self {
            mean: mean.iter().map(|&mean| mean as f32).collect(),
            variance: squares.iter().map(|square| (square / count) as f32).collect(),
            ..self
        }
    }

    /// What each column is multiplied by, and what is added to it.
    fn as_map(&self) -> (Vec<f32>, Vec<f32>) {
        let scale = self.scale.iter().zip(&self.variance);
        let scale: Vec<f32> = scale
            .map(|(scale, variance)| (*scale as f64 / (*variance as f64 + LEAST_VARIANCE).sqrt()) as f32)
            .collect();
        let moved = self.shift.iter().zip(&self.mean).zip(&scale);
        let shift = moved.map(|((shift, mean), scale)| shift - mean * scale).collect();
        (scale, shift)
    }
}

impl EncoderLayer {
    fn inputs(&self) -> usize {
        self.weight.len() / self.outputs.max(1)
    }

    /// The whole result.
    fn whole(&self, propagation: &Propagation, h: Cow<Features>) -> Result<Dense> {
        let nodes = h.rows();
        let mut out = Vec::with_capacity(nodes * self.outputs);
        self.run(propagation, h, |rows| {
            out.extend_from_slice(rows);
            Ok(())
        })?;
        Dense::new(nodes, self.outputs, out)
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
        // Batch norm is a map of each column, which the bias becomes a part of.
        let (scale, bias) = match &self.norm {
            Some(norm) => {
                let (scale, shift) = norm.as_map();
                let biases = self.bias.iter().zip(&scale).zip(shift);
                let bias = biases.map(|((bias, scale), shift)| bias * scale + shift).collect();
                (scale, Cow::Owned(bias))
            }
            None => (Vec::new(), Cow::Borrowed(&self.bias)),
        };
        let mut finish = |rows: &mut [f32]| {
            if !scale.is_empty() {
                let scaled = |row: &mut [f32]| row.iter_mut().zip(&scale).for_each(|(h, scale)| *h *= scale);
                rows.par_chunks_mut(width).for_each(scaled);
            }
            self.activation.apply(rows, &bias, &self.slopes);
            sink(rows)
        };
        let narrow = self.inputs() <= width && matches!(*h, Features::Dense(_));
        if let (true, Some(hops @ 1..), Features::Dense(x)) = (narrow, self.hops.as_power(), &*h) {
            // Of the last hop only the rows at hand, so that none of it is held.
            let inputs = self.inputs();
            let before = match hops {
                1 => Cow::Borrowed(x.values()),
                _ => Hops::power(hops - 1).of_rows(propagation, x.values(), inputs)?.into(),
            };
            let mut heard = vec![0.0; ROWS.min(nodes) * inputs];
            for rows in blocks {
                let (heard, out) = (&mut heard[..rows.len() * inputs], &mut block[..rows.len() * width]);
                propagation.hop_rows(rows, &before, inputs, heard)?;
                product(out, View::new(heard, inputs), View::new(&self.weight, width), Sum::Set);
                finish(out)?;
            }
            return Ok(());
        }
        if self.hops.is_none() || narrow {
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
            norm: None,
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
            let encoder = Encoder::of(vec![layer(3, outputs, Activation::Prelu, 2, hops)]);
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
        let plain = Encoder::of(layers);
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
    fn batch_norm_a_second_encoder_and_a_readout_are_what_they_say() {
        let graph = Graph::from_edges(30, &(1..30).map(|v| (v * 7 % v, v)).collect::<Vec<_>>()).unwrap();
        let x: Vec<f32> = (0..90).map(|i| (i * 7 % 11) as f32 - 4.0).collect();
        let x = Features::Dense(Dense::new(30, 3, x).unwrap());
        let plain = Encoder::of(vec![layer(3, 4, Activation::None, 1, Hops::power(1))]);
        let before = plain.embed(&graph, &x).unwrap();
        let mut normed = plain.clone();
        let part = |by: f32| (0..4).map(|at| by + 0.3 * at as f32).collect::<Vec<f32>>();
        let norm = EncoderNorm { scale: part(0.5), shift: part(-1.0), mean: part(2.0), variance: part(1.0) };
        normed.layers[0].norm = Some(norm.clone());
        let after = normed.embed(&graph, &x).unwrap();
        for (at, (got, h)) in after.values().iter().zip(before.values()).enumerate() {
            let j = at % 4;
            let want = norm.scale[j] * (h - norm.mean[j]) / (norm.variance[j] + 1e-5).sqrt() + norm.shift[j];
            assert!((got - want).abs() < 1e-4, "{at}: {got} {want}");
        }
        // With the graph's own statistics, columns have the shift as mean and the scale as deviation.
        let own = normed.clone().renormalized(&graph, &x).unwrap();
        let (z, sums) = (own.embed(&graph, &x).unwrap(), |z: &Dense| column_sums(z.values(), 4));
        assert!(
            sums(&z).iter().zip(&norm.shift).all(|(sum, &shift)| (sum / 30.0 - shift as f64).abs() < 1e-4)
        );
        let squares = column_products(z.values(), z.values(), 4);
        for (j, square) in squares.iter().enumerate() {
            let deviation = (square / 30.0 - (norm.shift[j] as f64).powi(2)).sqrt();
            assert!((deviation - norm.scale[j] as f64).abs() < 1e-3, "{deviation}");
        }
        let all = Encoder { beside: plain.layers.clone(), readout: Hops::own_and_far(3), ..normed };
        let propagation = Propagation::new(&graph, Normalization::Symmetric);
        let sum: Vec<f32> = after.values().iter().zip(before.values()).map(|(a, b)| a + b).collect();
        let far = Hops::power(3).of_rows(&propagation, &sum, 4).unwrap();
        let got = all.embed(&graph, &x).unwrap();
        let wanted = sum.iter().zip(&far).map(|(sum, far)| sum + far);
        assert!(got.values().iter().zip(wanted).all(|(got, want)| (got - want).abs() < 1e-4));
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
            let encoder = Encoder::of(layers);
            for x in [&sparse, &dense] {
                let embedding = encoder.embed(&graph, x).unwrap();
                let close = |(got, want): (&f32, &f64)| (*got as f64 - want).abs() < 1e-5;
                let twin = naive(&encoder, &graph, x);
                assert!(embedding.values().iter().zip(&twin).all(close), "{hops:?}: {embedding:?} {twin:?}");
            }
        }
    }
}
