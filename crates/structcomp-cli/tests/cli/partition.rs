//! `structcomp partition`.

use super::*;

#[test]
fn clusters_have_the_ids_of_the_data() {
    let folder = folder();
    let report = json(folder.path(), "partition edges.txt -k 2 --out c.csv --plot p.svg");
    let partition = &report["partition"];
    assert_eq!((&partition["requested"], &partition["clusters"]), (&2.into(), &2.into()));
    assert_eq!(partition["method"], "multilevel");
    assert!(report["seconds"]["partition"].is_number() && report["peak_rss_bytes"].is_number());
    let table = text(&read(folder.path(), "c.csv"));
    let ids: Vec<&str> = table.lines().map(|line| line.split(',').next().unwrap()).collect();
    assert_eq!(ids, ["id", "1", "2", "3", "9"]);
    assert!(text(&read(folder.path(), "p.svg")).starts_with("<svg"));
}

#[test]
fn clusters_of_another_tool_are_measured() {
    let folder = folder();
    // Of clusters 0 to 7, only 0 and 7 have nodes. The path 9 - 1 - 2 - 3 is cut between 1 and 2.
    write(folder.path(), "theirs.part", "0\n7\n7\n0\n");
    let report = json(folder.path(), "partition edges.txt --method theirs.part --hops 3");
    let partition = &report["partition"];
    assert_eq!((&partition["requested"], &partition["clusters"]), (&8.into(), &2.into()));
    assert_eq!((&partition["cut"], &partition["largest"]), (&1.0.into(), &2.into()));
    assert_eq!(partition["hops"]["hops"], 3);
    let said = line(folder.path(), "partition edges.txt --method theirs.part");
    assert!(said.contains("8 requested, 6 of them empty"), "{said}");
}
