//! Small valid datasets in every format, to be damaged.

#[cfg(feature = "parquet")]
use crate::published;
use std::{
    io::{Cursor, Write},
    path::{Path, PathBuf},
};
use zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions};

/// A dataset as files in memory.
#[derive(Clone)]
pub(crate) struct Sample {
    pub(crate) format: &'static str,
    /// Whether the dataset is a folder; otherwise it is the first file.
    pub(crate) folder: bool,
    pub(crate) files: Vec<(&'static str, Vec<u8>)>,
}

impl Sample {
    /// Writes the files into a folder; returns the path to open.
    pub(crate) fn write(&self, place: &Path) -> PathBuf {
        for (name, bytes) in &self.files {
            let path = place.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, bytes).unwrap();
        }
        if self.folder { place.to_owned() } else { place.join(self.files[0].0) }
    }

    /// The same files, one of them with different contents.
    pub(crate) fn with(&self, name: &str, bytes: Vec<u8>) -> Self {
        let mut changed = self.clone();
        let place = changed.files.iter().position(|(held, _)| *held == name).unwrap();
        changed.files[place].1 = bytes;
        changed
    }
}

/// Valid datasets in every format.
pub(crate) fn samples() -> Vec<Sample> {
    let mut samples = vec![
        planetoid(),
        folder(
            "geom-gcn",
            &[("out1_graph_edges.txt", EDGES_TSV), ("out1_node_feature_label.txt", NODES_TSV)],
        ),
        graphsaint(),
        ogb_text(),
        ogb_binary(),
        file("gnn-benchmark", "photo.npz", gnn_benchmark(CompressionMethod::Stored)),
        file("gnn-benchmark", "packed.npz", gnn_benchmark(CompressionMethod::Deflated)),
        file("heterophilous-graphs", "roman.npz", heterophilous()),
        file("scipy-npz", "matrix.npz", scipy(CompressionMethod::Stored)),
        file("scipy-npz", "packed.npz", scipy(CompressionMethod::Deflated)),
        file("edge-index", "edges.npy", npy("<i8", "(2, 2)", &longs(&[0, 1, 1, 2]))),
        file(
            "matrix-market",
            "coordinate.mtx",
            text("%%MatrixMarket matrix coordinate real general\n3 3 2\n1 2 0.5\n2 3 1\n"),
        ),
        file(
            "matrix-market",
            "array.mtx",
            text("%%MatrixMarket matrix array real symmetric\n2 2\n0\n1\n0\n"),
        ),
        file("metis", "plain.graph", text("3 2\n2\n1 3\n2\n")),
        file("metis", "weighted.graph", text("3 2 011\n4 2 7\n5 1 7 3 8\n6 2 8\n")),
        file("edge-list", "numbers.txt", text("# comment\n0 1\n1 2\n")),
        file("edge-list", "large.csv", text("source,target,weight\n7,99999999999,0.5\n99999999999,8,2\n")),
        file("edge-list", "names.csv", text("ann,bob\n\"b, c\",ann\n")),
        folder(
            "tables",
            &[("edges.csv", "src,dst\na,b\nb,c\n"), ("nodes.csv", "id,f,label\na,1,x\nb,2,y\nc,3,x\n")],
        ),
    ];
    samples.push(file("scg", "graph.scg", graph_file()));
    samples.push(own_folder());
    #[cfg(feature = "parquet")]
    samples.extend(fixture("parquet", "parquet/edges-snappy.parquet", "edges.parquet"));
    samples
}

const EDGES_TSV: &str = "id\tid\n0\t1\n1\t2\n";
const NODES_TSV: &str = "id\tfeature\tlabel\n0\t0,1\t0\n2\t1,1\t1\n1\t0,0\t1\n";

fn file(format: &'static str, name: &'static str, bytes: Vec<u8>) -> Sample {
    Sample { format, folder: false, files: vec![(name, bytes)] }
}

fn folder(format: &'static str, files: &[(&'static str, &str)]) -> Sample {
    let files = files.iter().map(|(name, text)| (*name, text.as_bytes().to_vec())).collect();
    Sample { format, folder: true, files }
}

fn text(text: &str) -> Vec<u8> {
    text.as_bytes().to_vec()
}

/// A file written by another tool.
#[cfg(feature = "parquet")]
fn fixture(format: &'static str, path: &str, name: &'static str) -> Option<Sample> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/fixtures");
    let path = published::present(root.join(path), "run tests/fixtures/make.py")?;
    Some(file(format, name, std::fs::read(path).unwrap()))
}

fn graph_file() -> Vec<u8> {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("graph.scg");
    structcomp::Graph::from_edges(3, &[(0, 1), (1, 2)]).unwrap().save(&path).unwrap();
    std::fs::read(path).unwrap()
}

