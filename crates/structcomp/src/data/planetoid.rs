//! Planetoid folders: Cora, Citeseer and Pubmed as `ind.NAME.{x,tx,allx,y,ty,ally,graph,test.index}`.
//!
//! `allx` and `ally` contain the first nodes; row `i` of `tx` and `ty` belongs to the node on line `i`
//! of `test.index`. `x` and `y` repeat the first rows: the training nodes of the public split.

use super::{
    EdgeSource, Format, Options, Parts,
    bytes::{Bytes, FileHead},
    edges::{Nodes, RawEdges},
    masks,
    pickle::{Global, Pickle, Value, ValueKind},
    pickled_arrays::{Fault, one_hot_classes, sparse_matrix},
};
use crate::{Budget, Csr, Error, Features, Labels, Result, Split, SplitSet, graph::MAX_NODES};
use std::path::{Path, PathBuf};

pub(crate) const FORMAT: Format = Format {
    name: "planetoid",
    about: "folder of Planetoid ind.NAME.* files (Cora, Citeseer, Pubmed)",
    recognizes: |head| names(head).next().is_some(),
    read,
};

/// Validation nodes of the public split; they follow the training nodes.
const PUBLIC_VALIDATION: usize = 500;

/// The datasets whose graph is in the folder.
fn names(head: &FileHead) -> impl Iterator<Item = &str> {
    head.names.iter().filter_map(|name| name.strip_prefix("ind.")?.strip_suffix(".graph"))
}

fn read(path: &Path, options: &Options) -> Result<Parts> {
    let head = FileHead::of(path)?;
    let found: Vec<&str> = names(&head).collect();
    let &[name] = &found[..] else {
        return Err(match found.is_empty() {
            true => Error::format(path, "is a folder without an ind.NAME.graph file"),
            false => {
                let what =
                    format!("contains several datasets ({}); put each into its own folder", found.join(", "));
                Error::format(path, what)
            }
        });
    };
    let folder = Folder { path, name, budget: &options.budget };
    let (features, placement) = folder.features()?;
    let labels = folder.labels(&placement)?;
    let (edges, mut notes) = (folder.edges(placement.nodes)?, placement.notes());
    let public = folder.public_split(&features, &labels, &placement, &mut notes)?;
    let mut splits = vec![SplitSet::named("public", vec![public])];
    let mut files: Vec<PathBuf> = FILES.iter().map(|kind| folder.file(kind)).collect();
    let geom_gcn = masks::geom_gcn_splits(path, placement.nodes, &options.budget)?;
    if let Some((set, read)) = geom_gcn {
        splits.push(set);
        files.extend(read);
    }
    if let Some(name) = head.names.iter().find(|name| name.ends_with("_split_train_50.txt")) {
        let set = SplitSet::from_file_within(&path.join(name), &labels, &options.budget)?;
        splits.push(SplitSet { name: "authors".into(), ..set });
        let twin = path.join(name.replace("train", "test"));
        files.extend([path.join(name), twin].into_iter().filter(|file| file.exists()));
    }
    Ok(Parts {
        nodes: Nodes::Count(placement.nodes),
        edges: EdgeSource::Raw(edges),
        features: Some(Features::Sparse(features)),
        labels: Some(labels),
        splits,
        notes,
        files,
        ..Parts::default()
    })
}

const FILES: [&str; 8] = ["x", "tx", "allx", "y", "ty", "ally", "graph", "test.index"];

struct Folder<'a> {
    path: &'a Path,
    name: &'a str,
    budget: &'a Budget,
}

/// The row of `allx` or `tx` of each node.
struct Placement {
    nodes: usize,
    /// Rows of `allx`, which are the first nodes.
    known: usize,
    /// The node of each row of `tx`.
    test: Vec<u32>,
    /// For each node after `allx`, its row of `tx`.
    test_row: Vec<Option<u32>>,
}

impl Placement {
    fn new(known: usize, test: Vec<u32>) -> Result<Self, Fault> {
        let nodes = test.iter().max().map_or(known, |&last| known.max(last as usize + 1));
        // At most as many gaps as rows: an absurd id must not create millions of empty nodes.
        if nodes > MAX_NODES || nodes - known > 2 * test.len() {
            return Err(format!("contains node {}, far beyond its {} rows", nodes - 1, known + test.len()));
        }
        let mut test_row = vec![None; nodes - known];
        for (row, &node) in (0..).zip(&test) {
            let place = (node as usize).checked_sub(known).and_then(|place| test_row.get_mut(place));
            match place {
                Some(free @ None) => *free = Some(row),
                Some(_) => return Err(format!("contains node {node} twice")),
                None => return Err(format!("contains node {node}, which is in allx already")),
            }
        }
        Ok(Self { nodes, known, test, test_row })
    }

    fn notes(&self) -> Vec<String> {
        let absent = self.test_row.iter().filter(|row| row.is_none()).count();
        let note =
            format!("{absent} nodes are neither in allx nor in tx; they have zero features and no label");
        if absent > 0 { vec![note] } else { Vec::new() }
    }
}

