//! The contract of every partitioner, on unusual, random, synthetic and published graphs.

#![allow(clippy::unwrap_used, clippy::print_stderr)] // tests panic to fail and report what they skip

#[cfg(feature = "metis")]
mod published;

use proptest::prelude::*;
use structcomp::data::{FeatureKind, Synthetic};
use structcomp::partition::{METHODS, Refine};
use structcomp::{EdgeList, Graph, Partition, Partitioning, Quality, Result, Seed};

/// Methods that may return fewer clusters than requested.
const INEXACT: &[&str] = &["metis", "metis-recursive", "metis-strict"];
/// Methods that never exceed the size limit.
const LIMITED: &[&str] = &["multilevel", "label-propagation"];

/// METIS k-way ignores the seed for clusters of fewer than 30 nodes.
const SEEDLESS: &str = "metis";

fn config(method: &str, clusters: usize) -> Partitioning {
    Partitioning { method: method.to_owned(), clusters: Some(clusters), ..Partitioning::default() }
}

fn partition(method: &str, graph: &Graph, clusters: usize) -> Result<Partition> {
    config(method, clusters).partition(graph, Seed(0))
}

/// Checks that every node has a cluster, that the number and sizes of clusters are as requested, and that
/// the cut matches a count over all edges.
fn check(method: &str, what: &str, graph: &Graph, clusters: usize) {
    let partition = partition(method, graph, clusters).unwrap();
    let context = format!("{method} on {what} into {clusters}");
    assert_eq!(partition.nodes(), graph.nodes(), "{context}");
    assert!(partition.sizes().all(|size| size > 0), "{context}");
    assert_eq!(partition.sizes().sum::<usize>(), graph.nodes(), "{context}");
    match INEXACT.contains(&method) {
        true => assert!((1..=clusters).contains(&partition.clusters()), "{context}"),
        false => assert_eq!(partition.clusters(), clusters, "{context}"),
    }
    if LIMITED.contains(&method) {
        let limit = (graph.nodes() as f64 / clusters as f64 * 1.1).ceil() as usize;
        assert!(partition.sizes().all(|size| size <= limit), "{context}: larger than {limit}");
    }
    let mut cut = 0.0;
    for u in 0..graph.nodes() as u32 {
        for (i, &v) in graph.neighbors(u).iter().enumerate() {
            let between = u < v && partition.of(u) != partition.of(v);
            cut += if between { graph.edge_weights(u).map_or(1.0, |weights| weights[i] as f64) } else { 0.0 };
        }
    }
    assert_eq!(Quality::of(graph, &partition, None).unwrap().cut, cut, "{context}");
}

fn weighted(nodes: usize, edges: &[(u32, u32, f32)]) -> Graph {
    let entry = |&(u, v, weight): &(u32, u32, f32)| ((u as u64) << 32 | v as u64, weight);
    EdgeList::from_weighted(edges.iter().map(entry).collect()).build(nodes).unwrap().0
}

/// Unusual graphs, each with a name.
fn unusual_graphs() -> Vec<(&'static str, Graph)> {
    let plain = |nodes: usize, edges: &[(u32, u32)]| Graph::from_edges(nodes, edges).unwrap();
    let star: Vec<_> = (1..60).map(|leaf| (0, leaf)).collect();
    let clique: Vec<_> = (0..25).flat_map(|u| (0..u).map(move |v| (u, v))).collect();
    let path: Vec<_> = (0..79).map(|u| (u, u + 1)).collect();
    let triangles: Vec<_> =
        (0..20).flat_map(|t| [(3 * t, 3 * t + 1), (3 * t + 1, 3 * t + 2), (3 * t + 2, 3 * t)]).collect();
    let pieces: Vec<_> = (0..40).map(|u| (u, (u + 1) % 40)).chain((40..50).map(|u| (u, u + 10))).collect();
    let heavy: Vec<_> = (0..59u32).map(|u| (u, u + 1, 1.0 + (u % 7) as f32)).collect();
    vec![
        ("a star", plain(60, &star)),
        ("a clique", plain(25, &clique)),
        ("a path", plain(80, &path)),
        ("triangles", plain(60, &triangles)),
        ("a ring, pairs and isolated nodes", plain(70, &pieces)),
        ("isolated nodes", plain(33, &[])),
        ("one node", plain(1, &[])),
        ("two nodes", plain(2, &[(0, 1)])),
        ("a weighted path", weighted(60, &heavy)),
        ("weights below one", weighted(30, &[(0, 1, 1e-4), (1, 2, 1e-3), (3, 4, 0.5)])),
    ]
}

