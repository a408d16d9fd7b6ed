//! Layers in a row: the encoder as training sees it, and the projection head behind it.
//!
//! All parameters are one vector, so the optimiser, the checkpoints and the gradient checks need not
//! know what they are.

mod activation;
mod dropout;
pub(crate) mod first_layer;
mod messages;
mod norm;
mod towers;

pub use activation::Activation;
pub(crate) use messages::Messages;
pub(crate) use norm::LEAST_VARIANCE;
pub(crate) use towers::{Beside, Towers};

use crate::hops::Hops;
use crate::linalg::{Sum, View, copied, product, zeros};
use crate::vectors::{Kernel, Unit};
use crate::{Features, Seed};
use rand::RngExt;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::ops::Range;

/// How the weights of a layer start, uniform in ± a bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Initial {
    /// As those of torch's linear layers: weights and biases up to 1/√inputs.
    #[default]
    Linear,
    /// As those of the usual graph layers: weights up to √(6/(inputs + outputs)), biases of zero.
    Glorot,
}

/// A linear map with a bias, batch norm where asked for, then an activation and dropout.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Layer {
    pub(crate) inputs: usize,
    pub(crate) outputs: usize,
    pub(crate) activation: Activation,
    /// How far messages travel behind the linear map, where there are any to pass.
    pub(crate) hops: Hops,
    /// Whether columns are standardised before the activation.
    pub(crate) norm: bool,
    /// The share of numbers that is left out behind the activation.
    pub(crate) dropout: f64,
    /// Whether numbers below zero are cut off before the linear map; never in the first layer.
    pub(crate) rectified: bool,
    /// How its weights start.
    pub(crate) initial: Initial,
}

impl Layer {
    /// Without batch norm and dropout.
    pub(crate) fn plain(inputs: usize, outputs: usize, activation: Activation, hops: Hops) -> Self {
        let initial = Initial::Linear;
        Self { inputs, outputs, activation, hops, norm: false, dropout: 0.0, rectified: false, initial }
    }

    /// Bounds of its initial weights and of its initial bias.
    fn bounds(&self) -> (f32, f32) {
        let (inputs, outputs) = (self.inputs.max(1) as f32, self.outputs as f32);
        match self.initial {
            Initial::Linear => (1.0 / inputs.sqrt(), 1.0 / inputs.sqrt()),
            Initial::Glorot => ((6.0 / (inputs + outputs)).sqrt(), 0.0),
        }
    }

    /// What the linear map sees of the result of the layer before.
    fn input<'h>(&self, result: &'h [f32]) -> Cow<'h, [f32]> {
        match self.rectified {
            true => result.par_iter().with_min_len(1 << 12).map(|h| h.max(0.0)).collect::<Vec<_>>().into(),
            false => result.into(),
        }
    }

    /// Whether nothing follows the linear map.
    pub(crate) fn is_linear(&self) -> bool {
        self.activation == Activation::None && self.is_told_by_result()
    }

    /// Whether the derivative of all that follows the linear map can be told from the layer's result.
    fn is_told_by_result(&self) -> bool {
        self.activation.is_told_by_result() && !self.norm && self.dropout == 0.0
    }
}

/// What a pass through the layers knows besides parameters and rows.
#[derive(Clone, Copy, Default)]
pub(crate) struct Pass<'a> {
    pub(crate) messages: Option<&'a Messages>,
    /// How many views of equally many rows lie one below the other: batch norm sees each by itself.
    pub(crate) views: usize,
    /// What dropout draws from; without it nothing is left out.
    pub(crate) noise: Option<Seed>,
}

/// Where a layer's parameters are. The weight has a row an input.
#[derive(Clone, Debug)]
struct Place {
    weight: Range<usize>,
    bias: Range<usize>,
    /// Scales and shifts of batch norm.
    norm: Range<usize>,
    slopes: Range<usize>,
}

/// The shape of a chain of layers; the parameters are kept apart.
#[derive(Clone, Debug)]
pub(crate) struct Network {
    layers: Vec<Layer>,
    places: Vec<Place>,
}

