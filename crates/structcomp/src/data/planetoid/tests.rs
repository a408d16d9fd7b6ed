//! A handwritten Planetoid folder with five nodes, intact and damaged.
//!
//! Node 0 is the training node; `allx` has nodes 0 to 2, `tx` has nodes 4 and 3.

use super::*;
use crate::{Dataset, data};

fn text(text: &str) -> Vec<u8> {
    [&[b'U', text.len() as u8], text.as_bytes()].concat()
}

fn ints(numbers: &[usize]) -> Vec<u8> {
    let items = numbers.iter().flat_map(|&n| [&b"J"[..], &(n as i32).to_le_bytes()].concat());
    [b"(".to_vec(), items.collect(), b"t".to_vec()].concat()
}

fn array(kind: &str, shape: &[usize], bytes: &[u8]) -> Vec<u8> {
    [
        b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\nK\x00\x85U\x01btR(K\x01".to_vec(),
        ints(shape),
        b"cnumpy\ndtype\n(".to_vec(),
        text(kind),
        b"K\x00K\x01tR(K\x03U\x01<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89T".to_vec(),
        (bytes.len() as u32).to_le_bytes().to_vec(),
        bytes.to_vec(),
        b"tb".to_vec(),
    ]
    .concat()
}

fn i4(shape: &[usize], values: &[i32]) -> Vec<u8> {
    array("i4", shape, bytemuck::cast_slice(values))
}

/// Rows with a single one in the given column.
fn matrix(cols: usize, ones: &[i32]) -> Vec<u8> {
    let starts: Vec<i32> = (0..=ones.len() as i32).collect();
    let data = vec![1f32; ones.len()];
    [
        b"\x80\x02cscipy.sparse.csr\ncsr_matrix\n)\x81}(".to_vec(),
        [text("_shape"), ints(&[ones.len(), cols])].concat(),
        [text("indptr"), i4(&[starts.len()], &starts)].concat(),
        [text("indices"), i4(&[ones.len()], ones)].concat(),
        [text("data"), array("f4", &[ones.len()], bytemuck::cast_slice(&data))].concat(),
        b"ub.".to_vec(),
    ]
    .concat()
}

fn labels(rows: &[[i32; 2]]) -> Vec<u8> {
    [b"\x80\x02".to_vec(), i4(&[rows.len(), 2], rows.as_flattened()), b".".to_vec()].concat()
}

fn graph(items: &[u8]) -> Vec<u8> {
    [b"\x80\x02ccollections\ndefaultdict\nc__builtin__\nlist\n\x85R(", items, b"u."].concat()
}

// 0 - 1, 1 - 2 with the self loop 2 - 2, and 0 - 4 in one direction only.
const EDGES: &[u8] = b"K\x00](K\x01K\x04eK\x01](K\x00K\x02eK\x02](K\x01K\x02eK\x03]K\x04]";

fn write_folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |kind: &str, bytes: Vec<u8>| {
        std::fs::write(folder.path().join(format!("ind.toy.{kind}")), bytes).unwrap();
    };
    write("allx", matrix(4, &[0, 1, 2]));
    write("ally", labels(&[[1, 0], [0, 1], [0, 0]]));
    write("tx", matrix(4, &[3, 0]));
    write("ty", labels(&[[0, 1], [1, 0]]));
    write("x", matrix(4, &[0]));
    write("y", labels(&[[1, 0]]));
    write("graph", graph(EDGES));
    write("test.index", b"4\n3\n".to_vec());
    folder
}

fn open(folder: &tempfile::TempDir) -> Result<Dataset> {
    data::open(folder.path(), &Options::default())
}

/// The error, or the notes, with one file replaced.
fn with(kind: &str, bytes: &[u8]) -> String {
    let folder = write_folder();
    std::fs::write(folder.path().join(format!("ind.toy.{kind}")), bytes).unwrap();
    let error = open(&folder).map(|data| data.source.notes.join("; "));
    error.unwrap_or_else(|error| error.to_string())
}

#[test]
fn test_rows_are_placed_by_the_test_index() {
    let data = open(&write_folder()).unwrap();
    assert_eq!((data.source.format, data.graph.nodes(), data.graph.edges()), ("planetoid", 5, 3));
    assert_eq!((data.repairs.self_loops, data.repairs.directed), (1, 1));
    let Some(Features::Sparse(x)) = &data.features else { panic!("not sparse") };
    let columns: Vec<u32> = (0..5).map(|node| x.row(node).0[0]).collect();
    assert_eq!(columns, [0, 1, 2, 0, 3]);
    let classes: Vec<_> = data.labels.as_ref().unwrap().iter().collect();
    assert_eq!(classes, [Some(0), Some(1), None, Some(0), Some(1)]);
    let public = Split { train: vec![0], validation: vec![1, 2], test: vec![4, 3] };
    assert_eq!(data.splits, [SplitSet::named("public", vec![public])]);
    assert_eq!(data.source.notes, ["the public split has only 2 validation nodes"]);
}

