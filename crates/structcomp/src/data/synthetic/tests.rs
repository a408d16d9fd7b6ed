//! Checks that generated graphs have the requested properties.

use super::*;
use crate::{Dataset, Features, Seed};

fn small() -> Synthetic {
    Synthetic { nodes: 3000, edges: 9000, isolated: 40, unlabelled: 0.1, ..Synthetic::default() }
}

fn on_threads(threads: usize, model: &Synthetic, seed: u64) -> Dataset {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(|| model.generate(Seed(seed)).unwrap())
}

#[test]
fn the_same_seed_gives_the_same_bytes_on_any_number_of_threads() {
    for features in [small().features, FeatureKind::Gaussian { width: 5 }] {
        let model = Synthetic { features, ..small() };
        let one = on_threads(1, &model, 7);
        for threads in [2, 3, 8] {
            let many = on_threads(threads, &model, 7);
            assert_eq!(one.graph, many.graph);
            assert_eq!((&one.features, &one.labels), (&many.features, &many.labels));
            assert_eq!(one.source, many.source);
        }
        let other = model.generate(Seed(8)).unwrap();
        assert_ne!(one.graph, other.graph);
        assert_ne!(one.features, other.features);
        assert_ne!(one.source.sha256, other.source.sha256);
    }
}

#[test]
fn counts_are_as_requested() {
    let sizes = [
        small(),
        Synthetic { edges: 40_000, homophily: 0.4, max_degree: 500, community: 40, ..small() },
        Synthetic { classes: 1, homophily: 1.0, ..small() },
        Synthetic { nodes: 300, edges: 600, classes: 2, homophily: 0.9, isolated: 0, ..small() },
        Synthetic { nodes: 1000, edges: 1000, isolated: 300, ..small() },
        Synthetic { edges: 12_000, degree_exponent: 2.1, max_degree: 1000, ..small() },
    ];
    for (at, model) in sizes.iter().enumerate() {
        let data = model.generate(Seed(at as u64)).unwrap();
        assert_eq!(data.graph.nodes(), model.nodes);
        assert_eq!(data.graph.isolated(), model.isolated, "model {at}");
        let edges = data.graph.edges() as f64;
        assert!((edges / model.edges as f64 - 1.0).abs() <= 0.01, "model {at}: {edges} edges");
        let labels = data.labels.as_ref().unwrap();
        assert_eq!(labels.classes(), model.classes);
        assert_eq!(labels.unlabelled(), model.nodes / 10);
        assert_eq!(data.features.as_ref().unwrap().rows(), model.nodes);
        assert!(data.source.synthetic && data.source.notes[0].contains("synthetic"));
    }
}

#[test]
fn homophily_is_as_requested() {
    for homophily in [0.3, 0.6, 0.81, 1.0] {
        let model = Synthetic { homophily, unlabelled: 0.0, ..small() };
        let found = model.generate(Seed(3)).unwrap().homophily().unwrap();
        assert!((found - homophily).abs() <= 0.02, "{found} for {homophily}");
    }
}

#[test]
fn degrees_have_a_heavy_tail() {
    let graph = Synthetic::default().generate(Seed(1)).unwrap().graph;
    let largest = (0..graph.nodes() as u32).map(|node| graph.degree(node)).max().unwrap();
    // Among 2,708 Poisson degrees of mean 3.9, one over 20 appears once in ten million graphs.
    assert!(largest > 40, "{largest}");
    let single = (0..graph.nodes() as u32).filter(|&node| graph.degree(node) == 1).count();
    assert!(single > 270, "{single}: Poisson gives 214");
}

#[test]
fn edges_stay_in_communities_and_node_numbers_do_not_reveal_them() {
    let graph = &Synthetic::default().generate(Seed(1)).unwrap().graph;
    let near = graph.edge_iter().filter(|(u, v)| v - u < 27).count() as f64;
    // Two random numbers below 2,708 differ by at most 27 in 2 % of cases.
    assert!(near / (graph.edges() as f64) < 0.03);
    let triangles = |u: u32| {
        let row = graph.neighbors(u);
        row.iter().flat_map(|&v| row.iter().filter(move |&&w| v < w && graph.has_edge(v, w))).count()
    };
    let triangles: usize = (0..graph.nodes() as u32).map(triangles).sum();
    assert!(triangles / 3 > 200, "{triangles}");
}

