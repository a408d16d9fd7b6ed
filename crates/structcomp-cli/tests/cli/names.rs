//! Graphs whose nodes have names: headers, joins, and outputs that keep the names.

use super::*;

/// The folder of a real graph with named nodes, as it is.
fn debian() -> Option<String> {
    published().map(|data| data.join("debian").display().to_string())
}

/// Programs and what they need, with a header that no list of known names has.
fn packages() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    write(
        folder.path(),
        "edges.csv",
        "package,needs,times\nvim,libc,2\nemacs,libc,1\nemacs,gtk,1\ngtk,libc,1\n",
    );
    write(folder.path(), "names.txt", "vim\nemacs\n#gtk\ngtk\nlibc\n");
    write(folder.path(), "labels.csv", "package,section\nvim,editors\nemacs,editors\ngtk,libs\nlibc,libs\n");
    write(folder.path(), "x.mtx", "%%MatrixMarket matrix coordinate real general\n5 2 2\n1 1 1\n4 2 1\n");
    folder
}

fn notes(report: &Value) -> String {
    report["data"]["notes"].to_string()
}

#[test]
fn a_folder_of_named_packages_is_read_as_it_is() {
    let Some(debian) = debian() else { return };
    let folder = tempfile::tempdir().unwrap();
    let report = json(folder.path(), &format!("info {debian}"));
    let data = &report["data"];
    let found = [&data["nodes"], &data["edges"], &data["features"], &data["classes"], &data["unlabelled"]];
    assert_eq!(found, [63651, 318991, 2432, 51, 261].map(Value::from).each_ref());
    assert_eq!((&data["repairs"]["isolated"], &data["ids"]), (&1828.into(), &"names".into()));
    for said in [
        "edges.csv.gz: the first line, 'package, needs', was read as a header",
        "'package, section', was read as a header",
        "names.txt",
    ] {
        assert!(notes(&report).contains(said), "{said} in {}", notes(&report));
    }
    // The same without the folder.
    let apart = format!(
        "info --edges {debian}/edges.csv.gz --features {debian}/x.npz --ids {debian}/names.txt --labels {debian}/labels.csv"
    );
    assert_eq!(json(folder.path(), &apart)["data"]["unlabelled"], 261);
    let small =
        json(folder.path(), &format!("info --edges {debian}/edges.csv.gz --labels {debian}/labels.csv"));
    assert_eq!((&small["data"]["nodes"], &small["data"]["classes"]), (&63651.into(), &51.into()));
}

#[test]
fn headers_and_columns_may_be_chosen() {
    let folder = packages();
    let nodes = |flags: &str| json(folder.path(), &format!("info edges.csv {flags}"))["data"].clone();
    let weights = "the column 'times' was ignored";
    let plain = nodes("");
    assert_eq!((&plain["nodes"], &plain["weighted"]), (&4.into(), &false.into()));
    assert!(plain["notes"].to_string().contains("'package, needs, times'"), "{plain}");
    assert!(plain["notes"].to_string().contains(weights), "{plain}");
    assert_eq!(nodes("--weight times")["weighted"], true);
    assert_eq!(nodes("--source needs --target 1 --weight 3")["edges"], 4);
    assert_eq!(nodes("--header no")["nodes"], 6);
    let asked = nodes("--header yes")["notes"].to_string();
    assert!(asked.contains(weights) && !asked.contains("as a header"), "{asked}");
    let (code, said) = failure(folder.path(), &["info", "edges.csv", "--target", "uses"]);
    assert_eq!(code, 1);
    assert!(said.contains("has no column 'uses'; there are 'package', 'needs', 'times'"), "{said}");
}

