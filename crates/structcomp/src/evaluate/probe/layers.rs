//! The layers of a probe: linear maps, with batch norm, ReLU and dropout after all but the last.
//!
//! All sums have one order, so no number depends on how many threads there are.

use super::fit::Start;
use crate::matrix::column_sums;
use crate::matrix::{Sum, View, product};
use crate::nn::first_layer;
use crate::{Features, Seed};
use rand::RngExt;
use rayon::prelude::*;
use std::ops::Range;

/// The shape of the layers; the parameters are one vector.
pub(super) struct Layers {
    places: Vec<Place>,
    dropout: f32,
}

struct Place {
    inputs: usize,
    outputs: usize,
    /// A row an input.
    weight: Range<usize>,
    /// Batch norm's factors; none in the last layer.
    scale: Range<usize>,
    /// Batch norm's shifts, which take the place of a bias; in the last layer the bias.
    shift: Range<usize>,
}

/// Batch norm's mean and variance of each column, averaged over the steps: what is used to judge.
pub(super) struct Averages {
    mean: Vec<f64>,
    variance: Vec<f64>,
}

/// What a hidden layer leaves for its gradient.
struct Hidden {
    /// (h - mean) / deviation, before scale and shift.
    normalized: Vec<f32>,
    /// 1 / deviation of each column.
    inverse: Vec<f32>,
    /// The layer's result.
    after: Vec<f32>,
}

/// Added to variances, as in torch.
const LEAST: f64 = 1e-5;
/// The share of a step in the averages, as in torch.
const MOMENTUM: f64 = 0.1;
/// Rows of one partial sum or one random stream.
const ROWS: usize = 256;

impl Layers {
    pub(super) fn new(inputs: usize, hidden: &[usize], classes: usize, dropout: f32) -> Self {
        let mut next = 0;
        let mut take = |count: usize| {
            next += count;
            next - count..next
        };
        let mut places = Vec::new();
        let mut inputs = inputs;
        for (at, &outputs) in hidden.iter().chain([&classes]).enumerate() {
            places.push(Place {
                inputs,
                outputs,
                weight: take(inputs * outputs),
                scale: take(if at < hidden.len() { outputs } else { 0 }),
                shift: take(outputs),
            });
            inputs = outputs;
        }
        Self { places, dropout }
    }

    pub(super) fn classes(&self) -> usize {
        self.places.last().map_or(0, |place| place.outputs)
    }

    pub(super) fn initial(&self, start: Start, seed: Seed) -> Vec<f32> {
        let mut parameters = vec![0.0; self.places.last().map_or(0, |place| place.shift.end)];
        for (at, place) in self.places.iter().enumerate() {
            let mut rng = seed.stream_at("initial weights", at as u64);
            let (inputs, outputs) = (place.inputs.max(1) as f32, place.outputs as f32);
            let bound = match start {
                Start::Inputs => 1.0 / inputs.sqrt(),
                Start::Xavier => (6.0 / (inputs + outputs)).sqrt(),
            };
            let mut draw = |parameter: &mut f32| *parameter = bound * (2.0 * rng.random::<f32>() - 1.0);
            parameters[place.weight.clone()].iter_mut().for_each(&mut draw);
            if place.scale.is_empty() && matches!(start, Start::Inputs) {
                parameters[place.shift.clone()].iter_mut().for_each(&mut draw);
            }
            parameters[place.scale.clone()].fill(1.0);
        }
        parameters
    }

    /// Averages before the first step.
    pub(super) fn averages(&self) -> Vec<Averages> {
        let hidden = &self.places[..self.places.len() - 1];
        let start =
            |place: &Place| Averages { mean: vec![0.0; place.outputs], variance: vec![1.0; place.outputs] };
        hidden.iter().map(start).collect()
    }

