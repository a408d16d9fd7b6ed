//! P1, P2, P10 and P14: rows of clusters, their second view, and what an encoder makes of them.

use super::*;
use crate::compress::Coarsening;
use crate::encoder::Encoder;
use crate::graph::Hops;
use crate::model::{Coles, Sce};
use crate::nn::{Layer, Messages, Network, Pass, Towers};
use crate::sample::Inputs;
use crate::train::trained_by;
use crate::{Activation, Compressed, DropMember, Training};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn p01_rows_are_means_of_members_whatever_the_order_of_nodes(
        cluster in prop::collection::vec(0u32..8, 1..60),
        seed: u64,
    ) {
        let partition = Partition::renumbered(cluster.clone());
        let (nodes, clusters) = (partition.nodes(), partition.clusters());
        prop_assert_eq!(partition.sizes().sum::<usize>(), nodes);
        // PᵀP' = I, where P is what features of one a node become.
        let ones = Features::Sparse(identity(nodes));
        let p = Compressed::new(&ones, &partition).unwrap().features().to_dense();
        for (c, d) in (0..clusters).flat_map(|c| (0..clusters).map(move |d| (c, d))) {
            let sum: f32 = partition.members(d as u32).iter().map(|&node| p.row(c)[node as usize]).sum();
            prop_assert!((sum - f32::from(u8::from(c == d))).abs() < 1e-6);
        }
        // Whole numbers have the same sum in any order.
        let values: Vec<f32> = numbers(3 * nodes, seed).iter().map(|x| (x * 50.0).round()).collect();
        let x = dense(nodes, values.clone());
        let rows = Compressed::new(&x, &partition).unwrap().features().to_dense();
        for c in 0..clusters {
            let members = partition.members(c as u32);
            for j in 0..3 {
                let sum: f64 = members.iter().map(|&node| values[3 * node as usize + j] as f64).sum();
                prop_assert!((rows.row(c)[j] as f64 - sum / members.len() as f64).abs() < 1e-5);
            }
        }
        let order = shuffled(nodes, seed);
        let other = Partition::renumbered(reordered(&cluster, 1, &order));
        let moved = dense(nodes, reordered(&values, 3, &order));
        prop_assert_eq!(rows, Compressed::new(&moved, &other).unwrap().features().to_dense());
    }

    /// act(Π act(Π X W + b) W' + b') = P' act(act(X_c W + b) W' + b') for Π = P'Pᵀ.
    #[test]
    fn p02_twin_equivalence_of_a_gnn_and_the_mlp_on_clusters(
        cluster in prop::collection::vec(0u32..6, 2..30),
        kinds in prop::collection::vec(prop::sample::select(vec![
            Activation::None, Activation::Relu, Activation::Elu, Activation::Prelu, Activation::PreluShared,
        ]), 1..4),
        hops in 1usize..4,
        seed: u64,
    ) {
        let partition = Partition::renumbered(cluster);
        let nodes = partition.nodes();
        let x = dense(nodes, numbers(4 * nodes, seed));
        // A GCN, SGC and SSGC, all with the same parameters.
        let of_layer = |at: usize, first: Hops| if at == 0 { first } else { Hops::none() };
        let network = |hops: &dyn Fn(usize) -> Hops| {
            let layer = |(at, &activation): (usize, &Activation)| {
                Layer::plain(if at == 0 { 4 } else { 5 }, 5, activation, hops(at))
            };
            Towers::new(vec![Network::new(kinds.iter().enumerate().map(layer).collect())], false)
        };
        let gcn = network(&|_| Hops::power(1));
        let sgc = network(&|at| of_layer(at, Hops::power(hops)));
        let ssgc = network(&|at| of_layer(at, Hops::ssgc(hops, 0.0)));
        let parameters = gcn.initial(Seed(seed));
        let compressed = Compressed::new(&x, &partition).unwrap();
        let mlp = gcn.forward(&parameters, compressed.features(), Pass::default());
        let graph = cliques(&partition);
        let embedded = |network: &Towers| {
            Encoder::new(network.clone(), &parameters, &[], Hops::none()).embed(&graph, &x).unwrap().values().to_vec()
        };
        let trained = gcn.forward(
            &parameters,
            &x,
            Pass { messages: Some(&Messages::new(projector(&partition))), ..Pass::default() },
        );
        for gnn in [embedded(&gcn), embedded(&sgc), embedded(&ssgc), trained.0.clone()] {
            for (node, row) in gnn.chunks(5).enumerate() {
                let twin = &mlp.0[partition.of(node as u32) as usize * 5..][..5];
                for (got, want) in row.iter().zip(twin) {
                    prop_assert!((got - want).abs() < 1e-5 * (1.0 + want.abs()), "{} for {}", got, want);
                }
            }
        }
    }
}

/// P'Pᵀ.
fn projector(partition: &Partition) -> Csr {
    let row = |node: u32| {
        let members = partition.members(partition.of(node));
        members.iter().map(|&other| (other, 1.0 / members.len() as f32)).collect()
    };
    let rows: Vec<Vec<(u32, f32)>> = (0..partition.nodes() as u32).map(row).collect();
    Csr::from_sorted_rows(partition.nodes(), &rows)
}

