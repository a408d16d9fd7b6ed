//! Batches of parts of a graph: what they promise of the whole.

use super::*;
use crate::graph::normalized_adjacency;
use crate::random::normal;
use crate::train::trained_by;
use crate::{Activation, Dense, EncoderKind, Training};
use rand::RngExt;

const NODES: usize = 60;

/// A synthetic graph with hubs and an isolated node, with three features.
fn graph() -> (Graph, Features) {
    let mut rng = Seed(2).stream("parts");
    let edges: Vec<(u32, u32)> = (0..150)
        .map(|_| {
            let hub = (rng.random::<f64>().powi(3) * 59.0) as u32;
            (hub, rng.random_range(0..59))
        })
        .collect();
    let values: Vec<f32> = (0..NODES * 3).map(|_| normal(&mut rng)).collect();
    let x = Features::Dense(Dense::new(NODES, 3, values).unwrap());
    (Graph::from_edges(NODES, &edges).unwrap(), x)
}

fn sampling(first_hops: Option<Hops>, views: Views) -> Sampling {
    Sampling {
        views,
        drop_member: DropMember::Half,
        augment: Augment { drop_edges: [0.3, 0.1], mask_features: [0.0, 0.4] },
        first_hops,
        adjacency: Some(Coarsening::default()),
        neighborhood: None,
        most_hops: 2,
    }
}

fn dense(matrix: &Csr) -> Vec<f64> {
    Features::Sparse(matrix.clone()).to_dense().values().iter().map(|&value| value as f64).collect()
}

fn samplers() -> impl Iterator<Item = Saint> {
    [SaintSampler::Node, SaintSampler::Edge, SaintSampler::Walk].into_iter().map(|sampler| Saint {
        sampler,
        budget: Some(25),
        coverage: 1_000,
        ..Saint::default()
    })
}

/// On average over batches, the weighted sum of what nodes have is the mean over the graph, and what a node hears,
/// given that a batch has it, is what it hears in the whole graph.
#[test]
fn saint_is_unbiased_in_losses_and_in_messages() {
    let (graph, x) = graph();
    let a = dense(&normalized_adjacency(&graph, |_| || true));
    let of_node = |node: usize| x.to_dense().row(node)[0] as f64 + (node % 7) as f64;
    let mean = (0..NODES).map(of_node).sum::<f64>() / NODES as f64;
    for saint in samplers() {
        let sampler =
            sampler(&sampling(None, Views::One), Inputs::Saint { features: &x, saint }, &graph, Seed(3))
                .unwrap();
        let draws = 8_000;
        let (mut losses, mut heard) = (0.0, vec![(0.0, 0.0); NODES]);
        for step in 0..draws {
            let batch = sampler.batch(step).unwrap();
            let (nodes, weights) = (batch.nodes.unwrap(), batch.weights.unwrap());
            let all = nodes.iter().zip(&weights);
            losses += all.map(|(&node, &weight)| weight as f64 * of_node(node as usize)).sum::<f64>();
            let matrix = batch.messages.unwrap();
            for (row, &node) in nodes.iter().enumerate() {
                let (columns, values) = matrix.matrix().row(row);
                let (times, sum) = &mut heard[node as usize];
                *times += 1.0;
                let entries = columns.iter().zip(values);
                *sum += entries.map(|(&c, &v)| v as f64 * of_node(nodes[c as usize] as usize)).sum::<f64>();
            }
        }
        let got = losses / draws as f64;
        assert!((got / mean - 1.0).abs() < 0.02, "{saint:?}: {got} and {mean}");
        let mut off = 0.0;
        for (node, (times, sum)) in heard.iter().enumerate() {
            let want: f64 = (0..NODES).map(|other| a[node * NODES + other] * of_node(other)).sum();
            let got = sum / times;
            assert!((got - want).abs() < 0.1 * (1.0 + want.abs()), "{saint:?} {node}: {got} and {want}");
            off += (got - want) / (NODES as f64 * mean);
        }
        assert!(off.abs() < 0.01, "{saint:?}: {off}");
    }
}