/// What `forward` leaves for `backward`: each layer's result, but the last.
///
/// Of layers with learnt slopes, batch norm or dropout it is what comes before those, standardised where
/// there is batch norm, from which the result is quickly made anew; from that of the others the
/// activation's derivative can be told.
pub(crate) struct Trace {
    kept: Vec<Vec<f32>>,
    /// Of each layer, of each view; nothing where there is no batch norm.
    statistics: Vec<Vec<norm::Statistics>>,
}

impl Network {
    pub(crate) fn new(layers: Vec<Layer>) -> Self {
        let mut next = 0;
        let mut take = |count: usize| {
            next += count;
            next - count..next
        };
        let place = |layer: &Layer| Place {
            weight: take(layer.inputs * layer.outputs),
            bias: take(layer.outputs),
            norm: take(if layer.norm { 2 * layer.outputs } else { 0 }),
            slopes: take(layer.activation.slopes(layer.outputs)),
        };
        let places = layers.iter().map(place).collect();
        Self { layers, places }
    }

    pub(crate) fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// How many parameters there are.
    pub(crate) fn len(&self) -> usize {
        self.places.last().map_or(0, |place| place.slopes.end)
    }

    /// Numbers a row of the result has.
    pub(crate) fn outputs(&self) -> usize {
        self.layers.last().map_or(0, |layer| layer.outputs)
    }