/// Reads the folder repeatedly with one file changed.
fn with_each_change(kind: &str, changes: impl Fn(&[u8]) -> Vec<Vec<u8>>) -> Vec<Result<Parts>> {
    let folder = write_folder();
    let path = folder.path().join(format!("ind.toy.{kind}"));
    let change = |bytes: Vec<u8>| {
        std::fs::write(&path, bytes).unwrap();
        read(folder.path(), &Options::default())
    };
    changes(&std::fs::read(&path).unwrap()).into_iter().map(change).collect()
}

#[test]
fn every_truncation_of_every_pickle_is_an_error() {
    for kind in FILES.iter().filter(|kind| **kind != "test.index") {
        let cuts = |whole: &[u8]| (0..whole.len()).map(|length| whole[..length].to_vec()).collect();
        let read = with_each_change(kind, cuts);
        assert_eq!(read.iter().position(Result::is_ok), None, "{kind} truncated");
    }
}

#[test]
fn a_damaged_byte_never_panics() {
    for kind in FILES {
        let flips = |whole: &[u8]| {
            let flip = |at: usize| {
                let mut damaged = whole.to_vec();
                damaged[at] ^= [0x01, 0x80, 0xff][at % 3];
                damaged
            };
            (0..whole.len()).map(flip).collect()
        };
        let read = with_each_change(kind, flips);
        assert!(read.iter().any(Result::is_err), "{kind}");
    }
}

#[test]
fn files_that_do_not_fit_together_are_errors() {
    assert!(with("test.index", b"4\n").contains("has 1 ids for 2 rows of tx"));
    assert!(with("test.index", b"4\n4\n").contains("contains node 4 twice"));
    assert!(with("test.index", b"4\n2\n").contains("contains node 2, which is in allx already"));
    assert!(
        with("test.index", b"4\n4294967295\n").contains("contains node 4294967295, far beyond its 5 rows")
    );
    for bad in ["4\nx\n", "4\n-3\n", "4\n99999999999\n"] {
        assert!(with("test.index", bad.as_bytes()).contains("test.index:2: expected one node number"));
    }
    assert!(with("tx", &matrix(5, &[3, 0])).contains("has 5 columns, but allx has 4"));
    assert!(with("tx", &matrix(4, &[3, 4])).contains("column 4 in a matrix of 4 columns"));
    assert!(with("allx", &matrix(4, &[0, -1, 2])).contains("indices: -1 is out of range"));
    assert!(with("ty", &labels(&[[0, 1]])).contains("has 1 rows, but there are 2 rows of features"));
    assert!(with("ty", &labels(&[[0, 1], [1, 1]])).contains("row 1 of the labels is not one-hot"));
    assert!(with("x", &matrix(4, &[1])).contains("differ from the first of allx and ally"));
    assert!(with("y", &labels(&[[0, 1]])).contains("differ from the first of allx and ally"));
    assert!(with("x", &labels(&[[0, 1]])).contains("is not a scipy csr_matrix"));
}

#[test]
fn missing_test_nodes_are_noted() {
    // Node 3 has no row; node 5 has its row instead.
    assert!(with("test.index", b"4\n5\n").starts_with("1 nodes are neither in allx nor in tx"));
}

#[test]
fn graphs_with_invalid_ids_or_shared_lists_are_errors() {
    assert!(with("graph", &graph(b"K\x00](J\xff\xff\xff\xffe")).contains("invalid node number -1"));
    assert!(with("graph", &graph(b"K\x00K\x00")).contains("has no neighbour list"));
    assert!(with("graph", &graph(b"K\x00](Ne")).contains("node id that is not a number"));
    assert!(with("graph", &matrix(1, &[0])).contains("not a dictionary of neighbour lists"));
    let six: Vec<u8> = (0..6).flat_map(|node| [b'K', node, b']']).collect();
    assert!(with("graph", &graph(&six)).contains("has 6 nodes, but there are 5 rows of features"));
    // One long list, stored once and used for every node.
    let mut shared = b"K\x00]q\x00(".to_vec();
    shared.extend(b"K\x01".repeat(500));
    shared.extend(b"eK\x01h\x00K\x02h\x00K\x03h\x00K\x04h\x00");
    assert!(with("graph", &graph(&shared)).contains("uses the same list for many nodes"));
    assert!(with("graph", b"cos\nsystem\n(U\x02lstR.").contains("os.system"));
}

#[test]
fn a_folder_must_contain_exactly_one_dataset() {
    let folder = write_folder();
    std::fs::write(folder.path().join("ind.other.graph"), "").unwrap();
    assert!(open(&folder).unwrap_err().to_string().contains("several datasets (other, toy)"));
    let folder = write_folder();
    std::fs::remove_file(folder.path().join("ind.toy.ty")).unwrap();
    assert!(matches!(open(&folder), Err(Error::Io { .. })));
    std::fs::create_dir(folder.path().join("ind.toy.ty")).unwrap();
    assert!(open(&folder).unwrap_err().to_string().contains("is a folder where a file was expected"));
}
