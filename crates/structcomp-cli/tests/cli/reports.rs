//! Reports: text, JSON and HTML.

use super::snapshot::masked;
use super::*;

/// Every path to a value in a JSON object, without the elements of lists.
fn keys(value: &Value, path: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                keys(value, &format!("{path}{name}."), found);
            }
        }
        _ => found.push(path.trim_end_matches('.').to_owned()),
    }
}

#[test]
fn a_run_with_everything_reports_as_written() {
    let folder = folder();
    let args = "run --model sce --epochs 2 --hidden 8 --clusters 50 --runs 2 --links --diagnostics --random-clusters \
        --threads 2 --out r";
    snapshot("report-run", &masked(&line(folder.path(), args)));

    let report: Value = serde_json::from_slice(&read(folder.path(), "r/run.json")).unwrap();
    let mut found = Vec::new();
    keys(&report, "", &mut found);
    snapshot("run-json-keys", &(found.join("\n") + "\n"));
    assert_eq!(report["links"]["held_out"], 530);
    let edges = json(folder.path(), "info")["data"]["edges"].as_u64().unwrap();
    assert_eq!(report["data"]["edges"], edges - 530, "the edges are held out before anything else");
    assert_eq!(report["data"]["notes"][1], "530 edges were held out");
    let bounds = &report["diagnostics"]["edges"];
    assert!(bounds["apart"].as_f64().unwrap() <= bounds["bound"].as_f64().unwrap(), "{bounds}");

    let npy = read(folder.path(), "r/embedding.npy");
    assert_eq!(npy.len(), 128 + 2708 * 8 * 4, "a header, and one row per node");
    let page = text(&read(folder.path(), "r/report.html"));
    assert!(page.contains("<h1>demo (synthetic)</h1>"));
    let mean = report["accuracy"]["mean"].as_f64().unwrap();
    assert!(
        page.contains(&format!("<p class=\"headline\">{mean:.1} % of test nodes are classified correctly, "))
    );
    assert!(page.contains(&format!("{mean:.2} <small>± ")) && page.contains("Â²X <small>two hops</small>"));
    assert!(
        page.contains("On this graph, use that one.")
            && page.contains("Trained for 2 epochs, all that were planned")
    );
    assert!(page.contains("<td>structcomp run --model sce --epochs 2"));
    let per_class = report["accuracy"]["per_class"].as_array().unwrap();
    assert!(
        per_class.len() == 7
            && per_class.iter().all(|share| (0.0..=100.0).contains(&share.as_f64().unwrap()))
    );
    let unfilled = |part: &str| part.is_empty() || part == "checkpoint.safetensors";
    let mut files: Vec<_> =
        std::fs::read_dir(folder.path().join("r")).unwrap().map(|f| f.unwrap().file_name()).collect();
    files.sort();
    assert!(!files.iter().any(|file| unfilled(&file.to_string_lossy())));
    assert_eq!(files, ["embedding.npy", "report.html", "run.json", "weights.safetensors"]);
}

#[test]
fn a_map_has_as_many_nodes_as_asked_for() {
    let folder = folder();
    let train = "run --model sce --epochs 1 --hidden 8 --clusters 50 --runs 2 --quiet --out r";
    line(folder.path(), &format!("{train} --map 100"));
    let page = text(&read(folder.path(), "r/report.html"));
    assert!(
        page.contains("The map shows 100 of 2,708 nodes, drawn at random") && page.contains("id=\"points\"")
    );
    line(folder.path(), &format!("{train} --map 0"));
    let page = text(&read(folder.path(), "r/report.html"));
    assert!(!page.contains("id=\"points\"") && !page.contains("<script") && page.contains("Accuracy"));
    assert!(
        json(folder.path(), "run --model sce --epochs 1 --hidden 8 --runs 2")["seconds"].get("map").is_none()
    );
}

#[test]
fn a_plain_run_reports_no_more_than_asked_for() {
    let folder = folder();
    let report = json(folder.path(), "run --mode full --model sce --epochs 1 --hidden 8 --runs 2");
    for absent in ["partition", "links", "diagnostics"] {
        assert!(report.get(absent).is_none(), "{absent}");
    }
    assert!(report["untrained"].get("random_clusters").is_none());
    assert!(report["train"].get("interrupted").is_none());
    assert_eq!(report["train"]["mode"], "full");
}

#[test]
fn other_reports_are_as_written() {
    let folder = folder();
    write(folder.path(), "y.csv", "id,label\n1,a\n2,a\n3,b\n9,b\n");
    write(folder.path(), "x.csv", "id,f\n1,1\n2,-1\n3,1\n9,-1\n");
    write(folder.path(), "z.csv", "id,0,1\n1,-3,1\n2,-2,1\n3,2,1\n9,3,1\n");
    let files = "--features x.csv --labels y.csv";
    let mut found = String::new();
    for command in [
        "info edges.txt".to_owned(),
        format!("info edges.txt {files} --splits random20"),
        "datasets list --data-dir data".to_owned(),
        "partition edges.txt -k 2 --hops 2 --out c.part".to_owned(),
        "train demo -k 100 --model sce --epochs 2 --hidden 8 --out m.safetensors".to_owned(),
        "embed demo --weights m.safetensors --out z.npy".to_owned(),
        format!("evaluate edges.txt {files} --embedding z.csv --runs 4 --clustering"),
        "convert edges.txt graph.scg".to_owned(),
        "generate --nodes 600 --edges 1500 --out made".to_owned(),
    ] {
        found += &format!("$ structcomp {command}\n{}\n", line(folder.path(), &command));
    }
    snapshot("reports", &masked(&found));
}
