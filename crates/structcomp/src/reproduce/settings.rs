//! Whose the settings of a cell are.

use super::cells::two_views;
use super::{Mode, Setting, Setup, Task};
use crate::{FeatureNorm, Preset, Result, Training};
use serde::Serialize;
use serde_json::Value;

const OURS: &str = "ours";

/// Every setting of a cell with its value and its source.
pub(super) fn of(model: &str, dataset: &str, mode: Mode, task: &Task) -> Result<Vec<Setting>> {
    let setup = match task {
        Task::Accuracy(setup) | Task::Cost(setup) | Task::LossTrend(setup) | Task::Theory(setup) => setup,
        Task::Star => return Ok(Vec::new()),
    };
    let Some(training) = &setup.training else { return Ok(Vec::new()) };
    // A trend has losses of the whole graph beside those of clusters.
    let with_views = mode == Mode::Full || matches!(task, Task::LossTrend(_));
    let mut settings = values(training, setup, mode, with_views);
    let known = [on_clusters(model, dataset, mode)?, on_whole_graphs(model, dataset, mode)?].concat();
    for setting in &mut settings {
        let same = known.iter().find(|other| (&other.name, &other.value) == (&setting.name, &setting.value));
        setting.source = same.map_or_else(|| OURS.to_owned(), |same| same.source.clone());
    }
    Ok(settings)
}

/// What the paper has for a model on clusters, where it has something.
fn on_clusters(model: &str, dataset: &str, mode: Mode) -> Result<Vec<Setting>> {
    if mode == Mode::Full {
        return Ok(Vec::new());
    }
    let published = Preset::paper(model, dataset)?.map(|preset| {
        let clusters = Some(preset.clusters);
        let partitioning = crate::Partitioning { clusters, ..crate::Partitioning::default() };
        values(&preset.training, &Setup { partitioning, ..Setup::default() }, mode, false)
    });
    let mut published = published.unwrap_or_default();
    for setting in &mut published {
        setting.source = of_the_paper(model, dataset, &setting.name).into();
    }
    Ok(published)
}

/// What the model's repository has for whole graphs. Beside the paper's own settings for clusters only its views
/// count: that others are alike is chance.
fn on_whole_graphs(model: &str, dataset: &str, mode: Mode) -> Result<Vec<Setting>> {
    let Some(preset) = Preset::full(model, dataset)? else { return Ok(Vec::new()) };
    let views_alone = mode == Mode::Structcomp && Preset::paper(model, dataset)?.is_some();
    let setup = Setup { feature_norm: preset.feature_norm, ..Setup::default() };
    let mut known = values(&preset.training, &setup, Mode::Full, true);
    known.retain(|setting| {
        let chosen = preset.ours.contains(&"everything") || preset.ours.contains(&&setting.name[..]);
        let is_view = matches!(&setting.name[..], "drop-edges" | "mask-features");
        !chosen && (is_view || !views_alone)
    });
    known.iter_mut().for_each(|setting| preset.source.clone_into(&mut setting.source));
    Ok(known)
}

/// Where a published setting is from; the authors' code has those of Cora alone.
fn of_the_paper(model: &str, dataset: &str, name: &str) -> &'static str {
    match name {
        "clusters" | "epochs" | "learning-rate" => "the paper",
        // A collapse with two layers, which the paper's table would have.
        "layers" if (model, dataset) == ("grace", "pubmed") => OURS,
        "partitioner" => OURS,
        _ if dataset == "cora" => "the authors' code",
        _ => "the authors' code for Cora",
    }
}

