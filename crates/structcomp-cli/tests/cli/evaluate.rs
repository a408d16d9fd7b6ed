//! `structcomp evaluate`.

use super::*;

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
        (&["--edges", "edges.txt", "--labels", "y.csv", "--embedding", "words.csv"], "no numeric column"),
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
