//! The command line as a person meets it: exit codes, streams, JSON and messages.

#![allow(clippy::unwrap_used, clippy::print_stderr)] // a test fails by panicking and says what it skipped

mod evaluate;
mod partition;
mod reproduce;
mod run;

use serde_json::Value;
use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
};

fn structcomp(folder: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_structcomp"));
    command
        .args(args)
        .current_dir(folder)
        .env_remove("STRUCTCOMP_DATA")
        .env("XDG_DATA_HOME", folder.join("share"));
    command.output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Standard output of a call that must succeed and say nothing on standard error.
fn stdout(folder: &Path, args: &[&str]) -> String {
    let output = structcomp(folder, args);
    assert!(output.status.success(), "{args:?}: {}", text(&output.stderr));
    assert_eq!(text(&output.stderr), "", "{args:?}");
    text(&output.stdout)
}

fn json(folder: &Path, args: &[&str]) -> Value {
    serde_json::from_str(&stdout(folder, args)).unwrap()
}

/// Exit code and standard error of a call that must fail and print no result.
fn failure(folder: &Path, args: &[&str]) -> (i32, String) {
    let output = structcomp(folder, args);
    assert_eq!(text(&output.stdout), "", "{args:?}");
    (output.status.code().unwrap(), text(&output.stderr))
}

/// A small folder with an edge list: 1-2 twice, 2-3, 3-3, 9-1 one way.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("edges.txt"), "# mine\n1 2\n2 1\n1 2\n2 3\n3 2\n3 3\n9 1\n").unwrap();
    folder
}

#[test]
fn info_tells_what_was_repaired() {
    let folder = folder();
    let said = stdout(folder.path(), &["info", "edges.txt"]);
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines[0], "edges (edge-list)");
    assert_eq!(lines[1], "  nodes                 4  0 isolated, 1 component");
    assert_eq!(lines[2], "  edges                 3  undirected");
    assert!(
        said.contains("repairs   1 self loop dropped, 1 duplicate dropped, 1 one-way edge made two-way\n"),
        "{said}"
    );
    let data = json(folder.path(), &["info", "edges.txt", "--json"]);
    assert_eq!(data["data"]["repairs"]["duplicates"], 1);
    assert_eq!(data["data"]["ids"], "numbers");
    assert_eq!(data["degree"]["max"], 2);
    assert_eq!(data["homophily"], Value::Null);
}

#[test]
fn strict_reading_fails_with_the_repairs() {
    let (code, said) = failure(folder().path(), &["info", "edges.txt", "--strict"]);
    assert_eq!(code, 1);
    assert!(
        said.starts_with(
            "error: the data needs repairs, which strict reading does not allow: 1 self loop dropped"
        ),
        "{said}"
    );
    assert_eq!(said.lines().count(), 1);
}

#[test]
fn mistakes_are_told_in_one_line_and_misuse_exits_with_two() {
    let folder = folder();
    for (args, code, part) in [
        (&["info", "coar"][..], 1, "unknown dataset 'coar'; did you mean 'cora'?"),
        (&["info", "cora"], 1, "structcomp datasets fetch cora"),
        (&["info", "none/here.txt"], 1, "none/here.txt: no such file or folder"),
        (&["info", "edges.txt", "--splits", "random20"], 1, "splits need labels"),
        (&["info", "edges.txt", "--memory", "1K", "--format", "matrix-market"], 1, "edges.txt"),
        (&["convert", "edges.txt", "x.npy", "--features", "none.csv"], 1, "none.csv"),
        (&["convert", "edges.txt", "out.xyz"], 1, "out.xyz"),
        (&["generate", "dmeo", "--out", "d"], 1, "there is no synthetic graph 'dmeo'"),
        (&["generate", "--out", "d", "--homophily", "0.01"], 1, "homophily"),
        (&["datasets", "verify"], 1, "there is no named dataset in"),
    ] {
        let (found, said) = failure(folder.path(), args);
        assert!(
            found == code && said.starts_with("error: ") && said.contains(part),
            "{args:?}: {found} {said}"
        );
        assert_eq!(said.lines().count(), 1, "{args:?}: {said}");
    }
    for args in
        [&["inform"][..], &["info", "--threads", "0"], &["info", "--memory", "much"], &["generate"], &[]]
    {
        assert_eq!(failure(folder.path(), args).0, 2, "{args:?}");
    }
}

#[test]
fn a_failed_conversion_leaves_nothing_behind() {
    let folder = folder();
    std::fs::write(folder.path().join("x.csv"), "id,a\n1,1\n2,2\n3,inf\n9,0\n").unwrap();
    failure(folder.path(), &["convert", "edges.txt", "x.npy", "--features", "x.csv"]);
    failure(folder.path(), &["generate", "--out", "d", "--homophily", "0.01"]);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2, "edges.txt and x.csv");
}

