//! The command line as a user meets it: exit codes, streams, JSON, messages and files.
//!
//! Help, reports and error messages are compared with the files in `tests/snapshots`; `UPDATE_SNAPSHOTS=1` rewrites
//! them.

#![allow(clippy::unwrap_used, clippy::print_stderr)] // a test fails by panicking and says what it skipped

mod convert;
mod errors;
mod evaluate;
mod files;
mod help;
mod info;
mod interrupt;
mod manners;
mod memory;
mod names;
mod neighbors;
mod partition;
mod reports;
mod reproduce;
mod snapshot;
mod train;

use serde_json::Value;
use snapshot::snapshot;
use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
};

/// The program, to be run in a folder and with no data of the user's.
fn program(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_structcomp"));
    command.current_dir(folder).env_remove("STRUCTCOMP_DATA").env("XDG_DATA_HOME", folder.join("share"));
    command
}

fn structcomp(folder: &Path, args: &[&str]) -> Output {
    program(folder).args(args).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Standard output of a call that must succeed and print nothing on standard error.
fn stdout(folder: &Path, args: &[&str]) -> String {
    let output = structcomp(folder, args);
    assert!(output.status.success(), "{args:?}: {}", text(&output.stderr));
    assert_eq!(text(&output.stderr), "", "{args:?}");
    text(&output.stdout)
}

/// The same for a command line without quotes.
fn line(folder: &Path, args: &str) -> String {
    stdout(folder, &args.split_whitespace().collect::<Vec<_>>())
}

/// What a command line prints with `--json`.
fn json(folder: &Path, args: &str) -> Value {
    serde_json::from_str(&line(folder, &format!("{args} --json"))).unwrap()
}

/// Exit code and standard error of a call that must fail and print no result.
fn failure(folder: &Path, args: &[&str]) -> (i32, String) {
    let output = structcomp(folder, args);
    assert_eq!(text(&output.stdout), "", "{args:?}");
    (output.status.code().unwrap(), text(&output.stderr))
}

fn write(folder: &Path, name: &str, text: &str) {
    std::fs::write(folder.join(name), text).unwrap();
}

fn read(folder: &Path, name: &str) -> Vec<u8> {
    std::fs::read(folder.join(name)).unwrap()
}

/// A folder with an edge list: 1-2 three times, 2-3, 3-3, 9-1 in one direction.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "edges.txt", "# mine\n1 2\n2 1\n1 2\n2 3\n3 2\n3 3\n9 1\n");
    folder
}

/// Makes a graph that is embedded and evaluated in a moment.
const SMALL: &str = "generate demo --nodes 300 --edges 900 --words 40 --out small";

/// The published datasets.
fn published() -> Option<PathBuf> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    if path.exists() {
        return Some(path.canonicalize().unwrap());
    }
    assert!(std::env::var_os("CI").is_none(), "the published datasets are missing");
    eprintln!("skipped: the published datasets are missing");
    None
}