#[test]
fn unusual_graphs_are_split_as_requested() {
    for method in METHODS {
        for (what, graph) in unusual_graphs() {
            let nodes = graph.nodes();
            for clusters in [1, 2, nodes / 10, nodes / 3, nodes / 2, nodes - nodes / 10, nodes] {
                if (1..=nodes).contains(&clusters) {
                    check(method.name, what, &graph, clusters);
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn random_graphs_are_split_as_requested(
        nodes in 1usize..150,
        edges in prop::collection::vec((0u32..150, 0u32..150, 1u8..4), 0..500),
        share in 0.0f64..1.0,
        weights: bool,
    ) {
        let edges: Vec<_> = edges
            .into_iter()
            .filter(|&(u, v, _)| (u.max(v) as usize) < nodes)
            .map(|(u, v, weight)| (u, v, weight as f32))
            .collect();
        let pairs: Vec<_> = edges.iter().map(|&(u, v, _)| (u, v)).collect();
        let graph = if weights { weighted(nodes, &edges) } else { Graph::from_edges(nodes, &pairs).unwrap() };
        let clusters = 1 + (share * (nodes - 1) as f64) as usize;
        for method in METHODS {
            check(method.name, "a random graph", &graph, clusters);
        }
    }
}

// Inputs on which METIS itself crashes, reports a negative cut or returns fewer clusters.

fn with_every_method(graph: &Graph, clusters: usize) -> Vec<Result<Partition>> {
    METHODS.iter().map(|method| partition(method.name, graph, clusters)).collect()
}

#[test]
fn metis_crash_directed_input() {
    let graph = Graph::from_edges(40, &(0..39).map(|u| (u, u + 1)).collect::<Vec<_>>()).unwrap();
    assert!((0..39).all(|u| graph.has_edge(u + 1, u)), "both directions are stored");
    with_every_method(&graph, 4).into_iter().for_each(|partition| assert_eq!(partition.unwrap().nodes(), 40));
}

#[test]
fn metis_crash_self_loops() {
    let edges: Vec<_> = (0..40).flat_map(|u| [(u, u), (u, (u + 1) % 40), (u, u)]).collect();
    let graph = Graph::from_edges(40, &edges).unwrap();
    assert_eq!(graph.edges(), 40);
    with_every_method(&graph, 4).into_iter().for_each(|partition| assert_eq!(partition.unwrap().nodes(), 40));
}

#[test]
fn metis_crash_id_out_of_range() {
    let error = Graph::from_edges(40, &[(0, 1), (3, 40)]).unwrap_err().to_string();
    assert!(error.contains("40"), "{error}");
}

#[test]
fn metis_crash_more_clusters_than_nodes() {
    let graph = Graph::from_edges(10, &[(0, 1)]).unwrap();
    for partition in with_every_method(&graph, 11) {
        assert!(partition.unwrap_err().to_string().contains("at most 10"));
    }
}

#[test]
fn metis_crash_one_cluster() {
    let graph = Graph::from_edges(10, &[(0, 1), (2, 3)]).unwrap();
    with_every_method(&graph, 1)
        .into_iter()
        .for_each(|partition| assert_eq!(partition.unwrap().clusters(), 1));
}

#[test]
fn metis_crash_as_many_clusters_as_nodes() {
    let graph = Graph::from_edges(10, &[(0, 1), (2, 3)]).unwrap();
    with_every_method(&graph, 10)
        .into_iter()
        .for_each(|partition| assert_eq!(partition.unwrap().clusters(), 10));
}

#[test]
fn metis_crash_an_empty_graph() {
    let graph = Graph::from_edges(0, &[]).unwrap();
    for partition in with_every_method(&graph, 1) {
        assert!(partition.unwrap_err().to_string().contains("no nodes"));
    }
}

#[test]
fn metis_crash_a_graph_without_edges() {
    let graph = Graph::from_edges(100, &[]).unwrap();
    for partition in with_every_method(&graph, 10) {
        let partition = partition.unwrap();
        assert!((1..=10).contains(&partition.clusters()) && partition.nodes() == 100);
    }
}

/// Graphs large enough that parallel loops have several tasks: a sparse one, which multilevel improves by
/// V-cycles, with rings and isolated nodes as further components; and a dense one.
fn large_graphs() -> [(&'static str, Graph); 2] {
    let synthetic = |nodes, edges| {
        let features = FeatureKind::Gaussian { width: 1 };
        let model = Synthetic { features, nodes, edges, ..Synthetic::default() };
        model.generate(Seed(0)).unwrap().graph
    };
    let ring = |first: u32| (0..30).map(move |i| (first + i, first + (i + 1) % 30));
    let rings = (0..20).flat_map(|at| ring(9000 + 30 * at));
    let sparse: Vec<_> = synthetic(9000, 22_500).edge_iter().chain(rings).collect();
    let sparse = Graph::from_edges(9650, &sparse).unwrap();
    [("a sparse graph", sparse), ("a dense graph", synthetic(4000, 60_000))]
}

#[test]
fn threads_change_nothing_and_seeds_do() {
    let pool = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let (one, three) = (pool(1), pool(3));
    let of = |name: &str| Partitioning { method: name.to_owned(), ..Partitioning::default() };
    let objective = Partitioning { refine: Refine::Objective, ..of("multilevel") };
    let configs: Vec<_> = METHODS.iter().map(|method| of(method.name)).chain([objective]).collect();
    for (what, graph) in large_graphs() {
        for config in &configs {
            // METIS has one thread and is slow.
            if INEXACT.contains(&config.method.as_str()) && graph.nodes() > 4000 {
                continue;
            }
            let context = format!("{} for {:?} on {what}", config.method, config.refine);
            let run = |seed| config.partition(&graph, Seed(seed)).unwrap();
            let first = one.install(|| run(0));
            assert!(three.install(|| run(0)) == first, "{context}: depends on the number of threads");
            if config.method != SEEDLESS {
                assert!(run(1) != first, "{context}: does not depend on the seed");
            }
        }
    }
}

#[cfg(feature = "metis")]
#[test]
fn multilevel_is_as_good_as_metis_at_the_size_of_its_largest_cluster() {
    use structcomp::data::{Options, open};
    // With the paper's number of clusters.
    const PUBLISHED: [(&str, usize); 5] = [
        ("cora", 300),
        ("citeseer", 300),
        ("pubmed", 2000),
        ("amazon-photo", 700),
        ("amazon-computers", 1300),
    ];
    let Some(folder) = published::folder() else { return };
    let (mut no_worse_cut, mut no_worse_gap) = (0, 0);
    for (name, clusters) in PUBLISHED {
        let graph = open(folder.join(name), &Options::default()).unwrap().graph;
        let quality = |partition: &Partition| Quality::of(&graph, partition, None).unwrap();
        let metis = quality(&partition("metis", &graph, clusters).unwrap());
        let limited = Partitioning { max_size: Some(metis.largest), ..config("multilevel", clusters) };
        let ours = quality(&limited.partition(&graph, Seed(0)).unwrap());
        assert!(ours.largest <= metis.largest, "{name}");
        assert!(ours.cut <= 1.02 * metis.cut, "{name}: {} against {}", ours.cut, metis.cut);
        no_worse_cut += usize::from(ours.cut <= metis.cut);
        no_worse_gap += usize::from(ours.gap <= metis.gap);
        let aimed = Partitioning { refine: Refine::Objective, ..limited };
        let aimed = quality(&aimed.partition(&graph, Seed(0)).unwrap());
        assert!(
            aimed.gap < ours.gap && aimed.largest <= metis.largest,
            "{name}: {} for the objective",
            aimed.gap
        );
    }
    assert!(no_worse_cut >= 4 && no_worse_gap >= 4, "{no_worse_cut} cuts, {no_worse_gap} objectives");
}
