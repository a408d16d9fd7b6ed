//! Pipes, spelling, files that are not replaced, and settings in a file.

use super::*;
use std::io::Write;
use std::process::Stdio;

/// What a command prints when it reads this.
fn piped(folder: &Path, args: &str, input: &str) -> String {
    let mut command = program(folder);
    command.args(args.split_whitespace()).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{args}: {}", text(&output.stderr));
    text(&output.stdout)
}

#[test]
fn data_come_through_pipes() {
    let folder = folder();
    let scratch = tempfile::tempdir_in(folder.path()).unwrap();
    let edges = "a,b\nb,c\nb,c\n";
    let mut command = program(folder.path());
    command
        .env("TMPDIR", scratch.path())
        .args(["info", "-", "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(edges.as_bytes()).unwrap();
    let about: Value = serde_json::from_slice(&child.wait_with_output().unwrap().stdout).unwrap();
    let about = &about["data"];
    assert_eq!((about["nodes"].as_u64(), about["edges"].as_u64()), (Some(3), Some(2)));
    assert_eq!(about["name"], "stdin");
    assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 0, "nothing is left");
    assert_eq!(piped(folder.path(), "convert - -", edges), "source,target\na,b\nb,c\n");
    assert_eq!(line(folder.path(), "convert edges.txt -"), "source,target\n1,2\n1,9\n2,3\n");
    let about = piped(folder.path(), "info --edges - --json", edges);
    assert!(about.contains("\"nodes\": 3"), "{about}");
    let near = piped(folder.path(), "neighbors - a -k 1", "id,0,1\na,1,0\nb,2,0.1\nc,-1,3\n");
    assert!(near.contains("  b "), "{near}");
}

#[test]
fn names_of_models_may_be_in_capitals() {
    let folder = folder();
    line(folder.path(), SMALL);
    let report = json(folder.path(), "train small --model SCE --epochs 1 --hidden 4 --out m.safetensors");
    assert_eq!(report["model"]["model"]["name"], "sce");
}

#[test]
fn foreign_files_are_replaced_only_by_force() {
    let folder = folder();
    line(folder.path(), SMALL);
    let run = "run small --runs 2 --out results";
    std::fs::create_dir(folder.path().join("results")).unwrap();
    write(folder.path(), "results/report.html", "mine");
    write(folder.path(), "results/notes.txt", "mine too");
    let (code, said) = failure(folder.path(), &run.split(' ').collect::<Vec<_>>());
    assert!(code == 1 && said.contains("results/report.html was not written by an earlier run"), "{said}");
    assert_eq!(read(folder.path(), "results/report.html"), b"mine");
    let listed = |args: &str| {
        let output = structcomp(folder.path(), &args.split_whitespace().collect::<Vec<_>>());
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    let said = listed(&format!("{run} --force"));
    assert!(said.contains("results/embedding.npy") && said.contains("results/report.html"), "{said}");
    assert_ne!(read(folder.path(), "results/report.html"), b"mine");
    // Its own files are replaced without asking, and others stay.
    listed(run);
    assert_eq!(read(folder.path(), "results/notes.txt"), b"mine too");
    // One file more with a name of ours, which no run wrote.
    write(folder.path(), "results/ids.txt", "1\n");
    assert!(
        failure(folder.path(), &run.split(' ').collect::<Vec<_>>())
            .1
            .contains("results/ids.txt was not written")
    );
}

#[test]
fn a_run_that_was_killed_while_its_files_were_moved_is_completed_by_the_next() {
    let folder = folder();
    line(folder.path(), SMALL);
    line(folder.path(), "run small --runs 2 --out results");
    let results = folder.path().join("results");
    let whole = |name: &str| std::fs::read(results.join(name)).unwrap();
    let before =
        ["embedding.npy", "weights.safetensors", "report.html", "run.json"].map(|name| (name, whole(name)));
    // The first of the files has been moved, the others have not.
    std::fs::create_dir(results.join("unfinished")).unwrap();
    for (name, _) in &before[1..] {
        std::fs::rename(results.join(name), results.join("unfinished").join(name)).unwrap();
    }
    let (code, said) = failure(folder.path(), &["run", "nothing", "--out", "results"]);
    assert!(code == 1 && !said.contains("--force"), "{said}");
    for (name, bytes) in before {
        assert!(whole(name) == bytes, "{name}");
    }
    assert!(!results.join("unfinished").exists());
}

#[test]
fn a_converted_file_replaces_its_source_only_by_force() {
    let folder = folder();
    let before = read(folder.path(), "edges.txt");
    write(folder.path(), "e.csv", "a,b\nb,a\nb,c\n");
    assert_eq!(failure(folder.path(), &["convert", "e.csv", "e.csv"]).0, 1);
    assert_eq!(read(folder.path(), "e.csv"), b"a,b\nb,a\nb,c\n");
    line(folder.path(), "convert e.csv e.csv --force");
    assert_eq!(read(folder.path(), "e.csv"), b"source,target\na,b\nb,c\n");
    assert_eq!(read(folder.path(), "edges.txt"), before);
}

#[test]
fn a_settings_file_can_hold_the_whole_call() {
    let folder = folder();
    write(folder.path(), "e.csv", "a,b\nb,c\nc,d\nd,a\n");
    write(folder.path(), "x.csv", "1,0\n0,1\n1,1\n3,0\n");
    write(folder.path(), "names.txt", "a\nb\nc\nd");
    write(
        folder.path(),
        "call.toml",
        "edges = 'e.csv'\nfeatures = 'x.csv'\nids = 'names.txt'\nmodel = 'SCE'\nset = ['alpha=2', 'negatives=8']\n\
         epochs = 1\nhidden = 4\nclusters = 2\nout = 'm.safetensors'\n",
    );
    let report = json(folder.path(), "train --config call.toml");
    assert_eq!((report["data"]["nodes"].as_u64(), report["data"]["features"].as_u64()), (Some(4), Some(2)));
    assert_eq!(report["model"]["model"]["negatives"], 8);
    assert_eq!(report["model"]["model"]["alpha"], 2.0);
    write(folder.path(), "data.toml", "data = 'e.csv'\n");
    assert_eq!(json(folder.path(), "info --config data.toml")["data"]["nodes"], 4);
    assert_eq!(json(folder.path(), "info edges.txt --config data.toml")["data"]["name"], "edges");
}

#[test]
fn there_is_no_colour_outside_of_a_terminal() {
    let folder = folder();
    assert!(!line(folder.path(), "info edges.txt").contains('\x1b'));
    assert!(!failure(folder.path(), &["info", "none.txt"]).1.contains('\x1b'));
}

/// A pseudo-terminal by util-linux's `script`, where there is one.
#[cfg(target_os = "linux")]
#[test]
fn a_terminal_is_in_colour_unless_nobody_wants_that() {
    let folder = folder();
    let on_a_terminal = |variables: &[(&str, &str)]| {
        let command = format!("'{}' info edges.txt", env!("CARGO_BIN_EXE_structcomp"));
        let mut script = Command::new("script");
        script.args(["-qec", &command, "/dev/null"]).current_dir(folder.path()).env_remove("NO_COLOR");
        script.env("TERM", "xterm").envs(variables.iter().copied()).stdin(Stdio::null());
        script.output().ok().map(|output| text(&output.stdout))
    };
    let Some(plain) = on_a_terminal(&[("NO_COLOR", "1")]) else { return eprintln!("skipped: no script") };
    assert!(plain.contains("edges") && !plain.contains("\x1b[1m"), "{plain:?}");
    assert!(on_a_terminal(&[]).unwrap().contains("\x1b[1medges"), "no colour");
}