impl Folder<'_> {
    fn file(&self, kind: &str) -> PathBuf {
        self.path.join(format!("ind.{}.{kind}", self.name))
    }

    /// Reads the pickle of a file and converts it.
    fn unpickle<T>(&self, kind: &str, turn: impl FnOnce(&Pickle, usize) -> Result<T, Fault>) -> Result<T> {
        let path = self.file(kind);
        let bytes = Bytes::open(&path, self.budget)?;
        let pickle = Pickle::read(&bytes, &path, self.budget)?;
        turn(&pickle, bytes.len()).map_err(|fault| Error::format(&path, fault))
    }

    fn matrix(&self, kind: &str) -> Result<Csr> {
        self.unpickle(kind, |pickle, _| sparse_matrix(pickle))
    }

    fn classes(&self, kind: &str, rows: usize) -> Result<Vec<Option<u32>>> {
        let classes = self.unpickle(kind, |pickle, _| one_hot_classes(pickle))?;
        match classes.len() == rows {
            true => Ok(classes),
            false => {
                let what = format!("has {} rows, but there are {} rows of features", classes.len(), rows);
                Err(Error::format(self.file(kind), what))
            }
        }
    }

    fn test_index(&self) -> Result<Vec<u32>> {
        let path = self.file("test.index");
        let bytes = Bytes::open(&path, self.budget)?;
        let text = String::from_utf8_lossy(&bytes);
        let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
        lines
            .map(|(number, line)| {
                let node = line.trim().parse().ok();
                node.ok_or_else(|| Error::at_line(&path, number, "expected one node number"))
            })
            .collect()
    }

    fn features(&self) -> Result<(Csr, Placement)> {
        let (allx, tx, test) = (self.matrix("allx")?, self.matrix("tx")?, self.test_index()?);
        let wrong = |kind: &str, what: String| Error::format(self.file(kind), what);
        if tx.cols() != allx.cols() {
            return Err(wrong("tx", format!("has {} columns, but allx has {}", tx.cols(), allx.cols())));
        }
        if test.len() != tx.rows() {
            return Err(wrong("test.index", format!("has {} ids for {} rows of tx", test.len(), tx.rows())));
        }
        let placement = Placement::new(allx.rows(), test).map_err(|fault| wrong("test.index", fault))?;
        let (offsets, indices, values) = allx.parts();
        let (mut offsets, mut indices, mut values) = (offsets.to_vec(), indices.to_vec(), values.to_vec());
        for row in &placement.test_row {
            if let Some(row) = row {
                let (row_indices, row_values) = tx.row(*row as usize);
                indices.extend(row_indices);
                values.extend(row_values);
            }
            offsets.push(indices.len() as u64);
        }
        Ok((Csr::new(allx.cols(), offsets, indices, values)?, placement))
    }

    fn labels(&self, placement: &Placement) -> Result<Labels> {
        let known = self.classes("ally", placement.known)?;
        let tested = self.classes("ty", placement.test.len())?;
        let of_test = |row: &Option<u32>| row.and_then(|row| tested[row as usize]);
        Labels::new(known.iter().copied().chain(placement.test_row.iter().map(of_test)))
    }

    /// Reads the dictionary from nodes to neighbour lists, which may have duplicates and self loops.
    fn edges(&self, nodes: usize) -> Result<RawEdges> {
        self.unpickle("graph", |pickle, bytes| {
            let graph = pickle
                .node(pickle.root)
                .filter(|node| matches!(node.kind, ValueKind::Dict | ValueKind::Object(Global::DefaultDict)));
            let graph = graph.ok_or("is not a dictionary of neighbour lists")?;
            let (pairs, _) = graph.items.as_chunks::<2>();
            if pairs.len() > nodes {
                return Err(format!("has {} nodes, but there are {nodes} rows of features", pairs.len()));
            }
            let list = |value: &Value| pickle.node(*value).filter(|node| node.kind == ValueKind::List);
            let lists = pairs.iter().map(|[key, value]| list(value).map(|list| (key, &list.items)));
            let lists: Vec<_> = lists.collect::<Option<_>>().ok_or("a node has no neighbour list")?;
            // A list shared by many nodes could make more edges than the file has bytes.
            if lists.iter().map(|(_, list)| list.len()).fold(0, usize::saturating_add) > bytes {
                return Err("uses the same list for many nodes".into());
            }
            let edges = lists.iter().flat_map(|(key, list)| list.iter().map(|other| (**key, *other)));
            edges.map(|(u, v)| Ok(id(u)? << 32 | id(v)?)).collect::<Result<_, Fault>>().map(RawEdges::Small)
        })
    }

    fn public_split(
        &self,
        features: &Csr,
        labels: &Labels,
        placement: &Placement,
        notes: &mut Vec<String>,
    ) -> Result<Split> {
        let x = self.matrix("x")?;
        let y = self.classes("y", x.rows())?;
        let train = x.rows();
        let agrees = train <= placement.known
            && x.cols() == features.cols()
            && (0..train).all(|row| x.row(row) == features.row(row))
            && labels.iter().take(train).eq(y);
        if !agrees {
            let what = format!("has {train} rows that differ from the first of allx and ally");
            return Err(Error::format(self.file("x"), what));
        }
        let end = (train + PUBLIC_VALIDATION).min(placement.known);
        if end < train + PUBLIC_VALIDATION {
            notes.push(format!("the public split has only {} validation nodes", end - train));
        }
        let range = |range: std::ops::Range<usize>| range.map(|node| node as u32).collect();
        Split::new(placement.nodes, range(0..train), range(train..end), placement.test.clone())
    }
}

fn id(value: Value) -> Result<u64, Fault> {
    match value {
        Value::Int(id) => {
            u32::try_from(id).map(u64::from).map_err(|_| format!("contains the invalid node number {id}"))
        }
        _ => Err("contains a node id that is not a number".into()),
    }
}

#[cfg(test)]
mod tests;
