//! Against twins in `f64`, against the CPU's engine, and against itself. All need a GPU; `./check --gpu` runs them.

use super::gpu::Gpu;
use super::operand::{GpuArray, args};
use super::*;
use crate::device::Precision;
use crate::engine::Cpu;
use crate::random::mix;
use crate::sample::sampler;
use crate::{Activation, Compressed, Dense, DropMember, Features, Graph, Partition, Training};

mod losses;
mod speed;
mod steps;

const SEED: Seed = Seed(3);

/// Numbers between -1 and 1 that are the same everywhere.
fn numbers(count: usize, salt: u64) -> Vec<f32> {
    (0..count as u64).map(|at| (mix(at ^ salt << 40) >> 40) as f32 / (1 << 23) as f32 - 1.0).collect()
}

/// ‖a − b‖ / ‖b‖.
fn apart(a: &[f32], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    let rest: f64 = a.iter().zip(b).map(|(a, b)| (*a as f64 - b).powi(2)).sum();
    (rest / b.iter().map(|b| b * b).sum::<f64>()).sqrt()
}

fn wide(values: &[f32]) -> Vec<f64> {
    values.iter().map(|&value| value as f64).collect()
}

/// A ring of nodes with chords, features of some width, and clusters of uneven sizes.
fn data(nodes: usize, width: usize, clusters: usize) -> (Graph, Features, Partition) {
    let mut edges: Vec<(u32, u32)> = (0..nodes).map(|v| (v as u32, ((v + 1) % nodes) as u32)).collect();
    edges.extend((0..2 * nodes as u64).map(|at| {
        let drawn = mix(at);
        ((drawn % nodes as u64) as u32, ((drawn >> 32) % nodes as u64) as u32)
    }));
    let edges: Vec<(u32, u32)> = edges.into_iter().filter(|(u, v)| u != v).collect();
    let x = Features::Dense(Dense::new(nodes, width, numbers(nodes * width, 5)).unwrap());
    // The first clusters hold one node for sure.
    let of = |node: usize| match node < clusters {
        true => node as u32,
        false => (mix(node as u64 ^ 77) % clusters as u64) as u32,
    };
    let partition = Partition::new((0..nodes).map(of).collect()).unwrap();
    (Graph::from_edges(nodes, &edges).unwrap(), x, partition)
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn drop_member_keeps_the_members_that_the_cpu_keeps() {
    let gpu = Gpu::open(Precision::F32).unwrap();
    let (_, x, partition) = data(3000, 70, 211);
    let sparse = |x: &Features| {
        let x = x.to_dense();
        let rows: Vec<Vec<(u32, f32)>> = (0..x.rows())
            .map(|row| {
                (0..70u32)
                    .filter(|col| (*col as usize + row).is_multiple_of(9))
                    .map(|col| (col, x.row(row)[col as usize]))
                    .collect()
            })
            .collect();
        Features::Sparse(crate::Csr::from_sorted_rows(70, &rows))
    };
    for x in [sparse(&x), x] {
        let compressed = Compressed::new(&x, &partition).unwrap();
        for how in [DropMember::Half, DropMember::Bernoulli] {
            let views = ClusterViews::new(&gpu, &compressed, Some(how), SEED).unwrap();
            for step in [0, 7] {
                let clock = gpu.upload(&[step as u64, 0]).unwrap();
                views.draw(&gpu, &clock).unwrap();
                let got = gpu.download(&views.x).unwrap();
                let want = compressed.drop_member(how, SEED, step).unwrap().to_dense();
                assert_eq!(&got[..211 * 70], compressed.features().to_dense().values());
                assert!(got[211 * 70..] == *want.values(), "{how:?} {step}: the same bytes");
            }
        }
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn sce_draws_the_pairs_that_the_cpu_draws() {
    let gpu = Gpu::open(Precision::F32).unwrap();
    let sce = crate::model::Sce { negatives: 4, ..Default::default() };
    let (rows, width) = (500, 40);
    let mut loss = PairLoss::sce(&gpu, &sce, SEED, rows, width).unwrap();
    let z = numbers(rows * width, 1);
    let (on_gpu, gradient) = (gpu.upload(&z).unwrap(), gpu.zeros::<f32>(rows * width).unwrap());
    let (outcome, scalars) = (gpu.zeros::<f64>(3).unwrap(), gpu.zeros::<f32>(3).unwrap());
    for step in [0usize, 9] {
        let clock = gpu.upload(&[step as u64, 0]).unwrap();
        loss.loss(&gpu, &clock, &on_gpu, &gradient, (&outcome, &scalars)).unwrap();
        let pairs = crate::model::Pairs { config: sce.clone(), rows, seed: SEED };
        let (starts, others) = pairs.draw(step);
        let row = |i: usize| &z[i * width..][..width];
        let mut want = vec![0f64; rows * width];
        let mut total = 0.0;
        for i in 0..rows {
            for &j in &others[starts[i] as usize..starts[i + 1] as usize] {
                for (at, (a, b)) in row(i).iter().zip(row(j as usize)).enumerate() {
                    let rest = *a as f64 - *b as f64;
                    total += rest * rest / 2.0;
                    want[i * width + at] += rest;
                }
            }
        }
        want.iter_mut().for_each(|g| *g *= -2.0 * sce.alpha / (total * total));
        let found = gpu.download(&outcome).unwrap();
        assert!((found[0] / (sce.alpha / total) - 1.0).abs() < 1e-6, "{} {total}", found[0]);
        let error = apart(&gpu.download(&gradient).unwrap(), &want);
        assert!(error < 1e-6, "{error}");
    }
}

/// One step of Adam on the GPU for every kind of gradient.
#[test]
#[ignore = "needs an NVIDIA GPU"]
fn adam_is_the_cpu_s() {
    let gpu = Gpu::open(Precision::F32).unwrap();
    let count = 1000;
    let mut on_cpu = numbers(count, 1);
    let (parameters, mean) = (gpu.upload(&on_cpu).unwrap(), gpu.zeros::<f32>(count).unwrap());
    let (square, scalars) = (gpu.zeros::<f32>(count).unwrap(), gpu.zeros::<f32>(3).unwrap());
    let (lost, outcome) = (gpu.zeros::<u32>(1).unwrap(), gpu.zeros::<f64>(3).unwrap());
    let clock = gpu.zeros::<u64>(2).unwrap();
    let mut adam = crate::nn::Adam::new(Optimizer::Adam, 0.01, 5e-4, count);
    for step in 0..5 {
        let gradient = numbers(count, 10 + step);
        adam.step(&mut on_cpu, &gradient);
        let gradient = gpu.upload(&gradient).unwrap();
        let rate = 0.01f32 as f64;
        gpu.launch("open_step", (1, 1), (1, 1), args![&clock, rate, &scalars, &lost]).unwrap();
        let args =
            args![&parameters, &gradient, &mean, &square, count as u32, &scalars, 5e-4f32, 1f32, &lost];
        gpu.launch("adam", (count.div_ceil(256), 1), (256, 1), args).unwrap();
        gpu.launch("close_step", (1, 1), (1, 1), args![&clock, &lost, &outcome]).unwrap();
    }
    let got = gpu.download(&parameters).unwrap();
    let most = got.iter().zip(&on_cpu).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(most < 1e-6, "{most}");
    assert_eq!(gpu.download(&clock).unwrap(), [5, 5]);
    assert_eq!(gpu.download(&outcome).unwrap()[2], 0.0);
}

/// The result and the gradients of two layers in `f64`.
fn two_layers(
    p: &[f64],
    x: &[f64],
    r: &[f64],
    kind: Activation,
    sizes: (usize, usize, usize, usize),
) -> (Vec<f64>, f64) {
    let (rows, inputs, between, outputs) = sizes;
    let slopes = kind.slopes(between);
    let (w, rest) = p.split_at(inputs * between);
    let (b, rest) = rest.split_at(between);
    let (slope, rest) = rest.split_at(slopes);
    let (v, c) = rest.split_at(between * outputs);
    let act = |y: f64, col: usize| match kind {
        Activation::None => y,
        Activation::Relu => y.max(0.0),
        Activation::Elu => {
            if y > 0.0 {
                y
            } else {
                y.exp() - 1.0
            }
        }
        Activation::Prelu => y.max(0.0) + slope[col] * y.min(0.0),
        Activation::PreluShared => y.max(0.0) + slope[0] * y.min(0.0),
    };
    let mut z = Vec::with_capacity(rows * outputs);
    for row in x.chunks(inputs) {
        let h: Vec<f64> = (0..between)
            .map(|j| act(b[j] + row.iter().enumerate().map(|(i, x)| x * w[i * between + j]).sum::<f64>(), j))
            .collect();
        z.extend(
            (0..outputs)
                .map(|k| c[k] + h.iter().enumerate().map(|(j, h)| h * v[j * outputs + k]).sum::<f64>()),
        );
    }
    let loss = z.iter().zip(r).map(|(z, r)| z * r).sum();
    (z, loss)
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn layers_are_their_twin_in_f64() {
    let gpu = Gpu::open(Precision::F32).unwrap();
    let sizes @ (rows, inputs, between, outputs) = (300, 7, 37, 11);
    use Activation as A;
    for kind in [A::None, A::Relu, A::Elu, A::Prelu, A::PreluShared] {
        let hops = crate::graph::Hops::none;
        let network = crate::nn::Network::new(vec![
            crate::nn::Layer::plain(inputs, between, kind, hops()),
            crate::nn::Layer::plain(between, outputs, A::None, hops()),
        ]);
        let parameters = network.initial(SEED);
        let (x, r) = (numbers(rows * inputs, 1), numbers(rows * outputs, 2));
        let mut layers = GpuLayers::new(&gpu, &network, rows).unwrap();
        let (on_gpu, x_gpu) = (gpu.upload(&parameters).unwrap(), gpu.upload(&x).unwrap());
        let gradient = gpu.zeros::<f32>(parameters.len()).unwrap();
        layers.forward(&gpu, &on_gpu, &x_gpu).unwrap();
        let (z, of_z) = layers.result_and_gradient().unwrap();
        gpu.write(of_z, &r).unwrap();
        let z = gpu.download(z).unwrap();
        layers.backward(&gpu, &on_gpu, &x_gpu, &gradient).unwrap();
        let (exact, x, r) = (wide(&parameters), wide(&x), wide(&r));
        let (want, _) = two_layers(&exact, &x, &r, kind, sizes);
        assert!(apart(&z, &want) < 1e-6, "{kind:?}");
        let derivative = |at: usize| {
            let loss = |by: f64| {
                let mut moved = exact.clone();
                moved[at] += by;
                two_layers(&moved, &x, &r, kind, sizes).1
            };
            (loss(1e-5) - loss(-1e-5)) / 2e-5
        };
        let picked: Vec<usize> =
            (0..parameters.len()).step_by(13).chain(inputs * between..inputs * between + 80).collect();
        let got = gpu.download(&gradient).unwrap();
        let got: Vec<f32> = picked.iter().map(|&at| got[at]).collect();
        let want: Vec<f64> = picked.iter().map(|&at| derivative(at)).collect();
        let error = apart(&got, &want);
        assert!(error < 1e-4, "{kind:?}: {error}");
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn products_of_all_shapes_are_their_twin_in_f64() {
    for (precision, most) in [(Precision::F32, 1e-6), (Precision::Tf32, 1e-3), (Precision::Bf16, 1e-2)] {
        let gpu = Gpu::open(precision).unwrap();
        let (m, k, n) = (70, 90, 130);
        let (a, b) = (numbers(m * k, 1), numbers(k * n, 2));
        let turned = |of: &[f32], rows: usize, cols: usize| -> Vec<f32> {
            (0..rows * cols).map(|at| of[at % rows * cols + at / rows]).collect()
        };
        let mut want = vec![0f64; m * n];
        for (i, row) in want.chunks_mut(n).enumerate() {
            for (j, cell) in row.iter_mut().enumerate() {
                *cell = (0..k).map(|t| a[i * k + t] as f64 * b[t * n + j] as f64).sum();
            }
        }
        let (plain_a, plain_b) = (gpu.upload(&a).unwrap(), gpu.upload(&b).unwrap());
        let (turned_a, turned_b) =
            (gpu.upload(&turned(&a, m, k)).unwrap(), gpu.upload(&turned(&b, k, n)).unwrap());
        for at in [plain_a.matrix(0, m, k), turned_a.matrix(0, k, m).t()] {
            for bt in [plain_b.matrix(0, k, n), turned_b.matrix(0, n, k).t()] {
                let c: GpuArray<f32> = gpu.zeros(m * n).unwrap();
                gpu.product(c.matrix(0, m, n), at, bt, false).unwrap();
                let error = apart(&gpu.download(&c).unwrap(), &want);
                assert!(error < most, "{precision:?}: {error}");
            }
        }
        assert!(
            gpu.product(plain_a.matrix(0, m, n), plain_a.matrix(0, m, k), plain_b.matrix(0, k, n), false)
                .is_err()
        );
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn hops_are_the_cpu_s() {
    use super::embed::GpuGraph;
    use crate::graph::Hops;
    let gpu = Gpu::open(Precision::F32).unwrap();
    let (graph, ..) = data(2000, 4, 10);
    let weighted = {
        let (offsets, targets) = (graph.offsets().to_vec(), graph.targets().to_vec());
        // The same in both directions.
        let source = |at: usize| offsets.partition_point(|&start| start as usize <= at) - 1;
        let weight = |at: usize| 0.5 + ((source(at) + targets[at] as usize) % 7) as f32;
        let weights = (0..targets.len()).map(weight).collect::<Vec<f32>>();
        Graph::from_csr(offsets.into(), targets.into(), Some(weights.into())).unwrap()
    };
    for graph in [&graph, &weighted] {
        let propagation = crate::Propagation::new(graph, crate::Normalization::Symmetric);
        let on_gpu = GpuGraph::new(&gpu, graph).unwrap();
        for width in [3, 128, 200] {
            let x = numbers(2000 * width, 8);
            for hops in [Hops::power(1), Hops::power(3), Hops::ssgc(4, 0.05), Hops::own_and_far(2)] {
                let want = wide(&hops.of_rows(&propagation, &x, width).unwrap());
                let error = apart(&on_gpu.hops_of(&x, width, &hops, false).unwrap(), &want);
                assert!(error < 1e-6, "{width} {hops:?}: {error}");
                let error = apart(&on_gpu.hops_of(&x, width, &hops, true).unwrap(), &want);
                assert!(error < 2e-3, "{width} {hops:?}: {error} in half precision");
            }
        }
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn an_embedding_is_the_cpu_s() {
    use crate::{Compute, Device, StructComp};
    let demo = crate::data::Synthetic::named("demo").unwrap().generate(Seed(0)).unwrap();
    let kinds = [
        ("grace", None, 1),
        ("grace", None, 2),
        ("sce", None, 1),
        ("sce", Some(crate::EncoderKind::Ssgc), 2),
    ];
    for (name, encoder, layers) in kinds {
        let model = Model::named(name).unwrap();
        let training = Training { model, encoder, layers, hidden: 64, epochs: 3, ..Training::default() };
        let mut fitted =
            StructComp { training, compute: Compute::CPU, ..StructComp::default() }.fit(&demo).unwrap();
        assert_eq!(
            (fitted.device.as_deref(), fitted.embeds_on(&demo).unwrap().as_str()),
            (Some("cpu"), "cpu")
        );
        let want = wide(fitted.embed(&demo).unwrap().values());
        for (precision, most) in [(Precision::F32, 1e-5), (Precision::Tf32, 2e-3), (Precision::Bf16, 1e-2)] {
            fitted.settings.compute = Compute { device: Device::Cuda, precision };
            assert!(fitted.embeds_on(&demo).unwrap().contains("NVIDIA"));
            let error = apart(fitted.embed(&demo).unwrap().values(), &want);
            println!("embedding by {name}, {layers} layers, {precision:?}: {error:.1e}");
            assert!(error < most, "{error}");
        }
    }
}