/// Without counts, messages of a batch are those of the graph that it is by itself, and nothing is weighted.
#[test]
fn saint_without_counts_takes_batches_as_they_are() {
    let (graph, x) = graph();
    for saint in samplers() {
        let saint = Saint { coverage: 0, ..saint };
        let inputs = Inputs::Saint { features: &x, saint };
        let sampler = sampler(&sampling(None, Views::One), inputs, &graph, Seed(3)).unwrap();
        let batch = sampler.batch(4).unwrap();
        let nodes = batch.nodes.unwrap();
        assert!(batch.weights.is_none() && nodes.windows(2).all(|pair| pair[0] < pair[1]));
        let place = |node: u32| nodes.binary_search(&node).ok().map(|at| at as u32);
        let edges: Vec<(u32, u32)> =
            graph.edge_iter().filter_map(|(u, v)| Some((place(u)?, place(v)?))).collect();
        let own = Graph::from_edges(nodes.len(), &edges).unwrap();
        let want = normalized_adjacency(&own, |_| || true);
        assert_eq!(batch.messages.unwrap().matrix(), &want);
        assert_eq!(batch.x.to_dense(), x.select(&nodes).to_dense());
        let between = dense(&batch.adjacency.unwrap());
        let ones = between.iter().filter(|&&value| value == 1.0).count();
        assert_eq!((ones, between.iter().sum::<f64>()), (2 * own.edges(), 2.0 * own.edges() as f64));
    }
}

#[test]
fn samples_are_what_each_sampler_says() {
    let (graph, x) = graph();
    let often = |sampler: SaintSampler, walk_length| {
        let saint = Saint { sampler, budget: Some(1), walk_length, coverage: 0, ..Saint::default() };
        let of = sampling(None, Views::One);
        let sampler = super::sampler(&of, Inputs::Saint { features: &x, saint }, &graph, Seed(5)).unwrap();
        let mut times = vec![0.0; NODES];
        for step in 0..20_000 {
            let batch = sampler.batch(step).unwrap();
            batch.nodes.unwrap().iter().for_each(|&node| times[node as usize] += 1.0 / 20_000.0);
        }
        times
    };
    let entries = (2 * graph.edges() + NODES) as f64;
    let near = |got: f64, want: f64| (got - want).abs() < 0.2 * want + 0.001;
    let by_degree = often(SaintSampler::Node, 1);
    let (edges, walks) = (often(SaintSampler::Edge, 9), often(SaintSampler::Walk, 1));
    for node in 0..NODES as u32 {
        let share = |of: u32| 1.0 / graph.degree(of).max(1) as f64;
        let at = node as usize;
        assert!(near(by_degree[at], (graph.degree(node) + 1) as f64 / entries), "{node}");
        let heard: f64 = graph.neighbors(node).iter().map(|&other| share(other)).sum();
        assert!(near(edges[at], (1.0 + heard) / NODES as f64), "{node}: {}", edges[at]);
        assert!(near(walks[at], edges[at]), "a walk of one step is an edge");
    }
}

/// With all clusters in one batch, training is that on the whole graph.
#[test]
fn cluster_gcn_with_one_batch_is_the_whole_graph() {
    let (graph, x) = graph();
    let partition = Partition::new((0..NODES as u32).map(|node| node * 7 % 5).collect()).unwrap();
    for name in ["sce", "coles", "grace", "cca-ssg", "dgi"] {
        for encoder in [None, Some(EncoderKind::Sgc), Some(EncoderKind::Gcn)] {
            let training = Training {
                model: crate::Model::named(name).unwrap(),
                encoder,
                activation: Some(Activation::None),
                hidden: 4,
                epochs: 5,
                learning_rate: 0.01,
                ..Training::default()
            };
            let inputs = Inputs::ClusterGcn { features: &x, partition: &partition, batch_clusters: Some(5) };
            let parts = trained_by(&training, inputs, &graph, Seed(0)).unwrap();
            let whole = trained_by(&training, Inputs::Nodes(&x), &graph, Seed(0)).unwrap();
            let close = |a: &f64, b: &f64| (a - b).abs() < 1e-5 * (1.0 + b.abs());
            let losses = parts.losses().iter().zip(whole.losses());
            assert!(
                losses.clone().all(|(a, b)| close(a, b)),
                "{name} {encoder:?}: {:?}",
                losses.collect::<Vec<_>>()
            );
        }
    }
}

