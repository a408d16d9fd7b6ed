//! The encoder beside a naive twin in `f64`.

use super::*;
use crate::matrix::column_sums;
use crate::nn::Network;
use crate::{Csr, Error};

fn layer(inputs: usize, outputs: usize, activation: Activation, hops: Hops) -> Layer {
    Layer::plain(inputs, outputs, activation, hops)
}

/// An encoder of one network with some numbers as parameters and learnt slopes of 1/4.
fn encoder(layers: Vec<Layer>, salt: usize) -> Encoder {
    let network = Network::new(layers);
    let mut parameters = network.initial(crate::Seed(0));
    let slopes: Vec<bool> = parameters.iter().map(|&value| value == 0.25).collect();
    for (at, value) in parameters.iter_mut().enumerate().filter(|(at, _)| !slopes[*at]) {
        *value = ((at * 7 + salt) % 11) as f32 * 0.2 - 1.0;
    }
    let statistics = network.initial_statistics();
    Encoder { towers: Towers::new(vec![network], false), parameters, statistics, readout: Hops::none() }
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
    for view in &encoder.chains()[0] {
        let layer = view.layer;
        let mut heard = vec![vec![0.0; h[0].len()]; nodes];
        for &weight in layer.hops.weights() {
            let add = |(sum, row): (&mut f64, &f64)| *sum += weight as f64 * row;
            heard.iter_mut().flatten().zip(h.iter().flatten()).for_each(add);
            h = hop(&h);
        }
        h = heard;
        let unit = |row: &[f64], j: usize| {
            let weight = |i: usize| view.weight[i * layer.outputs + j] as f64;
            let sum = view.bias[j] as f64 + row.iter().enumerate().map(|(i, x)| x * weight(i)).sum::<f64>();
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
        let encoder = encoder(vec![layer(3, outputs, Activation::Prelu, hops)], 2);
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
fn batch_norm_a_second_encoder_and_a_readout_are_what_they_say() {
    let graph = Graph::from_edges(30, &(1..30).map(|v| (v * 7 % v, v)).collect::<Vec<_>>()).unwrap();
    let x: Vec<f32> = (0..90).map(|i| (i * 7 % 11) as f32 - 4.0).collect();
    let x = Features::Dense(Dense::new(30, 3, x).unwrap());
    let one = layer(3, 4, Activation::None, Hops::power(1));
    let plain = encoder(vec![one.clone()], 1);
    let before = plain.embed(&graph, &x).unwrap();
    let part = |by: f32| (0..4).map(|at| by + 0.3 * at as f32).collect::<Vec<f32>>();
    let [scale, shift, mean, variance] = [0.5, -1.0, 2.0, 1.0].map(part);
    // Weight and bias as before, then what batch norm learnt.
    let mut normed = encoder(vec![Layer { norm: true, ..one.clone() }], 1);
    normed.parameters[..16].copy_from_slice(&plain.parameters);
    normed.parameters[16..20].copy_from_slice(&scale);
    normed.parameters[20..].copy_from_slice(&shift);
    normed.statistics = [mean.clone(), variance.clone()].concat();
    let after = normed.embed(&graph, &x).unwrap();
    for (at, (got, h)) in after.values().iter().zip(before.values()).enumerate() {
        let j = at % 4;
        let want = scale[j] * (h - mean[j]) / (variance[j] + 1e-5).sqrt() + shift[j];
        assert!((got - want).abs() < 1e-4, "{at}: {got} {want}");
    }
    // With the graph's own statistics, columns have the shift as mean and the scale as deviation.
    let own = normed.clone().renormalized(&graph, &x).unwrap();
    let z = own.embed(&graph, &x).unwrap();
    let sums = column_sums(z.values(), 4);
    assert!(sums.iter().zip(&shift).all(|(sum, &shift)| (sum / 30.0 - shift as f64).abs() < 1e-4));
    let squares = crate::matrix::column_moments(z.values(), z.values(), 4).1;
    for (j, square) in squares.iter().enumerate() {
        let deviation = (square / 30.0 - (shift[j] as f64).powi(2)).sqrt();
        assert!((deviation - scale[j] as f64).abs() < 1e-3, "{deviation}");
    }
    let both = [normed.towers.networks(), plain.towers.networks()].concat();
    let all = Encoder {
        towers: Towers::new(both, false),
        parameters: [&normed.parameters[..], &plain.parameters].concat(),
        readout: Hops::own_and_far(3),
        ..normed
    };
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
    let csr =
        Csr::new(3, vec![0, 1, 3, 3, 4, 5, 6], vec![0, 1, 2, 0, 2, 1], vec![1.0, 2.0, -1.0, 0.5, 3.0, 1.5]);
    let sparse = Features::Sparse(csr.unwrap());
    let dense = Features::Dense(sparse.to_dense());
    // Hops before a wider layer and behind a narrower one, of all kinds.
    let kinds = [Hops::none(), Hops::power(1), Hops::power(2), Hops::ssgc(3, 0.2)];
    for hops in kinds.iter().flat_map(|a| kinds.iter().map(move |b| [a, b])) {
        let layers = vec![
            layer(3, 4, Activation::None, hops[0].clone()),
            layer(4, 2, Activation::Prelu, hops[1].clone()),
        ];
        let encoder = encoder(layers, 1);
        for x in [&sparse, &dense] {
            let embedding = encoder.embed(&graph, x).unwrap();
            let close = |(got, want): (&f32, &f64)| (*got as f64 - want).abs() < 1e-5;
            let twin = naive(&encoder, &graph, x);
            assert!(embedding.values().iter().zip(&twin).all(close), "{hops:?}: {embedding:?} {twin:?}");
        }
    }
}
