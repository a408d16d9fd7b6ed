//! `structcomp reproduce`.

use super::*;

#[test]
fn a_cell_is_run_once() {
    let folder = folder();
    let args = ["reproduce", "theory", "--only", "star", "--out", "r"];
    let output = structcomp(folder.path(), &args);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("1 cell to run, 0 finished before"), "{}", text(&output.stderr));
    let said = text(&output.stdout);
    let star = said.lines().find(|line| line.contains("star (synthetic)")).unwrap();
    assert!(star.contains("fails") && star.contains("1998.0") && star.contains("154.8"), "{star}");
    for file in ["index.html", "results.md", "results.json", "cells/theory/star-linear-structcomp.json"] {
        assert!(folder.path().join("r").join(file).exists(), "{file}");
    }
    let again = [&args[..], &["--quiet", "--markdown", "docs/results.md"]].concat().join(" ");
    let again = json(folder.path(), &again);
    assert_eq!((again["finished"].clone(), again["finished_before"].clone()), (0.into(), 1.into()));
    assert!(folder.path().join("docs/results.md").exists());
    let redo = [&args[..], &["--redo", "--quiet"]].concat().join(" ");
    assert_eq!(json(folder.path(), &redo)["finished"], 1);
}

#[test]
fn errors_say_what_is_wrong_before_anything_runs() {
    let folder = folder();
    let (code, said) = failure(folder.path(), &["reproduce", "tiny"]);
    assert_eq!(code, 2);
    assert!(said.contains("unknown experiment 'tiny'; expected small, time-memory"), "{said}");
    let (code, said) = failure(folder.path(), &["reproduce", "small", "--only", "corra"]);
    assert_eq!(code, 1);
    assert!(said.contains("small has no cell with 'corra' in its name"), "{said}");
    let (code, said) = failure(folder.path(), &["reproduce", "small", "--only", "cora/sce"]);
    assert!(code == 1 && said.contains("cora"), "{said}");
    std::fs::write(folder.path().join("file"), "").unwrap();
    let (code, said) = failure(folder.path(), &["reproduce", "theory", "--only", "star", "--out", "file/r"]);
    assert!(
        code == 1 && said.contains("file: is a file, not a folder") && !said.contains("to run"),
        "{said}"
    );
    let args = ["reproduce", "theory", "--only", "star", "--out", "r", "--markdown", "."];
    let (code, said) = failure(folder.path(), &args);
    assert!(code == 1 && said.contains("is a folder") && !said.contains("to run"), "{said}");
    let (code, said) = failure(folder.path(), &[&args[..7], &["file/results.md"]].concat());
    assert!(
        code == 1 && said.contains("file: is a file, not a folder") && !said.contains("to run"),
        "{said}"
    );
    let (code, said) = failure(folder.path(), &["measure-training", "{}"]);
    assert!(code == 1 && said.contains("measuring training"), "{said}");
}

#[test]
#[cfg(target_os = "linux")]
fn an_error_that_cannot_be_told_is_still_an_error() {
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_structcomp"));
    let status = command.args(["info", "no such file"]).stderr(full).status().unwrap();
    assert_eq!(status.code(), Some(1));
}