fn own_folder() -> Sample {
    let manifest = r#"{"format": "structcomp", "version": 1, "name": "toy", "synthetic": false, "nodes": 3, "edges": 2,
        "features": {"kind": "dense", "width": 1}, "labels": {"classes": 2, "names": null}, "splits": true,
        "ids": "names", "notes": []}"#;
    let splits = r#"[{"name": "public", "splits": [{"train": [0], "validation": [], "test": [2]}], "small_classes": []}]"#;
    let files = vec![
        ("dataset.json", text(manifest)),
        ("graph.scg", graph_file()),
        ("features.npy", npy("<f4", "(3, 1)", &floats(&[1.0, 2.0, 3.0]))),
        ("labels.npy", npy("<i8", "(3,)", &longs(&[1, 0, -1]))),
        ("splits.json", text(splits)),
        ("ids.txt", text("ann\nbob\ncleo\n")),
    ];
    Sample { format: "structcomp", folder: true, files }
}

pub(crate) fn longs(numbers: &[i64]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

pub(crate) fn floats(numbers: &[f32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// A NumPy array.
pub(crate) fn npy(descr: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n");
    [&b"\x93NUMPY\x01\0"[..], &(header.len() as u16).to_le_bytes(), header.as_bytes(), data].concat()
}

/// An archive of arrays.
pub(crate) fn npz(method: CompressionMethod, members: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in members {
        let options = SimpleFileOptions::default().compression_method(method);
        zip.start_file(format!("{name}.npy"), options).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

/// 0 - 1 - 2 as a CSR matrix, with one array replaced.
pub(crate) fn scipy_with(method: CompressionMethod, change: &str, to: Vec<u8>) -> Vec<u8> {
    let mut members = vec![
        ("format", npy("|S3", "()", b"csr")),
        ("shape", npy("<i8", "(2,)", &longs(&[3, 3]))),
        ("indptr", npy("<i8", "(4,)", &longs(&[0, 1, 2, 2]))),
        ("indices", npy("<i8", "(2,)", &longs(&[1, 2]))),
        ("data", npy("<f4", "(2,)", &floats(&[1.0, 0.5]))),
    ];
    members.iter_mut().filter(|(name, _)| *name == change).for_each(|(_, held)| *held = to.clone());
    npz(method, &members)
}

/// Such a matrix whose values are megabytes of compressed zeros, with a header that claims another shape.
pub(crate) fn scipy_that_inflates(claimed: &str, megabytes: usize) -> Vec<u8> {
    let sound = scipy(CompressionMethod::Deflated);
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let mut members = zip::ZipArchive::new(Cursor::new(sound)).unwrap();
    for member in 0..members.len() {
        let member = members.by_index_raw(member).unwrap();
        if !member.name().unwrap().starts_with("data") {
            zip.raw_copy_file(member).unwrap();
        }
    }
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
    zip.start_file("data.npy", options.compression_level(Some(1))).unwrap();
    zip.write_all(&npy("|u1", claimed, b"")).unwrap();
    (0..megabytes).for_each(|_| zip.write_all(&[0; 1 << 20]).unwrap());
    zip.finish().unwrap().into_inner()
}

fn scipy(method: CompressionMethod) -> Vec<u8> {
    scipy_with(method, "", Vec::new())
}

fn gnn_benchmark(method: CompressionMethod) -> Vec<u8> {
    gnn_benchmark_with(method, "", Vec::new())
}

pub(crate) fn gnn_benchmark_with(method: CompressionMethod, change: &str, to: Vec<u8>) -> Vec<u8> {
    let mut members = vec![
        ("adj_shape", npy("<i8", "(2,)", &longs(&[3, 3]))),
        ("adj_indptr", npy("<i8", "(4,)", &longs(&[0, 1, 2, 2]))),
        ("adj_indices", npy("<i8", "(2,)", &longs(&[1, 2]))),
        ("adj_data", npy("<f4", "(2,)", &floats(&[1.0, 1.0]))),
        ("attr_shape", npy("<i8", "(2,)", &longs(&[3, 2]))),
        ("attr_indptr", npy("<i8", "(4,)", &longs(&[0, 1, 1, 2]))),
        ("attr_indices", npy("<i8", "(2,)", &longs(&[1, 0]))),
        ("attr_data", npy("<f4", "(2,)", &floats(&[4.0, 5.0]))),
        ("labels", npy("<i8", "(3,)", &longs(&[1, 0, 1]))),
    ];
    members.iter_mut().filter(|(name, _)| *name == change).for_each(|(_, held)| *held = to.clone());
    npz(method, &members)
}

fn heterophilous() -> Vec<u8> {
    let mask = |bits: &[u8]| npy("|b1", "(1, 3)", bits);
    let members = [
        ("node_features", npy("<f4", "(3, 1)", &floats(&[1.0, 2.0, 3.0]))),
        ("node_labels", npy("<i8", "(3,)", &longs(&[1, 0, 1]))),
        ("edges", npy("<i8", "(2, 2)", &longs(&[0, 1, 1, 2]))),
        ("train_masks", mask(&[1, 0, 0])),
        ("val_masks", mask(&[0, 1, 0])),
        ("test_masks", mask(&[0, 0, 1])),
    ];
    npz(CompressionMethod::Deflated, &members)
}

fn graphsaint() -> Sample {
    let files = vec![
        ("adj_full.npz", scipy(CompressionMethod::Stored)),
        ("feats.npy", npy("<f4", "(3, 1)", &floats(&[1.0, 2.0, 3.0]))),
        ("class_map.json", text(r#"{"2": 1, "0": 0}"#)),
        ("role.json", text(r#"{"tr": [0], "va": [], "te": [2, 1]}"#)),
    ];
    Sample { format: "graphsaint", folder: true, files }
}

fn ogb_text() -> Sample {
    folder(
        "ogb",
        &[
            ("raw/num-node-list.csv", "3\n"),
            ("raw/num-edge-list.csv", "2\n"),
            ("raw/edge.csv", "0,1\n1,2\n"),
            ("raw/node-feat.csv", "0.5,1\n2,3\n4,5\n"),
            ("raw/node-label.csv", "0\n1\n0\n"),
            ("split/time/train.csv", "0\n"),
            ("split/time/valid.csv", "1\n"),
            ("split/time/test.csv", "2\n"),
        ],
    )
}

fn ogb_binary() -> Sample {
    let members = [
        ("num_nodes_list", npy("<i8", "(1,)", &longs(&[3]))),
        ("num_edges_list", npy("<i8", "(1,)", &longs(&[2]))),
        ("edge_index", npy("<i8", "(2, 2)", &longs(&[0, 1, 1, 2]))),
        ("node_feat", npy("<f4", "(3, 1)", &floats(&[1.0, 2.0, 3.0]))),
    ];
    let labels = [("node_label", npy("<i8", "(3, 1)", &longs(&[0, 1, 0])))];
    let files = vec![
        ("raw/data.npz", npz(CompressionMethod::Deflated, &members)),
        ("raw/node-label.npz", npz(CompressionMethod::Stored, &labels)),
    ];
    Sample { format: "ogb", folder: true, files }
}

/// A string in a pickle of Python 2.
fn pickled(text: &str) -> Vec<u8> {
    [&[b'U', text.len() as u8], text.as_bytes()].concat()
}

fn pickled_array(kind: &str, shape: &[u8], bytes: &[u8]) -> Vec<u8> {
    let sizes: Vec<u8> = shape.iter().flat_map(|&size| [b'K', size]).collect();
    [
        b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\nK\0\x85U\x01btR(K\x01(".to_vec(),
        [&sizes[..], b"tcnumpy\ndtype\n("].concat(),
        pickled(kind),
        b"K\0K\x01tR(K\x03U\x01<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\0tb\x89T".to_vec(),
        [&(bytes.len() as u32).to_le_bytes(), bytes, b"tb"].concat(),
    ]
    .concat()
}

/// A diagonal matrix.
pub(crate) fn pickled_matrix(values: &[f32]) -> Vec<u8> {
    let ints = |numbers: &[i32]| -> Vec<u8> { numbers.iter().flat_map(|n| n.to_le_bytes()).collect() };
    let rows = values.len() as u8;
    let starts: Vec<i32> = (0..=rows as i32).collect();
    [
        b"\x80\x02cscipy.sparse.csr\ncsr_matrix\n)\x81}(".to_vec(),
        [pickled("_shape"), vec![b'K', rows, b'K', 4, 0x86]].concat(),
        [pickled("indptr"), pickled_array("i4", &[rows + 1], &ints(&starts))].concat(),
        [pickled("indices"), pickled_array("i4", &[rows], &ints(&starts[..rows as usize]))].concat(),
        [pickled("data"), pickled_array("f4", &[rows], &floats(values))].concat(),
        b"ub.".to_vec(),
    ]
    .concat()
}

fn pickled_labels(classes: &[usize]) -> Vec<u8> {
    let one_hot: Vec<u8> =
        classes.iter().flat_map(|&c| [(c == 0) as i32, (c == 1) as i32]).flat_map(i32::to_le_bytes).collect();
    [b"\x80\x02".to_vec(), pickled_array("i4", &[classes.len() as u8, 2], &one_hot), b".".to_vec()].concat()
}

fn planetoid() -> Sample {
    let graph = b"\x80\x02ccollections\ndefaultdict\nc__builtin__\nlist\n\x85R(K\0](K\x01eK\x01](K\0K\x02eK\x02](K\x01K\x03eu.";
    let files = vec![
        ("ind.toy.allx", pickled_matrix(&[1.0, 2.0, 3.0])),
        ("ind.toy.ally", pickled_labels(&[0, 1, 0])),
        ("ind.toy.tx", pickled_matrix(&[5.0])),
        ("ind.toy.ty", pickled_labels(&[1])),
        ("ind.toy.x", pickled_matrix(&[1.0])),
        ("ind.toy.y", pickled_labels(&[0])),
        ("ind.toy.graph", graph.to_vec()),
        ("ind.toy.test.index", text("3\n")),
    ];
    Sample { format: "planetoid", folder: true, files }
}