    /// The mean cross entropy of rows of known class, and its gradient in the parameters. `draw` is
    /// the seed and the number of the step, which choose what is dropped.
    pub(super) fn gradient(
        &self,
        parameters: &[f32],
        averages: &mut [Averages],
        x: &Features,
        classes: &[u32],
        draw: (Seed, u64),
    ) -> (f64, Vec<f32>) {
        let mut hidden: Vec<Hidden> = Vec::new();
        for (at, averages) in averages.iter_mut().enumerate() {
            let place = &self.places[at];
            let mut h = self.linear(at, parameters, x, hidden.last().map(|hidden| &hidden.after[..]));
            let inverse = normalize(&mut h, place.outputs, averages);
            let normalized = h.clone();
            scale_and_shift(&mut h, &parameters[place.scale.clone()], &parameters[place.shift.clone()]);
            let (seed, step) = draw;
            let stream = (step * self.places.len() as u64 + at as u64) << 24;
            self.rectify_and_drop(&mut h, place.outputs, |block| seed.stream_at("dropout", stream + block));
            hidden.push(Hidden { normalized, inverse, after: h });
        }
        let last = self.places.len() - 1;
        let mut output = self.linear(last, parameters, x, hidden.last().map(|hidden| &hidden.after[..]));
        add_to_rows(&mut output, &parameters[self.places[last].shift.clone()]);
        let loss = cross_entropy(&mut output, self.classes(), classes);
        let mut gradient = vec![0.0; parameters.len()];
        self.backward(parameters, x, &hidden, output, &mut gradient);
        (loss, gradient)
    }

    /// The classes' logits, with the averages in place of a batch's own mean and variance.
    pub(super) fn predict(&self, parameters: &[f32], averages: &[Averages], x: &Features) -> Vec<f32> {
        let mut h: Option<Vec<f32>> = None;
        for (at, place) in self.places.iter().enumerate() {
            let mut out = self.linear(at, parameters, x, h.as_deref());
            let shift = &parameters[place.shift.clone()];
            match averages.get(at) {
                None => add_to_rows(&mut out, shift),
                Some(Averages { mean, variance }) => {
                    let inverse = |&variance: &f64| 1.0 / (variance + LEAST).sqrt();
                    let factors = parameters[place.scale.clone()].iter().zip(variance);
                    let factors: Vec<f32> =
                        factors.map(|(&scale, variance)| (scale as f64 * inverse(variance)) as f32).collect();
                    let shifts = shift.iter().zip(mean.iter().zip(&factors));
                    let shifts: Vec<f32> = shifts
                        .map(|(&shift, (mean, &factor))| (shift as f64 - mean * factor as f64) as f32)
                        .collect();
                    scale_and_shift(&mut out, &factors, &shifts);
                    out.par_iter_mut().with_min_len(1 << 12).for_each(|value| *value = value.max(0.0));
                }
            }
            h = Some(out);
        }
        h.unwrap_or_default()
    }

    /// H W for the rows H that the layer before gave, or X W for the first.
    fn linear(&self, at: usize, parameters: &[f32], x: &Features, before: Option<&[f32]>) -> Vec<f32> {
        let place = &self.places[at];
        let mut out = vec![0.0; x.rows() * place.outputs];
        let weight = &parameters[place.weight.clone()];
        match before {
            None => first_layer::forward(x, weight, place.outputs, &mut out),
            Some(h) => {
                product(&mut out, View::new(h, place.inputs), View::new(weight, place.outputs), Sum::Set)
            }
        }
        out
    }

    /// Sets what is negative to zero, and the share `dropout` of the rest; what is kept grows by as
    /// much as is lost on average.
    fn rectify_and_drop(&self, h: &mut [f32], cols: usize, stream: impl Fn(u64) -> crate::Rng + Sync) {
        let grow = 1.0 / (1.0 - self.dropout);
        h.par_chunks_mut(ROWS * cols).enumerate().for_each(|(block, h)| {
            if self.dropout == 0.0 {
                h.iter_mut().for_each(|value| *value = value.max(0.0));
                return;
            }
            let mut rng = stream(block as u64);
            for value in h {
                let kept = rng.random::<f32>() >= self.dropout;
                *value = if kept { grow * value.max(0.0) } else { 0.0 };
            }
        });
    }