    pub(crate) fn weight<'p>(&self, layer: usize, parameters: &'p [f32]) -> &'p [f32] {
        &parameters[self.places[layer].weight.clone()]
    }

    pub(crate) fn bias<'p>(&self, layer: usize, parameters: &'p [f32]) -> &'p [f32] {
        &parameters[self.places[layer].bias.clone()]
    }

    pub(crate) fn slopes<'p>(&self, layer: usize, parameters: &'p [f32]) -> &'p [f32] {
        &parameters[self.places[layer].slopes.clone()]
    }

    /// Scales and shifts of batch norm; none where there is none.
    pub(crate) fn norm<'p>(&self, layer: usize, parameters: &'p [f32]) -> &'p [f32] {
        &parameters[self.places[layer].norm.clone()]
    }

    /// Initial parameters: weights and biases as each layer asks, slopes of 1/4, batch norm that changes
    /// nothing.
    pub(crate) fn initial(&self, seed: Seed) -> Vec<f32> {
        let mut parameters = vec![0.25; self.len()];
        for (at, (layer, place)) in self.layers.iter().zip(&self.places).enumerate() {
            let mut rng = seed.stream_at("initial weights", at as u64);
            let (of_weights, of_bias) = layer.bounds();
            for (place, bound) in [(&place.weight, of_weights), (&place.bias, of_bias)] {
                for parameter in &mut parameters[place.clone()] {
                    let drawn = bound * (2.0 * rng.random::<f32>() - 1.0);
                    // No zero below zero.
                    *parameter = if bound > 0.0 { drawn } else { 0.0 };
                }
            }
            let (scales, shifts) = parameters[place.norm.clone()].split_at_mut(place.norm.len() / 2);
            scales.fill(1.0);
            shifts.fill(0.0);
        }
        parameters
    }

    /// Running means and variances of batch norm, layer by layer, before anything was seen.
    pub(crate) fn initial_statistics(&self) -> Vec<f32> {
        let of_layer = |layer: &Layer| [vec![0.0; layer.outputs], vec![1.0; layer.outputs]].concat();
        self.layers.iter().filter(|layer| layer.norm).flat_map(of_layer).collect()
    }

    /// Moves the running statistics towards those of a pass.
    pub(crate) fn remember(&self, trace: &Trace, running: &mut [f32]) {
        let mut left = running;
        for (layer, statistics) in self.layers.iter().zip(&trace.statistics).filter(|of| of.0.norm) {
            let (own, rest) = left.split_at_mut(2 * layer.outputs);
            statistics.iter().for_each(|of_view| of_view.remember(own));
            left = rest;
        }
    }

    /// What follows the linear map of a layer that is not told by its result.
    fn finished(&self, at: usize, parameters: &[f32], kept: &[f32], pass: Pass) -> Vec<f32> {
        let layer = &self.layers[at];
        let mut out = match self.rescaled(at, parameters, kept) {
            Cow::Borrowed(same) => copied(same),
            Cow::Owned(rescaled) => rescaled,
        };
        layer.activation.apply(&mut out, &vec![0.0; layer.outputs], self.slopes(at, parameters));
        self.drop_out(at, &mut out, pass);
        out
    }

    /// What the activation of such a layer sees.
    fn rescaled<'k>(&self, at: usize, parameters: &[f32], kept: &'k [f32]) -> Cow<'k, [f32]> {
        match self.layers[at].norm {
            true => norm::rescale(kept, self.norm(at, parameters)).into(),
            false => kept.into(),
        }
    }

    fn drop_out(&self, at: usize, values: &mut [f32], pass: Pass) {
        let share = self.layers[at].dropout;
        if let Some(noise) = pass.noise.filter(|_| share > 0.0) {
            dropout::apply(values, share, noise, at);
        }
    }

    /// Runs the layers on each row; rows are independent but for the messages they pass.
    pub(crate) fn forward(&self, parameters: &[f32], x: &Features, pass: Pass) -> (Vec<f32>, Trace) {
        let mut kept: Vec<Vec<f32>> = Vec::with_capacity(self.layers.len());
        let mut statistics = vec![Vec::new(); self.layers.len()];
        let mut h = Vec::new();
        let joined = self.joins(x, pass);
        for (at, layer) in self.layers.iter().enumerate() {
            if at == 0 && joined {
                kept.push(Vec::new());
                continue;
            }
            let mut out = zeros(x.rows() * layer.outputs);
            let weight = self.weight(at, parameters);
            let (mut bias, slopes) = (Cow::Borrowed(self.bias(at, parameters)), self.slopes(at, parameters));
            if at == 0 {
                first_layer::forward(x, weight, layer.outputs, &mut out);
            } else if at == 1 && joined {
                let mut both = zeros(x.cols() * layer.outputs);
                let (first, second) = (self.weight(0, parameters), View::new(weight, layer.outputs));
                product(&mut both, View::new(first, layer.inputs), second, Sum::Set);
                product(
                    bias.to_mut(),
                    View::new(self.bias(0, parameters), layer.inputs),
                    second,
                    Sum::Add(1.0),
                );
                first_layer::forward(x, &both, layer.outputs, &mut out);
            } else {
                let input = layer.input(&h);
                product(
                    &mut out,
                    View::new(&input, layer.inputs),
                    View::new(weight, layer.outputs),
                    Sum::Set,
                );
                // What the layer before left, if it did not leave something else.
                if self.layers[at - 1].is_told_by_result() {
                    drop(input);
                    kept.push(h);
                }
            }
            if let Some(messages) = pass.messages.filter(|_| !layer.hops.is_none()) {
                out = messages.pass(&layer.hops, &out, layer.outputs);
            }
            let last = at + 1 == self.layers.len();
            if layer.is_told_by_result() {
                layer.activation.apply(&mut out, &bias, slopes);
                // The result itself is given away.
                if last {
                    kept.push(if layer.activation == Activation::None { Vec::new() } else { out.clone() });
                }
                h = out;
            } else {
                Activation::None.apply(&mut out, &bias, &[]);
                if layer.norm {
                    statistics[at] = norm::standardize(&mut out, layer.outputs, pass.views);
                }
                h = self.finished(at, parameters, &out, pass);
                kept.push(out);
            }
        }
        (h, Trace { kept, statistics })
    }

    /// The gradient of the parameters, given that of the result; it is written to `gradient`.
    pub(crate) fn backward(
        &self,
        parameters: &[f32],
        x: &Features,
        pass: Pass,
        mut trace: Trace,
        mut of_output: Vec<f32>,
        gradient: &mut [f32],
    ) {
        let joined = self.joins(x, pass);
        let mut own = trace.kept.pop().unwrap_or_default();
        for (at, layer) in self.layers.iter().enumerate().rev() {
            let place = &self.places[at];
            let slopes = self.slopes(at, parameters);
            self.drop_out(at, &mut of_output, pass);
            let seen = self.rescaled(at, parameters, &own);
            let of_slopes = layer.activation.backward(&mut of_output, &seen, layer.outputs, slopes);
            gradient[place.slopes.clone()].copy_from_slice(&of_slopes);
            if layer.norm {
                let (statistics, learnt) = (&trace.statistics[at], self.norm(at, parameters));
                let of_learnt = norm::backward(&mut of_output, &own, statistics, learnt);
                gradient[place.norm.clone()].copy_from_slice(&of_learnt);
                // Batch norm takes the bias away again; a sum would be of nothing but rounding.
                gradient[place.bias.clone()].fill(0.0);
            } else {
                let sums = column_sums(&of_output, layer.outputs);
                gradient[place.bias.clone()].iter_mut().zip(sums).for_each(|(to, sum)| *to = sum as f32);
            }
            if let Some(messages) = pass.messages.filter(|_| !layer.hops.is_none()) {
                of_output = messages.pass_back(&layer.hops, &of_output, layer.outputs);
            }
            if at == 1 && joined {
                self.backward_joined(parameters, x, &of_output, gradient);
                return;
            }
            let of_weight = &mut gradient[place.weight.clone()];
            if at == 0 {
                first_layer::backward(x, &of_output, layer.outputs, of_weight);
                return;
            }
            let before = &self.layers[at - 1];
            own = trace.kept.pop().unwrap_or_default();
            let result = match before.is_told_by_result() {
                true => Cow::Borrowed(&own[..]),
                false => self.finished(at - 1, parameters, &own, pass).into(),
            };
            let input = layer.input(&result);
            let of = View::new(&of_output, layer.outputs);
            product(of_weight, View::new(&input, layer.inputs).t(), of, Sum::Set);
            // Where there are many rows, what is no longer needed makes room for what follows.
            let cut = layer.rectified.then(|| input.into_owned());
            drop(result);
            let mut of_input = zeros(x.rows() * layer.inputs);
            let weight = View::new(self.weight(at, parameters), layer.outputs);
            product(&mut of_input, of, weight.t(), Sum::Set);
            if let Some(cut) = cut {
                Activation::Relu.backward(&mut of_input, &cut, layer.inputs, &[]);
            }
            of_output = of_input;
        }
    }
}

