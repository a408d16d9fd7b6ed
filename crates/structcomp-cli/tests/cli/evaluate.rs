//! `structcomp evaluate`.

use super::*;

/// The folder with labels, features, and embeddings that separate the classes.
fn labelled() -> tempfile::TempDir {
    let folder = folder();
    write(folder.path(), "y.csv", "id,label\n1,a\n2,a\n3,b\n9,b\n");
    write(folder.path(), "x.csv", "id,f\n1,1\n2,-1\n3,1\n9,-1\n");
    // Not in the order of the nodes, and with one row too many.
    write(folder.path(), "z.csv", "id,0,1\n9,3,1\n1,-3,1\n77,0,0\n3,2,1\n2,-2,1\n");
    write(folder.path(), "plain.csv", "a,b\n-3,1\n-2,1\n2,1\n3,1\n");
    write(folder.path(), "one.txt", "0,2\n");
    folder
}

const LABELLED: &str = "evaluate --edges edges.txt --labels y.csv --embedding";

#[test]
fn an_embedding_is_joined_by_id_and_compared_with_controls() {
    let folder = labelled();
    let args = format!("{LABELLED} z.csv --features x.csv --runs 6 --clustering");
    let report = json(folder.path(), &args);
    assert_eq!((&report["embedding"]["rows"], &report["accuracy"]["mean"]), (&4.into(), &100.0.into()));
    assert_eq!(report["accuracy"]["per_split"].as_array().unwrap().len(), 6);
    assert_eq!(report["accuracy"]["small_classes"], serde_json::json!([[0, 2], [1, 2]]));
    assert!(report["untrained"]["propagated"]["mean"].is_number());
    assert!(report["accuracy"]["against_features"]["p_value"].is_number());
    let best = report["verdict"]["against"].as_str().unwrap();
    let difference = 100.0 - report["untrained"][best]["mean"].as_f64().unwrap();
    assert!((report["verdict"]["difference"].as_f64().unwrap() - difference).abs() < 1e-9);
    assert_eq!(report["clustering"]["nmi"], 1.0);
    assert!(report["clustering"]["untrained"]["features"]["nmi"].is_number());
}

#[test]
fn rows_without_ids_are_the_nodes_in_order_and_controls_need_features() {
    let folder = labelled();
    let report = json(folder.path(), &format!("{LABELLED} plain.csv"));
    assert_eq!((&report["accuracy"]["mean"], &report["accuracy"]["runs"]), (&100.0.into(), &50.into()));
    assert!(report.get("untrained").is_none() && report.get("verdict").is_none());
    assert!(report["accuracy"].get("against_features").is_none());
    let said = line(folder.path(), &format!("{LABELLED} plain.csv --runs 2"));
    assert!(said.contains("there are no features; --features or --stand-in adds some"), "{said}");
}

#[test]
fn a_probe_that_depends_on_the_seed_repeats_a_single_split() {
    let folder = labelled();
    for (probe, runs, name) in [("logistic", 1, "logistic regression"), ("softmax", 10, "softmax")] {
        let report = json(folder.path(), &format!("{LABELLED} z.csv --probe {probe} --splits one.txt"));
        assert_eq!(report["accuracy"]["runs"], runs, "{probe}");
        assert!(report["accuracy"]["classifier"].as_str().unwrap().starts_with(name));
    }
}

#[test]
fn an_embedding_is_evaluated_as_in_its_run() {
    let folder = folder();
    let run = json(folder.path(), "run --model sce --epochs 2 --hidden 8 --runs 3 --seed 4 --out r");
    let again = json(folder.path(), "evaluate demo --embedding r/embedding.npy --runs 3 --seed 4");
    assert_eq!(again["accuracy"], run["accuracy"]);
    // `run` also judges the untrained encoder, so that p may differ.
    for same in ["against", "difference", "better"] {
        assert_eq!(again["verdict"][same], run["verdict"][same], "{same}");
    }
    assert_eq!(again["untrained"]["features"], run["untrained"]["features"]);
    assert_eq!(again["untrained"]["propagated"], run["untrained"]["propagated"]);
}

#[test]
fn test_nodes_that_are_left_out_are_said() {
    let folder = folder();
    line(folder.path(), "generate --nodes 600 --edges 1500 --words 60 --out made");
    line(folder.path(), "embed made --untrained hop1 --out z.npy");
    let args = "evaluate made --embedding z.npy --runs 2";
    let all = json(folder.path(), args);
    assert!(all.get("sampled").is_none(), "{}", all["sampled"]);
    let some = json(folder.path(), &format!("{args} --test-nodes 100"));
    let sampled = some["sampled"].as_str().unwrap();
    assert!(sampled.starts_with("each split uses 100 of up to "), "{sampled}");
    assert!(
        line(folder.path(), &format!("{args} --test-nodes 100")).contains(&format!("sampled      {sampled}"))
    );
    line(folder.path(), "run made --model sce -k 60 --epochs 1 --hidden 4 --runs 2 --test-nodes 100 --out r");
    assert!(text(&read(folder.path(), "r/report.html")).contains(sampled));
    let run: Value = serde_json::from_slice(&read(folder.path(), "r/run.json")).unwrap();
    assert_eq!(run["sampled"], sampled);
}

#[test]
fn an_embedding_without_training_is_the_one_that_others_are_compared_with() {
    let folder = folder();
    line(folder.path(), "generate --nodes 600 --edges 1500 --words 60 --out made");
    for name in ["propagated", "ssgc16", "slimg"] {
        let report = json(folder.path(), &format!("embed made --untrained {name} --out z.npy"));
        assert_eq!((&report["model"], &report["rows"]), (&name.into(), &600.into()));
        assert!(report.get("trained_on").is_none() && report.get("same_data").is_none());
        let found = json(folder.path(), "evaluate made --embedding z.npy --runs 2");
        assert_eq!(found["accuracy"]["mean"], found["untrained"][name]["mean"], "{name}");
    }
}
