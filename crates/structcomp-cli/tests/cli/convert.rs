//! `structcomp convert`.

use super::*;

#[test]
fn graphs_and_ids_survive_conversion() {
    let folder = folder();
    line(folder.path(), "convert edges.txt all");
    line(folder.path(), "convert all clean.csv");
    assert_eq!(text(&read(folder.path(), "clean.csv")), "source,target\n1,2\n1,9\n2,3\n");
}

#[test]
fn features_are_propagated_and_scaled() {
    let folder = folder();
    write(folder.path(), "x.csv", "id,a\n1,1\n2,2\n3,6\n9,3\n");
    line(folder.path(), "convert edges.txt z.csv --features x.csv --hops 1 --normalization row");
    // 9 - 1 - 2 - 3: each row is the mean over the node and its neighbours.
    assert_eq!(text(&read(folder.path(), "z.csv")), "id,0\n1,2\n2,3\n3,4\n9,2\n");
    // A table is scaled without a graph.
    line(folder.path(), "convert z.csv scaled.csv --part features --feature-norm row-l1");
    assert_eq!(text(&read(folder.path(), "scaled.csv")), "id,0\n1,1\n2,1\n3,1\n9,1\n");
}

#[test]
fn random_edges_are_added() {
    let folder = folder();
    line(folder.path(), "convert edges.txt noisy.csv --random-edges 1");
    assert_eq!(text(&read(folder.path(), "noisy.csv")).lines().count(), 1 + 4);
}