#[test]
fn every_cluster_is_in_one_batch_of_an_epoch() {
    let (graph, x) = graph();
    let partition = Partition::new((0..NODES as u32).map(|node| node % 7).collect()).unwrap();
    let inputs = Inputs::ClusterGcn { features: &x, partition: &partition, batch_clusters: Some(3) };
    let sampler = sampler(&sampling(None, Views::One), inputs, &graph, Seed(3)).unwrap();
    assert_eq!(sampler.steps(), 3, "of 2, 2 and 3 clusters");
    let nodes = |step: usize| sampler.batch(step).unwrap().nodes.unwrap();
    let mut orders = Vec::new();
    for epoch in 0..4 {
        let batches: Vec<Vec<u32>> = (0..3).map(|step| nodes(3 * epoch + step)).collect();
        for batch in &batches {
            let whole = |cluster: u32| partition.members(cluster).iter().all(|node| batch.contains(node));
            assert!(batch.iter().all(|&node| whole(partition.of(node))), "clusters are not cut");
        }
        let mut all = batches.concat();
        all.sort_unstable();
        assert_eq!(all, (0..NODES as u32).collect::<Vec<_>>());
        orders.push(batches);
    }
    assert_ne!(orders[0], orders[1], "drawn anew in every epoch");
}

/// The views of a batch with counts are those of the whole graph at that step, where no edge is scaled.
#[test]
fn views_drop_the_same_edges_whatever_the_batch() {
    let (graph, x) = graph();
    let of = sampling(None, Views::Two);
    let whole = sampler(&of, Inputs::Nodes(&x), &graph, Seed(3)).unwrap();
    let saint = Saint { budget: Some(20), coverage: 5, ..Saint::default() };
    let parts = sampler(&of, Inputs::Saint { features: &x, saint }, &graph, Seed(3)).unwrap();
    for step in 0..3 {
        let (all, part) = (whole.batch(step).unwrap(), parts.batch(step).unwrap());
        let nodes = part.nodes.clone().unwrap();
        let (all, messages) = (all.messages.unwrap(), part.messages.unwrap());
        for view in 0..2 {
            for (row, &node) in nodes.iter().enumerate() {
                let in_whole = all.matrix().row(view * NODES + node as usize);
                let in_part = messages.matrix().row(view * nodes.len() + row);
                let of_whole = |column: u32| in_whole.0.contains(&(column + (view * NODES) as u32));
                let heard: Vec<u32> =
                    in_part.0.iter().map(|&c| nodes[c as usize - view * nodes.len()]).collect();
                let want: Vec<u32> = nodes.iter().copied().filter(|&other| of_whole(other)).collect();
                assert_eq!(heard, want, "step {step}, view {view}, node {node}");
                // A node hears itself as loudly as in the whole graph.
                let own = |(columns, values): (&[u32], &[f32]), at: usize| {
                    values[columns.binary_search(&(at as u32)).unwrap()]
                };
                let same =
                    own(in_whole, view * NODES + node as usize) - own(in_part, view * nodes.len() + row);
                assert!(same.abs() < 1e-6);
            }
        }
    }
}

#[test]
fn settings_that_make_no_sense_are_refused() {
    let (graph, x) = graph();
    let partition = Partition::new((0..NODES as u32).map(|node| node % 7).collect()).unwrap();
    let of = sampling(None, Views::One);
    let refused = |inputs| sampler(&of, inputs, &graph, Seed(0)).err().unwrap().to_string();
    let clusters = |batch_clusters| {
        refused(Inputs::ClusterGcn {
            features: &x,
            partition: &partition,
            batch_clusters: Some(batch_clusters),
        })
    };
    assert_eq!(clusters(0), "batch_clusters must be at least 1");
    assert_eq!(clusters(8), "batch_clusters is 8, but there are only 7 clusters");
    let usual = Saint::default();
    let far = Sampling { most_hops: 16, ..of.clone() };
    let inputs = |coverage| Inputs::Saint { features: &x, saint: Saint { coverage, ..usual } };
    let error = sampler(&far, inputs(5), &graph, Seed(0)).err().unwrap().to_string();
    assert!(error.contains("makes 16 in a layer; set coverage to 0"), "{error}");
    assert!(sampler(&far, inputs(0), &graph, Seed(0)).is_ok());
    for (saint, said) in [
        (Saint { walk_length: 0, ..usual }, "walk_length must be at least 1"),
        (Saint { walk_length: 1_001, ..usual }, "walk_length must be at most 1000"),
        (Saint { budget: Some(0), ..usual }, "budget must be at least 1"),
        (Saint { budget: Some(61), ..usual }, "a budget of 61 walks is more than the graph's 60 nodes"),
        (Saint { batches: Some(0), ..usual }, "batches must be at least 1"),
        (Saint { coverage: 1_001, ..usual }, "coverage must be at most 1000"),
    ] {
        let error = refused(Inputs::Saint { features: &x, saint });
        assert!(error.starts_with(said), "{error}");
    }
}
