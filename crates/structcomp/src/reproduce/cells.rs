//! Which cells each experiment has.

use super::{Cell, Experiment, Mode, Setup, Task, paper, settings};
use crate::{
    Augment, EncoderKind, Error, FeatureNorm, Initial, Model, Partitioning, Preset, Result, Training,
};

/// The models that the paper trains on clusters.
pub(super) const MODELS: [&str; 4] = ["sce", "coles", "grace", "cca-ssg"];
/// The graphs of its main table.
pub(super) const SMALL: [&str; 5] = ["cora", "citeseer", "pubmed", "amazon-photo", "amazon-computers"];
const CITATIONS: [&str; 3] = ["cora", "citeseer", "pubmed"];
const HETEROPHILOUS: [&str; 3] = ["chameleon", "squirrel", "actor"];
/// Models that the paper has on whole graphs alone, and three that it does not have.
const OTHERS: [&str; 7] = ["blockgcl", "sp-gcl", "contrast-reg", "ggd", "dgi", "mvgrl", "bgrl"];
const BOTH: [Mode; 2] = [Mode::Structcomp, Mode::Full];
/// Clusters as a share of the nodes.
pub(super) const RATES: [f64; 9] = [0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0];
/// A synthetic graph with Flickr's counts.
pub(super) const FLICKR: &str = "synthetic-flickr";
/// The graphs of the paper's inductive table, in GraphSAINT's layout, which not everybody has: clusters as the memory
/// that it prints tells, and the share of nodes that are not for training.
const LARGE: [(&str, usize, f64); 2] = [("flickr", 2_000, 0.5), ("reddit", 15_343, 0.34)];

/// Whether a model compares two views of the graph, and what these leave out matters.
pub(super) fn two_views(model: &Model) -> bool {
    matches!(model.name(), "grace" | "cca-ssg" | "blockgcl" | "bgrl")
}

impl Experiment {
    /// The cells of the experiment; an error where it needs a model that there is not.
    pub(super) fn cells(self) -> Result<Vec<Cell>> {
        match self {
            Self::Small => each(&SMALL, &MODELS, &BOTH, |at| Ok(Task::Accuracy(at.setup()?)), self),
            Self::TimeMemory => each(&SMALL, &MODELS, &BOTH, |at| Ok(Task::Cost(at.setup()?)), self),
            Self::Noise => {
                let noisy = |at: &Place| Ok(Task::Accuracy(Setup { noise: 0.1, ..at.setup()? }));
                each(&CITATIONS, &MODELS, &BOTH, noisy, self)
            }
            Self::Deep => each(&CITATIONS, &MODELS, &BOTH, |at| Ok(Task::Accuracy(deep(at.setup()?))), self),
            Self::Partitioners => partitioners(),
            Self::Recent => {
                self.needs(&OTHERS)?;
                each(&CITATIONS, &OTHERS, &BOTH, |at| Ok(Task::Accuracy(at.setup()?)), self)
            }
            Self::Heterophilous => {
                self.needs(&["sp-gcl"])?;
                let task = |at: &Place| Ok(Task::Accuracy(heterophilous(at)?));
                each(&HETEROPHILOUS, &["sp-gcl"], &BOTH, task, self)
            }
            Self::Compression => compression(),
            Self::LossTrend => each(
                &CITATIONS[..2],
                &MODELS,
                &[Mode::Structcomp],
                |at| Ok(Task::LossTrend(trend(at)?)),
                self,
            ),
            Self::Inductive => inductive(),
            Self::Theory => theory(),
            Self::Recipe => {
                let data = [&SMALL[..], &HETEROPHILOUS].concat();
                each(&data, &["recipe"], &[Mode::Structcomp], |at| Ok(Task::Accuracy(recipe(at))), self)
            }
        }
    }

    fn needs(self, models: &[&str]) -> Result<()> {
        match models.iter().find(|model| Model::named(model).is_err()) {
            None => Ok(()),
            Some(model) => Err(Error::Input(format!(
                "the experiment {} needs the model '{model}', which this version does not have; models are {}",
                self.name(),
                Model::NAMES.join(", ")
            ))),
        }
    }
}

/// Where in a table.
struct Place<'a> {
    dataset: &'a str,
    model: &'a str,
    mode: Mode,
}

