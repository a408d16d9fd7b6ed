//! Layers in a row: the encoder as training sees it, and the projection head behind it.
//!
//! All parameters are one vector, so the optimiser, the checkpoints and the gradient checks need not
//! know what they are.

mod activation;
pub(crate) mod first_layer;
mod messages;

pub use activation::Activation;
pub(crate) use messages::Messages;

use crate::hops::Hops;
use crate::linalg::{Sum, View, product};
use crate::vectors::{Kernel, Unit};
use crate::{Features, Seed};
use rand::RngExt;
use rayon::prelude::*;
use std::borrow::Cow;
use std::ops::Range;

/// A linear map with a bias, then an activation.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Layer {
    pub(crate) inputs: usize,
    pub(crate) outputs: usize,
    pub(crate) activation: Activation,
    /// How far messages travel behind the linear map, where there are any to pass.
    pub(crate) hops: Hops,
}

/// Where a layer's parameters are. The weight has a row an input.
#[derive(Clone, Debug)]
struct Place {
    weight: Range<usize>,
    bias: Range<usize>,
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
/// Of layers with learnt slopes it is the result before the activation, which is quickly made anew; from
/// that of the others the activation's derivative can be told.
pub(crate) struct Trace(Vec<Vec<f32>>);

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

    /// Initial parameters as torch's linear layers have them: weights and biases uniform in
    /// ±1/√inputs; slopes of 1/4.
    pub(crate) fn initial(&self, seed: Seed) -> Vec<f32> {
        let mut parameters = vec![0.25; self.len()];
        for (at, (layer, place)) in self.layers.iter().zip(&self.places).enumerate() {
            let mut rng = seed.stream_at("initial weights", at as u64);
            let bound = 1.0 / (layer.inputs.max(1) as f32).sqrt();
            for parameter in &mut parameters[place.weight.start..place.bias.end] {
                *parameter = bound * (2.0 * rng.random::<f32>() - 1.0);
            }
        }
        parameters
    }

    /// Runs the layers on each row; rows are independent but for the messages they pass.
    pub(crate) fn forward(
        &self,
        parameters: &[f32],
        x: &Features,
        messages: Option<&Messages>,
    ) -> (Vec<f32>, Trace) {
        let mut kept: Vec<Vec<f32>> = Vec::with_capacity(self.layers.len());
        let mut h = Vec::new();
        let joined = self.joins(x, messages);
        for (at, layer) in self.layers.iter().enumerate() {
            if at == 0 && joined {
                kept.push(Vec::new());
                continue;
            }
            let mut out = vec![0.0; x.rows() * layer.outputs];
            let weight = self.weight(at, parameters);
            let (mut bias, slopes) = (Cow::Borrowed(self.bias(at, parameters)), self.slopes(at, parameters));
            if at == 0 {
                first_layer::forward(x, weight, layer.outputs, &mut out);
            } else if at == 1 && joined {
                let mut both = vec![0.0; x.cols() * layer.outputs];
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
                let input = View::new(&h, layer.inputs);
                product(&mut out, input, View::new(weight, layer.outputs), Sum::Set);
                // What the layer before left, if it did not leave something else.
                if self.layers[at - 1].activation.is_told_by_result() {
                    kept.push(h);
                }
            }
            if let Some(messages) = messages.filter(|_| !layer.hops.is_none()) {
                out = messages.pass(&layer.hops, &out, layer.outputs);
            }
            let last = at + 1 == self.layers.len();
            if layer.activation.is_told_by_result() {
                layer.activation.apply(&mut out, &bias, slopes);
                // The result itself is given away.
                if last {
                    kept.push(if layer.activation == Activation::None { Vec::new() } else { out.clone() });
                }
                h = out;
            } else {
                Activation::None.apply(&mut out, &bias, &[]);
                h = out.clone();
                kept.push(out);
                layer.activation.apply(&mut h, &vec![0.0; layer.outputs], slopes);
            }
        }
        (h, Trace(kept))
    }

    /// The gradient of the parameters, given that of the result; it is written to `gradient`.
    pub(crate) fn backward(
        &self,
        parameters: &[f32],
        x: &Features,
        messages: Option<&Messages>,
        mut trace: Trace,
        mut of_output: Vec<f32>,
        gradient: &mut [f32],
    ) {
        let joined = self.joins(x, messages);
        let mut own = trace.0.pop().unwrap_or_default();
        for (at, layer) in self.layers.iter().enumerate().rev() {
            let place = &self.places[at];
            let slopes = self.slopes(at, parameters);
            let of_slopes = layer.activation.backward(&mut of_output, &own, layer.outputs, slopes);
            gradient[place.slopes.clone()].copy_from_slice(&of_slopes);
            let sums = column_sums(&of_output, layer.outputs);
            gradient[place.bias.clone()].iter_mut().zip(sums).for_each(|(to, sum)| *to = sum as f32);
            if let Some(messages) = messages.filter(|_| !layer.hops.is_none()) {
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
            own = trace.0.pop().unwrap_or_default();
            let remade;
            let input = if before.activation.is_told_by_result() {
                &own
            } else {
                let mut again = own.clone();
                let slopes = self.slopes(at - 1, parameters);
                before.activation.apply(&mut again, &vec![0.0; before.outputs], slopes);
                remade = again;
                &remade
            };
            let of = View::new(&of_output, layer.outputs);
            product(of_weight, View::new(input, layer.inputs).t(), of, Sum::Set);
            let mut of_input = vec![0.0; x.rows() * layer.inputs];
            let weight = View::new(self.weight(at, parameters), layer.outputs);
            product(&mut of_input, of, weight.t(), Sum::Set);
            of_output = of_input;
        }
    }
}

impl Network {
    /// Whether the first two layers are computed as one, (XW)V as X(WV): with nothing between them and more
    /// rows than features that is less to do.
    fn joins(&self, x: &Features, messages: Option<&Messages>) -> bool {
        let plain = matches!(&self.layers[..], [first, _, ..] if first.activation == Activation::None);
        plain && messages.is_none() && matches!(x, Features::Dense(_)) && x.rows() > x.cols()
    }

