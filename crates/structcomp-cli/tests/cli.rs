//! The command line as a person meets it: exit codes, streams, JSON and messages.

#![allow(clippy::unwrap_used, clippy::print_stderr)] // a test fails by panicking and says what it skipped

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
        said.starts_with("error: the data is not clean and --strict was given: 1 self loop dropped"),
        "{said}"
    );
    assert_eq!(said.lines().count(), 1);
}

#[test]
fn mistakes_are_told_in_one_line_and_misuse_exits_with_two() {
    let folder = folder();
    for (args, code, part) in [
        (&["info", "coar"][..], 1, "there is no dataset 'coar'; did you mean 'cora'?"),
        (&["info", "cora"], 1, "structcomp datasets fetch cora"),
        (&["info", "none/here.txt"], 1, "none/here.txt: there is no such file or folder"),
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
fn clusters_come_back_under_the_ids_of_the_data() {
    let folder = folder();
    let report = json(folder.path(), &["partition", "edges.txt", "-k", "2", "--out", "c.csv", "--json"]);
    let partition = &report["partition"];
    assert_eq!((&partition["requested"], &partition["clusters"]), (&2.into(), &2.into()));
    assert_eq!(partition["method"], "multilevel");
    assert!(report["seconds"]["partition"].is_number() && report["peak_rss_bytes"].is_number());
    let table = std::fs::read_to_string(folder.path().join("c.csv")).unwrap();
    let ids: Vec<&str> = table.lines().map(|line| line.split(',').next().unwrap()).collect();
    assert_eq!(ids, ["id", "1", "2", "3", "9"]);
}

#[test]
fn a_part_file_of_another_tool_is_measured() {
    let folder = folder();
    // Clusters 0 and 7: one is asked for by the other tool, six are empty.
    std::fs::write(folder.path().join("theirs.part"), "0\n7\n7\n0\n").unwrap();
    let said = stdout(folder.path(), &["partition", "edges.txt", "--method", "theirs.part", "--hops", "3"]);
    assert!(said.contains("8 asked for; 6 were empty and are gone"), "{said}");
    assert!(said.contains("cut                   1  33.33 % of the edges"), "{said}");
    assert!(said.contains("‖P'Pᵀ − Â^3‖, standard error"), "{said}");
    let beside = ["partition", "edges.txt", "--method", "theirs.part", "-k", "3"];
    assert!(failure(folder.path(), &beside).1.contains("no other setting"));
}

#[test]
fn every_method_can_be_reached_and_plotted() {
    let folder = folder();
    let help = stdout(folder.path(), &["partition", "--help"]);
    for method in structcomp::METHODS {
        assert!(help.contains(method.name), "{}", method.name);
        let args =
            ["partition", "-k", "300", "--method", method.name, "--plot", "p.svg", "--json", "--seed", "1"];
        let report = json(folder.path(), &args);
        assert_eq!(report["data"]["synthetic"], true);
        let svg = std::fs::read_to_string(folder.path().join("p.svg")).unwrap();
        assert!(svg.starts_with("<svg") && svg.contains("demo (synthetic)"), "{}", method.name);
    }
}

#[test]
fn wrong_settings_of_a_partition_are_told() {
    let folder = folder();
    std::fs::write(folder.path().join("w.txt"), "1\n1\n0\n1\n").unwrap();
    for (args, code, said) in [
        (&["-k", "5"][..], 1, "at most 4"),
        (&["-k", "0"], 1, "at least 1"),
        (&["--method", "magic"], 2, "label-propagation"),
        (&["-k", "2", "--max-size", "1"], 1, "allow at least 2"),
        (&["-k", "2", "--imbalance", "-1"], 1, "0 or more"),
        (&["-k", "2", "--node-weights", "w.txt"], 1, "weights must be positive"),
        (&["-k", "2", "--node-weights", "none.txt"], 1, "none.txt"),
        (&["-k", "2", "--method", "random", "--refine", "objective"], 1, "no use for"),
        (&["-k", "2", "--per-component"], 1, "multilevel"),
        (&["-k", "2", "--out", "c.npy"], 1, ".part"),
    ] {
        let (status, error) = failure(folder.path(), &[&["partition", "edges.txt"], args].concat());
        assert_eq!(status, code, "{args:?}: {error}");
        assert!(error.contains(said), "{args:?}: {error}");
    }
    let left: Vec<_> =
        std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "nothing is left behind: {left:?}");
}

#[test]
fn every_model_runs_and_leaves_its_results() {
    let folder = folder();
    for model in structcomp::Model::NAMES {
        let args =
            ["run", "--model", model, "--epochs", "3", "--hidden", "32", "--runs", "3", "--out", model];
        let said = stdout(folder.path(), &args);
        assert!(said.starts_with(&format!("demo (synthetic): {model} (2,708 nodes")), "{said}");
        assert!(
            said.contains("two hops, no training") && said.contains("the same encoder, not trained"),
            "{said}"
        );
        let report: Value =
            serde_json::from_slice(&std::fs::read(folder.path().join(model).join("run.json")).unwrap())
                .unwrap();
        assert_eq!(report["train"]["epochs"], 3);
        assert!(report["accuracy"]["mean"].as_f64().unwrap() > 20.0);
        assert!(report["untrained"]["propagated"]["std"].is_number());
        let npy = std::fs::read(folder.path().join(model).join("embedding.npy")).unwrap();
        assert_eq!(npy.len(), 128 + 2708 * 32 * 4, "a header and a row a node");
        assert!(npy.starts_with(b"\x93NUMPY"));
        let page = std::fs::read_to_string(folder.path().join(model).join("report.html")).unwrap();
        assert!(page.contains(&format!("<h1>demo (synthetic): {model}</h1>")), "{page}");
        assert_eq!(page.matches("<svg").count(), 3, "the embedding, the loss and the clusters");
        let mean = report["accuracy"]["mean"].as_f64().unwrap();
        assert!(page.contains(&format!("{mean:.2} ± ")) && page.contains("two hops, no training"));
    }
}

#[test]
fn links_are_held_out_before_anything_else() {
    let folder = folder();
    let args = ["run", "--epochs", "3", "--hidden", "32", "--runs", "2", "--out", "r"];
    let whole = json(folder.path(), &[&args[..], &["--json"]].concat());
    assert!(whole.get("links").is_none());
    let held = json(folder.path(), &[&args[..], &["--links", "--json"]].concat());
    let edges = |report: &Value| report["data"]["edges"].as_u64().unwrap();
    let out = held["links"]["held_out"].as_u64().unwrap();
    assert_eq!((out, edges(&held) + out), ((edges(&whole) + 5) / 10, edges(&whole)));
    for score in [&held["links"], &held["links"]["untrained"]["propagated"]] {
        assert!(score["auc"].as_f64().unwrap() > 0.6, "{score}");
        assert!(score["average_precision"].as_f64().unwrap() > 0.6, "{score}");
    }
    assert_eq!(held["data"]["notes"][1], format!("{out} edges were held out"));
    let said = stdout(folder.path(), &[&args[..], &["--links=0.2"]].concat());
    assert!(said.contains("AUC, average precision") && said.contains("edges held out"), "{said}");
    assert!(failure(folder.path(), &[&args[..], &["--links=1.5"]].concat()).1.contains("between 0 and 1"));
    assert_eq!(failure(folder.path(), &[&args[..], &["--links=many"]].concat()).0, 2);
}

#[test]
fn a_run_does_not_depend_on_threads() {
    let folder = folder();
    for model in structcomp::Model::NAMES {
        let embedding = |threads: &str| {
            let args = [
                "run",
                "--model",
                model,
                "--epochs",
                "3",
                "--hidden",
                "24",
                "--runs",
                "2",
                "--threads",
                threads,
            ];
            let out = format!("{model}-{threads}");
            stdout(folder.path(), &[&args[..], &["--out", &out]].concat());
            std::fs::read(folder.path().join(out).join("embedding.npy")).unwrap()
        };
        let one = embedding("1");
        assert!(embedding("2") == one && embedding("8") == one, "{model}");
    }
}

#[test]
fn a_run_that_cannot_be_says_why() {
    let folder = folder();
    for (args, code, said) in [
        (&["edges.txt"][..], 1, "no features to train on"),
        (&["--clusters", "1"], 1, "at least 2 clusters"),
        (&["--clusters", "9999"], 1, "at most 2708"),
        (&["--model", "magic"], 2, "cca-ssg"),
        (&["--partitioner", "magic"], 2, "label-propagation"),
        (&["--partitioner", "edges.txt"], 1, "edges.txt"),
        (&["--hidden", "0"], 1, "at least 1"),
        (&["--layers", "0"], 1, "at least one layer"),
        (&["--lr", "0"], 1, "above 0"),
        (&["--lr", "1e30", "--model", "grace", "--hidden", "8"], 1, "epoch"),
        (&["--splits", "none"], 1, "no splits 'none'"),
    ] {
        let (status, error) = failure(folder.path(), &[&["run", "--epochs", "3"], args].concat());
        assert_eq!(status, code, "{args:?}: {error}");
        assert!(error.contains(said), "{args:?}: {error}");
    }
}

#[test]
fn training_and_embedding_by_themselves_give_what_a_run_gives() {
    let folder = folder();
    let read = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
    let settings = ["--model", "cca-ssg", "--layers", "2", "--epochs", "4", "--hidden", "24", "--seed", "3"];
    stdout(folder.path(), &[&["run", "--runs", "2", "--out", "r"], &settings[..]].concat());
    let report =
        json(folder.path(), &[&["train", "--out", "w.safetensors", "--json"], &settings[..]].concat());
    assert_eq!((&report["train"]["epochs"], &report["model"]["hidden"]), (&4.into(), &24.into()));
    assert!(read("w.safetensors") == read("r/weights.safetensors"));
    let embed = ["embed", "--seed", "3", "--weights", "w.safetensors", "--out"];
    let report = json(folder.path(), &[&embed[..], &["z.npy", "--json"]].concat());
    assert_eq!((&report["same_data"], &report["cols"]), (&true.into(), &24.into()));
    assert!(read("z.npy") == read("r/embedding.npy"));
    let said = stdout(folder.path(), &[&embed[..], &["z.csv"]].concat());
    assert!(said.starts_with("demo (synthetic): embedding by cca-ssg (2,708 nodes"), "{said}");
    assert!(said.contains("trained on this data"), "{said}");
    assert_eq!(text(&read("z.csv")).lines().count(), 2709);
    // Another graph with as many features.
    let report = json(
        folder.path(),
        &["embed", "--seed", "4", "--weights", "w.safetensors", "--out", "y.npy", "--json"],
    );
    assert_eq!(report["same_data"], false);
}

#[test]
fn a_killed_run_goes_on_to_the_same_bytes() {
    let folder = folder();
    let read = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
    let train = |out: &str, more: &[&str]| -> Vec<String> {
        let args = [
            "train",
            "--model",
            "grace",
            "--epochs",
            "30",
            "--hidden",
            "48",
            "--checkpoint-every",
            "1",
            "--out",
            out,
        ];
        args.iter().chain(more).map(|&arg| arg.to_owned()).collect()
    };
    let call = |args: &[String]| {
        stdout(folder.path(), &args.iter().map(String::as_str).collect::<Vec<_>>());
    };
    call(&train("whole.safetensors", &[]));
    for (number, wait) in [40u64, 150, 300, 600].into_iter().enumerate() {
        let out = format!("killed-{number}.safetensors");
        let mut child = Command::new(env!("CARGO_BIN_EXE_structcomp"))
            .args(train(&out, &[]))
            .current_dir(folder.path())
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(std::time::Duration::from_millis(wait));
        child.kill().unwrap();
        child.wait().unwrap();
        let checkpoint = folder.path().join(format!("killed-{number}.checkpoint.safetensors"));
        // Killed before the first epoch was done, there is nothing to go on from.
        let more: &[&str] = if checkpoint.exists() { &["--resume"] } else { &[] };
        call(&train(&out, more));
        assert!(read(&out) == read("whole.safetensors"), "killed after {wait} ms");
    }
    // Longer training is the same training, another seed is not.
    call(&train("whole.safetensors", &["--resume", "--epochs", "32"]));
    let other: Vec<String> = train("whole.safetensors", &["--resume", "--seed", "9"]);
    let (code, error) = failure(folder.path(), &other.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(
        code == 1 && error.contains("checkpoint of other training") && error.contains("start anew"),
        "{error}"
    );
}

#[test]
fn the_whole_graph_can_be_trained_on_for_comparison() {
    let folder = folder();
    for model in structcomp::Model::NAMES {
        let args = [
            "run", "--mode", "full", "--model", model, "--epochs", "2", "--hidden", "16", "--runs", "2",
            "--json",
        ];
        let report = json(folder.path(), &args);
        assert!(report.get("partition").is_none());
        assert_eq!(report["train"]["mode"], "full");
        assert!(report["accuracy"]["mean"].as_f64().unwrap() > 20.0, "{model}");
    }
    let (code, error) = failure(folder.path(), &["run", "--mode", "full", "--clusters", "9"]);
    assert!(code == 1 && error.contains("has no clusters"), "{error}");
}

#[test]
fn weights_and_settings_that_cannot_be_are_refused() {
    let folder = folder();
    let short = ["train", "--epochs", "2", "--hidden", "8", "--out"];
    let said = stdout(folder.path(), &[&short[..], &["w.safetensors"]].concat());
    assert!(said.starts_with("demo (synthetic): sce (2,708 nodes"), "{said}");
    std::fs::write(folder.path().join("foreign.safetensors"), [&2u64.to_le_bytes()[..], b"{}"].concat())
        .unwrap();
    let whole = std::fs::read(folder.path().join("w.safetensors")).unwrap();
    std::fs::write(folder.path().join("half.safetensors"), &whole[..whole.len() / 2]).unwrap();
    std::fs::write(folder.path().join("x.csv"), "id,f\n1,1\n2,-1\n3,1\n9,-1\n").unwrap();
    let mine = ["embed", "--edges", "edges.txt", "--features", "x.csv", "--out", "z.npy", "--weights"];
    for (args, code, said) in [
        (&[&mine[..], &["w.safetensors"]].concat()[..], 1, "takes 1433 features, but the nodes have 1"),
        (&["embed", "--weights", "foreign.safetensors", "--out", "z.npy"], 1, "another program"),
        (&["embed", "--weights", "half.safetensors", "--out", "z.npy"], 1, "no whole safetensors file"),
        (&["embed", "--weights", "none.safetensors", "--out", "z.npy"], 1, "none.safetensors"),
        (&["embed", "--weights", "w.safetensors", "--out", "z.txt"], 1, "z.txt"),
        (&["embed", "--weights", "w.safetensors", "--out", "edges.txt/z.npy"], 1, "edges.txt"),
        (&["train", "--out", "w.npy"], 1, ".safetensors"),
        (&["train", "--epochs", "1", "--hidden", "8", "--out", "edges.txt/w.safetensors"], 1, "edges.txt"),
        (&["train", "--tau", "0.5", "--out", "v.safetensors"], 1, "sce has no --tau"),
        (&["train", "--model", "grace", "--tau", "0", "--out", "v.safetensors"], 1, "tau must be above 0"),
        (&["train", "--resume", "--out", "v.safetensors"], 1, "leave out --resume"),
        (&["train", "--mode", "full", "--drop-edges", "0.1,1", "--out", "v.safetensors"], 1, "below 1"),
        (&["train", "--drop-edges", "0.1", "--out", "v.safetensors"], 1, "--mode full"),
        (&["run", "--checkpoint-every", "2"], 1, "--out"),
    ] {
        let (status, error) = failure(folder.path(), args);
        assert_eq!(status, code, "{args:?}: {error}");
        assert!(error.contains(said), "{args:?}: {error}");
    }
    let left = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut left: Vec<String> = left.collect();
    left.sort();
    assert_eq!(left, ["edges.txt", "foreign.safetensors", "half.safetensors", "w.safetensors", "x.csv"]);
}

/// The same folder with labels, and embeddings that tell the classes apart.
fn judged_folder() -> tempfile::TempDir {
    let folder = folder();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("y.csv", "id,label\n1,a\n2,a\n3,b\n9,b\n");
    write("x.csv", "id,f\n1,1\n2,-1\n3,1\n9,-1\n");
    // Not in the order of the nodes, and one row more.
    write("z.csv", "id,0,1\n9,3,1\n1,-3,1\n77,0,0\n3,2,1\n2,-2,1\n");
    write("plain.csv", "a,b\n-3,1\n-2,1\n2,1\n3,1\n");
    folder
}

const JUDGED: [&str; 6] = ["evaluate", "--edges", "edges.txt", "--labels", "y.csv", "--embedding"];

#[test]
fn an_embedding_is_joined_by_id_and_judged_beside_no_training() {
    let folder = judged_folder();
    let with_x = [&JUDGED[..], &["z.csv", "--features", "x.csv", "--runs", "6", "--clustering"]].concat();
    let said = stdout(folder.path(), &with_x);
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines[0], "edges: z.csv (4 nodes, 2 numbers each)");
    assert_eq!(lines[1], "  accuracy  100.00 ± 0.00  % of test nodes right, 6 runs (random20)");
    for part in [
        "the features alone",
        "two hops, no training",
        "against Â²X: ",
        "against X: ",
        "logistic regression (liblinear's objective, C = 1)",
        "class 'a' has 2 nodes only; 1 of them are learnt from",
        "1.000  NMI, ARI 1.000, 2 by k-means beside the classes",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let report = json(folder.path(), &[&with_x[..], &["--json"]].concat());
    assert_eq!(report["embedding"]["rows"], 4);
    assert_eq!(report["accuracy"]["per_split"].as_array().unwrap().len(), 6);
    assert_eq!(report["accuracy"]["small_classes"], serde_json::json!([[0, 2], [1, 2]]));
    assert!(report["untrained"]["propagated"]["mean"].is_number());
    assert!(report["accuracy"]["against_features"]["p_value"].is_number());
    assert_eq!(report["clustering"]["nmi"], 1.0);
    // Rows without ids are the nodes as they stand; without features there is no control.
    let plain = json(folder.path(), &[&JUDGED[..], &["plain.csv", "--json"]].concat());
    assert_eq!((&plain["accuracy"]["mean"], &plain["accuracy"]["runs"]), (&100.0.into(), &50.into()));
    assert!(plain.get("untrained").is_none() && plain["accuracy"].get("against_features").is_none());
}

#[test]
fn every_probe_judges_and_repeats_a_single_split() {
    let folder = judged_folder();
    std::fs::write(folder.path().join("one.txt"), "0,2\n").unwrap();
    for (probe, runs, name) in
        [("logistic", 1, "logistic regression"), ("mlp", 10, "three-layer MLP"), ("softmax", 10, "softmax")]
    {
        let args = [&JUDGED[..], &["z.csv", "--probe", probe, "--splits", "one.txt", "--json"]].concat();
        let report = json(folder.path(), &args);
        assert_eq!(report["accuracy"]["runs"], runs, "{probe}");
        assert!(report["accuracy"]["classifier"].as_str().unwrap().starts_with(name));
        assert_eq!(report, {
            let mut again = json(folder.path(), &[&args[..], &["--threads", "3"]].concat());
            for changing in ["seconds", "peak_rss_bytes", "threads"] {
                again[changing] = report[changing].clone();
            }
            again
        });
    }
}

#[test]
fn an_embedding_that_cannot_be_judged_says_why() {
    let folder = judged_folder();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("short.csv", "a\n1\n2\n");
    write("nan.csv", "id,0\n1,1\n2,nan\n3,2\n9,4\n");
    write("few.csv", "id,0\n1,1\n2,0\n");
    write("words.csv", "id,word\n1,a\n2,b\n3,c\n9,d\n");
    write("one.csv", "id,label\n1,a\n2,a\n3,a\n9,a\n");
    for (args, said) in [
        (&["--edges", "edges.txt", "--embedding", "z.csv"][..], "no labels to judge an embedding by"),
        (&["--edges", "edges.txt", "--labels", "y.csv", "--embedding", "none.npy"], "none.npy"),
        (
            &["--edges", "edges.txt", "--labels", "y.csv", "--embedding", "short.csv"],
            "has 2 rows but the graph has 4",
        ),
        (&["--edges", "edges.txt", "--labels", "y.csv", "--embedding", "nan.csv"], "nan.csv"),
        (
            &["--edges", "edges.txt", "--labels", "y.csv", "--embedding", "few.csv"],
            "no row for 2 of 4 nodes, such as '3'",
        ),
        (&["--edges", "edges.txt", "--labels", "y.csv", "--embedding", "words.csv"], "no column of numbers"),
        (
            &["--edges", "edges.txt", "--labels", "one.csv", "--embedding", "z.csv"],
            "all training nodes are of one class",
        ),
        (
            &["--edges", "edges.txt", "--labels", "y.csv", "--embedding", "z.csv", "--splits", "x"],
            "no splits 'x'",
        ),
        (
            &["--edges", "edges.txt", "--labels", "y.csv", "--embedding", "z.csv", "--links"],
            "structcomp run --links",
        ),
    ] {
        let (code, error) = failure(folder.path(), &[&["evaluate"], args].concat());
        assert_eq!((code, error.lines().count()), (1, 1), "{args:?}: {error}");
        assert!(error.contains(said), "{args:?}: {error}");
    }
    for args in [
        &["evaluate"][..],
        &["evaluate", "--embedding", "z.csv", "--probe", "svm"],
        &["evaluate", "--embedding", "z.csv", "--runs", "0"],
    ] {
        assert_eq!(failure(folder.path(), args).0, 2, "{args:?}");
    }
}

#[test]
fn a_run_and_its_embedding_get_the_same_judgement() {
    let folder = folder();
    let args =
        ["run", "--epochs", "3", "--hidden", "32", "--runs", "3", "--out", "r", "--seed", "4", "--json"];
    let run = json(folder.path(), &args);
    let args = ["evaluate", "--embedding", "r/embedding.npy", "--runs", "3", "--seed", "4", "--json"];
    let judged = json(folder.path(), &args);
    assert_eq!(judged["accuracy"]["per_split"], run["accuracy"]["per_split"]);
    assert_eq!(judged["accuracy"]["against_propagated"], run["accuracy"]["against_propagated"]);
    assert_eq!(judged["untrained"]["features"], run["untrained"]["features"]);
    assert_eq!(judged["untrained"]["propagated"], run["untrained"]["propagated"]);
}

#[test]
fn two_hops_of_cora_are_worth_what_the_control_says() {
    let Some(data_dir) = published() else { return };
    let folder = folder();
    let cora = ["cora", "--data-dir", data_dir.to_str().unwrap()];
    stdout(folder.path(), &[&["convert"], &cora[..1], &["spread.npy", "--hops", "2"], &cora[1..]].concat());
    let args =
        [&["evaluate"], &cora[..], &["--embedding", "spread.npy", "--clustering", "--runs", "10", "--json"]];
    let report = json(folder.path(), &args.concat());
    assert_eq!(report["accuracy"]["per_split"], report["untrained"]["propagated"]["per_split"]);
    assert_eq!(report["accuracy"]["against_propagated"]["difference"], 0.0);
    let mean = |part: &Value| part["mean"].as_f64().unwrap();
    // scikit-learn: 80.5 on the authors' splits for two hops, 58.2 for the features.
    assert!((mean(&report["accuracy"]) - 80.5).abs() < 2.0, "{report}");
    assert!((mean(&report["untrained"]["features"]) - 58.2).abs() < 2.5, "{report}");
    let clusters = &report["clustering"];
    assert_eq!(clusters["nmi"], clusters["untrained"]["propagated"]["nmi"]);
    assert!(
        clusters["nmi"].as_f64().unwrap() > 2.0 * clusters["untrained"]["features"]["nmi"].as_f64().unwrap()
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
        assert!(said.contains("there are no features") && said.contains(words), "{said}");
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
