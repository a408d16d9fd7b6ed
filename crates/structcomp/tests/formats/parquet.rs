//! Parquet tables written by pandas and pyarrow, intact and damaged.

use crate::fixture;
use std::path::Path;
use structcomp::data::{Options, open, open_files};
use structcomp::{Budget, Dataset, Error, Features, NodeIds};

fn edges_of(name: &str) -> Option<Result<Dataset, Error>> {
    Some(open(fixture("parquet")?.join(name), &Options::default()))
}

fn pairs(data: &Dataset) -> Vec<(String, String)> {
    let name = |node| data.ids.name(node).into_owned();
    data.graph.edge_iter().map(|(u, v)| (name(u), name(v))).collect()
}

fn error_of(name: &str) -> Option<String> {
    Some(edges_of(name)?.err()?.to_string())
}

#[test]
fn every_compression_and_page_version_gives_the_same_graph() {
    for kind in ["none", "snappy", "gzip", "zstd", "lz4", "page1.0", "page2.0"] {
        let Some(data) = edges_of(&format!("edges-{kind}.parquet")) else { return };
        let data = data.unwrap_or_else(|error| panic!("{kind}: {error}"));
        let edges: Vec<_> = data.graph.edge_iter().collect();
        assert_eq!(edges, [(0, 1), (0, 2), (1, 2), (3, 4)], "{kind}");
        assert_eq!((data.ids, data.source.format), (NodeIds::Implicit, "parquet"));
    }
    assert!(error_of("edges-brotli.parquet").unwrap().contains("brotli"));
}

#[test]
fn ids_may_be_large_or_text_and_edges_may_have_weights() {
    let Some(large) = edges_of("edges-large.parquet") else { return };
    assert_eq!(large.unwrap().ids, NodeIds::Numbers(vec![7, 1 << 40, (1 << 63) + 1]));
    let named = edges_of("edges-names.parquet").unwrap().unwrap();
    let expected = [("ann", "bob"), ("ann", "cy"), ("bob", "cy"), ("dee", "Ægir")];
    assert_eq!(pairs(&named), expected.map(|(u, v)| (u.to_owned(), v.to_owned())));
    assert_eq!(named.graph.edge_weights(0), Some(&[0.5, 2.0][..]));
    let unnamed = edges_of("edges-unnamed.parquet").unwrap().unwrap();
    assert_eq!(unnamed.ids, NodeIds::Numbers(vec![5, 6, 7]));
    let many = edges_of("edges-many.parquet").unwrap().unwrap();
    assert!(many.graph.has_edge(29_999, (29_999 * 7 + 1) % 30_000) && many.graph.nodes() == 30_000);
    assert_eq!(edges_of("edges-empty.parquet").unwrap().unwrap().graph.nodes(), 0);
}

#[test]
fn errors_name_the_column_and_the_row() {
    if fixture("parquet").is_none() {
        return;
    }
    let expected = [
        ("null", "column 'source', row 1: is null"),
        ("negative", "column 'source', row 1: the id -4 is negative"),
        ("float", "column 'source' of type Float64 cannot contain node ids"),
        ("nan", "column 'weight', row 1: NaN is not a finite"),
    ];
    for (name, what) in expected {
        let said = error_of(&format!("edges-{name}.parquet")).unwrap();
        assert!(said.contains(what), "{said}");
    }
    for (name, what) in [
        ("ragged", "column 'x', row 1: has a list of 1 numbers, but the first list has 2"),
        ("holes", "column 'x', row 0: has a null in a list"),
        ("infinite", "column 'b', row 1: inf is not a finite"),
    ] {
        let said =
            with_nodes("edges-none.parquet", &format!("nodes-{name}.parquet")).err().unwrap().to_string();
        assert!(said.contains(what), "{said}");
    }
}

fn with_nodes(edges: &str, nodes: &str) -> Result<Dataset, Error> {
    let folder = fixture("parquet").unwrap();
    open_files(folder.join(edges), Some(&folder.join(nodes)), None, &Options::default())
}