/// The settings that matter, as text: the usual ones, and what else is not as by default.
fn values(training: &Training, setup: &Setup, mode: Mode, with_views: bool) -> Vec<Setting> {
    const ALWAYS: [&str; 5] = ["epochs", "learning-rate", "weight-decay", "hidden", "layers"];
    const SELDOM: [&str; 9] = [
        "hops",
        "ssgc-alpha",
        "inner-activation",
        "initial",
        "batch-norm",
        "renormalize",
        "dropout",
        "optimizer",
        "patience",
    ];
    let mut values = Vec::new();
    let mut add = |name: &str, value: String| {
        values.push(Setting { name: name.to_owned(), value, source: String::new() });
    };
    if mode == Mode::Structcomp {
        let clusters = setup.partitioning.clusters;
        add("clusters", clusters.map_or_else(|| "a tenth of the nodes".into(), |number| number.to_string()));
        add("partitioner", setup.partitioning.method.clone());
    }
    let [own, usual] = [training, &Training::default()].map(json);
    ALWAYS.iter().for_each(|name| add(name, text(&own[*name])));
    add("encoder", text(&json(training.kind())));
    add("activation", text(&json(training.last_activation())));
    for name in SELDOM.iter().filter(|name| own[**name] != usual[**name]) {
        add(name, text(&own[*name]));
    }
    if mode == Mode::Full || setup.feature_norm != FeatureNorm::None {
        add("feature-norm", text(&json(setup.feature_norm)));
    }
    if let Value::Object(model) = &own["model"] {
        let plain = |value: &Value| !value.is_null() && !value.is_object();
        let set = model.iter().filter(|(name, value)| *name != "name" && plain(value));
        set.for_each(|(name, value)| add(name, text(value)));
    }
    if with_views && two_views(&training.model) {
        let [first, second] = training.augment.drop_edges;
        add("drop-edges", format!("{first}, {second}"));
        let [first, second] = training.augment.mask_features;
        add("mask-features", format!("{first}, {second}"));
    }
    values
}

fn json(value: impl Serialize) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::super::Experiment;

    fn source(experiment: Experiment, name: &str, setting: &str) -> (String, String) {
        let cells = experiment.cells().unwrap();
        let cell = cells.iter().find(|cell| cell.name() == name).unwrap();
        let found = cell.settings.iter().find(|other| other.name == setting);
        found.map(|found| (found.value.clone(), found.source.clone())).unwrap_or_else(|| panic!("{cell:?}"))
    }

    fn is(got: (String, String), value: &str, source: &str) {
        assert_eq!(got, (value.into(), source.into()));
    }

    #[test]
    fn what_we_changed_is_ours() {
        let source = |name: &str, setting: &str| source(Experiment::Small, name, setting);
        is(source("cora/sce/structcomp", "epochs"), "50", "the paper");
        is(source("cora/sce/structcomp", "alpha"), "20000.0", "the authors' code");
        is(source("citeseer/sce/structcomp", "hidden"), "512", "the authors' code for Cora");
        is(source("pubmed/sce/structcomp", "learning-rate"), "0.1", "ours");
        is(source("pubmed/grace/full", "epochs"), "80", "ours");
        is(source("pubmed/grace/full", "drop-edges"), "0.4, 0.1", "the model's repository");
        is(source("cora/sce/full", "learning-rate"), "0.001", "ours");
        is(source("cora/cca-ssg/full", "lambda"), "0.001", "the model's repository");
        is(source("cora/cca-ssg/full", "encoder"), "gcn", "the model's repository");
        is(source("cora/cca-ssg/structcomp", "encoder"), "sgc", "ours");
        is(source("cora/grace/full", "feature-norm"), "none", "ours");
    }

    #[test]
    fn what_an_experiment_changes_is_ours() {
        let deep = |setting: &str| source(Experiment::Deep, "cora/cca-ssg/full", setting);
        is(deep("encoder"), "ssgc", "ours");
        is(deep("hops"), "16", "ours");
        is(deep("epochs"), "50", "the model's repository");
        is(deep("layers"), "2", "the model's repository");
        let squirrel = |mode: &str, setting: &str| {
            source(Experiment::Heterophilous, &format!("squirrel/sp-gcl/{mode}"), setting)
        };
        for mode in ["full", "structcomp"] {
            is(squirrel(mode, "epochs"), "20", "ours");
            is(squirrel(mode, "learning-rate"), "0.0002", "ours");
            is(squirrel(mode, "hidden"), "1024", "the model's repository");
            is(squirrel(mode, "dropout"), "0.3", "the model's repository");
            is(squirrel(mode, "feature-norm"), "row-l1", "the model's repository");
        }
        is(squirrel("full", "initial"), "linear", "ours");
        is(squirrel("structcomp", "clusters"), "a tenth of the nodes", "ours");
        is(
            source(Experiment::LossTrend, "cora/grace/structcomp", "drop-edges"),
            "0.2, 0.4",
            "the model's repository",
        );
        is(source(Experiment::TimeMemory, "cora/sce/structcomp", "epochs"), "50", "the paper");
    }
}
