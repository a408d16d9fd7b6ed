//! GraphSAINT folders (Flickr, Reddit): adjacency, features, class map and roles.

use super::{EdgeSource, Format, Options, Parts, bytes::Bytes, bytes::FileHead, edges::Nodes};
use super::{npy, npz::Archive, scipy_npz};
use crate::{Budget, Error, Features, Labels, Result, Split, SplitSet};
use serde::{
    Deserialize,
    de::{self, Deserializer, MapAccess, SeqAccess, Visitor},
};
use std::{fmt, path::Path};

pub(crate) const FORMAT: Format = Format {
    name: "graphsaint",
    about: "folder with adj_full.npz, feats.npy, class_map.json and role.json",
    recognizes: |head: &FileHead| {
        head.has("adj_full.npz") && (head.has("role.json") || head.has("class_map.json"))
    },
    read,
};

fn read(folder: &Path, options: &Options) -> Result<Parts> {
    let budget = &options.budget;
    let path = folder.join("adj_full.npz");
    let archive = Archive::open(&path, budget)?;
    let adjacency = scipy_npz::open(&archive, budget)?;
    let nodes = adjacency.rows;
    // GraphSAINT treats the matrix as boolean: every stored entry is an edge.
    let edges = EdgeSource::Raw(adjacency.edges(false)?);
    let mut parts = Parts { nodes: Nodes::Count(nodes), edges, files: vec![path], ..Parts::default() };
    let present = |name: &str| Some(folder.join(name)).filter(|path| path.exists());
    if let Some(path) = present("feats.npy") {
        parts.features = Some(Features::Dense(npy::open_matrix(&path, budget)?));
        parts.files.push(path);
    }
    if let Some(path) = present("class_map.json") {
        parts.labels = Some(read_classes(&path, nodes, budget)?);
        parts.files.push(path);
    }
    if let Some(path) = present("role.json") {
        parts.splits.push(read_roles(&path, nodes, budget)?);
        parts.files.push(path);
    }
    if let Some(path) = present("adj_train.npz") {
        let listed = scipy_npz::open(&Archive::open(&path, budget)?, budget)?.entries()?;
        parts
            .notes
            .push(format!("adj_train.npz ({listed} directed edges) was ignored; adj_full.npz is used"));
    }
    Ok(parts)
}

fn read_json<T: de::DeserializeOwned>(path: &Path, budget: &Budget) -> Result<T> {
    let text = Bytes::open(path, budget)?;
    serde_json::from_slice(&text).map_err(|error| Error::format(path, error.to_string()))
}

fn read_classes(path: &Path, nodes: usize, budget: &Budget) -> Result<Labels> {
    let ClassMap(classes) = read_json(path, budget)?;
    budget.check_items("labels", nodes as u64, 8)?;
    let mut class_of = vec![None; nodes];
    for (node, ClassNumber(class)) in classes {
        let place = usize::try_from(node).ok().and_then(|node| class_of.get_mut(node));
        match place.map(|place| place.replace(class)) {
            Some(None) => {}
            Some(Some(_)) => return Err(Error::format(path, format!("contains node {node} twice"))),
            None => {
                return Err(Error::format(
                    path,
                    format!("contains node {node}, but there are only {nodes} nodes"),
                ));
            }
        }
    }
    Labels::new(class_of).map_err(|error| Error::format(path, error.to_string()))
}

#[derive(Deserialize)]
struct Roles {
    tr: Vec<u32>,
    va: Vec<u32>,
    te: Vec<u32>,
}

fn read_roles(path: &Path, nodes: usize, budget: &Budget) -> Result<SplitSet> {
    let Roles { tr, va, te } = read_json(path, budget)?;
    let split = Split::new(nodes, tr, va, te).map_err(|error| Error::format(path, error.to_string()))?;
    Ok(SplitSet::named("roles", vec![split]))
}

/// Pairs of node and class, in file order. JSON keys are strings.
struct ClassMap(Vec<(u64, ClassNumber)>);

impl<'de> Deserialize<'de> for ClassMap {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Entries;
        impl<'de> Visitor<'de> for Entries {
            type Value = ClassMap;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a map from node ids to classes")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<ClassMap, M::Error> {
                let mut entries = Vec::new();
                while let Some((id, class)) = map.next_entry::<std::borrow::Cow<str>, ClassNumber>()? {
                    let wrong = |_| de::Error::custom(format!("'{id}' is not a node number"));
                    entries.push((id.parse().map_err(wrong)?, class));
                }
                Ok(ClassMap(entries))
            }
        }
        from.deserialize_map(Entries)
    }
}

#[derive(Clone, Copy)]
struct ClassNumber(u32);