#[test]
fn node_tables_may_have_lists_of_any_kind() {
    if fixture("parquet").is_none() {
        return;
    }
    for kind in ["fixed", "list", "large", "half"] {
        let data = with_nodes("edges-names.parquet", &format!("nodes-{kind}.parquet")).unwrap();
        assert_eq!(data.ids, NodeIds::from_names(["ann", "bob", "cy"].map(Into::into).to_vec()).unwrap());
        assert_eq!(data.features.unwrap().to_dense().values(), [0.5, 1.0, -2.0, 0.25, 3.0, 0.0], "{kind}");
        assert_eq!(data.labels.unwrap().iter().collect::<Vec<_>>(), [Some(2), None, Some(0)]);
        assert_eq!((data.graph.edges(), data.repairs.unknown_ids), (3, 1));
    }
}

#[test]
fn node_tables_may_have_numeric_columns() {
    let Some(folder) = fixture("parquet") else { return };
    let data = with_nodes("edges-unnamed.parquet", "nodes-frame.parquet").unwrap();
    assert_eq!(data.ids, NodeIds::Numbers(vec![7, 6, 5]));
    let expected = [0.5, 1.0, 1.0, -2.0, 0.25, 0.0, 3.0, 0.0, 1.0];
    assert_eq!(data.features.unwrap().to_dense().values(), expected);
    let labels = data.labels.unwrap();
    assert_eq!(
        labels.iter().map(|class| Some(&labels.names()?[class? as usize][..])).collect::<Vec<_>>(),
        [Some("b"), None, Some("a")]
    );
    assert_eq!(data.source.notes, ["the column 'title' is not numeric and was ignored"]);

    let wide = with_nodes("edges-none.parquet", "nodes-wide.parquet").unwrap().features.unwrap();
    let same = with_nodes("edges-none.parquet", "nodes-wide.npy").unwrap().features.unwrap();
    assert!(matches!(&wide, Features::Sparse(x) if x.entries() == 50));
    assert_eq!(wide.to_dense(), same.to_dense());
    let labels = folder.join("labels-float.parquet");
    let short = open_files(folder.join("edges-none.parquet"), None, Some(&labels), &Options::default());
    assert!(short.unwrap_err().to_string().contains("labels have 3 rows"));
}

#[test]
fn the_memory_limit_is_checked_before_reading() {
    let Some(folder) = fixture("parquet") else { return };
    let small = |bytes| Options { budget: Budget { bytes }, ..Options::default() };
    let edges = folder.join("edges-many.parquet");
    let refused = open(&edges, &small(100_000));
    assert!(matches!(refused, Err(Error::Memory { need: 240_000, .. })), "30,000 edges of 8 bytes");
    let nodes = folder.join("nodes-wide.parquet");
    let refused = open_files(folder.join("edges-none.parquet"), Some(&nodes), None, &small(30_000));
    assert!(matches!(refused, Err(Error::Memory { need: 40_000, .. })), "50 x 200 features of 4 bytes");
}

/// Reads damaged bytes as edges and as nodes. It must return, whatever the result.
fn read_damaged(path: &Path, bytes: &[u8]) -> Result<Dataset, Error> {
    std::fs::write(path, bytes).unwrap();
    let options = Options { budget: Budget { bytes: 64 << 20 }, ..Options::default() };
    let nodes = open_files(path, Some(path), None, &options);
    open(path, &options).and(nodes)
}

#[test]
fn every_truncation_is_an_error() {
    let Some(folder) = fixture("parquet") else { return };
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("cut.parquet");
    for name in ["bare-text.parquet", "bare-nodes.parquet"] {
        let whole = std::fs::read(folder.join(name)).unwrap();
        for end in 0..whole.len() {
            assert!(read_damaged(&path, &whole[..end]).is_err(), "{name} cut to {end}");
        }
    }
}

#[test]
fn damaged_bytes_never_panic() {
    let Some(folder) = fixture("parquet") else { return };
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("damaged.parquet");
    for name in ["bare-number.parquet", "bare-text.parquet", "bare-nodes.parquet"] {
        let whole = std::fs::read(folder.join(name)).unwrap();
        for at in 0..whole.len() {
            for value in [0xff, whole[at] ^ 1] {
                let mut bytes = whole.clone();
                bytes[at] = value;
                // Some bytes are names or padding, so both outcomes are valid.
                drop(read_damaged(&path, &bytes));
            }
        }
    }
}
