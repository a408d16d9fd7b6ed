//! The settings of a cell with their sources.

use crate::{Mode, Setting, Setup, draft::Draft};
use serde::Serialize;
use serde_json::{Map, Value};
use structcomp::preset::SettingSource;
use structcomp::{FeatureNorm, Model, Partitioning, Preset, Training};

/// Shown even with their defaults.
const ALWAYS: [&str; 6] = ["partitioner", "epochs", "learning-rate", "weight-decay", "hidden", "layers"];

/// What is worth showing: the usual settings, those of the preset, and those that differ from their defaults.
pub(crate) fn of(draft: &Draft) -> Vec<Setting> {
    let Some(setup) = draft.task.setup() else { return Vec::new() };
    let Some(training) = &setup.training else { return Vec::new() };
    let known = draft.preset.as_ref().map(|preset| values(&preset.training, &as_setup(preset), draft.mode));
    let own = values(training, setup, draft.mode);
    let usual = Model::named(training.model.name())
        .map(|model| values(&Training { model, ..Training::default() }, &Setup::default(), draft.mode))
        .unwrap_or_default();
    let has_views = draft.has_views();
    let setting = |(name, value): (&String, &Value)| {
        let preset = draft.preset.as_ref().zip(known.as_ref().and_then(|known| known.get(name)));
        let source = match preset {
            Some((preset, same)) if same == value => preset.sources.get(name).copied(),
            _ => Some(SettingSource::Ours),
        };
        let is_default = usual.get(name) == Some(value);
        let is_view = matches!(&name[..], "drop-edges" | "mask-features");
        let shown = source.is_some() || !is_default || ALWAYS.contains(&&name[..]);
        (shown && (!is_view || has_views)).then(|| Setting { name: name.clone(), value: text(value), source })
    };
    own.iter().filter_map(setting).collect()
}

fn as_setup(preset: &Preset) -> Setup {
    let partitioning = Partitioning { clusters: preset.clusters, ..Partitioning::default() };
    Setup { partitioning, feature_norm: preset.feature_norm, ..Setup::default() }
}

/// All values by name; those of the model and of its views among them.
fn values(training: &Training, setup: &Setup, mode: Mode) -> Map<String, Value> {
    let mut all = fields(training);
    let nested = [all.remove("model"), all.remove("augment")];
    nested.into_iter().flatten().for_each(|part| all.extend(fields(part)));
    all.remove("name");
    if mode == Mode::Structcomp {
        all.extend(fields(&setup.partitioning).into_iter().filter(|(name, _)| name == "clusters"));
        all.insert("partitioner".into(), setup.partitioning.method.clone().into());
    }
    if setup.feature_norm != FeatureNorm::None || mode == Mode::Full {
        all.insert("feature-norm".into(), serde_json::to_value(setup.feature_norm).unwrap_or_default());
    }
    all.retain(|_, value| !value.is_object() && !value.is_null());
    all
}

fn fields(value: impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(value) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(text).collect::<Vec<_>>().join(" and "),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Experiment;

    fn is(
        experiment: &str,
        name: &str,
        setting: &str,
        value: &str,
        source: impl Into<Option<SettingSource>>,
    ) {
        let cells = Experiment::named(experiment).unwrap().cells().unwrap();
        let cell = cells.iter().find(|cell| cell.name() == name).unwrap();
        let found = cell.settings.iter().find(|other| other.name == setting);
        let found = found.unwrap_or_else(|| panic!("no {setting} in {cell:?}"));
        assert_eq!((&found.value[..], found.source), (value, source.into()), "{name} {setting}");
    }

    #[test]
    fn sources_are_those_of_the_preset() {
        let is = |name: &str, setting: &str, value: &str, source| is("small", name, setting, value, source);
        is("cora/sce/structcomp", "epochs", "50", Some(SettingSource::Paper));
        is("cora/sce/structcomp", "alpha", "20000.0", Some(SettingSource::Authors));
        is("pubmed/sce/structcomp", "learning-rate", "0.1", Some(SettingSource::Ours));
        is("pubmed/grace/full", "epochs", "80", Some(SettingSource::Ours));
        is("pubmed/grace/full", "drop-edges", "0.4 and 0.1", Some(SettingSource::Repository));
        is("amazon-photo/grace/full", "drop-edges", "0.3 and 0.5", Some(SettingSource::Gca));
        is("cora/sce/full", "learning-rate", "0.001", Some(SettingSource::Ours));
        is("cora/cca-ssg/full", "lambda", "0.001", Some(SettingSource::Repository));
        is("cora/cca-ssg/structcomp", "encoder", "sgc", Some(SettingSource::Ours));
        is("cora/coles/full", "layers", "1", None);
    }

    #[test]
    fn changes_by_an_experiment_are_ours() {
        let deep =
            |setting: &str, value: &str, source| is("deep", "cora/cca-ssg/full", setting, value, source);
        deep("encoder", "ssgc", SettingSource::Ours);
        deep("hops", "16", SettingSource::Ours);
        deep("epochs", "50", SettingSource::Repository);
        for mode in ["full", "structcomp"] {
            let is = |setting: &str, value: &str, source| {
                is("heterophilous", &format!("squirrel/sp-gcl/{mode}"), setting, value, source)
            };
            is("epochs", "20", SettingSource::Ours);
            is("learning-rate", "0.0002", SettingSource::Ours);
            is("hidden", "1024", SettingSource::Repository);
            is("dropout", "0.3", SettingSource::Repository);
        }
        is("heterophilous", "squirrel/sp-gcl/full", "initial", "linear", SettingSource::Ours);
        is(
            "partitioners",
            "cora/sce/structcomp/affinity-gs",
            "partitioner",
            "affinity-gs",
            SettingSource::Ours,
        );
        is("loss-trend", "cora/grace/structcomp", "drop-edges", "0.2 and 0.4", SettingSource::Repository);
        is("time-memory", "cora/sce/structcomp", "epochs", "50", SettingSource::Paper);
    }
}
