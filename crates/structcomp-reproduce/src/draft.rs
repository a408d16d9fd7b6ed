//! Cells as an experiment describes them: a preset, and what the experiment changes.

use crate::{Mode, Setup, Task, model};
use structcomp::{Error, Partitioning, Preset, Result};

/// The models that the paper trains on clusters.
pub(crate) const MODELS: [&str; 4] = ["sce", "coles", "grace", "cca-ssg"];
/// The datasets of its main table.
pub(crate) const SMALL: [&str; 5] = ["cora", "citeseer", "pubmed", "amazon-photo", "amazon-computers"];
pub(crate) const CITATIONS: [&str; 3] = ["cora", "citeseer", "pubmed"];
pub(crate) const HETEROPHILOUS: [&str; 3] = ["chameleon", "squirrel", "actor"];
pub(crate) const BOTH: [Mode; 2] = [Mode::Structcomp, Mode::Full];
pub(crate) const CLUSTERS: [Mode; 1] = [Mode::Structcomp];

/// A cell without its settings' sources and published numbers, which are filled in for all experiments alike.
pub(crate) struct Draft {
    pub(crate) dataset: String,
    pub(crate) model: String,
    pub(crate) mode: Mode,
    pub(crate) variation: String,
    pub(crate) task: Task,
    /// Where the settings come from. A setting of the task that differs is ours.
    pub(crate) preset: Option<Preset>,
}

/// What is trained on what.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) model: &'a str,
    pub(crate) dataset: &'a str,
    pub(crate) mode: Mode,
}

/// All combinations, in the order of a table.
pub(crate) fn places<'a>(models: &[&'a str], datasets: &[&'a str], modes: &[Mode]) -> Vec<Place<'a>> {
    let mut places = Vec::new();
    for &model in models {
        for &dataset in datasets {
            places.extend(modes.iter().map(|&mode| Place { model, dataset, mode }));
        }
    }
    places
}

impl Place<'_> {
    /// Our settings, for clusters or for the whole graph.
    pub(crate) fn preset(&self) -> Result<Preset> {
        let Self { model, dataset, mode } = *self;
        let preset = match mode {
            Mode::Structcomp => Preset::ours(model, dataset)?,
            _ => Preset::full(model, dataset)?,
        };
        preset.ok_or_else(|| Error::Input(format!("no preset for {model} on {dataset} ({})", mode.name())))
    }

    /// Training with our settings, evaluated as on the small graphs.
    pub(crate) fn draft(&self) -> Result<Draft> {
        let preset = self.preset()?;
        let setup = Setup {
            training: Some(preset.training.clone()),
            partitioning: Partitioning { clusters: preset.clusters, ..Partitioning::default() },
            feature_norm: preset.feature_norm,
            // The authors published their splits of Cora.
            splits: if self.dataset == "cora" { "authors" } else { "random20" }.into(),
            random_clusters: self.mode == Mode::Structcomp,
            ..Setup::default()
        };
        Ok(self.with(Task::Accuracy(setup), Some(preset)))
    }

    /// A task of its own.
    pub(crate) fn with(&self, task: Task, preset: Option<Preset>) -> Draft {
        let (dataset, model) = (self.dataset.to_owned(), self.model.to_owned());
        Draft { dataset, model, mode: self.mode, variation: String::new(), task, preset }
    }
}

impl Draft {
    /// Changes the setup.
    pub(crate) fn set(mut self, change: impl FnOnce(&mut Setup)) -> Self {
        match &mut self.task {
            Task::Accuracy(setup) | Task::Cost(setup) | Task::LossTrend(setup) | Task::Theory(setup) => {
                change(setup)
            }
            Task::Star => {}
        }
        self
    }

    /// Computes something else with the same setup.
    pub(crate) fn task(self, task: impl FnOnce(Setup) -> Task) -> Self {
        let setup = self.task.setup().cloned().unwrap_or_default();
        Self { task: task(setup), ..self }
    }

    pub(crate) fn variation(self, variation: impl Into<String>) -> Self {
        Self { variation: variation.into(), ..self }
    }

    /// Whether what two augmented views leave out matters.
    pub(crate) fn has_views(&self) -> bool {
        let on_graph = self.mode == Mode::Full || matches!(self.task, Task::LossTrend(_));
        on_graph && model::Facts::of(&self.model).two_views
    }
}
