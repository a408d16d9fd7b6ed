//! A saved dataset reads back equal, and a damaged folder is an error.

use super::*;
use crate::graph::Repairs;
use crate::{
    Csr, Dense, EdgeList, Graph, NodeIds, Split, SplitSet,
    data::{Options, Source, open},
};
use proptest::prelude::*;

const NODES: usize = 6;

fn dataset() -> Dataset {
    let features =
        Csr::new(4, vec![0, 1, 1, 3, 3, 3, 4], vec![0, 1, 3, 2], vec![1.0, 0.5, -2.0, 1.0]).unwrap();
    let split = Split::new(NODES, vec![0, 4], vec![5], vec![1]).unwrap();
    Dataset {
        name: "tiny".into(),
        graph: Graph::from_edges(NODES, &[(0, 1), (1, 2), (4, 5)]).unwrap(),
        features: Some(Features::Sparse(features)),
        labels: Some(Labels::from_names(&["x", "", "y", "x", "y", "x"]).unwrap()),
        splits: vec![SplitSet::named("public", vec![split])],
        ids: NodeIds::from_numbers(vec![10, 20, 30, 40, 50, 61]).unwrap(),
        repairs: Repairs::default(),
        source: Source { notes: vec!["one node is unlabelled".into()], ..Source::default() },
    }
}

fn saved(data: &Dataset) -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data");
    data.save(&path).unwrap();
    (folder, path)
}

fn assert_comes_back(data: &Dataset) {
    let (_folder, path) = saved(data);
    let read = open(&path, &Options::default()).unwrap();
    assert_eq!((&read.name, &read.graph), (&data.name, &data.graph));
    assert_eq!((&read.features, &read.labels), (&data.features, &data.labels));
    assert_eq!((&read.splits, &read.ids), (&data.splits, &data.ids));
    assert_eq!((read.source.synthetic, &read.source.notes), (data.source.synthetic, &data.source.notes));
    assert_eq!(read.source.format, "structcomp");
}

#[test]
fn a_dataset_reads_back_equal() {
    assert_comes_back(&dataset());
    let bare = Dataset { features: None, labels: None, splits: vec![], ids: NodeIds::Implicit, ..dataset() };
    assert_comes_back(&bare);
    let (_folder, path) = saved(&bare);
    assert_eq!(std::fs::read_dir(&path).unwrap().count(), 2, "only the manifest and the graph");
}

#[test]
fn a_truncated_or_missing_file_is_an_error() {
    let (_folder, path) = saved(&dataset());
    for name in FILES.iter().filter(|name| path.join(name).exists()) {
        let whole = std::fs::read(path.join(name)).unwrap();
        // The last byte of a text file is only a line feed.
        for length in [0, 1, whole.len() / 2, whole.len() - 2] {
            std::fs::write(path.join(name), &whole[..length]).unwrap();
            assert!(open(&path, &Options::default()).is_err(), "{name} cut to {length}");
        }
        std::fs::remove_file(path.join(name)).unwrap();
        let options = Options { format: Some("structcomp".into()), ..Options::default() };
        assert!(open(&path, &options).is_err(), "{name} missing");
        std::fs::write(path.join(name), &whole).unwrap();
    }
    open(&path, &Options::default()).unwrap();
}

#[test]
fn a_manifest_that_disagrees_with_the_files_is_refused() {
    let (_folder, path) = saved(&dataset());
    let manifest = std::fs::read_to_string(path.join(MANIFEST)).unwrap();
    for (good, bad) in [
        ("\"version\": 1", "\"version\": 2"),
        ("\"format\": \"structcomp\"", "\"format\": \"other\""),
        ("\"nodes\": 6", "\"nodes\": 7"),
        ("\"edges\": 3", "\"edges\": 2"),
        ("\"width\": 4", "\"width\": 3"),
        ("\"kind\": \"sparse\"", "\"kind\": \"dense\""),
        ("\"numbers\"", "\"letters\""),
    ] {
        assert!(manifest.contains(good), "{good}");
        std::fs::write(path.join(MANIFEST), manifest.replace(good, bad)).unwrap();
        assert!(open(&path, &Options::default()).is_err(), "{bad}");
    }
}

#[test]
fn splits_are_validated() {
    let (_folder, path) = saved(&dataset());
    let splits = std::fs::read_to_string(path.join(SPLITS)).unwrap();
    for wrong in ["[0,0]", "[0,6]", "[0,5]"] {
        std::fs::write(path.join(SPLITS), splits.replace("[0,4]", wrong)).unwrap();
        assert!(matches!(open(&path, &Options::default()), Err(Error::Format { .. })), "{wrong}");
    }
}

fn any_dataset() -> impl Strategy<Value = Dataset> {
    let edges = prop::collection::vec((0u32..6, 0u32..6, 1u8..4), 0..12);
    let values = prop::collection::vec(-3i8..3, 6 * 3);
    let labels = prop::collection::vec(-1i64..4, 6);
    let ids = prop::collection::hash_set(".{0,4}", 6);
    (edges, values, labels, ids, any::<[bool; 5]>()).prop_map(|(edges, values, labels, ids, with)| {
        let weight = |w: u8| if with[0] { w as f32 } else { 1.0 };
        let pack = |u: u32, v: u32| (u as u64) << 32 | v as u64;
        let edges = edges.into_iter().map(|(u, v, w)| (pack(u, v), weight(w))).collect();
        let dense = Dense::new(6, 3, values.into_iter().map(f32::from).collect::<Vec<_>>()).unwrap();
        let sparse =
            Csr::new(9, vec![0, 0, 1, 2, 3, 3, 3], vec![8, 0, 7], dense.values()[..3].to_vec()).unwrap();
        let features = if with[1] { Features::Dense(dense) } else { Features::Sparse(sparse) };
        Dataset {
            graph: EdgeList::from_weighted(edges).build(6).unwrap().0,
            features: with[2].then_some(features),
            labels: with[3].then(|| Labels::from_signed(labels).unwrap()),
            ids: match with[4] {
                true => NodeIds::from_names(ids.into_iter().map(Box::from).collect()).unwrap(),
                false => NodeIds::Implicit,
            },
            ..dataset()
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn any_dataset_reads_back_equal(data in any_dataset()) {
        assert_comes_back(&data);
    }
}
