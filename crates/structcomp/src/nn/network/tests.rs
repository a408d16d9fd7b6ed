//! The network beside a naive twin in `f64`.

use super::super::Initial;
use super::*;
use crate::graph::Hops;
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
    let row = |i: usize| (0..cols).map(|j| (j as u32, value(i, j))).filter(|entry| entry.1 != 0.0).collect();
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
    let rows: Vec<Vec<(u32, f32)>> = (0..9).map(|i| if i == 8 { vec![(3, 2.0)] } else { row(i) }).collect();
    Csr::from_sorted_rows(9, &rows)
}

/// The same layers, one row after the other in full precision.
pub(crate) fn naive(network: &Network, parameters: &[f64], mut rows: Vec<Vec<f64>>, pass: Pass) -> Vec<f64> {
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
        if let Some(messages) = pass.messages.map(Messages::matrix) {
            let mut heard = vec![vec![0.0; rows[0].len()]; rows.len()];
            for &weight in layer.hops.weights() {
                let add = |(sum, row): (&mut f64, &f64)| *sum += weight as f64 * row;
                heard.iter_mut().flatten().zip(rows.iter().flatten()).for_each(add);
                let received = |i: usize, j: usize| {
                    let (indices, values) = messages.row(i);
                    indices.iter().zip(values).map(|(&from, &w)| w as f64 * rows[from as usize][j]).sum()
                };
                rows =
                    (0..rows.len()).map(|i| (0..rows[i].len()).map(|j| received(i, j)).collect()).collect();
            }
            rows = heard;
        }
        let linear = |row: &[f64], j: usize| {
            let weight = |i: usize| parameters[place.weight.start + i * layer.outputs + j];
            parameters[place.bias.start + j] + row.iter().enumerate().map(|(i, x)| x * weight(i)).sum::<f64>()
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
    let dense = x.to_dense();
    let rows: Vec<Vec<f64>> =
        (0..9).map(|row| dense.row(row).iter().map(|&value| value as f64).collect()).collect();
    let twin = naive(network, &exact, rows.clone(), pass);
    assert!(output.iter().zip(&twin).all(|(&a, &b)| (a as f64 - b).abs() < 1e-4), "{output:?} {twin:?}");
    // The loss Σ r·out for fixed r has the gradient r at the output.
    let r: Vec<f32> = (0..twin.len()).map(|i| ((i * 5) % 7) as f32 - 3.0).collect();
    let loss = |parameters: &[f64]| -> f64 {
        let out = naive(network, parameters, rows.clone(), pass);
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
