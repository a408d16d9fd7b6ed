//! `structcomp run`, `train` and `embed`.

use super::*;

#[test]
fn train_and_embed_give_what_run_gives_for_any_number_of_threads() {
    let folder = folder();
    let settings = "--model cca-ssg --layers 2 --epochs 3 --hidden 12 --seed 3 --feature-norm standardize";
    line(folder.path(), &format!("run --runs 2 --threads 1 --out r {settings}"));
    line(folder.path(), &format!("train demo --threads 3 --out m.safetensors {settings}"));
    assert!(read(folder.path(), "m.safetensors") == read(folder.path(), "r/weights.safetensors"));
    // The model knows how features are prepared.
    let report = json(folder.path(), "embed demo --seed 3 --weights m.safetensors --out z.npy");
    assert_eq!((&report["same_data"], &report["cols"]), (&true.into(), &12.into()));
    assert!(read(folder.path(), "z.npy") == read(folder.path(), "r/embedding.npy"));
    let other = json(folder.path(), "embed demo --seed 4 --weights m.safetensors --out z.csv");
    assert_eq!((&other["same_data"], &other["trained_on"]), (&false.into(), &"demo".into()));
    assert_eq!(text(&read(folder.path(), "z.csv")).lines().count(), 1 + 2708);
}

#[test]
fn a_stand_in_is_part_of_the_model() {
    let folder = folder();
    let args =
        "train edges.txt --stand-in degree --stand-in-width 3 -k 2 --model coles --epochs 2 --hidden 4";
    let report = json(folder.path(), &format!("{args} --out m.safetensors"));
    let note = "the graph has no features; node degrees stand in for them, 3 per node";
    assert_eq!((&report["data"]["features"], &report["data"]["notes"][0]), (&Value::Null, &note.into()));
    write(folder.path(), "other.txt", "1 2\n2 3\n3 4\n4 5\n");
    let other = json(folder.path(), "embed other.txt --weights m.safetensors --out z.csv");
    assert_eq!(
        (&other["rows"], &other["cols"], &other["data"]["notes"][0]),
        (&5.into(), &4.into(), &note.into())
    );
}

#[test]
fn every_mode_trains_and_its_model_embeds() {
    let folder = folder();
    let settings = "--model cca-ssg --preset none --epochs 2 --hidden 6 --seed 3";
    for (mode, setting, value) in [
        ("cluster-gcn -k 30 --batch-clusters 7", "batch_clusters", Value::from(7)),
        ("graphsaint --sampler node --budget 900 --coverage 5", "saint", Value::Null),
        ("graphzoom --levels 1 --fusion-neighbors 0", "zoom", Value::Null),
    ] {
        line(folder.path(), &format!("run --runs 2 --out r --mode {mode} {settings}"));
        let report = json(folder.path(), &format!("train demo --out m.safetensors --mode {mode} {settings}"));
        assert_eq!(report["train"]["mode"], mode.split(' ').next().unwrap());
        let found = &report["train"][setting];
        assert!(found.is_object() || *found == value, "{found}");
        assert!(read(folder.path(), "m.safetensors") == read(folder.path(), "r/weights.safetensors"));
        line(folder.path(), "embed demo --seed 3 --weights m.safetensors --out z.npy");
        assert!(read(folder.path(), "z.npy") == read(folder.path(), "r/embedding.npy"));
    }
}

#[test]
fn flags_become_settings() {
    let folder = folder();
    let args = "train demo --out m.safetensors --mode full --model grace --preset none --epochs 1 --hidden 6 --layers 2 \
        --lr 0.01 --weight-decay 0.1 --encoder ssgc --hops 3 --ssgc-alpha 0.25 --activation elu --tau 0.75 \
        --dropout 0.5 --patience 7 --set batch-norm=true --drop-edges 0.2,0.4 --mask-features 0.3";
    let report = json(folder.path(), args);
    assert_eq!(report["train"]["mode"], "full");
    assert!(report.get("partition").is_none());
    let model = &report["model"];
    for (name, value) in [
        ("epochs", Value::from(1)),
        ("hidden", 6.into()),
        ("layers", 2.into()),
        ("learning-rate", 0.01.into()),
        ("weight-decay", 0.1.into()),
        ("encoder", "ssgc".into()),
        ("hops", 3.into()),
        ("ssgc-alpha", 0.25.into()),
        ("activation", "elu".into()),
        ("dropout", 0.5.into()),
        ("patience", 7.into()),
        ("batch-norm", true.into()),
    ] {
        assert_eq!(model[name], value, "{name}");
    }
    assert_eq!((&model["model"]["name"], &model["model"]["tau"]), (&"grace".into(), &0.75.into()));
    assert_eq!(model["augment"]["drop-edges"], serde_json::json!([0.2, 0.4]));
    assert_eq!(model["augment"]["mask-features"], serde_json::json!([0.3, 0.3]));
}

#[test]
fn without_a_model_the_recipe_is_solved() {
    let folder = folder();
    let report = json(folder.path(), "train demo --set directions=64 --out m.safetensors");
    assert_eq!(report["model"]["model"]["name"], "solved");
    assert_eq!((&report["train"]["epochs"], &report["train"]["loss_first"]), (&0.into(), &().into()));
    let weights = report["train"]["solution"]["weights"].as_array().unwrap();
    let sum: f64 = weights.iter().map(|weight| weight[1].as_f64().unwrap()).sum();
    assert!(weights.len() == 6 && (sum - 1.0).abs() < 1e-9, "{weights:?}");
}

#[test]
fn a_preset_of_the_paper_is_used_by_name() {
    let Some(data_dir) = published() else { return };
    let folder = folder();
    let args = format!("train cora --model sce --preset paper --epochs 1 --data-dir {}", data_dir.display());
    let report = json(folder.path(), &format!("{args} --out m.safetensors"));
    // Table values for Cora, but for the epochs.
    assert_eq!((&report["partition"]["requested"], &report["model"]["hidden"]), (&300.into(), &512.into()));
    assert_eq!((&report["model"]["learning-rate"], &report["model"]["epochs"]), (&0.001.into(), &1.into()));
}