    fn backward(
        &self,
        parameters: &[f32],
        x: &Features,
        hidden: &[Hidden],
        output: Vec<f32>,
        gradient: &mut [f32],
    ) {
        let mut of_output = output;
        for (at, place) in self.places.iter().enumerate().rev() {
            if let Some(hidden) = hidden.get(at) {
                let grow = 1.0 / (1.0 - self.dropout);
                let passes = |(of, &after): (&mut f32, &f32)| *of *= if after > 0.0 { grow } else { 0.0 };
                of_output.par_iter_mut().with_min_len(1 << 12).zip(&hidden.after).for_each(passes);
                let scale = &parameters[place.scale.clone()];
                let (of_scale, of_shift) = through_norm(&mut of_output, hidden, scale);
                gradient[place.scale.clone()].copy_from_slice(&of_scale);
                gradient[place.shift.clone()].copy_from_slice(&of_shift);
            } else {
                let sums = column_sums(&of_output, place.outputs);
                gradient[place.shift.clone()].iter_mut().zip(sums).for_each(|(of, sum)| *of = sum as f32);
            }
            let of_weight = &mut gradient[place.weight.clone()];
            if at == 0 {
                first_layer::backward(x, &of_output, place.outputs, of_weight);
            } else {
                let of = View::new(&of_output, place.outputs);
                product(of_weight, View::new(&hidden[at - 1].after, place.inputs).t(), of, Sum::Set);
                let mut of_input = vec![0.0; x.rows() * place.inputs];
                let weight = View::new(&parameters[place.weight.clone()], place.outputs);
                product(&mut of_input, of, weight.t(), Sum::Set);
                of_output = of_input;
            }
        }
    }
}

/// Shifts and scales each column to mean 0 and variance 1, adds both to the averages, and gives
/// 1 / deviation of each.
fn normalize(h: &mut [f32], cols: usize, averages: &mut Averages) -> Vec<f32> {
    let rows = (h.len() / cols) as f64;
    let mean: Vec<f64> = column_sums(h, cols).iter().map(|sum| sum / rows).collect();
    let squares = sums(h.len(), cols, |at, column| (h[at] as f64 - mean[column]).powi(2));
    let variance: Vec<f64> = squares.iter().map(|square| square / rows).collect();
    // The averages are those of the unbiased estimate.
    let unbiased = rows / (rows - 1.0).max(1.0);
    let average = |average: &mut Vec<f64>, of: &[f64], factor: f64| {
        average.iter_mut().zip(of).for_each(|(average, of)| *average += MOMENTUM * (of * factor - *average));
    };
    average(&mut averages.mean, &mean, 1.0);
    average(&mut averages.variance, &variance, unbiased);
    let inverse: Vec<f64> = variance.iter().map(|variance| 1.0 / (variance + LEAST).sqrt()).collect();
    h.par_chunks_mut(cols).with_min_len(ROWS).for_each(|row| {
        for (value, (mean, inverse)) in row.iter_mut().zip(mean.iter().zip(&inverse)) {
            *value = ((*value as f64 - mean) * inverse) as f32;
        }
    });
    inverse.into_iter().map(|inverse| inverse as f32).collect()
}

/// Turns the gradient behind batch norm into that before it; gives those of scale and shift.
///
/// With ĥ the normalised rows, g the gradient and n rows: scale/deviation · (g − mean(g) − ĥ·mean(g ĥ)).
fn through_norm(of: &mut [f32], hidden: &Hidden, scale: &[f32]) -> (Vec<f32>, Vec<f32>) {
    let (cols, normalized) = (scale.len(), &hidden.normalized);
    let rows = (of.len() / cols) as f64;
    let of_shift = column_sums(of, cols);
    let of_scale = sums(of.len(), cols, |at, _| of[at] as f64 * normalized[at] as f64);
    let (by_shift, by_scale) = (&of_shift, &of_scale);
    of.par_chunks_mut(cols).zip(normalized.par_chunks(cols)).with_min_len(ROWS).for_each(
        |(of, normalized)| {
            for (column, (of, &h)) in of.iter_mut().zip(normalized).enumerate() {
                let centred = *of as f64 - (by_shift[column] + h as f64 * by_scale[column]) / rows;
                *of = (centred * (scale[column] * hidden.inverse[column]) as f64) as f32;
            }
        },
    );
    let narrow = |sums: &[f64]| sums.iter().map(|&sum| sum as f32).collect();
    (narrow(&of_scale), narrow(&of_shift))
}