#[test]
fn a_matrix_without_ids_takes_them_from_a_list() {
    let folder = packages();
    let report =
        json(folder.path(), "info --edges edges.csv --features x.mtx --labels labels.csv --ids names.txt");
    let data = &report["data"];
    let found = [&data["nodes"], &data["edges"], &data["features"], &data["classes"], &data["unlabelled"]];
    assert_eq!(found, [5, 4, 2, 2, 1].map(Value::from).each_ref());
    assert!(notes(&report).contains("labels.csv: the first line, 'package, section', was read as a header"));
    // A list beside the matrix needs no flag.
    assert_eq!(json(folder.path(), "info --edges edges.csv --features x.mtx")["data"]["nodes"], 5);
    write(folder.path(), "short.txt", "vim\nemacs\n");
    let short = ["info", "--edges", "edges.csv", "--features", "x.mtx", "--ids", "short.txt"];
    assert!(failure(folder.path(), &short).1.contains("short.txt: has 2 ids for 5 rows"));
}

#[test]
fn tables_about_other_nodes_are_an_error() {
    let folder = packages();
    write(folder.path(), "numbers.txt", "0 1\n1 2\n2 3\n");
    let (code, said) = failure(folder.path(), &["info", "--edges", "numbers.txt", "--labels", "labels.csv"]);
    assert_eq!(code, 1);
    assert!(said.contains("only 0 of the"), "{said}");
    assert!(said.contains("ids of the labels ('"), "{said}");
    write(folder.path(), "x.csv", "id,a\nripgrep,1\nfd,2\nvim,3\n");
    let (_, said) = failure(folder.path(), &["info", "--edges", "edges.csv", "--features", "x.csv"]);
    assert!(
        said.contains("only 1 of the 4 ids in the edges ('emacs', …) are among the 3 ids of the nodes"),
        "{said}"
    );
}

/// Names that a reader could take for a comment or a number, or trim.
const ODD: [&str; 9] = ["%odd", "//path", "#tag", " blank ", "0 1", "a,b", "q\"q", "007", "it"];

#[test]
fn every_output_of_a_named_graph_gives_the_names_back() {
    let folder = tempfile::tempdir().unwrap();
    let quoted: Vec<String> = ODD.iter().map(|name| format!("\"{}\"", name.replace('"', "\"\""))).collect();
    let edges: String = quoted.windows(2).map(|pair| format!("{},{}\n", pair[0], pair[1])).collect();
    write(folder.path(), "edges.csv", &format!("source,target\n{edges}"));
    line(folder.path(), "convert edges.csv graph.scg");
    // What the graph of each file is as a table of edges.
    let mut expected = None;
    for form in ["edges.csv", "graph.scg", "graph.parquet", "graph.tsv", "graph.csv.gz", "folder"] {
        if !folder.path().join(form).exists() {
            line(folder.path(), &format!("convert graph.scg {form}"));
        }
        line(folder.path(), &format!("convert {form} back.csv --part edges"));
        let back = text(&read(folder.path(), "back.csv"));
        assert_eq!(&back, expected.get_or_insert(back.clone()), "{form}");
        ODD.iter().zip(&quoted).for_each(|(name, quoted)| {
            assert!(back.contains(quoted) || (*name == "it" || *name == "0 1" || *name == "007"), "{name}");
        });
    }
}

#[test]
fn an_embedding_keeps_the_names_of_its_rows() {
    let folder = packages();
    line(
        folder.path(),
        "run --edges edges.csv --features x.mtx --labels labels.csv --ids names.txt --runs 2 --clusters 2 --out run",
    );
    assert_eq!(read(folder.path(), "run/ids.txt"), read(folder.path(), "names.txt"));
    line(folder.path(), "convert run/embedding.npy z.csv");
    let table = text(&read(folder.path(), "z.csv"));
    assert!(table.contains("\nvim,") && table.contains("\n\"#gtk\","), "{table}");
    // The rows of another order are found by name.
    let report = json(
        folder.path(),
        "evaluate --edges edges.csv --labels labels.csv --embedding run/embedding.npy --runs 2 --splits random20",
    );
    assert_eq!(report["embedding"]["rows"], 4, "the nodes that have edges");
    // Another run in the same folder leaves no names of the first.
    line(folder.path(), "run demo --clusters 20 --runs 2 --out run");
    assert!(!folder.path().join("run/ids.txt").exists());
}