impl Place<'_> {
    /// Our settings for clusters, or those for the whole graph.
    fn setup(&self) -> Result<Setup> {
        let none = || {
            let Self { dataset, model, mode } = self;
            Error::Input(format!("there are no settings for {model} on {dataset} ({})", mode.name()))
        };
        // The authors published their splits of Cora.
        let splits = if self.dataset == "cora" { "authors" } else { "random20" };
        let setup = Setup { splits: splits.into(), ..Setup::default() };
        Ok(match self.mode {
            Mode::Structcomp => {
                let preset = Preset::ours(self.model, self.dataset)?.ok_or_else(none)?;
                let partitioning =
                    Partitioning { clusters: Some(preset.clusters), ..Partitioning::default() };
                Setup { training: Some(preset.training), partitioning, random_clusters: true, ..setup }
            }
            Mode::Full => {
                let preset = Preset::full(self.model, self.dataset)?.ok_or_else(none)?;
                Setup { training: Some(preset.training), feature_norm: preset.feature_norm, ..setup }
            }
        })
    }

    fn cell(&self, experiment: Experiment, variation: String, task: Task) -> Result<Cell> {
        let Self { dataset, model, mode } = *self;
        let paper = paper::accuracy(experiment, model, dataset, mode, &variation);
        let is_cost = matches!(task, Task::Cost(_));
        Ok(Cell {
            experiment,
            dataset: dataset.to_owned(),
            model: model.to_owned(),
            mode,
            settings: settings::of(model, dataset, mode, &task)?,
            paper: if is_cost { None } else { paper },
            paper_cost: if is_cost { paper::cost(model, dataset, mode) } else { None },
            variation,
            task,
        })
    }
}

/// A cell for every dataset, model and mode.
fn each(
    datasets: &[&str],
    models: &[&str],
    modes: &[Mode],
    task: impl Fn(&Place) -> Result<Task>,
    experiment: Experiment,
) -> Result<Vec<Cell>> {
    let mut cells = Vec::new();
    for model in models {
        for dataset in datasets {
            for &mode in modes {
                let place = Place { dataset, model, mode };
                cells.push(place.cell(experiment, String::new(), task(&place)?)?);
            }
        }
    }
    Ok(cells)
}

/// The same with sixteen hops before all layers.
fn deep(mut setup: Setup) -> Setup {
    if let Some(training) = &mut setup.training {
        (training.encoder, training.hops, training.ssgc_alpha) =
            (Some(EncoderKind::Ssgc), Some(16), Some(0.05));
    }
    setup
}

fn heterophilous(at: &Place) -> Result<Setup> {
    let full = Place { mode: Mode::Full, ..*at }.setup()?;
    let own = Preset::ours(at.model, at.dataset)?.map(|preset| preset.training);
    let mut training = own.or(full.training);
    // Running statistics of batch norm have seen too few epochs; on clusters they are always made anew.
    // Batch norm takes back whatever scale and bias weights start with, so both start alike.
    if let (Mode::Full, Some(training)) = (at.mode, &mut training) {
        (training.renormalize, training.initial) = (Some(true), Some(Initial::Linear));
    }
    Ok(Setup {
        training,
        splits: "geom-gcn".into(),
        probe: "softmax".into(),
        feature_norm: FeatureNorm::RowL1,
        random_clusters: at.mode == Mode::Structcomp,
        ..Setup::default()
    })
}

fn recipe(at: &Place) -> Setup {
    let splits = match at.dataset {
        "cora" => "authors",
        other if HETEROPHILOUS.contains(&other) => "geom-gcn",
        _ => "random20",
    };
    Setup { splits: splits.into(), random_clusters: true, ..Setup::default() }
}

/// Our settings for clusters, with the views that the model's repository has for the whole graph. Both trainings
/// start from the same weights.
fn trend(at: &Place) -> Result<Setup> {
    let mut setup = at.setup()?;
    let augment =
        Preset::full(at.model, at.dataset)?.map_or_else(Augment::default, |full| full.training.augment);
    setup.random_clusters = false;
    let initial = Some(Initial::Linear);
    setup.training = setup.training.map(|training| Training { augment, initial, ..training });
    Ok(setup)
}

fn partitioners() -> Result<Vec<Cell>> {
    let mut cells = Vec::new();
    for method in ["variation-neighborhoods", "algebraic-jc", "affinity-gs", "metis", "multilevel"] {
        // METIS may have been left out of this build.
        if crate::METHODS.iter().all(|known| known.name != method) {
            continue;
        }
        for model in ["sce", "coles"] {
            for dataset in CITATIONS {
                let place = Place { dataset, model, mode: Mode::Structcomp };
                let mut setup = place.setup()?;
                setup.partitioning.method = method.to_owned();
                cells.push(place.cell(Experiment::Partitioners, method.to_owned(), Task::Accuracy(setup))?);
            }
        }
    }
    Ok(cells)
}