#[test]
fn every_help_has_an_example() {
    let folder = folder();
    for command in [
        &[][..],
        &["info"],
        &["convert"],
        &["generate"],
        &["datasets"],
        &["datasets", "list"],
        &["datasets", "fetch"],
        &["datasets", "verify"],
        &["evaluate"],
    ] {
        let said = stdout(folder.path(), &[command, &["--help"]].concat());
        let last = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap();
        assert!(
            said.contains("Example") && last.trim_start().starts_with("structcomp "),
            "{command:?}: {said}"
        );
    }
}

#[test]
fn graphs_and_ids_survive_conversion() {
    let folder = folder();
    let first = json(folder.path(), &["info", "edges.txt", "--json"]);
    for step in [
        &["convert", "edges.txt", "clean.csv"][..],
        &["convert", "edges.txt", "clean.parquet"],
        &["convert", "edges.txt", "all"],
        &["convert", "all", "again.txt"],
    ] {
        stdout(folder.path(), step);
        let data = json(folder.path(), &["info", step[2], "--json"]);
        assert_eq!(
            (&data["data"]["nodes"], &data["data"]["edges"]),
            (&first["data"]["nodes"], &first["data"]["edges"])
        );
        assert_eq!(data["data"]["ids"], "numbers", "{step:?}");
    }
    assert_eq!(
        std::fs::read_to_string(folder.path().join("clean.csv")).unwrap(),
        "source,target\n1,2\n1,9\n2,3\n"
    );
    stdout(folder.path(), &["convert", "edges.txt", "g.scg"]);
    assert_eq!(json(folder.path(), &["info", "g.scg", "--json"])["data"]["edges"], 3);
}

#[test]
fn features_are_spread_and_noise_is_added() {
    let folder = folder();
    std::fs::write(folder.path().join("x.csv"), "id,a\n1,1\n2,2\n3,6\n9,3\n").unwrap();
    let files = ["--features", "x.csv"];
    stdout(
        folder.path(),
        &[&["convert", "edges.txt", "z.csv", "--hops", "1", "--normalization", "row"][..], &files].concat(),
    );
    // 9 - 1 - 2 - 3: each row is the mean over the node and its neighbours.
    let found = std::fs::read_to_string(folder.path().join("z.csv")).unwrap();
    assert_eq!(found, "id,0\n1,2\n2,3\n3,4\n9,2\n");
    stdout(folder.path(), &["convert", "edges.txt", "noisy.csv", "--random-edges", "1"]);
    assert_eq!(std::fs::read_to_string(folder.path().join("noisy.csv")).unwrap().lines().count(), 1 + 4);
    assert!(
        failure(folder.path(), &["convert", "edges.txt", "z.npy", "--hops", "1"]).1.contains("no features")
    );
}

#[test]
fn synthetic_data_says_so_and_does_not_depend_on_threads() {
    let folder = folder();
    let small = ["--nodes", "600", "--edges", "1500", "--isolated", "7", "--seed", "3"];
    for (threads, name) in [("1", "one"), ("3", "three")] {
        let made = [&["generate", "--out", name, "--threads", threads, "--json"][..], &small].concat();
        assert_eq!(json(folder.path(), &made)["synthetic"], true);
    }
    let [one, three] = ["one", "three"].map(|name| json(folder.path(), &["info", name, "--json"]));
    assert_eq!(one["data"]["synthetic"], true);
    assert_eq!(one["data"]["repairs"]["isolated"], 7);
    assert_eq!(one["data"]["sha256"], three["data"]["sha256"]);
    assert!(stdout(folder.path(), &["info"]).starts_with("demo (synthetic)\n"));
}

#[test]
fn stand_ins_are_named_in_the_output() {
    let folder = folder();
    for (kind, words) in
        [("degree", "node degrees"), ("random-projection", "random vectors"), ("spectral", "eigenvectors")]
    {
        let said = stdout(folder.path(), &["info", "edges.txt", "--stand-in", kind, "--stand-in-width", "3"]);
        assert!(said.contains("has no features") && said.contains(words), "{said}");
    }
}

#[test]
fn a_config_file_gives_flags_and_typed_ones_win() {
    let folder = folder();
    std::fs::write(folder.path().join("c.toml"), "json = true\nstrict = true\n").unwrap();
    assert_eq!(failure(folder.path(), &["info", "edges.txt", "--config", "c.toml"]).0, 1);
    std::fs::write(folder.path().join("c.toml"), "json = true\nstand-in = \"degree\"\n").unwrap();
    let data = json(folder.path(), &["info", "edges.txt", "--config=c.toml", "--stand-in-width", "5"]);
    assert_eq!(data["data"]["features"], 5);
    std::fs::write(folder.path().join("c.toml"), "sead = 1\n").unwrap();
    let (code, said) = failure(folder.path(), &["info", "--config", "c.toml"]);
    assert!(code == 2 && said.contains("'sead' is not a flag of 'structcomp info'"), "{said}");
}