#[test]
fn invalid_fields_are_named() {
    let message = |model: Synthetic| model.generate(Seed(0)).unwrap_err().to_string();
    let cases = [
        (Synthetic { nodes: 1, ..small() }, "nodes"),
        (Synthetic { nodes: MAX_NODES + 1, ..small() }, "nodes"),
        (Synthetic { isolated: 2999, ..small() }, "isolated"),
        (Synthetic { edges: 1000, ..small() }, "edges"),
        (Synthetic { edges: 9_000_000, ..small() }, "edges"),
        (Synthetic { edges: 2_000_000, ..small() }, "2000000 edges"),
        (Synthetic { classes: 0, ..small() }, "classes"),
        (Synthetic { classes: 1400, ..small() }, "classes"),
        (Synthetic { homophily: 0.1, ..small() }, "homophily 0.1 is not possible"),
        (Synthetic { classes: 1, homophily: 0.9, ..small() }, "homophily 0.9 is not possible"),
        (Synthetic { homophily: f64::NAN, ..small() }, "homophily"),
        (Synthetic { feature_noise: 1.5, ..small() }, "feature_noise"),
        (Synthetic { community_share: 0.8, group_share: 0.8, ..small() }, "community_share + group_share"),
        (Synthetic { unlabelled: -0.1, ..small() }, "unlabelled"),
        (Synthetic { degree_exponent: 2.0, ..small() }, "degree_exponent"),
        (Synthetic { class_skew: f64::INFINITY, ..small() }, "class_skew"),
        (Synthetic { community: 1, ..small() }, "community"),
        (Synthetic { features: FeatureKind::Gaussian { width: 0 }, ..small() }, "width"),
        (
            Synthetic { features: FeatureKind::Words { vocabulary: 0, per_node: 1.0 }, ..small() },
            "vocabulary",
        ),
        (Synthetic { features: FeatureKind::Words { vocabulary: 9, per_node: 5.0 }, ..small() }, "per_node"),
    ];
    for (model, field) in cases {
        let said = message(model);
        assert!(said.contains(field), "'{said}' should name {field}");
    }
}

#[test]
fn tiny_graphs_are_generated_or_refused() {
    let mut made = 0;
    for nodes in 2..60 {
        for (isolated, per_node, classes, homophily) in
            [(0, 2, 1, 1.0), (nodes / 3, 1, 2, 0.8), (0, 3, 3, 0.6)]
        {
            let edges = (nodes - isolated) * per_node;
            let features = FeatureKind::Gaussian { width: 1 };
            let model =
                Synthetic { nodes, edges, isolated, classes, homophily, features, community: 4, ..small() };
            match model.generate(Seed(nodes as u64)) {
                Ok(data) => {
                    made += 1;
                    assert_eq!((data.graph.nodes(), data.graph.isolated()), (nodes, isolated));
                    assert!(data.graph.edges().abs_diff(edges) <= 6, "{} of {edges}", data.graph.edges());
                }
                Err(error) => assert!(matches!(error, Error::Input(_)), "{error}"),
            }
        }
    }
    assert!(made > 60, "only {made} of 174 were made");
}

#[test]
fn the_memory_limit_is_checked_before_allocation() {
    let papers = Synthetic::named("synthetic-papers100m").unwrap();
    let error = papers.generate_within(Seed(0), &crate::Budget { bytes: 1 << 30 }).unwrap_err();
    assert!(matches!(error, Error::Memory { need, .. } if need > 70 << 30), "{error}");
}

#[test]
fn the_named_models_are_valid_and_of_the_published_size() {
    for name in ["demo", "synthetic-arxiv", "synthetic-products", "synthetic-papers100m"] {
        let model = Synthetic::named(name).unwrap();
        model.validate().unwrap();
        assert_eq!(model.name, name);
    }
    assert_eq!(Synthetic::named("cora"), None);
    let demo = Synthetic::named("demo").unwrap().generate(Seed(0)).unwrap();
    let Some(Features::Sparse(words)) = &demo.features else { panic!("the demo has words") };
    assert_eq!((words.rows(), words.cols()), (2708, 1433));
    let per_node = words.entries() as f64 / 2708.0;
    assert!((17.0..19.0).contains(&per_node), "{per_node}");
}
