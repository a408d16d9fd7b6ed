//! Damaged files in every format: reading them ends in an error that names the file, never in a panic,
//! and takes little memory and time.
//!
//! Every format needs a sample in `damaged/samples.rs`.

#![allow(clippy::unwrap_used)] // a test fails by panicking

#[path = "damaged/allocation.rs"]
mod allocation;
#[cfg(feature = "parquet")]
#[path = "damaged/parquet.rs"]
mod parquet;
#[cfg(feature = "parquet")]
#[allow(dead_code)] // no published dataset is needed here
mod published;
#[path = "damaged/samples.rs"]
mod samples;

use rand::RngExt;
use samples::{
    Sample, floats, gnn_benchmark_with, longs, npy, pickled_matrix, samples, scipy_that_inflates, scipy_with,
};
use std::{
    io::Write,
    path::Path,
    sync::{LazyLock, Mutex},
    time::{Duration, Instant},
};
use structcomp::{
    Budget, Dataset, FeatureNorm, Graph, Prepare, Seed, StructComp,
    data::{self, FORMATS, Options},
};
use zip::CompressionMethod::{Deflated, Stored};

/// The limit for a single allocation, and for all allocations together.
const BUDGET: Budget = Budget { bytes: 32 << 20 };
const MOST_MEMORY: usize = 256 << 20;
/// Far more than a small file takes on a busy machine; only endless work exceeds it.
const MOST_TIME: Duration = Duration::from_secs(300);

/// One read at a time, as memory is counted for the whole process.
static TURN: Mutex<()> = Mutex::new(());

static SAMPLES: LazyLock<Vec<Sample>> = LazyLock::new(samples);

/// The samples in the formats of this build.
fn known() -> impl Iterator<Item = &'static Sample> {
    SAMPLES.iter().filter(|sample| FORMATS.iter().any(|format| format.name == sample.format))
}

/// Reads a sample with its format given, and with detection; returns the first outcome.
fn read(sample: &Sample) -> Result<Dataset, String> {
    let place = tempfile::Builder::new().prefix("dataset").tempdir().unwrap();
    open(&sample.write(place.path()), sample.format)
}

fn open(path: &Path, format: &str) -> Result<Dataset, String> {
    let _turn = TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let [named, recognized] = [Some(format.to_owned()), None].map(|format| {
        let options = Options { format, budget: BUDGET, ..Options::default() };
        let started = Instant::now();
        let (outcome, memory) = allocation::most_during(|| data::open(path, &options));
        assert!(started.elapsed() < MOST_TIME, "{}: took {:?}", path.display(), started.elapsed());
        assert!(memory < MOST_MEMORY, "{}: held {memory} bytes", path.display());
        if let Ok(dataset) = &outcome {
            check(dataset);
        }
        outcome.map_err(|error| error.to_string())
    });
    for error in [&named, &recognized].into_iter().filter_map(|outcome| outcome.as_ref().err()) {
        assert!(error.contains(&*path.to_string_lossy()), "does not name {}: {error}", path.display());
    }
    named
}

/// Checks the invariants of a dataset.
fn check(dataset: &Dataset) {
    let graph = &dataset.graph;
    let weights = graph.weights().map(|weights| weights.to_vec().into());
    Graph::from_csr(graph.offsets().to_vec().into(), graph.targets().to_vec().into(), weights).unwrap();
    assert!(dataset.features.as_ref().is_none_or(|features| features.rows() == graph.nodes()));
    assert!(dataset.labels.as_ref().is_none_or(|labels| labels.nodes() == graph.nodes()));
    dataset.summary().unwrap();
}

/// Replaces each file of each sample and expects an error that names the file.
fn each_file_refused(what: &str, mut contents: impl FnMut(&[u8]) -> Vec<u8>, spared: &[&str]) {
    for sample in known() {
        for (name, bytes) in sample.files.iter().filter(|(name, _)| !spared.contains(name)) {
            refused(&sample.with(name, contents(bytes)), name, what);
        }
    }
}

/// Expects an error that names the file.
fn refused(sample: &Sample, name: &str, what: &str) -> String {
    let said = format!("{} {name}, {what}", sample.format);
    let error = read(sample).map(|_| said.clone()).expect_err(&said);
    let file_name = Path::new(name).file_name().unwrap().to_string_lossy();
    assert!(error.contains(&*file_name), "{said}: {error}");
    error
}

