//! Settings for known models and datasets, each with its source. They are data: `presets/*.toml`, whose layout
//! `presets/README.md` describes.

use crate::{Error, FeatureNorm, Model, Result, Training};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};
use std::{collections::BTreeMap, fmt, sync::LazyLock};

/// Settings for a model on a dataset.
#[derive(Clone, Debug, PartialEq)]
pub struct Preset {
    /// The number of clusters; none on the whole graph.
    pub clusters: Option<usize>,
    /// How features are scaled first.
    pub feature_norm: FeatureNorm,
    /// How to train.
    pub training: Training,
    /// Where each setting comes from, by its name in kebab case. Settings without a source have their defaults.
    pub sources: BTreeMap<String, SettingSource>,
}

/// Where a setting comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SettingSource {
    /// The StructComp paper's tables of hyperparameters.
    Paper,
    /// The scripts of the StructComp authors, which have settings for Cora only.
    Authors,
    /// The model's own repository.
    Repository,
    /// GCA's parameter files.
    Gca,
    /// Chosen by us.
    Ours,
}

impl SettingSource {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "paper" => Self::Paper,
            "authors" => Self::Authors,
            "repository" => Self::Repository,
            "gca" => Self::Gca,
            "ours" => Self::Ours,
            _ => return None,
        })
    }
}

impl fmt::Display for SettingSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Paper => "the paper",
            Self::Authors => "the authors' code",
            Self::Repository => "the model's repository",
            Self::Gca => "GCA's parameter files",
            Self::Ours => "ours",
        })
    }
}

impl Preset {
    /// The paper's settings for training on clusters, if it has any.
    pub fn paper(model: &str, dataset: &str) -> Result<Option<Self>> {
        Self::load(model, dataset, PresetFile::paper)
    }

    /// Our settings for training on clusters: the paper's, or else those of the model's repository, with the changes
    /// that `docs/background/recipe.md` explains.
    pub fn ours(model: &str, dataset: &str) -> Result<Option<Self>> {
        Self::load(model, dataset, PresetFile::ours)
    }

    /// Our settings for training on the whole graph: those of the model's repository where they reach the published
    /// accuracy, or else ours for clusters.
    pub fn full(model: &str, dataset: &str) -> Result<Option<Self>> {
        Self::load(model, dataset, PresetFile::full)
    }

    fn load(
        model: &str,
        dataset: &str,
        of: impl Fn(&'static PresetFile, &str) -> Option<Settings>,
    ) -> Result<Option<Self>> {
        let settings = FILES.get(model).and_then(|file| of(file, dataset));
        settings.map(|settings| settings.preset(model)).transpose()
    }
}

/// The presets of a model.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct PresetFile {
    paper: PresetSection,
    repository: PresetSection,
    ours: PresetSection,
    full: PresetSection,
}

/// Tables by dataset; `*` for what they share.
type PresetSection = BTreeMap<String, Map<String, Value>>;

static FILES: LazyLock<BTreeMap<&str, PresetFile>> = LazyLock::new(|| {
    macro_rules! files {
        ($($name:literal)*) => {
            [$(($name, parsed(include_str!(concat!("../presets/", $name, ".toml"))))),*]
        };
    }
    files!["sce" "coles" "grace" "cca-ssg" "dgi" "ggd" "blockgcl" "contrast-reg" "mvgrl" "bgrl" "sp-gcl"]
        .into()
});

static CLUSTERS: LazyLock<PresetSection> = LazyLock::new(|| parsed(include_str!("../presets/clusters.toml")));

fn parsed<T: DeserializeOwned>(text: &str) -> T {
    toml::from_str(text).expect("the presets that are compiled in are valid")
}

impl PresetFile {
    fn paper(&self, dataset: &str) -> Option<Settings> {
        Settings::of(&self.paper, dataset, SettingSource::Paper)
    }

    fn repository(&self, dataset: &str) -> Option<Settings> {
        Settings::of(&self.repository, dataset, SettingSource::Repository)
    }

    fn ours(&self, dataset: &str) -> Option<Settings> {
        let Some(mut settings) = self.paper(dataset).or_else(|| self.repository(dataset)) else {
            return Settings::of(&self.ours, dataset, SettingSource::Ours);
        };
        settings.extend(&self.ours, dataset, SettingSource::Ours);
        Some(settings)
    }

    fn full(&self, dataset: &str) -> Option<Settings> {
        let from_ours = self.full.get(dataset).is_some_and(|table| table.contains_key("from"));
        let own = if from_ours { None } else { self.repository(dataset) };
        let mut settings = own.or_else(|| {
            let mut ours = self.ours(dataset)?;
            // What the paper has for clusters is our choice on a whole graph.
            let for_clusters =
                |source: &SettingSource| matches!(source, SettingSource::Paper | SettingSource::Authors);
            let sources = ours.values.values_mut().map(|(_, source)| source);
            sources.filter(|source| for_clusters(source)).for_each(|source| *source = SettingSource::Ours);
            Some(ours)
        })?;
        settings.values.remove("clusters");
        settings.extend(&self.full, dataset, SettingSource::Ours);
        Some(settings)
    }
}

/// Values by name, each with its source.
#[derive(Default)]
struct Settings {
    values: BTreeMap<String, (Value, SettingSource)>,
}