impl<'de> Deserialize<'de> for ClassNumber {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct OneClass;
        impl<'de> Visitor<'de> for OneClass {
            type Value = ClassNumber;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a class number")
            }

            fn visit_u64<E: de::Error>(self, class: u64) -> Result<ClassNumber, E> {
                // `Labels` uses the largest number for unlabelled nodes.
                let class = u32::try_from(class).ok().filter(|&class| class != u32::MAX);
                class.map(ClassNumber).ok_or_else(|| E::custom("a class number is too large"))
            }

            fn visit_seq<S: SeqAccess<'de>>(self, _: S) -> Result<ClassNumber, S::Error> {
                Err(de::Error::custom("nodes have lists of labels; multi-label data is not supported"))
            }
        }
        from.deserialize_any(OneClass)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{self, npy::tests::file as npy_file, npz::tests::archive};

    /// A path of three nodes: 0 - 1 - 2.
    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let longs = |items: &[i64]| {
            let bytes: Vec<u8> = items.iter().flat_map(|item| item.to_le_bytes()).collect();
            npy_file("<i8", "False", &format!("({},)", items.len()), &bytes)
        };
        let members: [(&str, &[u8]); 5] = [
            ("format.npy", &npy_file("|S3", "False", "()", b"csr")),
            ("shape.npy", &longs(&[3, 3])),
            ("indptr.npy", &longs(&[0, 1, 2, 2])),
            ("indices.npy", &longs(&[1, 2])),
            ("data.npy", &npy_file("|b1", "False", "(2,)", &[1, 1])),
        ];
        let write = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).unwrap();
        write("adj_full.npz", &archive(zip::CompressionMethod::Stored, &members));
        write("feats.npy", &npy_file("|i1", "False", "(3, 1)", &[1, 2, 3]));
        write("class_map.json", br#"{"2": 1, "0": 0}"#);
        write("role.json", br#"{"tr": [0], "va": [], "te": [2, 1]}"#);
        folder
    }

    fn open(folder: &Path) -> Result<data::Dataset> {
        data::open(folder, &Options::default())
    }

    #[test]
    fn nodes_without_a_class_are_unlabelled() {
        let folder = folder();
        let data = open(folder.path()).unwrap();
        assert_eq!(data.graph.edge_iter().collect::<Vec<_>>(), [(0, 1), (1, 2)]);
        let labels = data.labels.unwrap();
        assert_eq!(labels.iter().collect::<Vec<_>>(), [Some(0), None, Some(1)]);
        assert_eq!(data.splits[0].splits[0].test, [2, 1]);
    }

    #[test]
    fn wrong_classes_and_roles_are_reported() {
        let folder = folder();
        for (name, text, said) in [
            ("class_map.json", r#"{"0": [0, 1]}"#, "multi-label data is not supported"),
            ("class_map.json", r#"{"3": 0}"#, "contains node 3, but there are only 3 nodes"),
            ("class_map.json", r#"{"0": 0, "0": 1}"#, "contains node 0 twice"),
            ("class_map.json", r#"{"-1": 0}"#, "'-1' is not a node number"),
            ("class_map.json", r#"{"0": -1}"#, "expected a class number"),
            ("class_map.json", r#"{"0": 4294967295}"#, "too large"),
            ("class_map.json", r#"{"0": 4000000000}"#, "too large"),
            ("class_map.json", "[[[[[[", "expected a map"),
            ("role.json", r#"{"tr": [0], "va": [0], "te": []}"#, "node 0 appears twice"),
            (
                "role.json",
                r#"{"tr": [3], "va": [], "te": []}"#,
                "contains node 3, but there are only 3 nodes",
            ),
            ("role.json", r#"{"tr": [-1], "va": [], "te": []}"#, "invalid value"),
            ("role.json", r#"{"tr": []}"#, "missing field"),
        ] {
            let path = folder.path().join(name);
            let sound = std::fs::read(&path).unwrap();
            std::fs::write(&path, text).unwrap();
            let error = open(folder.path()).unwrap_err().to_string();
            assert!(error.contains(said) && error.contains(name), "{error}");
            std::fs::write(&path, sound).unwrap();
        }
    }

    #[test]
    fn any_file_cut_anywhere_is_an_error() {
        let folder = folder();
        for name in ["adj_full.npz", "feats.npy", "class_map.json", "role.json"] {
            let path = folder.path().join(name);
            let whole = std::fs::read(&path).unwrap();
            for length in 0..whole.len() {
                std::fs::write(&path, &whole[..length]).unwrap();
                assert!(open(folder.path()).is_err(), "{name} cut to {length}");
            }
            std::fs::write(&path, whole).unwrap();
        }
        assert!(open(folder.path()).is_ok());
    }
}
