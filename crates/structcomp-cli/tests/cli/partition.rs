//! `structcomp partition`.

use super::*;

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
    assert!(failure(folder.path(), &beside).1.contains("already defines the clusters"));
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
        (&["-k", "2", "--max-size", "1"], 1, "allow a size of at least 2"),
        (&["-k", "2", "--imbalance", "-1"], 1, "imbalance must be at least 0"),
        (&["-k", "2", "--node-weights", "w.txt"], 1, "weights must be positive, got 0"),
        (&["-k", "2", "--node-weights", "none.txt"], 1, "none.txt"),
        (
            &["-k", "2", "--method", "random", "--refine", "objective"],
            1,
            "random does not support refinement",
        ),
        (&["-k", "2", "--per-component"], 1, "multilevel does not support per-component"),
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