impl Network {
    /// Whether the first two layers are computed as one, (XW)V as X(WV): with nothing between them and more
    /// rows than features that is less to do.
    fn joins(&self, x: &Features, pass: Pass) -> bool {
        let plain = |first: &Layer, second: &Layer| first.is_linear() && !second.rectified;
        let plain = matches!(&self.layers[..], [first, second, ..] if plain(first, second));
        plain && pass.messages.is_none() && matches!(x, Features::Dense(_)) && x.rows() > x.cols()
    }

    /// The gradient of the first two layers but the second's bias, which is there, from that of what the
    /// second gives.
    fn backward_joined(&self, parameters: &[f32], x: &Features, of_output: &[f32], gradient: &mut [f32]) {
        let (inputs, between, outputs) = (x.cols(), self.layers[1].inputs, self.layers[1].outputs);
        let mut of_both = zeros(inputs * outputs);
        first_layer::backward(x, of_output, outputs, &mut of_both);
        let of_both = View::new(&of_both, outputs);
        let (first, second) = (&self.places[0], &self.places[1]);
        let first_weight = View::new(&parameters[first.weight.clone()], between);
        let second_weight = View::new(&parameters[second.weight.clone()], outputs);
        let first_bias = View::new(&parameters[first.bias.clone()], between);
        product(&mut gradient[first.weight.clone()], of_both, second_weight.t(), Sum::Set);
        let sums = gradient[second.bias.clone()].to_vec();
        let sums = View::new(&sums, outputs);
        product(&mut gradient[first.bias.clone()], sums, second_weight.t(), Sum::Set);
        product(&mut gradient[second.weight.clone()], first_weight.t(), of_both, Sum::Set);
        product(&mut gradient[second.weight.clone()], first_bias.t(), sums, Sum::Add(1.0));
    }
}

