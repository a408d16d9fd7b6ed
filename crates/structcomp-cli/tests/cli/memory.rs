//! `--memory` bounds the process: commands run under a hard limit of the system a little above it, and end with a result
//! or with an error, but never by a signal.

use super::{line, program, read, text};
use std::path::Path;
use std::process::{Command, Output};

/// What the process may hold beside what `--memory` allows: stacks of threads, code, and what the allocator keeps.
const BESIDE: u64 = 96 << 20;

/// Runs the program with two threads and `--memory` under that hard limit on writable memory.
fn limited(folder: &Path, args: &str, megabytes: u64) -> Output {
    let kilobytes = ((megabytes << 20) + BESIDE) / 1024;
    let limit = format!("--memory {megabytes}M --threads 2");
    let mut command = Command::new("sh");
    command.args(["-c", &format!("ulimit -d {kilobytes}; exec \"$0\" {args} {limit}")]);
    command.arg(env!("CARGO_BIN_EXE_structcomp"));
    command.current_dir(folder).env_remove("STRUCTCOMP_DATA").env("XDG_DATA_HOME", folder.join("share"));
    command.output().unwrap()
}

/// The exit status, which is 0 or 1, and the error.
fn ended(folder: &Path, args: &str, megabytes: u64) -> (i32, String) {
    let output = limited(folder, args, megabytes);
    let said = text(&output.stderr);
    let code = output.status.code().unwrap_or_else(|| panic!("{args}: {} {said}", output.status));
    assert!(code == 0 || code == 1 && said.starts_with("error: "), "{args}: {code} {said}");
    (code, said)
}

fn no_litter(folder: &Path) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(!name.starts_with(".structcomp-"), "{name} is left");
    }
}

#[test]
fn every_command_keeps_within_its_limit() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    line(folder, "generate --nodes 6000 --edges 60000 --gaussian 400 --classes 5 --out g");
    line(folder, "train g --model sce --hidden 64 --epochs 1 --clusters 300 --out m.safetensors");
    line(folder, "embed g --weights m.safetensors --out z.npy");
    let before = read(folder, "z.npy");
    let mut refused = Vec::new();
    for (name, args) in [
        ("info", "info g"),
        ("convert", "convert g x.csv"),
        ("partition", "partition g --out c.part"),
        ("generate", "generate --nodes 6000 --edges 60000 --gaussian 400 --out h"),
        ("solve", "train g --out s.safetensors"),
        ("train", "train g --mode full --model grace --hidden 512 --epochs 1 --out t.safetensors"),
        ("embed", "embed g --untrained slimg --out y.npy"),
        ("evaluate", "evaluate g --embedding z.npy --runs 2"),
        ("run", "run g --runs 2 --model cca-ssg --hidden 1024 --epochs 1 --out r"),
        ("neighbors", "neighbors z.npy --all --out n.npy -k 50"),
    ] {
        for megabytes in [4, 16, 48] {
            let (code, said) = ended(folder, args, megabytes);
            if code == 1 {
                assert!(said.contains("allow") || said.contains("memory"), "{args}: {said}");
                refused.push((name, megabytes));
            }
        }
        no_litter(folder);
    }
    // Not all is refused, and not all fits.
    assert!(refused.len() > 5 && !refused.contains(&("partition", 48)), "{refused:?}");
    assert!(refused.contains(&("train", 16)) && refused.contains(&("embed", 4)), "{refused:?}");
    assert_eq!(read(folder, "z.npy"), before);
}

#[test]
fn what_is_over_the_limit_ends_in_words_and_leaves_the_earlier_file() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    line(folder, "generate --nodes 6000 --edges 60000 --gaussian 400 --out g");
    line(folder, "train g --model sce --hidden 8 --epochs 1 --clusters 300 --out m.safetensors");
    let before = read(folder, "m.safetensors");
    let args = "train g --mode full --model cca-ssg --hidden 2048 --epochs 1 --out m.safetensors";
    let (code, said) = ended(folder, args, 32);
    assert_eq!(code, 1);
    assert!(said.contains("this needs more than the 32.0 MiB that --memory allows: "), "{said}");
    assert_eq!(read(folder, "m.safetensors"), before);
    no_litter(folder);
}

#[test]
fn files_that_claim_much_end_in_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let npy = |shape: &str| {
        let mut header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}");
        header.push_str(&" ".repeat(117 - header.len()));
        [&b"\x93NUMPY\x01\x00\x76\x00"[..], header.as_bytes(), b"\n"].concat()
    };
    let safetensors = |json: &str| [&(json.len() as u64).to_le_bytes()[..], json.as_bytes()].concat();
    let files: Vec<(&str, Vec<u8>)> = vec![
        ("wide.mtx", b"%%MatrixMarket matrix coordinate real general\n40 2000000000 1\n1 1 1\n".to_vec()),
        (
            "many.mtx",
            b"%%MatrixMarket matrix coordinate real general\n900000000 900000000 1\n1 2 1\n".to_vec(),
        ),
        ("metis.graph", b"800000000 1\n2\n1\n".to_vec()),
        ("ids.csv", b"1,2147483647\n2,4294967294\n".to_vec()),
        ("far.csv", b"18446744073709551615,2\n1,2\n".to_vec()),
        ("rows.npy", npy("(4000000000, 2)")),
        ("cols.npy", npy("(2, 4000000000)")),
        ("all.npy", npy("(9223372036854775807, 9223372036854775807)")),
        (
            "w.safetensors",
            safetensors(
                r#"{"a":{"dtype":"F32","shape":[4611686018427387904],"data_offsets":[0,18446744073709551615]}}"#,
            ),
        ),
        ("long.safetensors", [&u64::MAX.to_le_bytes()[..], b"{}"].concat()),
    ];
    for (name, bytes) in &files {
        std::fs::write(folder.join(name), bytes).unwrap();
        for args in [
            format!("info {name}"),
            format!("partition {name} --out c.part"),
            format!("train {name} --out m.safetensors"),
            format!("embed demo --weights {name} --out z.npy"),
            format!("evaluate demo --embedding {name}"),
            format!("neighbors {name} --all --out n.npy"),
            format!("run --edges {name} --features {name}"),
        ] {
            ended(folder, &args, 40);
        }
    }
    no_litter(folder);
    assert!(program(folder).args(["info", "demo"]).output().unwrap().status.success());
}
