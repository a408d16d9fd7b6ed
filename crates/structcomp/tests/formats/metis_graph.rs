//! METIS graph files: the example of the manual, and a random graph made by scipy.

use crate::fixture;
use structcomp::graph::Repairs;
use structcomp::{Dataset, data};

/// The graph of the manual, with nodes counted from 0, and its edge weights.
const MANUAL: [(u32, u32, f32); 11] = [
    (0, 1, 1.0),
    (0, 2, 2.0),
    (0, 4, 1.0),
    (1, 2, 2.0),
    (1, 3, 1.0),
    (2, 3, 2.0),
    (2, 4, 3.0),
    (3, 5, 2.0),
    (3, 6, 5.0),
    (4, 5, 2.0),
    (5, 6, 6.0),
];

fn open(name: &str) -> Option<Dataset> {
    let data = data::open(fixture(&format!("metis/{name}"))?, &data::Options::default()).unwrap();
    assert_eq!(data.source.format, "metis", "{name}");
    Some(data)
}

#[test]
fn the_graph_of_the_manual_is_read_in_every_variant() {
    let edges: Vec<(u32, u32)> = MANUAL.iter().map(|&(u, v, _)| (u, v)).collect();
    let skips = "node weights and sizes were ignored";
    let cases = [
        ("plain.graph", false, None),
        ("by_content.txt", false, None),
        ("node_weights.graph", false, Some(skips)),
        ("edge_weights.graph", true, None),
        ("all.graph", true, Some(skips)),
    ];
    for (name, weighted, note) in cases {
        let Some(data) = open(name) else { return };
        assert!(data.graph.edge_iter().eq(edges.iter().copied()), "{name}");
        assert_eq!(data.repairs, Repairs { listed: 22, ..Repairs::default() }, "{name}");
        assert_eq!(data.source.notes.first().map(String::as_str), note, "{name}");
        assert_eq!(data.graph.weights().is_some(), weighted, "{name}");
        for (u, v, weight) in MANUAL.iter().filter(|_| weighted) {
            let at = data.graph.neighbors(*v).binary_search(u).unwrap();
            assert_eq!(data.graph.edge_weights(*v).unwrap()[at], *weight, "{name}");
        }
    }
}

#[test]
fn a_file_of_many_pieces_has_every_edge() {
    let Some(data) = open("random.graph") else { return };
    let text = std::fs::read_to_string(fixture("metis/random.txt").unwrap()).unwrap();
    let edges = text.lines().map(|line| {
        let (u, v) = line.split_once(' ').unwrap();
        (u.parse().unwrap(), v.parse().unwrap())
    });
    assert_eq!(data.graph.nodes(), 20_000);
    assert!(data.graph.edge_iter().eq(edges));
    assert_eq!(data.repairs.isolated, 10);
}
