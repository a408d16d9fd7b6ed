//! The experiments: one file each, and one line in the table below.

mod compression;
mod deep;
mod heterophilous;
mod inductive;
mod loss_trend;
mod noise;
mod partitioners;
mod recent;
mod recipe;
mod small;
mod theory;
mod time_memory;

pub(crate) use {
    loss_trend::trend,
    theory::{star, theory},
};

use crate::draft::Draft;
use crate::parts::{Parts, accuracy};
use crate::{Cell, Finished, Published, PublishedCost, Task, settings};
use structcomp::{Error, Result};

/// A table or figure of the paper.
pub struct Experiment {
    /// The name, as on the command line.
    pub name: &'static str,
    /// The heading in the report.
    pub title: &'static str,
    /// What was done, for readers of the report.
    pub caption: &'static str,
    /// Its cells.
    pub(crate) drafts: fn() -> Result<Vec<Draft>>,
    /// The published numbers as TOML, by the parts of a cell's name.
    pub(crate) paper: &'static str,
    /// What the report shows of its finished cells.
    pub(crate) parts: fn(&Experiment, &[&Finished]) -> Parts,
    /// Whether its cells measure time, so that nothing may run beside them.
    pub(crate) alone: bool,
    /// Datasets that are not public downloads; a report without them is complete.
    pub(crate) optional: &'static [&'static str],
}

/// All experiments, in the order of the report.
pub static EXPERIMENTS: [Experiment; 12] = [
    small::EXPERIMENT,
    time_memory::EXPERIMENT,
    noise::EXPERIMENT,
    deep::EXPERIMENT,
    partitioners::EXPERIMENT,
    recent::EXPERIMENT,
    heterophilous::EXPERIMENT,
    compression::EXPERIMENT,
    loss_trend::EXPERIMENT,
    inductive::EXPERIMENT,
    theory::EXPERIMENT,
    recipe::EXPERIMENT,
];

/// A table of accuracies without published numbers.
const TABLE: Experiment = Experiment {
    name: "",
    title: "",
    caption: "",
    drafts: || Ok(Vec::new()),
    paper: "",
    parts: |experiment, cells| accuracy::parts(experiment.name, experiment.title, cells),
    alone: false,
    optional: &[],
};

impl Experiment {
    /// The experiment with this name.
    pub fn named(name: &str) -> Result<&'static Self> {
        EXPERIMENTS.iter().find(|experiment| experiment.name == name).ok_or_else(|| {
            let known: Vec<&str> = EXPERIMENTS.iter().map(|experiment| experiment.name).collect();
            Error::Input(format!("unknown experiment '{name}'; expected {} or all", known.join(", ")))
        })
    }

    /// The experiments with these names, in the order of the report and each once; `all` stands for every one.
    pub fn select<S: AsRef<str>>(names: &[S]) -> Result<Vec<&'static Self>> {
        let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
        names.iter().filter(|name| **name != "all").try_for_each(|name| Self::named(name).map(drop))?;
        let chosen = |experiment: &&Self| names.contains(&"all") || names.contains(&experiment.name);
        Ok(EXPERIMENTS.iter().filter(chosen).collect())
    }

    /// Its cells, with the sources of their settings and the published numbers.
    pub fn cells(&self) -> Result<Vec<Cell>> {
        let published = self.published()?;
        let cell = |draft: Draft| {
            let settings = settings::of(&draft);
            let Draft { dataset, model, mode, variation, task, .. } = draft;
            let experiment = self.name.to_owned();
            let (paper, paper_cost) = (None, None);
            let mut cell =
                Cell { experiment, dataset, model, mode, variation, task, settings, paper, paper_cost };
            match published.numbers(&cell.name())[..] {
                [megabytes, seconds] if matches!(cell.task, Task::Cost(_)) => {
                    cell.paper_cost = Some(PublishedCost { megabytes, seconds });
                }
                [mean, ref std @ ..] => cell.paper = Some(Published { mean, std: std.first().copied() }),
                [] => {}
            }
            cell
        };
        Ok((self.drafts)()?.into_iter().map(cell).collect())
    }

    pub(crate) fn published(&self) -> Result<PaperNumbers> {
        self.paper.parse().map(PaperNumbers).map_err(|error| Error::Input(format!("{}: {error}", self.name)))
    }
}

/// Published numbers.
#[derive(Default)]
pub(crate) struct PaperNumbers(toml::Table);

