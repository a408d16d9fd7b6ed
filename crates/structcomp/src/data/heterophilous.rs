//! The `.npz` files of heterophilous-graphs (roman-empire, amazon-ratings and others), which PyTorch Geometric's
//! `HeterophilousGraphDataset` downloads: features, labels, edges, and ten masks for each part of a split.

use super::{
    EdgeSource, Format, Options, Parts,
    bytes::FileHead,
    edges::{Nodes, RawEdges},
    npz::Archive,
};
use crate::{Budget, Dense, Error, Features, Labels, Result, Split, SplitSet};
use std::path::Path;

pub(crate) const FORMAT: Format = Format {
    name: "heterophilous-graphs",
    about: ".npz with node_features, node_labels, edges and masks, as in heterophilous-graphs",
    recognizes: |head: &FileHead| {
        Archive::of_head(head)
            .is_some_and(|archive| ["node_features", "edges"].iter().all(|name| archive.has(name)))
    },
    read,
};

fn read(path: &Path, options: &Options) -> Result<Parts> {
    let budget = &options.budget;
    let archive = Archive::open(path, budget)?;
    let array = archive.array("node_features")?;
    let (nodes, cols) = array.rows_cols()?;
    let wrong = |name: &str, what: String| Error::format(archive.path_of(name), what);
    let features = Dense::new(nodes, cols, array.to_f32(budget)?);
    let features = features.map_err(|error| wrong("node_features", error.to_string()))?;
    let mut parts = Parts {
        nodes: Nodes::Count(nodes),
        edges: EdgeSource::Raw(edges(&archive, nodes, budget)?),
        features: Some(Features::Dense(features)),
        files: vec![path.to_owned()],
        ..Parts::default()
    };
    if archive.has("node_labels") {
        let array = archive.array("node_labels")?;
        if array.rows_cols()? != (nodes, 1) {
            let what = format!("has shape {:?}; expected one label for each of {nodes} nodes", array.shape);
            return Err(wrong("node_labels", what));
        }
        let labels = Labels::from_signed(array.to_i64(budget)?);
        parts.labels = Some(labels.map_err(|error| wrong("node_labels", error.to_string()))?);
    }
    parts.splits = splits(&archive, nodes, budget)?.into_iter().collect();
    Ok(parts)
}

fn edges(archive: &Archive, nodes: usize, budget: &Budget) -> Result<RawEdges> {
    let array = archive.array("edges")?;
    let wrong = |what: String| Error::format(archive.path_of("edges"), what);
    let [edges, 2] = array.shape[..] else {
        return Err(wrong(format!("has shape {:?}; expected m x 2", array.shape)));
    };
    budget.check_items("the edges", edges, 8)?;
    let numbers = array.to_i64(budget)?;
    if let Some(id) = numbers.iter().find(|&&id| !(0..nodes as i64).contains(&id)) {
        return Err(wrong(format!("contains node {id}, but there are {nodes} nodes")));
    }
    Ok(RawEdges::Small(numbers.chunks_exact(2).map(|ends| (ends[0] as u64) << 32 | ends[1] as u64).collect()))
}

/// The splits, if there are masks for all three parts.
fn splits(archive: &Archive, nodes: usize, budget: &Budget) -> Result<Option<SplitSet>> {
    const MASKS: [&str; 3] = ["train_masks", "val_masks", "test_masks"];
    if !MASKS.iter().all(|name| archive.has(name)) || nodes == 0 {
        return Ok(None);
    }
    let masks = MASKS.map(|name| -> Result<Vec<bool>> {
        let array = archive.array(name)?;
        match array.shape[..] {
            [_, width] if width == nodes as u64 => array.to_bool(budget),
            _ => {
                let what = format!("has shape {:?}; expected k x {nodes}", array.shape);
                Err(Error::format(archive.path_of(name), what))
            }
        }
    });
    let [train, validation, test] = masks;
    let (train, validation, test) = (train?, validation?, test?);
    let parts = train.chunks(nodes).zip(validation.chunks(nodes)).zip(test.chunks(nodes));
    let split = |((train, validation), test): ((&[bool], &[bool]), &[bool])| {
        let wrong = |error: Error| Error::format(archive.path_of("train_masks"), error.to_string());
        Split::from_masks(train, validation, test).map_err(wrong)
    };
    let splits: Result<Vec<Split>> = parts.map(split).collect();
    Ok(Some(SplitSet::named("heterophilous-graphs", splits?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{self, npy::tests::file as npy, npz::tests::archive};
    use zip::CompressionMethod;

    fn open(edges: &[i64], edge_shape: &str, mask_shape: &str) -> Result<data::Dataset> {
        let longs =
            |numbers: &[i64]| numbers.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<u8>>();
        let floats: Vec<u8> = [0.5f32, 1.0, -2.0].iter().flat_map(|value| value.to_le_bytes()).collect();
        let mask = |bits: &[u8]| npy("|b1", "False", mask_shape, bits);
        let members = [
            ("node_features.npy", npy("<f4", "False", "(3, 1)", &floats)),
            ("node_labels.npy", npy("<i8", "False", "(3,)", &longs(&[1, 0, 1]))),
            ("edges.npy", npy("<i8", "False", edge_shape, &longs(edges))),
            ("train_masks.npy", mask(&[1, 0, 0, 0, 1, 0])),
            ("val_masks.npy", mask(&[0, 1, 0, 0, 0, 1])),
            ("test_masks.npy", mask(&[0, 0, 1, 1, 0, 0])),
        ];
        let members: Vec<(&str, &[u8])> = members.iter().map(|(name, bytes)| (*name, &bytes[..])).collect();
        let file = tempfile::NamedTempFile::with_suffix(".npz").unwrap();
        std::fs::write(file.path(), archive(CompressionMethod::Deflated, &members)).unwrap();
        data::open(file.path(), &Options::default())
    }

    #[test]
    fn features_labels_edges_and_splits_are_read() {
        let data = open(&[0, 1, 2, 1], "(2, 2)", "(2, 3)").unwrap();
        assert_eq!(data.source.format, "heterophilous-graphs");
        assert_eq!(data.graph.edge_iter().collect::<Vec<_>>(), [(0, 1), (1, 2)]);
        assert_eq!(data.features.unwrap().to_dense().values(), [0.5, 1.0, -2.0]);
        assert_eq!(data.labels.unwrap().iter().collect::<Vec<_>>(), [Some(1), Some(0), Some(1)]);
        let [set] = &data.splits[..] else { panic!("one set of splits") };
        assert_eq!((set.splits.len(), &set.splits[1].test[..]), (2, &[0][..]));
    }

    #[test]
    fn arrays_that_do_not_fit_are_refused() {
        for (edges, edge_shape, mask_shape, said) in [
            (&[0, 1, 2, 3][..], "(2, 2)", "(2, 3)", "edges: contains node 3, but there are 3 nodes"),
            (&[0, 1, -1, 2], "(2, 2)", "(2, 3)", "edges: contains node -1, but there are 3 nodes"),
            (&[0, 1, 2, 1], "(4,)", "(2, 3)", "edges: has shape [4]; expected m x 2"),
            (&[0, 1, 2, 1], "(2, 2)", "(3, 2)", "train_masks: has shape [3, 2]; expected k x 3"),
        ] {
            let error = open(edges, edge_shape, mask_shape).unwrap_err().to_string();
            assert!(error.ends_with(said), "{error}");
        }
    }
}
