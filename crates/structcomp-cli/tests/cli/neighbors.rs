//! `neighbors`: names in, names out.

use super::snapshot::masked;
use super::*;

/// Four named rows; two of them are alike.
fn embedding() -> tempfile::TempDir {
    let folder = folder();
    write(folder.path(), "z.csv", "id,0,1\nripgrep,1,0\nugrep,2,0.5\nvlc,-1,1\nempty,0,0\n");
    write(folder.path(), "list.txt", "ripgrep\nugrep\nvlc\nempty\n");
    folder
}

#[test]
fn results_are_printed_as_written() {
    let folder = embedding();
    let mut found = String::new();
    for command in [
        "neighbors z.csv ripgrep",
        "neighbors z.csv vlc ripgrep -k 1 --metric euclidean",
        "neighbors z.csv ripgrep --metric dot --min-score 0.5",
        "neighbors z.csv vlc --min-score 0.5",
        "neighbors z.csv --all --out nn.csv -k 2",
    ] {
        found += &format!("$ structcomp {command}\n{}\n", line(folder.path(), command));
    }
    // Scores do not differ between machines, seconds do.
    let (scores, file) = found.split_at(found.find("nn.csv: ").unwrap());
    snapshot("neighbors", &(scores.to_owned() + &masked(file)));
}

#[test]
fn json_has_a_list_per_query() {
    let folder = embedding();
    let found = json(folder.path(), "neighbors z.csv vlc ugrep -k 1");
    let ids: Vec<_> = (0..2).map(|at| &found["query"][at]["id"]).collect();
    assert_eq!(ids, ["vlc", "ugrep"]);
    let nearest = &found["query"][1]["neighbors"];
    assert_eq!((nearest.as_array().unwrap().len(), &nearest[0]["id"]), (1, &"ripgrep".into()));
    assert!((nearest[0]["score"].as_f64().unwrap() - 0.970_142_5).abs() < 1e-6, "{nearest}");
    assert_eq!((&found["metric"], &found["dimension"]), (&"cosine".into(), &2.into()));
    write(folder.path(), "numbers.csv", "id,0,1\n30,1,0\n10,1,1\n20,0,1\n");
    let found = json(folder.path(), "neighbors numbers.csv 30 -k 1");
    assert_eq!(found["query"][0]["neighbors"][0]["id"], 10, "numbers stay numbers");
    let all = json(folder.path(), "neighbors z.csv --all --out nn.tsv");
    assert_eq!((&all["out"], &all["nodes"]), (&"nn.tsv".into(), &4.into()));
}

#[test]
fn every_format_gives_the_same_names() {
    let folder = embedding();
    let expected = line(folder.path(), "neighbors z.csv ugrep");
    for out in ["z.parquet", "z.tsv.gz", "run/embedding.npy"] {
        line(folder.path(), &format!("convert z.csv {out} --part features"));
    }
    std::fs::copy(folder.path().join("list.txt"), folder.path().join("run/ids.txt")).unwrap();
    for name in ["z.parquet", "z.tsv.gz", "run/embedding.npy", "run"] {
        assert_eq!(line(folder.path(), &format!("neighbors {name} ugrep")), expected, "{name}");
    }
    std::fs::copy(folder.path().join("run/embedding.npy"), folder.path().join("z.npy")).unwrap();
    assert_eq!(line(folder.path(), "neighbors z.npy --ids list.txt ugrep"), expected);
    assert!(line(folder.path(), "neighbors z.npy 1").starts_with("1\n  0 "), "numbers without names");
}

#[test]
fn the_neighbors_of_all_are_edges_of_a_graph() {
    let folder = embedding();
    for out in ["nn.parquet", "nn.csv", "nn.npy"] {
        let texts = ["1", "2", "3"].map(|threads| {
            line(
                folder.path(),
                &format!("neighbors z.csv --all --out {out} -k 1 --threads {threads} --quiet"),
            );
            read(folder.path(), out)
        });
        assert!(texts[0] == texts[1] && texts[0] == texts[2], "{out}");
    }
    let csv = text(&read(folder.path(), "nn.csv"));
    assert!(csv.starts_with("id,neighbor,score\nripgrep,ugrep,0.970"), "{csv}");
    assert!(folder.path().join("nn.scores.npy").exists());
}