#[test]
fn every_format_has_a_valid_sample_and_a_fuzz_target() {
    for sample in known() {
        let dataset = read(sample).unwrap();
        assert!(dataset.graph.edges() > 0, "{}", sample.format);
    }
    let targets = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/fuzz_targets");
    let from_fixtures = ["parquet"];
    for format in FORMATS.iter().map(|format| format.name) {
        let has_sample = known().any(|sample| sample.format == format) || from_fixtures.contains(&format);
        assert!(has_sample, "add a sample of {format} to tests/damaged/samples.rs");
        assert!(targets.join(format!("{format}.rs")).exists(), "add fuzz/fuzz_targets/{format}.rs");
    }
}

/// Tables that may be empty: a part of a split may have no nodes.
const MAY_BE_EMPTY: [&str; 3] = ["split/time/train.csv", "split/time/valid.csv", "split/time/test.csv"];

#[test]
fn files_that_are_empty_or_of_one_byte_or_of_another_kind_are_refused() {
    each_file_refused("empty", |_| Vec::new(), &MAY_BE_EMPTY);
    each_file_refused("one byte", |_| vec![0x80], &[]);
    each_file_refused(
        "another kind",
        |bytes| [b"\xff\xff\xff\xff", &bytes[bytes.len().min(4)..]].concat(),
        // Its columns may have any name.
        &["large.csv"],
    );
    for length in [16, 300, 5000] {
        let mut random = Seed(length as u64).stream("damage");
        each_file_refused("random bytes", |_| random_bytes(&mut random, length), &[]);
    }
}

fn random_bytes(random: &mut structcomp::random::Rng, length: usize) -> Vec<u8> {
    (0..length).map(|_| random.random()).collect()
}

#[test]
fn halves_of_binary_files_are_refused() {
    for sample in known() {
        for (name, bytes) in &sample.files {
            let (first, second) = bytes.split_at(bytes.len() / 2);
            for half in [first, second] {
                let outcome = read(&sample.with(name, half.to_vec()));
                let is_text = std::str::from_utf8(bytes).is_ok();
                assert!(is_text || outcome.is_err(), "{} {name}, {} bytes", sample.format, half.len());
            }
        }
    }
}

#[test]
fn flipped_bits_never_panic_and_never_give_an_invalid_dataset() {
    const FLIPS: usize = 60;
    for sample in known() {
        let mut random = Seed(0).stream(sample.format);
        for (name, bytes) in &sample.files {
            for _ in 0..FLIPS {
                let mut flipped = bytes.clone();
                for _ in 0..random.random_range(1..4) {
                    flipped[random.random_range(0..bytes.len())] ^= 1 << random.random_range(0..8);
                }
                let _ = read(&sample.with(name, flipped));
            }
        }
    }
}

#[test]
fn missing_files_and_folders_in_place_of_files_are_named() {
    for sample in known() {
        for (name, _) in &sample.files {
            let place = tempfile::tempdir().unwrap();
            let path = sample.write(place.path());
            let stem = Path::new(name).file_stem().unwrap().to_string_lossy();
            std::fs::remove_file(place.path().join(name)).unwrap();
            if let Err(error) = open(&path, sample.format) {
                // Without its main file, a folder is not recognised or lacks others too.
                let named = error.contains(&*stem) || error.contains("folder") || error.contains("has no");
                assert!(named, "{} without {name}: {error}", sample.format);
            } else {
                assert!(sample.folder, "{name} is not there");
            }
            std::fs::create_dir(place.path().join(name)).unwrap();
            let error = open(&path, sample.format).map(drop).expect_err(name);
            assert!(error.contains(&*stem), "{} with a folder {name}: {error}", sample.format);
        }
    }
}

#[test]
fn paths_below_a_file_are_named() {
    for sample in known() {
        let place = tempfile::tempdir().unwrap();
        let path = sample.write(place.path());
        let file = if sample.folder { path.join(sample.files[0].0) } else { path };
        open(&file.join("below"), sample.format).map(drop).expect_err(sample.format);
    }
}

/// Four gigabytes of one byte, in consecutive frames.
fn bomb(frame: impl Fn(&[u8]) -> Vec<u8>, byte: u8) -> Vec<u8> {
    frame(&vec![byte; 64 << 20]).repeat(64)
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Made in pieces, as memory held by one test counts for the others.
#[cfg(feature = "parquet")]
fn gzipped_zeros(megabytes: usize) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    (0..megabytes).for_each(|_| encoder.write_all(&[0; 1 << 20]).unwrap());
    encoder.finish().unwrap()
}

#[test]
fn format_detection_does_not_decompress_a_bomb() {
    // The first lines could be those of a METIS graph; only the last line decides.
    let packed = [gzip(b"2000000000 1\n"), bomb(gzip, b'\n')].concat();
    let sample = Sample { format: "edge-list", folder: false, files: vec![("lines.txt", packed)] };
    refused(&sample, "lines.txt", "bomb of lines");
}