    /// The gradient of the first two layers but the second's bias, which is there, from that of what the
    /// second gives.
    fn backward_joined(&self, parameters: &[f32], x: &Features, of_output: &[f32], gradient: &mut [f32]) {
        let (inputs, between, outputs) = (x.cols(), self.layers[1].inputs, self.layers[1].outputs);
        let mut of_both = vec![0.0; inputs * outputs];
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

    fn all_activations() -> Network {
        let kinds = [Activation::Prelu, Activation::Elu, Activation::Relu, Activation::PreluShared];
        let mut layers =
            vec![Layer { inputs: 5, outputs: 4, activation: Activation::None, hops: Hops::power(1) }];
        layers.extend(kinds.map(|activation| Layer {
            inputs: 4,
            outputs: 4,
            activation,
            hops: match activation {
                Activation::Elu => Hops::none(),
                Activation::Relu => Hops::ssgc(2, 0.3),
                _ => Hops::power(1),
            },
        }));
        Network::new(layers)
    }

    /// A matrix of messages that is not symmetric, on nine rows.
    fn messages() -> Csr {
        let row = |i: u32| vec![(i / 2, 0.5 + 0.1 * i as f32), (8, -0.3)];
        let rows: Vec<Vec<(u32, f32)>> =
            (0..9).map(|i| if i == 8 { vec![(3, 2.0)] } else { row(i) }).collect();
        Csr::from_sorted_rows(9, &rows)
    }

    /// The same layers, one row after the other in full precision.
    fn naive(network: &Network, parameters: &[f64], x: &Features, messages: Option<&Csr>) -> Vec<f64> {
        let dense = x.to_dense();
        let mut rows: Vec<Vec<f64>> =
            (0..x.rows()).map(|i| dense.row(i).iter().map(|&value| value as f64).collect()).collect();
        for (layer, place) in network.layers.iter().zip(&network.places) {
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
            let unit = |row: &[f64], j: usize| {
                let weight = |i: usize| parameters[place.weight.start + i * layer.outputs + j];
                let sum = parameters[place.bias.start + j]
                    + row.iter().enumerate().map(|(i, x)| x * weight(i)).sum::<f64>();
                match layer.activation {
                    Activation::None => sum,
                    _ if sum > 0.0 => sum,
                    Activation::Relu => 0.0,
                    Activation::Elu => sum.exp() - 1.0,
                    Activation::Prelu | Activation::PreluShared => slope(j) * sum,
                }
            };
            rows = rows.iter().map(|row| (0..layer.outputs).map(|j| unit(row, j)).collect()).collect();
        }
        rows.concat()
    }

    #[test]
    fn forward_and_gradient_agree_with_a_naive_network_in_full_precision() {
        let network = all_activations();
        // Nine rows of five features join the first two layers, if they are dense and pass no messages.
        assert!(network.joins(&features(9, 5, false), None) && !network.joins(&features(9, 5, true), None));
        for (sparse, passed) in [(false, None), (true, None), (true, Some(messages()))] {
            let x = features(9, 5, sparse);
            let messages = passed.clone().map(Messages::new);
            let parameters = network.initial(Seed(1));
            let exact: Vec<f64> = parameters.iter().map(|&p| p as f64).collect();
            let (output, trace) = network.forward(&parameters, &x, messages.as_ref());
            let twin = naive(&network, &exact, &x, passed.as_ref());
            assert!(output.iter().zip(&twin).all(|(&a, &b)| (a as f64 - b).abs() < 1e-5));
            // The loss Σ r·out for fixed r has the gradient r at the output.
            let r: Vec<f32> = (0..twin.len()).map(|i| ((i * 5) % 7) as f32 - 3.0).collect();
            let loss = |parameters: &[f64]| -> f64 {
                naive(&network, parameters, &x, passed.as_ref())
                    .iter()
                    .zip(&r)
                    .map(|(out, &r)| out * r as f64)
                    .sum()
            };
            // What was there before does not matter.
            let mut gradient = vec![7.0; network.len()];
            network.backward(&parameters, &x, messages.as_ref(), trace, r.clone(), &mut gradient);
            for (at, &got) in gradient.iter().enumerate() {
                let moved = |by: f64| {
                    let mut moved = exact.clone();
                    moved[at] += by;
                    loss(&moved)
                };
                let expected = (moved(1e-6) - moved(-1e-6)) / 2e-6;
                assert!(
                    (got as f64 - expected).abs() < 1e-4 * (1.0 + expected.abs()),
                    "{at}: {got} {expected}"
                );
            }
        }
    }

    #[test]
    fn initial_weights_are_torchs() {
        let network = Network::new(vec![Layer {
            inputs: 400,
            outputs: 64,
            activation: Activation::Prelu,
            hops: Hops::none(),
        }]);
        let parameters = network.initial(Seed(0));
        let weight = network.weight(0, &parameters);
        assert!(weight.iter().all(|w| w.abs() <= 0.05) && weight.iter().any(|w| w.abs() > 0.049));
        let variance = weight.iter().map(|&w| (w * w) as f64).sum::<f64>() / weight.len() as f64;
        assert!((variance / (0.05f64.powi(2) / 3.0) - 1.0).abs() < 0.03);
        assert!(network.slopes(0, &parameters).iter().all(|&slope| slope == 0.25));
    }
}