fn compression() -> Result<Vec<Cell>> {
    let mut cells = Vec::new();
    for model in MODELS {
        for dataset in CITATIONS {
            for rate in RATES {
                // All pairs of so many clusters take up to half an hour a seed on two cores.
                if (model, dataset) == ("grace", "pubmed") && rate > 0.3 {
                    continue;
                }
                let place = Place { dataset, model, mode: Mode::Structcomp };
                let mut setup = place.setup()?;
                let nodes = crate::data::named::find(dataset).map_or(0, |known| known.expected.nodes);
                setup.partitioning.clusters = Some(((rate * nodes as f64).round() as usize).max(2));
                setup.random_clusters = false;
                cells.push(place.cell(Experiment::Compression, format!("{rate}"), Task::Accuracy(setup))?);
            }
        }
    }
    Ok(cells)
}

fn inductive() -> Result<Vec<Cell>> {
    let mut cells = Vec::new();
    for model in MODELS {
        for (dataset, mode) in SMALL.into_iter().flat_map(|dataset| BOTH.map(|mode| (dataset, mode))) {
            let place = Place { dataset, model, mode };
            let mut setup = place.setup()?;
            // Half of the nodes, so half of the clusters; and splits among nodes seen and not.
            setup.partitioning.clusters = setup.partitioning.clusters.map(|clusters| clusters / 2);
            (setup.unseen, setup.splits) = (0.5, "random20".into());
            cells.push(place.cell(Experiment::Inductive, String::new(), Task::Accuracy(setup))?);
        }
        let (like_flickr, setup) = large(FLICKR, model, Mode::Structcomp, (2_000, 0.5))?;
        cells.push(like_flickr.cell(Experiment::Inductive, String::new(), Task::Accuracy(setup))?);
        for ((dataset, clusters, unseen), mode) in
            LARGE.into_iter().flat_map(|row| BOTH.map(|mode| (row, mode)))
        {
            // On the whole graph, what the paper could train there.
            if paper::accuracy(Experiment::Inductive, model, dataset, mode, "").is_none() {
                continue;
            }
            let (place, setup) = large(dataset, model, mode, (clusters, unseen))?;
            // Nodes have roles, and the paper's classifier for large data looks at those for validation.
            let setup = Setup { splits: "roles".into(), probe: "mlp".into(), ..setup };
            cells.push(place.cell(Experiment::Inductive, String::new(), Task::Accuracy(setup))?);
        }
    }
    Ok(cells)
}

/// Of Flickr and Reddit nothing is documented: settings as on Photo, and 20 epochs.
fn large<'a>(
    dataset: &'a str,
    model: &'a str,
    mode: Mode,
    (clusters, unseen): (usize, f64),
) -> Result<(Place<'a>, Setup)> {
    let mut setup = Place { dataset: "amazon-photo", model, mode }.setup()?;
    setup.training = setup.training.map(|training| Training { epochs: 20, ..training });
    setup.partitioning.clusters = setup.partitioning.clusters.map(|_| clusters);
    setup.unseen = unseen;
    Ok((Place { dataset, model, mode }, setup))
}

impl Cell {
    /// Whether few have its data, so that a report without it is still whole.
    pub(super) fn is_optional(&self) -> bool {
        LARGE.iter().any(|row| row.0 == self.dataset)
    }
}

fn theory() -> Result<Vec<Cell>> {
    let task = |at: &Place| {
        let preset = Preset::paper("sce", at.dataset)?;
        let clusters = preset.as_ref().map(|preset| preset.clusters);
        let partitioning = Partitioning { clusters, ..Partitioning::default() };
        let training = preset.map(|preset| preset.training);
        Ok(Task::Theory(Setup { training, partitioning, ..Setup::default() }))
    };
    let mut cells = each(&SMALL, &["sce"], &[Mode::Structcomp], task, Experiment::Theory)?;
    let star = Place { dataset: "star", model: "linear", mode: Mode::Structcomp };
    cells.push(star.cell(Experiment::Theory, String::new(), Task::Star)?);
    Ok(cells)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn cells_have_names_of_their_own_and_settings() {
        for experiment in Experiment::ALL {
            let Ok(cells) = experiment.cells() else {
                let error = experiment.cells().unwrap_err().to_string();
                assert!(error.contains("needs the model"), "{error}");
                continue;
            };
            let files: HashSet<String> = cells.iter().map(Cell::file).collect();
            assert_eq!(files.len(), cells.len(), "{}", experiment.name());
            let bare =
                |cell: &&Cell| cell.settings.is_empty() && cell.setup().is_some_and(|s| s.training.is_some());
            assert!(!cells.iter().any(|cell| bare(&cell)), "{}", experiment.name());
        }
    }

    #[test]
    fn the_small_table_is_the_papers() {
        let cells = Experiment::Small.cells().unwrap();
        assert_eq!(cells.len(), 40);
        assert!(cells.iter().all(|cell| cell.paper.is_some()));
        assert!(Experiment::TimeMemory.cells().unwrap().iter().all(|cell| cell.paper_cost.is_some()));
        assert!(Experiment::Partitioners.cells().unwrap().iter().all(|cell| cell.paper.is_some()));
    }
}