/// The sum of each column, always added up in the same order.
pub(crate) fn column_sums(values: &[f32], cols: usize) -> Vec<f64> {
    column_moments(values, values, cols).0
}

/// The sum of products of each column of two matrices.
pub(crate) fn column_products(a: &[f32], b: &[f32], cols: usize) -> Vec<f64> {
    column_moments(a, b, cols).1
}

/// The sum of each column of `a`, and of its products with those of `b`.
pub(crate) fn column_moments(a: &[f32], b: &[f32], cols: usize) -> (Vec<f64>, Vec<f64>) {
    const ROWS: usize = 128;
    let (cols, unit) = (cols.max(1), Unit::widest());
    let partial: Vec<Vec<f64>> = a
        .par_chunks(ROWS * cols)
        .zip(b.par_chunks(ROWS * cols))
        .map(|(a, b)| {
            let mut sums = vec![0.0; 2 * cols];
            unit.run(Moments { a, b, sums: &mut sums });
            sums
        })
        .collect();
    let mut total = vec![0.0; 2 * cols];
    partial.iter().for_each(|sums| total.iter_mut().zip(sums).for_each(|(total, sum)| *total += sum));
    let products = total.split_off(cols);
    (total, products)
}

struct Moments<'a> {
    a: &'a [f32],
    b: &'a [f32],
    /// Those of the numbers, then those of the products.
    sums: &'a mut [f64],
}

