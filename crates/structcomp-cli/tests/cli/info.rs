//! `structcomp info`, `datasets` and `generate`, and flags of all commands.

use super::*;

#[test]
fn info_counts_and_reports_repairs() {
    let folder = folder();
    let report = json(folder.path(), "info edges.txt");
    assert_eq!(report["data"]["repairs"]["duplicates"], 1);
    assert_eq!(report["data"]["ids"], "numbers");
    assert_eq!(report["degree"]["max"], 2);
    assert_eq!(report["homophily"], Value::Null);
}

#[test]
fn separate_files_are_joined_by_id() {
    let folder = folder();
    write(folder.path(), "x.csv", "id,a,b\n9,1,0\n1,0,1\n2,1,1\n3,0,0.5\n");
    write(folder.path(), "y.csv", "id,label\n1,red\n9,blue\n2,red\n");
    let report = json(folder.path(), "info --edges edges.txt --features x.csv --labels y.csv");
    let data = &report["data"];
    assert_eq!((&data["features"], &data["classes"], &data["unlabelled"]), (&2.into(), &2.into(), &1.into()));
    assert_eq!(report["homophily"], 0.5);
}

#[test]
fn a_config_file_gives_flags_and_the_command_line_takes_precedence() {
    let folder = folder();
    write(folder.path(), "c.toml", "json = true\nstand-in = \"degree\"\nstand-in-width = 3\n");
    let said = line(folder.path(), "info edges.txt --config=c.toml --stand-in-width 5");
    let report: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(report["data"]["features"], 5);
    let note = "the graph has no features; node degrees stand in for them, 5 per node";
    assert_eq!(report["data"]["notes"][0], note);
}

#[test]
fn generated_data_is_marked_as_synthetic() {
    let folder = folder();
    let small = "--nodes 600 --edges 1500 --isolated 7 --seed 3";
    assert_eq!(json(folder.path(), &format!("generate --out made {small}"))["synthetic"], true);
    let data = &json(folder.path(), "info made")["data"];
    assert_eq!((&data["synthetic"], &data["repairs"]["isolated"]), (&true.into(), &7.into()));
}

#[test]
fn a_published_dataset_is_found_by_name_and_verified() {
    let Some(data_dir) = published() else { return };
    let (folder, data_dir) = (folder(), data_dir.to_str().unwrap());
    let report =
        json(folder.path(), &format!("info citeseer --splits random20 --runs 7 --data-dir {data_dir}"));
    let (data, repairs) = (&report["data"], &report["data"]["repairs"]);
    let found = [
        &data["nodes"],
        &data["edges"],
        &data["features"],
        &data["classes"],
        &data["unlabelled"],
        &repairs["self_loops"],
        &repairs["duplicates"],
        &repairs["isolated"],
        &report["components"],
        &data["splits"][0]["train"],
        &data["splits"][0]["splits"],
    ];
    let expected = [3327, 4552, 3703, 6, 15, 124, 236, 48, 438, 120, 7].map(Value::from);
    assert_eq!(found, expected.each_ref());
    let verified = json(folder.path(), &format!("datasets verify citeseer --data-dir {data_dir}"));
    assert_eq!(
        (&verified["datasets"][0]["name"], &verified["datasets"][0]["ok"]),
        (&"citeseer".into(), &true.into())
    );
}