/// The sum over each column of `term`, which is given a place and its column.
fn sums(len: usize, cols: usize, term: impl Fn(usize, usize) -> f64 + Sync) -> Vec<f64> {
    let block = ROWS * cols;
    let partial: Vec<Vec<f64>> = (0..len.div_ceil(block))
        .into_par_iter()
        .map(|at| {
            let mut sums = vec![0.0; cols];
            for row in (at * block..len.min((at + 1) * block)).step_by(cols) {
                sums.iter_mut().enumerate().for_each(|(column, sum)| *sum += term(row + column, column));
            }
            sums
        })
        .collect();
    let mut total = vec![0.0; cols];
    partial.iter().for_each(|sums| total.iter_mut().zip(sums).for_each(|(total, sum)| *total += sum));
    total
}

fn scale_and_shift(h: &mut [f32], scale: &[f32], shift: &[f32]) {
    h.par_chunks_mut(scale.len()).with_min_len(ROWS).for_each(|row| {
        for (value, (scale, shift)) in row.iter_mut().zip(scale.iter().zip(shift)) {
            *value = *value * scale + shift;
        }
    });
}

pub(super) fn add_to_rows(h: &mut [f32], bias: &[f32]) {
    h.par_chunks_mut(bias.len()).with_min_len(ROWS).for_each(|row| {
        row.iter_mut().zip(bias).for_each(|(value, bias)| *value += bias);
    });
}