impl Kernel for Moments<'_> {
    #[inline(always)]
    fn run(self) {
        let (sums, products) = self.sums.split_at_mut(self.sums.len() / 2);
        for (a, b) in self.a.chunks_exact(sums.len()).zip(self.b.chunks_exact(sums.len())) {
            let sums = sums.iter_mut().zip(products.iter_mut());
            for ((sum, product), (&a, &b)) in sums.zip(a.iter().zip(b)) {
                *sum += a as f64;
                *product += a as f64 * b as f64;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Csr, Dense};

    fn features(rows: usize, cols: usize, sparse: bool) -> Features {
        let value = |i: usize, j: usize| match (i * 7 + j * 3) % 4 {
            0 => 0.0,
            other => other as f32 * 0.3 - 0.5 + 0.1 * j as f32,
        };
        if !sparse {
            let values = (0..rows).flat_map(|i| (0..cols).map(move |j| value(i, j))).collect::<Vec<_>>();
            return Features::Dense(Dense::new(rows, cols, values).unwrap());
        }
        let row =
            |i: usize| (0..cols).map(|j| (j as u32, value(i, j))).filter(|entry| entry.1 != 0.0).collect();
        let rows: Vec<Vec<(u32, f32)>> = (0..rows).map(row).collect();
        let mut offsets = vec![0];
        let (mut indices, mut values) = (Vec::new(), Vec::new());
        for row in &rows {
            indices.extend(row.iter().map(|entry| entry.0));
            values.extend(row.iter().map(|entry| entry.1));
            offsets.push(indices.len() as u64);
        }
        Features::Sparse(Csr::new(cols, offsets, indices, values).unwrap())
    }

    fn all_activations() -> Vec<Layer> {
        let kinds = [Activation::Prelu, Activation::Elu, Activation::Relu, Activation::PreluShared];
        let mut layers = vec![Layer::plain(5, 4, Activation::None, Hops::power(1))];
        layers.extend(kinds.map(|activation| {
            let hops = match activation {
                Activation::Elu => Hops::none(),
                Activation::Relu => Hops::ssgc(2, 0.3),
                _ => Hops::power(1),
            };
            Layer::plain(4, 4, activation, hops)
        }));
        layers
    }

    /// Batch norm before every activation but one, dropout behind some, and cut off before one.
    fn all_extras() -> Vec<Layer> {
        let mut layers = all_activations();
        for (at, layer) in layers.iter_mut().enumerate() {
            layer.norm = at != 2;
            layer.dropout = if at % 2 == 0 { 0.3 } else { 0.0 };
            layer.rectified = at == 3;
        }
        layers
    }

    /// A matrix of messages that is not symmetric, on nine rows.
    fn messages() -> Csr {
        let row = |i: u32| vec![(i / 2, 0.5 + 0.1 * i as f32), (8, -0.3)];
        let rows: Vec<Vec<(u32, f32)>> =
            (0..9).map(|i| if i == 8 { vec![(3, 2.0)] } else { row(i) }).collect();
        Csr::from_sorted_rows(9, &rows)
    }

    /// The same layers, one row after the other in full precision.
    fn naive(
        network: &Network,
        parameters: &[f64],
        x: &Features,
        messages: Option<&Csr>,
        pass: Pass,
    ) -> Vec<f64> {
        let dense = x.to_dense();
        let mut rows: Vec<Vec<f64>> =
            (0..x.rows()).map(|i| dense.row(i).iter().map(|&value| value as f64).collect()).collect();
        for (at, (layer, place)) in network.layers.iter().zip(&network.places).enumerate() {
            if layer.rectified {
                rows.iter_mut().flatten().for_each(|h| *h = h.max(0.0));
            }
            let slope = |j: usize| match layer.activation {
                Activation::Prelu => parameters[place.slopes.start + j],
                Activation::PreluShared => parameters[place.slopes.start],
                _ => 0.0,
            };
            // Messages first: they and the linear map can change places.
            if let Some(messages) = messages {
                let mut heard = vec![vec![0.0; rows[0].len()]; rows.len()];
                for &weight in layer.hops.weights() {
                    let add = |(sum, row): (&mut f64, &f64)| *sum += weight as f64 * row;
                    heard.iter_mut().flatten().zip(rows.iter().flatten()).for_each(add);
                    let received = |i: usize, j: usize| {
                        let (indices, values) = messages.row(i);
                        indices.iter().zip(values).map(|(&from, &w)| w as f64 * rows[from as usize][j]).sum()
                    };
                    rows = (0..rows.len())
                        .map(|i| (0..rows[i].len()).map(|j| received(i, j)).collect())
                        .collect();
                }
                rows = heard;
            }
            let linear = |row: &[f64], j: usize| {
                let weight = |i: usize| parameters[place.weight.start + i * layer.outputs + j];
                parameters[place.bias.start + j]
                    + row.iter().enumerate().map(|(i, x)| x * weight(i)).sum::<f64>()
            };
            rows = rows.iter().map(|row| (0..layer.outputs).map(|j| linear(row, j)).collect()).collect();
            if layer.norm {
                let size = rows.len() / pass.views;
                for (view, j) in (0..pass.views).flat_map(|view| (0..layer.outputs).map(move |j| (view, j))) {
                    let view = view * size..(view + 1) * size;
                    let mean = rows[view.clone()].iter().map(|row| row[j]).sum::<f64>() / size as f64;
                    let square = rows[view.clone()].iter().map(|row| (row[j] - mean).powi(2)).sum::<f64>();
                    let root = (square / size as f64 + 1e-5).sqrt();
                    let (scale, shift) = (place.norm.start + j, place.norm.start + layer.outputs + j);
                    for row in &mut rows[view] {
                        row[j] = parameters[scale] * (row[j] - mean) / root + parameters[shift];
                    }
                }
            }
            let activated = |(j, sum): (usize, &f64)| match layer.activation {
                Activation::None => *sum,
                _ if *sum > 0.0 => *sum,
                Activation::Relu => 0.0,
                Activation::Elu => sum.exp() - 1.0,
                Activation::Prelu | Activation::PreluShared => slope(j) * sum,
            };
            rows = rows.iter().map(|row| row.iter().enumerate().map(activated).collect()).collect();
            if let Some(noise) = pass.noise.filter(|_| layer.dropout > 0.0) {
                let mut left = vec![1f32; rows.len() * layer.outputs];
                dropout::apply(&mut left, layer.dropout, noise, at);
                rows.iter_mut().flatten().zip(left).for_each(|(h, left)| *h *= left as f64);
            }
        }
        rows.concat()
    }

    #[test]
    fn forward_and_gradient_agree_with_a_naive_network_in_full_precision() {
        let network = Network::new(all_activations());
        // Nine rows of five features join the first two layers, if they are dense and pass no messages.
        let joins = |sparse| network.joins(&features(9, 5, sparse), Pass::default());
        assert!(joins(false) && !joins(true));
        for (sparse, passed) in [(false, None), (true, None), (true, Some(messages()))] {
            check(&network, sparse, passed, 1);
        }
        let network = Network::new(all_extras());
        assert!(!network.joins(&features(9, 5, false), Pass::default()));
        for (sparse, passed, views) in [(false, None, 3), (true, Some(messages()), 1)] {
            check(&network, sparse, passed, views);
        }
    }

    fn check(network: &Network, sparse: bool, passed: Option<Csr>, views: usize) {
        let x = features(9, 5, sparse);
        let messages = passed.clone().map(Messages::new);
        let pass = Pass { messages: messages.as_ref(), views, noise: Some(Seed(3)) };
        let mut parameters = network.initial(Seed(1));
        for place in &network.places {
            parameters[place.norm.clone()].iter_mut().zip([0.1, -0.2, 0.3]).for_each(|(p, by)| *p += by);
        }
        let exact: Vec<f64> = parameters.iter().map(|&p| p as f64).collect();
        let (output, trace) = network.forward(&parameters, &x, pass);
        let twin = naive(network, &exact, &x, passed.as_ref(), pass);
        assert!(output.iter().zip(&twin).all(|(&a, &b)| (a as f64 - b).abs() < 1e-4), "{output:?} {twin:?}");
        // The loss Σ r·out for fixed r has the gradient r at the output.
        let r: Vec<f32> = (0..twin.len()).map(|i| ((i * 5) % 7) as f32 - 3.0).collect();
        let loss = |parameters: &[f64]| -> f64 {
            let out = naive(network, parameters, &x, passed.as_ref(), pass);
            out.iter().zip(&r).map(|(out, &r)| out * r as f64).sum()
        };
        // What was there before does not matter.
        let mut gradient = vec![7.0; network.len()];
        network.backward(&parameters, &x, pass, trace, r.clone(), &mut gradient);
        for (at, &got) in gradient.iter().enumerate() {
            let moved = |by: f64| {
                let mut moved = exact.clone();
                moved[at] += by;
                loss(&moved)
            };
            let expected = (moved(1e-6) - moved(-1e-6)) / 2e-6;
            assert!((got as f64 - expected).abs() < 3e-4 * (1.0 + expected.abs()), "{at}: {got} {expected}");
        }
    }

    #[test]
    fn initial_weights_are_torchs() {
        let network = Network::new(vec![Layer::plain(400, 64, Activation::Prelu, Hops::none())]);
        let parameters = network.initial(Seed(0));
        let weight = network.weight(0, &parameters);
        assert!(weight.iter().all(|w| w.abs() <= 0.05) && weight.iter().any(|w| w.abs() > 0.049));
        let variance = weight.iter().map(|&w| (w * w) as f64).sum::<f64>() / weight.len() as f64;
        assert!((variance / (0.05f64.powi(2) / 3.0) - 1.0).abs() < 0.03);
        assert!(network.slopes(0, &parameters).iter().all(|&slope| slope == 0.25));
        assert!(network.bias(0, &parameters).iter().any(|b| b.abs() > 0.04));
    }

    #[test]
    fn initial_weights_are_those_of_graph_layers_where_asked_for() {
        let plain = Layer::plain(400, 200, Activation::Prelu, Hops::none());
        let network = Network::new(vec![Layer { initial: Initial::Glorot, ..plain }]);
        let parameters = network.initial(Seed(0));
        let weight = network.weight(0, &parameters);
        assert!(weight.iter().all(|w| w.abs() <= 0.1) && weight.iter().any(|w| w.abs() > 0.099));
        assert!(network.bias(0, &parameters).iter().all(|b| b.to_bits() == 0));
    }
}