#[test]
fn decompression_stops_at_the_memory_limit() {
    let zstd = |bytes: &[u8]| zstd::encode_all(bytes, 1).unwrap();
    for byte in [0, b'7', b'\n'] {
        let (gzipped, zstandard) = (bomb(gzip, byte), bomb(zstd, byte));
        each_file_refused("gzip bomb", |_| gzipped.clone(), &[]);
        each_file_refused("zstd bomb", |_| zstandard.clone(), &[]);
    }
}

#[test]
fn decompression_of_arrays_stops_at_the_memory_limit() {
    for (claimed, said) in
        [("(1073741824,)", "1.0 GiB"), ("(2,)", "needs 2 items"), ("(9000000000000000000,)", "too many for")]
    {
        let archive = scipy_that_inflates(claimed, 1 << 10);
        assert!(archive.len() < 16 << 20);
        let sample = Sample { format: "scipy-npz", folder: false, files: vec![("bomb.npz", archive)] };
        let error = refused(&sample, "bomb.npz", claimed);
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn a_pickle_that_names_a_function_executes_nothing() {
    let place = tempfile::tempdir().unwrap();
    let proof = place.path().join("it-ran");
    let command = format!("touch {}", proof.display());
    let pickle =
        [b"\x80\x02cos\nsystem\nU", &[command.len() as u8][..], command.as_bytes(), b"\x85R."].concat();
    let sample = known().find(|sample| sample.format == "planetoid").unwrap();
    for (name, _) in sample.files.iter().filter(|(name, _)| !name.ends_with("index")) {
        let error = refused(&sample.with(name, pickle.clone()), name, "os.system");
        assert!(error.contains("os.system") && error.contains("nothing was executed"), "{error}");
    }
    assert!(!proof.exists());
}

/// A wrong file: its format, its name, its contents, and a part of the error message.
type Wrong = (&'static str, &'static str, Vec<u8>, &'static str);

fn absurd_sizes() -> Vec<Wrong> {
    let text = |text: &str| text.as_bytes().to_vec();
    let huge = "99999999999999999999";
    vec![
        ("planetoid", "ind.toy.allx", text("\u{2}T\u{7f}\u{7f}\u{7f}\u{7f}abc"), "pickle"),
        ("planetoid", "ind.toy.graph", b"T\xff\xff\xff\xffabc.".to_vec(), "declares 4294967295 bytes"),
        ("planetoid", "ind.toy.test.index", text("4294967295\n"), "far beyond"),
        ("planetoid", "ind.toy.test.index", text("-1\n"), "expected one node number"),
        ("geom-gcn", "out1_graph_edges.txt", text("a\tb\n0\t-1\n"), "expected two node numbers"),
        ("geom-gcn", "out1_graph_edges.txt", text("a\tb\n0\t99999999999\n"), "expected two node numbers"),
        (
            "geom-gcn",
            "out1_node_feature_label.txt",
            text("0\t4000000000\t0\n"),
            "feature index 4000000000 is too large",
        ),
        (
            "geom-gcn",
            "out1_node_feature_label.txt",
            text("0\t1,0\t4000000000\n"),
            "class number 4000000000 is too large",
        ),
        ("geom-gcn", "out1_node_feature_label.txt", text("4000000000\t1,0\t0\n"), "node 0 is missing"),
        ("graphsaint", "feats.npy", npy("<f4", "(4611686018427387904, 4)", &[0; 16]), "needs"),
        ("graphsaint", "feats.npy", npy("<f4", "(3, 0)", &[0; 16]), "needs"),
        (
            "graphsaint",
            "class_map.json",
            text(r#"{"4000000000": 0}"#),
            "contains node 4000000000, but there are only 3 nodes",
        ),
        ("graphsaint", "class_map.json", text(r#"{"0": 1e400}"#), "number out of range"),
        ("graphsaint", "role.json", text(r#"{"tr": [-1], "va": [], "te": []}"#), "invalid value"),
        ("ogb", "raw/num-node-list.csv", text("2000000000\n"), "more than the memory limit of 32.0 MiB"),
        ("ogb", "raw/num-node-list.csv", text("99999999999\n"), "more than the 2^31"),
        ("ogb", "raw/num-edge-list.csv", text("-2\n"), "expected a number"),
        ("ogb", "raw/edge.csv", text("0,1\n0,99999999999999999\n"), "expected two node numbers"),
        ("ogb", "raw/edge.csv", text("0,1\n-1,2\n"), "expected two node numbers"),
        (
            "gnn-benchmark",
            "photo.npz",
            gnn_benchmark_with(Stored, "adj_shape", npy("<i8", "(2,)", &longs(&[2_000_000_000; 2]))),
            "more than the memory limit of 32.0 MiB",
        ),
        (
            "gnn-benchmark",
            "photo.npz",
            gnn_benchmark_with(Stored, "adj_indptr", npy("<i8", "(4,)", &longs(&[0, i64::MAX, i64::MIN, 2]))),
            "does not increase",
        ),
        (
            "gnn-benchmark",
            "photo.npz",
            gnn_benchmark_with(Stored, "adj_indices", npy("<i8", "(2,)", &longs(&[-1, i64::MIN]))),
            "item 0 is -1",
        ),
        (
            "gnn-benchmark",
            "photo.npz",
            gnn_benchmark_with(Stored, "labels", npy("<i8", "(3,)", &longs(&[0, 1, i64::MAX]))),
            "is too large",
        ),
        (
            "gnn-benchmark",
            "photo.npz",
            gnn_benchmark_with(Stored, "labels", npy("<u8", "(3,)", &longs(&[0, 1, -1]))),
            "not a 64-bit integer",
        ),
        (
            "scipy-npz",
            "matrix.npz",
            scipy_with(Stored, "shape", npy("<i8", "(2,)", &longs(&[-3, -3]))),
            "not a valid shape of a matrix",
        ),
        (
            "scipy-npz",
            "matrix.npz",
            scipy_with(Stored, "format", npy("|S0", "()", b"")),
            "is not a string array",
        ),
        (
            "scipy-npz",
            "matrix.npz",
            scipy_with(Stored, "data", b"\x93NUMPY\x02\0\xff\xff\xff\xff".to_vec()),
            "invalid header length",
        ),
        ("edge-index", "edges.npy", npy("<i8", "(2, 1)", &longs(&[0, -1])), "-1"),
        ("edge-index", "edges.npy", npy("<i8", "(2, 4611686018427387904)", &longs(&[0, 1])), "needs"),
        (
            "matrix-market",
            "coordinate.mtx",
            text("%%MatrixMarket matrix coordinate pattern general\n2000000000 2000000000 0\n"),
            "more than the memory limit of 32.0 MiB",
        ),
        (
            "matrix-market",
            "coordinate.mtx",
            text("%%MatrixMarket matrix coordinate pattern general\n3 3 4000000000\n1 2\n"),
            "4000000000 entries, but 1 follow",
        ),
        (
            "matrix-market",
            "coordinate.mtx",
            text("%%MatrixMarket matrix coordinate pattern general\n3 3 1\n1 -2\n"),
            "-2",
        ),
        (
            "matrix-market",
            "array.mtx",
            text("%%MatrixMarket matrix array real general\n65535 65535\n1\n"),
            "4294836225 entries, but 1 follow",
        ),
        ("metis", "plain.graph", text("2147483648 9\n\n"), "declares 2147483648 nodes"),
        (
            "metis",
            "plain.graph",
            text("3 9223372036854775808\n2\n1 3\n2\n"),
            "declares 9223372036854775808 edges",
        ),
        ("metis", "plain.graph", text("3 2\n2\n1 -3\n2\n"), "'-3' is not a node"),
        ("metis", "plain.graph", text("1 0 010 1048576\n1\n"), "is not the size or weight of a node"),
        ("edge-list", "numbers.txt", text("0 1\n1 -2\n"), "expected non-negative node ids"),
        ("edge-list", "numbers.txt", text(&format!("0 1\n1 {huge}\n")), "expected node ids below 2^64"),
    ]
}

fn wrong_numbers() -> Vec<Wrong> {
    let text = |text: &str| text.as_bytes().to_vec();
    let (nan, inf) = (f32::NAN, f32::INFINITY);
    vec![
        ("planetoid", "ind.toy.allx", pickled_matrix(&[1.0, nan, 3.0]), "row 1, column 1 is NaN"),
        ("planetoid", "ind.toy.tx", pickled_matrix(&[-inf]), "row 0, column 0 is -inf"),
        (
            "graphsaint",
            "feats.npy",
            npy("<f4", "(3, 1)", &floats(&[1.0, nan, 2.0])),
            "row 1, column 0 is NaN",
        ),
        (
            "graphsaint",
            "feats.npy",
            npy("<f8", "(3, 1)", &[[0u8; 8], 1e300f64.to_le_bytes(), [0; 8]].concat()),
            "too large for a 32-bit float",
        ),
        ("ogb", "raw/node-feat.csv", text("0,1\n2,inf\n4,5\n"), "row 1, column 1 is inf"),
        ("ogb", "raw/node-feat.csv", text("0,1\n2,1e39\n4,5\n"), "row 1, column 1 is inf"),
        ("ogb", "raw/node-label.csv", text("0\ninf\n0\n"), "label 1 is inf"),
        (
            "gnn-benchmark",
            "photo.npz",
            gnn_benchmark_with(Deflated, "attr_data", npy("<f4", "(2,)", &floats(&[1.0, inf]))),
            "inf",
        ),
        (
            "gnn-benchmark",
            "photo.npz",
            gnn_benchmark_with(Stored, "adj_data", npy("<f4", "(2,)", &floats(&[1.0, nan]))),
            "weight NaN",
        ),
        (
            "scipy-npz",
            "matrix.npz",
            scipy_with(Stored, "data", npy("<f4", "(2,)", &floats(&[1.0, -1.0]))),
            "weight -1",
        ),
        (
            "scipy-npz",
            "matrix.npz",
            scipy_with(
                Stored,
                "indices",
                npy("<f8", "(2,)", &[nan as f64, 1.0].map(f64::to_le_bytes).concat()),
            ),
            "not a 64-bit integer",
        ),
        (
            "matrix-market",
            "coordinate.mtx",
            text("%%MatrixMarket matrix coordinate real general\n3 3 1\n1 2 nan\n"),
            "weight NaN",
        ),
        ("metis", "weighted.graph", text("3 2 001\n2 inf\n1 inf 3 8\n2 8\n"), "weight"),
        ("edge-list", "large.csv", text("source,target,weight\n1,2,NaN\n"), "finite and non-negative"),
        ("edge-list", "large.csv", text("source,target,weight\n1,2,-0.5\n"), "finite and non-negative"),
    ]
}

#[test]
fn absurd_sizes_and_invalid_numbers_are_reported() {
    for (format, name, bytes, said) in absurd_sizes().into_iter().chain(wrong_numbers()) {
        let found = known()
            .find(|sample| sample.format == format && sample.files.iter().any(|(held, _)| *held == name));
        let Some(sample) = found else { continue };
        let error = refused(&sample.with(name, bytes), name, said);
        assert!(error.contains(said), "{format} {name}, {said}: {error}");
    }
}

#[test]
fn wide_sparse_rows_are_not_made_dense() {
    let wide = npy("<i8", "(2,)", &longs(&[3, 4_000_000_000]));
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("wide.npz");
    std::fs::write(&path, gnn_benchmark_with(Stored, "attr_shape", wide)).unwrap();
    let refused = data::open(&path, &Options { budget: BUDGET, ..Options::default() }).unwrap_err();
    assert!(refused.to_string().contains("rows of 4000000000 columns"), "{refused}");
    let options = Options { budget: Budget { bytes: 1 << 50 }, ..Options::default() };
    let wide = data::open(&path, &options).unwrap();
    assert_eq!(wide.features.as_ref().unwrap().cols(), 4_000_000_000);
    let prepared = |feature_norm| {
        let prepare = Prepare { feature_norm, ..Prepare::default() };
        StructComp { prepare, ..StructComp::default() }.prepared_features(&wide).map(|x| x.cols())
    };
    assert_eq!(prepared(FeatureNorm::RowL2).unwrap(), 4_000_000_000);
    let error = prepared(FeatureNorm::Standardize).unwrap_err().to_string();
    assert!(error.contains("standardised features") && error.contains("44.7 GiB"), "{error}");
}

/// Numbers of nodes and columns that a few bytes claim.
#[test]
fn claims_of_a_few_bytes_must_fit_the_memory_limit() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("claim.mtx");
    let options = Options { budget: Budget { bytes: 1150 << 20 }, ..Options::default() };
    let claim = |sizes: &str| {
        std::fs::write(&path, format!("%%MatrixMarket matrix coordinate pattern general\n{sizes}\n1 2\n"))
            .unwrap();
    };
    claim("100000000 100000000 1");
    let error = data::open(&path, &options).unwrap_err().to_string();
    assert!(error.contains("claim.mtx: a graph of 100000000 nodes needs"), "{error}");
    claim("40 2000000000 1");
    let error = data::open_table(&path, &options).unwrap_err().to_string();
    assert!(error.contains("claim.mtx: rows of 2000000000 columns needs"), "{error}");
    let wide = structcomp::Csr::new(1 << 40, vec![0, 0], vec![], vec![]).unwrap_err().to_string();
    assert!(wide.contains("more than the 2^32 supported"), "{wide}");
}