/// The mean of -log softmax(row)[class] over the rows, which become its gradient.
fn cross_entropy(logits: &mut [f32], cols: usize, classes: &[u32]) -> f64 {
    let rows = classes.len() as f32;
    let losses: Vec<f64> = logits
        .par_chunks_mut(cols)
        .zip(classes)
        .map(|(row, &class)| {
            let largest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            let right = row[class as usize] - largest;
            row.iter_mut().for_each(|value| *value = (*value - largest).exp());
            let total: f32 = row.iter().sum();
            row.iter_mut().for_each(|value| *value /= total * rows);
            row[class as usize] -= 1.0 / rows;
            (total.ln() - right) as f64
        })
        .collect();
    losses.iter().sum::<f64>() / classes.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Dense;

    const STEP: (Seed, u64) = (Seed(5), 3);

    fn rows(count: usize, cols: usize) -> Features {
        let values = (0..count * cols).map(|at| ((at * 29 + 7) % 31) as f32 / 10.0 - 1.5).collect::<Vec<_>>();
        Features::Dense(Dense::new(count, cols, values).unwrap())
    }

    /// Which hidden numbers of a layer are kept: what a layer of ones leaves of them.
    fn kept(layers: &Layers, at: usize, rows: usize) -> Vec<bool> {
        let place = &layers.places[at];
        let mut ones = vec![1.0; rows * place.outputs];
        let stream = (STEP.1 * layers.places.len() as u64 + at as u64) << 24;
        layers
            .rectify_and_drop(&mut ones, place.outputs, |block| STEP.0.stream_at("dropout", stream + block));
        ones.into_iter().map(|value| value > 0.0).collect()
    }

    /// The loss by its definition, one number after the other in full precision.
    fn naive(layers: &Layers, parameters: &[f64], x: &Features, classes: &[u32]) -> f64 {
        let dense = x.to_dense();
        let mut h: Vec<Vec<f64>> =
            (0..x.rows()).map(|row| dense.row(row).iter().map(|&value| value as f64).collect()).collect();
        let last = layers.places.len() - 1;
        for (at, place) in layers.places.iter().enumerate() {
            let unit = |row: &Vec<f64>, j: usize| -> f64 {
                row.iter()
                    .enumerate()
                    .map(|(i, h)| h * parameters[place.weight.start + i * place.outputs + j])
                    .sum()
            };
            let mut out: Vec<Vec<f64>> =
                h.iter().map(|row| (0..place.outputs).map(|j| unit(row, j)).collect()).collect();
            for j in 0..place.outputs {
                let shift = parameters[place.shift.start + j];
                if at == last {
                    out.iter_mut().for_each(|row| row[j] += shift);
                    continue;
                }
                let mean = out.iter().map(|row| row[j]).sum::<f64>() / out.len() as f64;
                let variance = out.iter().map(|row| (row[j] - mean).powi(2)).sum::<f64>() / out.len() as f64;
                let kept = kept(layers, at, out.len());
                for (i, row) in out.iter_mut().enumerate() {
                    let normalized = (row[j] - mean) / (variance + 1e-5).sqrt();
                    let value = (parameters[place.scale.start + j] * normalized + shift).max(0.0);
                    row[j] =
                        if kept[i * place.outputs + j] { value / (1.0 - layers.dropout as f64) } else { 0.0 };
                }
            }
            h = out;
        }
        let loss = |(row, &class): (&Vec<f64>, &u32)| {
            row.iter().map(|value| value.exp()).sum::<f64>().ln() - row[class as usize]
        };
        h.iter().zip(classes).map(loss).sum::<f64>() / classes.len() as f64
    }

    #[test]
    fn gradients_agree_with_finite_differences_in_full_precision() {
        for (hidden, dropout) in [(&[][..], 0.0), (&[5, 4], 0.0), (&[6, 5], 0.5)] {
            let layers = Layers::new(4, hidden, 3, dropout);
            let x = rows(12, 4);
            let classes: Vec<u32> = (0..12).map(|row| row * row % 3).collect();
            let mut parameters = layers.initial(Start::Inputs, Seed(1));
            // Scales and shifts that differ, so that no error can hide.
            for place in &layers.places {
                parameters[place.scale.clone()]
                    .iter_mut()
                    .zip(0..)
                    .for_each(|(s, i)| *s = 0.7 + 0.1 * i as f32);
                parameters[place.shift.clone()]
                    .iter_mut()
                    .zip(0..)
                    .for_each(|(s, i)| *s = 0.2 - 0.1 * i as f32);
            }
            let (loss, gradient) = layers.gradient(&parameters, &mut layers.averages(), &x, &classes, STEP);
            let exact: Vec<f64> = parameters.iter().map(|&parameter| parameter as f64).collect();
            assert!((loss - naive(&layers, &exact, &x, &classes)).abs() < 1e-6);
            for (at, &got) in gradient.iter().enumerate() {
                let moved = |by: f64| {
                    let mut moved = exact.clone();
                    moved[at] += by;
                    naive(&layers, &moved, &x, &classes)
                };
                let expected = (moved(1e-6) - moved(-1e-6)) / 2e-6;
                assert!((got as f64 - expected).abs() < 2e-6, "{hidden:?} {at}: {got}, not {expected}");
            }
        }
    }

    #[test]
    fn a_batch_seen_often_is_predicted_as_it_was_trained() {
        // With no dropout and averages that have settled, both ways differ by n / (n - 1) only.
        let layers = Layers::new(4, &[5], 3, 0.0);
        let (x, classes) = (rows(2000, 4), vec![1; 2000]);
        let parameters = layers.initial(Start::Inputs, Seed(2));
        let mut averages = layers.averages();
        let mut loss = 0.0;
        for step in 0..200 {
            loss = layers.gradient(&parameters, &mut averages, &x, &classes, (Seed(0), step)).0;
        }
        let mut logits = layers.predict(&parameters, &averages, &x);
        assert!((cross_entropy(&mut logits, 3, &classes) - loss).abs() < 1e-3);
    }

    #[test]
    fn the_share_asked_for_is_dropped_and_the_mean_kept() {
        let layers = Layers::new(1, &[50], 2, 0.3);
        let mut ones = vec![1.0; 2000 * 50];
        layers.rectify_and_drop(&mut ones, 50, |block| Seed(0).stream_at("dropout", block));
        let dropped = ones.iter().filter(|&&value| value == 0.0).count() as f64 / 1e5;
        assert!((dropped - 0.3).abs() < 0.005, "{dropped}");
        assert!((ones.iter().sum::<f32>() / 1e5 - 1.0).abs() < 0.01);
        assert_ne!(ones[..ROWS * 50], ones[ROWS * 50..2 * ROWS * 50]);
    }
}