/// The sets of members that a second view may keep, all equally likely: bits of a number.
fn family(how: DropMember, size: usize) -> Vec<u32> {
    let keeps = |kept: &u32| match how {
        DropMember::Half => kept.count_ones() as usize == (size / 2).max(1),
        DropMember::Bernoulli => *kept > 0,
    };
    (0..1 << size).filter(keeps).collect()
}

fn binomial(n: usize, k: usize) -> f64 {
    (0..k).map(|i| (n - i) as f64 / (i + 1) as f64).product()
}

/// E\[x'\] = x̄ and Var = κ Σ, with κ = 1/⌊s/2⌋ − 1/s for the half and E\[1/s' | s' ≥ 1\] − 1/s for the
/// members kept by chance.
#[test]
fn p10_drop_member_has_its_moments_over_all_sets_of_members() {
    for size in 2..=9usize {
        let x = exact(&numbers(size, size as u64));
        let mean = x.iter().sum::<f64>() / size as f64;
        let spread = x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (size - 1) as f64;
        let all: f64 = (1..=size).map(|k| binomial(size, k)).sum();
        let inverse: f64 = (1..=size).map(|k| binomial(size, k) / k as f64).sum::<f64>() / all;
        let by_chance = inverse - 1.0 / size as f64;
        let half = 1.0 / (size / 2) as f64 - 1.0 / size as f64;
        assert!(size != 9 || (by_chance - 0.14736).abs() < 5e-6);
        for (how, kappa) in [(DropMember::Half, half), (DropMember::Bernoulli, by_chance)] {
            let views: Vec<f64> = family(how, size)
                .into_iter()
                .map(|kept| {
                    let of = (0..size).filter(|i| kept >> i & 1 == 1).map(|i| x[i]).sum::<f64>();
                    of / kept.count_ones() as f64
                })
                .collect();
            let count = views.len() as f64;
            let average = views.iter().sum::<f64>() / count;
            let variance = views.iter().map(|view| (view - average).powi(2)).sum::<f64>() / count;
            assert!((average - mean).abs() < 1e-12, "{how:?} of {size}");
            assert!((variance - kappa * spread).abs() < 1e-12, "{how:?} of {size}");
        }
    }
}

#[test]
fn p10_drop_member_keeps_every_set_of_members_equally_often() {
    let clusters = 3000;
    for size in 1..=9usize {
        let nodes = size * clusters;
        // A feature a place in the cluster tells which members were averaged.
        let rows: Vec<Vec<(u32, f32)>> = (0..nodes).map(|node| vec![((node % size) as u32, 1.0)]).collect();
        let x = Features::Sparse(Csr::from_sorted_rows(size, &rows));
        let partition = Partition::new((0..nodes).map(|node| (node / size) as u32).collect()).unwrap();
        let compressed = Compressed::new(&x, &partition).unwrap();
        for how in [DropMember::Half, DropMember::Bernoulli] {
            let (family, epochs) = (family(how, size), 10);
            let mut counts = vec![0usize; 1 << size];
            for epoch in 0..epochs {
                let view = compressed.drop_member(how, Seed(3), epoch).unwrap().to_dense();
                for row in view.values().chunks(size) {
                    let kept = (0..size).filter(|&i| row[i] > 0.0).map(|i| 1 << i).sum::<usize>();
                    assert!(row.iter().all(|&share| share == 0.0 || share == 1.0 / kept.count_ones() as f32));
                    counts[kept] += 1;
                }
            }
            let drawn: usize = family.iter().map(|&kept| counts[kept as usize]).sum();
            assert_eq!(drawn, clusters * epochs, "{how:?} of {size} keeps no other sets");
            let fair = drawn as f64 / family.len() as f64;
            let chi: f64 =
                family.iter().map(|&kept| (counts[kept as usize] as f64 - fair).powi(2) / fair).sum();
            let free = family.len() as f64 - 1.0;
            assert!(chi <= free + 4.0 * (2.0 * free).sqrt(), "{how:?} of {size}: {chi} for {free}");
        }
    }
}

#[test]
fn p14_with_a_cluster_a_node_training_is_that_on_raw_features() {
    let edges: Vec<(u32, u32)> = (0..40).flat_map(|u| [(u, (u + 1) % 40), (u, (u * 7 + 3) % 40)]).collect();
    let graph = Graph::from_edges(45, &edges).unwrap();
    let x = dense(45, numbers(45 * 6, 1));
    let partition = Partition::new((0..45).collect()).unwrap();
    let compressed = Compressed::new(&x, &partition).unwrap();
    assert_eq!(compressed.features(), &x);
    assert_eq!(compressed.drop_member(DropMember::Half, Seed(0), 4).unwrap(), x);
    let coarse = Coarsening::default().adjacency(&graph, &partition).unwrap();
    for node in 0..45 {
        let (columns, values) = coarse.row(node as usize);
        assert!(columns == graph.neighbors(node) && values.iter().all(|&value| value == 1.0));
    }
    for model in [Model::Sce(Sce::default()), Model::Coles(Coles::default())] {
        let training = Training { model, hidden: 8, epochs: 5, hops: Some(0), ..Training::default() };
        let small = trained_by(&training, Inputs::Clusters(&compressed), &graph, Seed(2)).unwrap();
        let raw = trained_by(&training, Inputs::Nodes(&x), &graph, Seed(2)).unwrap();
        assert_eq!(small.losses().len(), 5);
        assert_eq!((small.losses(), small.encoder().unwrap()), (raw.losses(), raw.encoder().unwrap()));
    }
}