impl Settings {
    /// What a section has for a dataset, if the section covers it.
    fn of(section: &PresetSection, dataset: &str, source: SettingSource) -> Option<Self> {
        let any = section.get("*").is_some_and(|table| table.contains_key("any-dataset"));
        if !any && !section.contains_key(dataset) {
            return None;
        }
        let clusters = CLUSTERS.iter().find_map(|(source, table)| Some((table.get(dataset)?, source)))?;
        let mut settings = Self::default();
        settings.values.insert("clusters".into(), (clusters.0.clone(), SettingSource::named(clusters.1)?));
        settings.extend(section, dataset, source);
        Some(settings)
    }

    /// Sets what all datasets of a section share, then what this one has.
    fn extend(&mut self, section: &PresetSection, dataset: &str, source: SettingSource) {
        section.get("*").into_iter().chain(section.get(dataset)).for_each(|table| self.apply(table, source));
    }

    /// Sets what a table has, from `source` unless it says otherwise.
    fn apply(&mut self, table: &Map<String, Value>, source: SettingSource) {
        for (name, value) in table {
            match (&name[..], value) {
                ("why" | "from" | "any-dataset", _) => {}
                ("without", Value::Array(names)) => {
                    names.iter().filter_map(Value::as_str).for_each(|name| drop(self.values.remove(name)));
                }
                (_, Value::Object(nested)) if SettingSource::named(name).is_some() => {
                    self.apply(nested, SettingSource::named(name).unwrap_or(source));
                }
                _ => drop(self.values.insert(name.clone(), (value.clone(), source))),
            }
        }
    }

    fn preset(self, model: &str) -> Result<Preset> {
        let training = Training { model: Model::named(model)?, ..Training::default() };
        let mut preset =
            Preset { clusters: None, feature_norm: FeatureNorm::None, training, sources: BTreeMap::new() };
        let wrong = |name: &str| Error::Input(format!("invalid value for {name} in the preset of {model}"));
        let mut training = serde_json::to_value(&preset.training).map_err(|_| wrong("training"))?;
        for (name, (value, source)) in self.values {
            match &name[..] {
                "clusters" => preset.clusters = value.as_u64().map(|clusters| clusters as usize),
                "feature-norm" => {
                    preset.feature_norm = serde_json::from_value(value).map_err(|_| wrong(&name))?;
                }
                _ => *place(&mut training, &name).ok_or_else(|| wrong(&name))? = value,
            }
            preset.sources.insert(name, source);
        }
        preset.training = serde_json::from_value(training)
            .map_err(|error| Error::Input(format!("invalid preset of {model}: {error}")))?;
        Ok(preset)
    }
}

/// Where a setting of this name is: in training itself, the model's settings or the views'.
fn place<'a>(training: &'a mut Value, name: &str) -> Option<&'a mut Value> {
    let part = [None, Some("model"), Some("augment")].into_iter().find(|part| match part {
        None => training.get(name).is_some(),
        Some(part) => training[*part].get(name).is_some(),
    })?;
    match part {
        None => training.get_mut(name),
        Some(part) => training.get_mut(part)?.get_mut(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_choice_of_ours_has_a_reason() {
        fn check(table: &Map<String, Value>, source: SettingSource, place: &str) {
            let own = |(name, value): (&String, &Value)| !value.is_object() && name != "any-dataset";
            assert!(
                source != SettingSource::Ours || !table.iter().any(own) || table.contains_key("why"),
                "{place}"
            );
            let nested = table
                .iter()
                .filter_map(|(name, value)| Some((SettingSource::named(name)?, value.as_object()?)));
            nested.for_each(|(source, table)| check(table, source, place));
        }
        for (model, file) in FILES.iter() {
            let sections = [
                (&file.ours, SettingSource::Ours),
                (&file.full, SettingSource::Ours),
                (&file.paper, SettingSource::Paper),
            ];
            for (section, source) in
                sections.into_iter().chain([(&file.repository, SettingSource::Repository)])
            {
                section.iter().for_each(|(name, table)| check(table, source, &format!("{model} {name}")));
            }
        }
        assert!(CLUSTERS["ours"].contains_key("why"));
    }

    #[test]
    fn settings_have_their_sources() {
        let preset = |preset: Result<Option<Preset>>| preset.unwrap().unwrap();
        let sce = preset(Preset::ours("sce", "pubmed"));
        assert_eq!((sce.clusters, sce.training.learning_rate), (Some(2000), 0.1));
        let of = |name: &str| sce.sources[name];
        assert_eq!(
            [of("clusters"), of("epochs"), of("alpha")],
            [SettingSource::Paper, SettingSource::Paper, SettingSource::Authors]
        );
        assert_eq!([of("learning-rate"), of("weight-decay")], [SettingSource::Ours; 2]);
        let grace = preset(Preset::full("grace", "amazon-photo"));
        assert_eq!(
            [grace.sources["drop-edges"], grace.sources["hidden"]],
            [SettingSource::Gca, SettingSource::Ours]
        );
        assert_eq!(grace.clusters, None);
        let sp_gcl = preset(Preset::full("sp-gcl", "cora"));
        assert_eq!(
            [sp_gcl.sources["hidden"], sp_gcl.sources["layers"]],
            [SettingSource::Repository, SettingSource::Ours]
        );
        for (model, dataset) in [("sce", "mine"), ("ggd", "ogbn-arxiv"), ("nothing", "cora")] {
            assert_eq!(Preset::ours(model, dataset).unwrap(), None);
        }
    }
}
