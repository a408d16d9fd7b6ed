//! How long steps take, as `benchmarks/gpu.py` reports it.

use super::*;
use std::time::Instant;

/// The median of some runs, in milliseconds.
fn median(mut run: impl FnMut(usize)) -> f64 {
    let mut times: Vec<f64> = (0..25)
        .map(|at| {
            let started = Instant::now();
            run(at);
            1e3 * started.elapsed().as_secs_f64()
        })
        .skip(5)
        .collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// A graph whose neighbours are mostly in the same cluster, with 128 features.
fn near(nodes: usize, clusters: usize) -> (Graph, Features, Partition) {
    let edge = |at: usize| (at as u32 / 2, ((at / 2 + 1 + mix(at as u64) as usize % 30) % nodes) as u32);
    let edges: Vec<(u32, u32)> = (0..2 * nodes).map(edge).collect();
    let x = Features::Dense(Dense::new(nodes, 128, numbers(nodes * 128, 5)).unwrap());
    let partition =
        Partition::new((0..nodes).map(|node| (node * clusters / nodes) as u32).collect()).unwrap();
    (Graph::from_edges(nodes, &edges).unwrap(), x, partition)
}

/// Nodes and clusters of two sizes, with features of 128 numbers.
const SIZES: [(&str, usize, usize); 2] = [("arxiv", 169_343, 20_000), ("products", 2_449_029, 25_000)];

#[test]
#[ignore = "needs an NVIDIA GPU, and measures"]
fn steps_take_so_long() {
    for (size, nodes, clusters) in SIZES {
        let (graph, x, partition) = near(nodes, clusters);
        let compressed = Compressed::new(&x, &partition).unwrap();
        let inputs = Inputs::Clusters(&compressed);
        for name in ["grace", "cca-ssg", "sce", "coles"] {
            for precision in [Precision::F32, Precision::Tf32, Precision::Bf16] {
                let training = Training { model: Model::named(name).unwrap(), ..Training::default() };
                let plan = Plan::new(&training, false, 128).unwrap();
                let sampler = sampler(&plan.sampling, inputs, &graph, SEED).unwrap();
                let start = Cpu::new(&plan, SEED, 1, None).state().unwrap().clone();
                let mut cuda = Cuda::new(&plan, inputs, &*sampler, SEED, precision, &start).unwrap();
                let time = median(|step| assert!(cuda.step(&*sampler, step).unwrap().finite));
                println!("STEP {size} {name} {} {time:.3} ms", super::super::reach::name(precision));
            }
        }
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU, and measures"]
fn panels_take_so_long() {
    let gpu = Gpu::open(Precision::Tf32).unwrap();
    for rows in [40_000, 50_000] {
        let z = numbers(rows * 512, 3);
        for mebibytes in [120, 160, 208, 320] {
            for plain in [false, true] {
                let loss = PanelContrast::with_panel(&gpu, 0.5, (rows, 512), mebibytes << 20).unwrap();
                let mut loss = if plain { loss.plain() } else { loss };
                let (on_gpu, outcome) = (gpu.upload(&z).unwrap(), gpu.zeros::<f64>(3).unwrap());
                let mut gradient = gpu.zeros::<f32>(rows * 512).unwrap();
                let time = median(|_| {
                    loss.loss(&gpu, &on_gpu, &mut gradient, &outcome).unwrap();
                    gpu.wait().unwrap();
                });
                println!("PANEL {rows} rows, {mebibytes} MiB, plain {plain}: {time:.3} ms");
            }
        }
    }
}

/// Parts of a step of DropMember and of InfoNCE.
#[test]
#[ignore = "needs an NVIDIA GPU, and measures"]
fn parts_take_so_long() {
    let gpu = Gpu::open(Precision::Tf32).unwrap();
    for (size, nodes, clusters) in SIZES {
        let (_, x, partition) = data(nodes, 128, clusters);
        let compressed = Compressed::new(&x, &partition).unwrap();
        let views = ClusterViews::new(&gpu, &compressed, Some(DropMember::Half), SEED).unwrap();
        let clock = gpu.zeros::<u64>(2).unwrap();
        let time = median(|_| {
            views.draw(&gpu, &clock).unwrap();
            gpu.wait().unwrap();
        });
        println!("PART {size} DropMember: {time:.3} ms");
        let plan =
            Plan::new(&Training { model: Model::named("grace").unwrap(), ..Training::default() }, false, 128)
                .unwrap();
        for precision in [Precision::F32, Precision::Tf32, Precision::Bf16] {
            let gpu = Gpu::open(precision).unwrap();
            let layers = GpuLayers::new(&gpu, plan.network.single().unwrap(), 2 * clusters).unwrap();
            let parameters = gpu.upload(&plan.network.initial(SEED)).unwrap();
            let (x, gradient) = (
                gpu.upload(&numbers(2 * clusters * 128, 1)).unwrap(),
                gpu.zeros::<f32>(parameters.len()).unwrap(),
            );
            let time = median(|_| {
                layers.forward(&gpu, &parameters, &x).unwrap();
                layers.backward(&gpu, &parameters, &x, &gradient).unwrap();
                gpu.wait().unwrap();
            });
            println!("PART {size} layers {precision:?}: {time:.3} ms");
        }
    }
}

/// A graph of the size of ogbn-products: 2.45 million nodes, about 124 million entries, at random or mostly near.
fn large(near: bool) -> Graph {
    let (nodes, degree) = (2_449_029u64, 25);
    let edges: Vec<(u32, u32)> = (0..nodes * degree)
        .map(|at| {
            let (u, drawn) = (at / degree, mix(at));
            let v = if near && drawn % 10 < 9 {
                (u + 1 + (drawn >> 8) % 100) % nodes
            } else {
                (drawn >> 8) % nodes
            };
            (u as u32, v as u32)
        })
        .filter(|(u, v)| u != v)
        .collect();
    Graph::from_edges(nodes as usize, &edges).unwrap()
}

#[test]
#[ignore = "needs an NVIDIA GPU, and measures"]
fn hops_take_so_long() {
    use super::super::embed::GpuGraph;
    let gpu = Gpu::open(Precision::F32).unwrap();
    for near in [false, true] {
        let graph = large(near);
        let on_gpu = GpuGraph::new(&gpu, &graph).unwrap();
        for half in [false, true] {
            let time = on_gpu.time_hop(512, half, |run| median(|_| run()));
            let entries = graph.targets().len();
            println!("HOP {entries} entries, 512 columns, near {near}, half {half}: {time:.2} ms");
        }
    }
}
