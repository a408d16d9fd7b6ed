//! `structcomp run`, `train` and `embed`.

use super::*;

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
    assert!(said.starts_with("demo (synthetic): cca-ssg (2,708 nodes"), "{said}");
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
        (&["train", "--tau", "0.5", "--out", "v.safetensors"], 1, "cca-ssg has no --tau"),
        (&["train", "--model", "grace", "--tau", "0", "--out", "v.safetensors"], 1, "tau must be above 0"),
        (
            &["train", "--model", "dgi", "--set", "reach=5", "--out", "v.safetensors"],
            1,
            "has no setting 'reach'",
        ),
        (&["train", "--model", "ggd", "--set", "reach", "--out", "v.safetensors"], 1, "takes NAME=VALUE"),
        (&["train", "--model", "ggd", "--set", "mask=2", "--out", "v.safetensors"], 1, "from 0 to below 1"),
        (
            &["train", "--model", "ggd", "--set", "mask=a", "--out", "v.safetensors"],
            1,
            "mask cannot be set so",
        ),
        (&["train", "--model", "dgi", "--dropout", "1", "--out", "v.safetensors"], 1, "dropout must be"),
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

#[test]
fn without_a_model_a_recipe_is_used_and_stops_by_itself() {
    let folder = folder();
    let report = json(folder.path(), &["run", "--runs", "2", "--json"]);
    assert_eq!(report["model"]["model"]["name"], "cca-ssg");
    assert_eq!(report["model"]["stop"], "auto");
    let settled = report["train"]["settled"].as_array().unwrap();
    assert_eq!(report["train"]["epochs"], settled.len());
    assert!(settled.len() < 100 && settled.last().unwrap().as_f64().unwrap() >= 0.76, "{settled:?}");
    let all = json(folder.path(), &["run", "--runs", "2", "--epochs", "3", "--stop", "epochs", "--json"]);
    assert_eq!(all["train"]["epochs"], 3);
    let (_, said) = failure(folder.path(), &["run", "--preset", "paper"]);
    assert!(said.contains("name one with --model"), "{said}");
}

#[test]
fn encoders_can_be_chosen_and_what_does_not_fit_is_refused() {
    let folder = folder();
    let small = ["run", "--runs", "2", "--epochs", "2", "--hidden", "8", "--model", "grace"];
    for flags in [&["--encoder", "gcn"][..], &["--encoder", "sgc", "--hops", "3"], &["--encoder", "ssgc"]] {
        let report = json(folder.path(), &[&small[..], flags, &["--json"]].concat());
        assert_eq!(report["model"]["encoder"], flags[1]);
    }
    for (flags, why) in [
        (&["--encoder", "gcn", "--hops", "2"][..], "a GCN makes one hop a layer"),
        (&["--standardize"], "without an activation after its last layer"),
        (&["--encoder", "ssgc", "--ssgc-alpha", "2"], "from 0 to 1"),
        (&["--mode", "full", "--diagnostics"], "no clusters"),
    ] {
        let (code, said) = failure(folder.path(), &[&small[..], flags].concat());
        assert!(code == 1 && said.contains(why), "{flags:?}: {said}");
    }
}

#[test]
fn diagnostics_and_random_clusters_come_on_request() {
    let folder = folder();
    let small =
        ["run", "--runs", "2", "--epochs", "2", "--hidden", "8", "--model", "sce", "--clusters", "50"];
    let plain = json(folder.path(), &[&small[..], &["--json"]].concat());
    assert!(plain.get("diagnostics").is_none() && plain["untrained"].get("random_clusters").is_none());
    let asked = [&small[..], &["--diagnostics", "--random-clusters"]].concat();
    let report = json(folder.path(), &[&asked[..], &["--json"]].concat());
    let edges = &report["diagnostics"]["edges"];
    let number = |name: &str| edges[name].as_f64().unwrap();
    assert!((number("nodes") - number("clusters")).abs() <= number("apart"), "{edges}");
    assert!(number("apart") <= number("bound"), "{edges}");
    assert!(report["untrained"]["random_clusters"]["mean"].as_f64().unwrap() > 0.0);
    let said = stdout(folder.path(), &asked);
    assert!(said.contains("the same training on random clusters") && said.contains("‖P'Pᵀ − Â^2‖"), "{said}");
}

/// A file may not grow past a limit, as on a disk that is full.
#[cfg(unix)]
#[test]
fn a_disk_that_fills_up_is_told_and_leaves_no_half_file() {
    let folder = folder();
    let program = env!("CARGO_BIN_EXE_structcomp");
    let run = "run --runs 2 --epochs 1 --hidden 64 --model sce --quiet --out results";
    let limited = format!("trap '' XFSZ; ulimit -f 100; exec '{program}' {run}");
    let output = Command::new("sh").args(["-c", &limited]).current_dir(folder.path()).output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("embedding.npy"), "{said}");
    let left: Vec<_> = std::fs::read_dir(folder.path().join("results")).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[cfg(unix)]
#[test]
fn a_folder_that_cannot_be_written_is_told_before_training() {
    let folder = folder();
    std::fs::write(folder.path().join("file"), "").unwrap();
    let (code, said) = failure(folder.path(), &["run", "--quiet", "--out", "file/results"]);
    assert!(code == 1 && said.contains("cannot write to file/results"), "{said}");
}