impl PaperNumbers {
    /// Those of a cell's name; empty without any.
    pub(crate) fn numbers(&self, name: &str) -> Vec<f64> {
        let mut parts = name.split('/');
        let first = parts.next().and_then(|part| self.0.get(part));
        let found = parts.fold(first, |table, part| table?.get(part));
        let numbers = found.and_then(toml::Value::as_array);
        numbers.into_iter().flatten().filter_map(toml::Value::as_float).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Mode;
    use std::collections::HashSet;

    #[test]
    fn experiments_are_selected_by_name() {
        let names = |wanted: &[&str]| {
            Experiment::select(wanted)
                .map(|all| all.iter().map(|experiment| experiment.name).collect::<Vec<_>>())
        };
        assert_eq!(names(&["deep", "small", "deep"]).unwrap(), ["small", "deep"]);
        assert_eq!(names(&["all"]).unwrap().len(), EXPERIMENTS.len());
        let error = names(&["small", "smal"]).unwrap_err().to_string();
        assert!(error.starts_with("unknown experiment 'smal'; expected small, time-memory"), "{error}");
    }

    #[test]
    fn cells_have_unique_names_and_settings() {
        for experiment in &EXPERIMENTS {
            let cells = experiment.cells().unwrap();
            let files: HashSet<String> = cells.iter().map(Cell::file).collect();
            assert_eq!(files.len(), cells.len(), "{}", experiment.name);
            let bare =
                |cell: &Cell| cell.settings.is_empty() && cell.setup().is_some_and(|s| s.training.is_some());
            assert!(!cells.iter().any(bare), "{}", experiment.name);
        }
    }

    #[test]
    fn published_numbers_are_found_by_cell() {
        let paper = |experiment: &str, name: &str| {
            let cells = Experiment::named(experiment).unwrap().cells().unwrap();
            let cell = cells.iter().find(|cell| cell.name() == name).unwrap();
            cell.paper.map(|paper| (paper.mean, paper.std))
        };
        assert_eq!(paper("small", "amazon-photo/grace/structcomp"), Some((90.0, Some(1.1))));
        assert_eq!(paper("small", "amazon-photo/grace/full"), Some((85.1, Some(1.6))));
        assert_eq!(paper("partitioners", "pubmed/coles/structcomp/affinity-gs"), Some((75.5, Some(3.2))));
        assert_eq!(paper("partitioners", "cora/sce/structcomp/multilevel"), Some((81.6, Some(0.9))));
        assert_eq!(paper("recent", "citeseer/sp-gcl/full"), None);
        assert_eq!(paper("inductive", "reddit/cca-ssg/structcomp"), Some((95.2, None)));
        let inductive = Experiment::named("inductive").unwrap().cells().unwrap();
        assert!(inductive.iter().all(|cell| cell.name() != "flickr/grace/full"));
        let all = |name: &str| Experiment::named(name).unwrap().cells().unwrap();
        assert!(all("small").len() == 40 && all("small").iter().all(|cell| cell.paper.is_some()));
        assert!(all("partitioners").iter().all(|cell| cell.paper.is_some()));
        assert!(all("time-memory").iter().all(|cell| cell.paper_cost.is_some() && cell.paper.is_none()));
    }

    /// The published means guard against mistakes in the table.
    #[test]
    fn the_ratios_of_the_published_costs_are_the_published_ones() {
        let experiment = Experiment::named("time-memory").unwrap();
        let (published, cells) = (experiment.published().unwrap(), experiment.cells().unwrap());
        for dataset in crate::draft::SMALL {
            let mean = |of: &dyn Fn(PublishedCost) -> f64| {
                let sum = |mode: Mode, model: &str| {
                    let same = |cell: &&Cell| {
                        (&cell.dataset[..], &cell.model[..], cell.mode) == (dataset, model, mode)
                    };
                    of(cells.iter().find(same).unwrap().paper_cost.unwrap())
                };
                let ratio = |model: &str| sum(Mode::Full, model) / sum(Mode::Structcomp, model);
                crate::draft::MODELS.map(ratio).iter().sum::<f64>() / 4.0
            };
            let printed = published.numbers(&format!("savings/{dataset}"));
            let (memory, time) = (mean(&|cost| cost.megabytes), mean(&|cost| cost.seconds));
            assert!((memory / printed[0] - 1.0).abs() < 0.25, "{dataset}: {memory} and {printed:?}");
            // Times are published to a thousandth of a second, so their ratios are coarse.
            assert!((time / printed[1] - 1.0).abs() < 0.5, "{dataset}: {time} and {printed:?}");
        }
    }
}
