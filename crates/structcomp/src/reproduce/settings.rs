//! Whose the settings of a cell are.

use super::cells::two_views;
use super::{Mode, Setting, Setup, Task};
use crate::{FeatureNorm, Preset, Result, Training};
use serde_json::Value;

const OURS: &str = "ours";

/// Every setting of a cell with its value and its source.
pub(super) fn of(model: &str, dataset: &str, mode: Mode, task: &Task) -> Result<Vec<Setting>> {
    let setup = match task {
        Task::Accuracy(setup) | Task::Cost(setup) | Task::LossTrend(setup) | Task::Theory(setup) => setup,
        Task::Star => return Ok(Vec::new()),
    };
    let Some(training) = &setup.training else { return Ok(Vec::new()) };
    let mut settings = values(training, setup, mode);
    match mode {
        Mode::Structcomp => {
            let published = Preset::paper(model, dataset)?;
            let published = published.map(|preset| {
                let clusters = Some(preset.clusters);
                let partitioning = crate::Partitioning { clusters, ..crate::Partitioning::default() };
                values(&preset.training, &Setup { partitioning, ..Setup::default() }, mode)
            });
            for setting in &mut settings {
                let same = published.as_ref().is_some_and(|published| {
                    published
                        .iter()
                        .any(|other| (&other.name, &other.value) == (&setting.name, &setting.value))
                });
                setting.source = if same { of_the_paper(model, dataset, &setting.name) } else { OURS }.into();
            }
        }
        Mode::Full => {
            let preset = Preset::full(model, dataset)?;
            let source = preset.as_ref().map_or(OURS, |preset| preset.source);
            let ours = preset.as_ref().map_or(&["everything"][..], |preset| preset.ours);
            for setting in &mut settings {
                let is_ours = ours.contains(&"everything") || ours.contains(&&setting.name[..]);
                setting.source = if is_ours { OURS } else { source }.into();
            }
        }
    }
    Ok(settings)
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

/// The settings that matter, as text.
fn values(training: &Training, setup: &Setup, mode: Mode) -> Vec<Setting> {
    let mut values = Vec::new();
    let mut add = |name: &str, value: String| {
        values.push(Setting { name: name.to_owned(), value, source: String::new() });
    };
    if mode == Mode::Structcomp {
        if let Some(clusters) = setup.partitioning.clusters {
            add("clusters", clusters.to_string());
        }
        add("partitioner", setup.partitioning.method.clone());
    }
    add("epochs", training.epochs.to_string());
    add("learning-rate", training.learning_rate.to_string());
    add("weight-decay", training.weight_decay.to_string());
    add("hidden", training.hidden.to_string());
    add("layers", training.layers.to_string());
    let kind = |value: Value| value.as_str().map_or_else(|| "the model's".to_owned(), str::to_owned);
    let text = |value: &dyn Fn() -> serde_json::Result<Value>| value().map_or_else(|_| String::new(), kind);
    add("encoder", text(&|| serde_json::to_value(training.encoder)));
    add("activation", text(&|| serde_json::to_value(training.activation)));
    if training.initial.is_some() {
        add("initial", text(&|| serde_json::to_value(training.initial)));
    }
    if mode == Mode::Full || setup.feature_norm != FeatureNorm::None {
        add("feature-norm", text(&|| serde_json::to_value(setup.feature_norm)));
    }
    if let Ok(Value::Object(model)) = serde_json::to_value(&training.model) {
        let own = model.iter().filter(|(name, value)| *name != "name" && value.is_number());
        own.for_each(|(name, value)| add(name, value.to_string()));
    }
    if mode == Mode::Full && two_views(&training.model) {
        let [first, second] = training.augment.drop_edges;
        add("drop-edges", format!("{first}, {second}"));
        let [first, second] = training.augment.mask_features;
        add("mask-features", format!("{first}, {second}"));
    }
    values
}

#[cfg(test)]
mod tests {
    use super::super::Experiment;

    #[test]
    fn what_we_changed_is_ours() {
        let cells = Experiment::Small.cells().unwrap();
        let source = |name: &str, setting: &str| {
            let cell = cells.iter().find(|cell| cell.name() == name).unwrap();
            let found = cell.settings.iter().find(|other| other.name == setting);
            found.map(|found| (found.value.clone(), found.source.clone())).unwrap()
        };
        let is =
            |got: (String, String), value: &str, source: &str| assert_eq!(got, (value.into(), source.into()));
        is(source("cora/sce/structcomp", "epochs"), "50", "the paper");
        is(source("cora/sce/structcomp", "alpha"), "20000.0", "the authors' code");
        is(source("citeseer/sce/structcomp", "hidden"), "512", "the authors' code for Cora");
        is(source("pubmed/sce/structcomp", "learning-rate"), "0.1", "ours");
        is(source("pubmed/grace/full", "epochs"), "80", "ours");
        is(source("pubmed/grace/full", "drop-edges"), "0.4, 0.1", "the model's repository");
        is(source("cora/sce/full", "learning-rate"), "0.001", "ours");
        is(source("cora/cca-ssg/full", "lambda"), "0.001", "the model's repository");
    }
}