#[test]
fn separate_files_are_joined_by_id() {
    let folder = folder();
    std::fs::write(folder.path().join("x.csv"), "id,a,b\n9,1,0\n1,0,1\n2,1,1\n3,0,0.5\n").unwrap();
    std::fs::write(folder.path().join("y.csv"), "id,label\n1,red\n9,blue\n2,red\n").unwrap();
    let args = ["info", "--edges", "edges.txt", "--features", "x.csv", "--labels", "y.csv", "--json"];
    let data = json(folder.path(), &args);
    assert_eq!(
        (&data["data"]["features"], &data["data"]["classes"], &data["data"]["unlabelled"]),
        (&2.into(), &2.into(), &1.into())
    );
    assert_eq!(data["homophily"], 0.5);
}

/// nodes, edges, features, classes, self loops, duplicates, isolated, components.
const PUBLISHED: [(&str, [u64; 8]); 8] = [
    ("cora", [2708, 5278, 1433, 7, 0, 302, 0, 78]),
    ("citeseer", [3327, 4552, 3703, 6, 124, 236, 48, 438]),
    ("pubmed", [19717, 44324, 500, 3, 3, 25, 0, 1]),
    ("amazon-photo", [7650, 119_081, 745, 8, 1, 0, 115, 136]),
    ("amazon-computers", [13752, 245_861, 767, 10, 0, 0, 281, 314]),
    ("chameleon", [2277, 31371, 2325, 5, 50, 0, 0, 1]),
    ("squirrel", [5201, 198_353, 2089, 5, 140, 0, 0, 1]),
    ("actor", [7600, 26659, 932, 5, 93, 3372, 0, 1]),
];

#[test]
fn info_on_the_published_datasets_gives_their_counts() {
    let Some(data_dir) = published() else { return };
    let folder = folder();
    for (name, [nodes, edges, features, classes, loops, duplicates, isolated, components]) in PUBLISHED {
        let args = ["info", name, "--data-dir", data_dir.to_str().unwrap()];
        let report = json(folder.path(), &[&args[..], &["--json"]].concat());
        let data = &report["data"];
        let found = [
            &data["nodes"],
            &data["edges"],
            &data["features"],
            &data["classes"],
            &data["repairs"]["self_loops"],
            &data["repairs"]["duplicates"],
            &data["repairs"]["isolated"],
            &report["components"],
        ];
        let expected =
            [nodes, edges, features, classes, loops, duplicates, isolated, components].map(Value::from);
        assert_eq!(found, expected.each_ref(), "{name}");
        let said = stdout(folder.path(), &args);
        assert!(said.starts_with(&format!("{name} (")), "{said}");
        for (count, what) in [(loops, "self loop"), (duplicates, "duplicate")] {
            assert_eq!(said.contains(&format!(" {what}")), count > 0, "{said}");
        }
        // A difference from the record would be a note.
        assert!(!said.contains("expected"), "{said}");
    }
    let citeseer =
        json(folder.path(), &["info", "citeseer", "--data-dir", data_dir.to_str().unwrap(), "--json"]);
    assert_eq!(citeseer["data"]["unlabelled"], 15);
    assert_eq!(citeseer["data"]["feature_matrix"]["zero_rows"], 15);
}

#[test]
fn published_files_verify_and_split_as_the_paper_does() {
    let Some(data_dir) = published() else { return };
    let folder = folder();
    let data_dir = data_dir.to_str().unwrap();
    let report = json(folder.path(), &["datasets", "verify", "--data-dir", data_dir, "--json"]);
    let all = report["datasets"].as_array().unwrap();
    assert!(all.len() == 8 && all.iter().all(|dataset| dataset["ok"] == true));
    let args = ["info", "pubmed", "--data-dir", data_dir, "--splits", "random20", "--runs", "50", "--json"];
    let splits = &json(folder.path(), &args)["data"]["splits"][0];
    assert_eq!(
        (&splits["train"], &splits["test"], &splits["splits"]),
        (&60.into(), &19657.into(), &50.into())
    );
}

fn published() -> Option<PathBuf> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    if path.exists() {
        return Some(path.canonicalize().unwrap());
    }
    assert!(std::env::var_os("CI").is_none(), "the published datasets are missing");
    eprintln!("skipped: the published datasets are missing");
    None
}
