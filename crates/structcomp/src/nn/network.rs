//! Layers in a row, forward and backward.
//!
//! All parameters are one vector, so that the optimiser, checkpoints and gradient checks need not know what
//! they are.

use super::inference::{LayerView, NormView};
use super::{Activation, Layer, Messages, dropout, first_layer, norm};
use crate::matrix::{Sum, View, column_sums, copied, product, zeros};
use crate::{Features, Seed};
use rand::RngExt;
use std::borrow::Cow;
use std::ops::Range;

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
#[derive(Clone, Debug, PartialEq)]
struct Place {
    weight: Range<usize>,
    bias: Range<usize>,
    /// Scales and shifts of batch norm.
    norm: Range<usize>,
    slopes: Range<usize>,
}

/// The shape of a chain of layers; the parameters are kept apart.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Network {
    layers: Vec<Layer>,
    places: Vec<Place>,
}

/// What `forward` leaves for `backward`: each layer's result, but the last.
///
/// Of layers with learnt slopes, batch norm or dropout it is what comes before those, standardised where
/// there is batch norm, from which the result is quickly computed again; from that of the others the
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

    /// The width of the result.
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

    /// Where a layer's weight, bias and slopes are among the parameters.
    #[cfg(feature = "cuda")]
    pub(crate) fn places(&self, layer: usize) -> (Range<usize>, Range<usize>, Range<usize>) {
        let Place { weight, bias, slopes, .. } = &self.places[layer];
        (weight.clone(), bias.clone(), slopes.clone())
    }

    /// A layer with its parameters and the running statistics of its batch norm, as embedding sees it.
    pub(crate) fn view<'p>(&'p self, at: usize, parameters: &'p [f32], running: &'p [f32]) -> LayerView<'p> {
        let layer = &self.layers[at];
        let norm = layer.norm.then(|| {
            let (scale, shift) = self.norm(at, parameters).split_at(layer.outputs);
            let (mean, variance) = running[self.statistics_of(at)].split_at(layer.outputs);
            NormView { scale, shift, mean, variance }
        });
        let (weight, bias) = (self.weight(at, parameters), self.bias(at, parameters));
        LayerView { layer, weight, bias, slopes: self.slopes(at, parameters), norm }
    }

    /// Where the running means and variances of a layer are.
    pub(crate) fn statistics_of(&self, at: usize) -> Range<usize> {
        let width = |layer: &Layer| if layer.norm { 2 * layer.outputs } else { 0 };
        let start = self.layers[..at].iter().map(width).sum();
        start..start + width(&self.layers[at])
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
                self.forward_joined(parameters, x, bias.to_mut(), &mut out);
            } else {
                let (input, weight) = (layer.input(&h), View::new(weight, layer.outputs));
                product(&mut out, View::new(&input, layer.inputs), weight, Sum::Set);
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

    /// Turns the gradient of a layer's activated result into that of what the activation and batch norm were applied
    /// to; writes that of slopes, batch norm and bias.
    fn backward_after_map(
        &self,
        at: usize,
        parameters: &[f32],
        own: &[f32],
        statistics: &[norm::Statistics],
        of_output: &mut [f32],
        gradient: &mut [f32],
    ) {
        let (layer, place) = (&self.layers[at], &self.places[at]);
        let seen = self.rescaled(at, parameters, own);
        let slopes = self.slopes(at, parameters);
        let of_slopes = layer.activation.backward(of_output, &seen, layer.outputs, slopes);
        gradient[place.slopes.clone()].copy_from_slice(&of_slopes);
        if layer.norm {
            let of_learnt = norm::backward(of_output, own, statistics, self.norm(at, parameters));
            gradient[place.norm.clone()].copy_from_slice(&of_learnt);
            // Batch norm takes the bias away again; a sum would be of nothing but rounding.
            gradient[place.bias.clone()].fill(0.0);
        } else {
            let sums = column_sums(of_output, layer.outputs);
            gradient[place.bias.clone()].iter_mut().zip(sums).for_each(|(to, sum)| *to = sum as f32);
        }
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
            self.drop_out(at, &mut of_output, pass);
            self.backward_after_map(at, parameters, &own, &trace.statistics[at], &mut of_output, gradient);
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

    /// X(WV) of the first two layers; what the first one's bias adds goes to `bias`.
    fn forward_joined(&self, parameters: &[f32], x: &Features, bias: &mut [f32], out: &mut [f32]) {
        let (between, outputs) = (self.layers[1].inputs, self.layers[1].outputs);
        let second = View::new(self.weight(1, parameters), outputs);
        let mut both = zeros(x.cols() * outputs);
        product(&mut both, View::new(self.weight(0, parameters), between), second, Sum::Set);
        product(bias, View::new(self.bias(0, parameters), between), second, Sum::Add(1.0));
        first_layer::forward(x, &both, outputs, out);
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

#[cfg(test)]
pub(crate) mod tests;
