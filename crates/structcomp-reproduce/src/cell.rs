//! A cell: what to train on what, and how to evaluate it.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
pub use structcomp::Mode;
use structcomp::preset::SettingSource;
use structcomp::{Error, FeatureNorm, Partitioning, Result, Seed, Training};

/// A cell of a table or a point of a figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// The name of its experiment.
    pub experiment: String,
    /// The name of the dataset.
    pub dataset: String,
    /// The name of the model.
    pub model: String,
    /// What is trained on.
    pub mode: Mode,
    /// What else tells it from others of the experiment, such as a partitioner; may be empty.
    pub variation: String,
    /// What to do.
    pub task: Task,
    /// The settings and their sources.
    pub settings: Vec<Setting>,
    /// The published accuracy.
    pub paper: Option<Published>,
    /// The published cost.
    pub paper_cost: Option<PublishedCost>,
}

/// What a cell computes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Task {
    /// Trains and evaluates.
    Accuracy(Setup),
    /// Measures the time and memory of training, in processes of its own.
    Cost(Setup),
    /// The loss of the whole graph, trained on clusters and on the whole graph.
    LossTrend(Setup),
    /// The paper's theorems in numbers.
    Theory(Setup),
    /// The graph on which the published bound fails.
    Star,
}

/// How to train and evaluate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Setup {
    /// How to train; without it, by our recipe.
    pub training: Option<Training>,
    /// The clusters, where they are trained on.
    pub partitioning: Partitioning,
    /// How features are scaled.
    pub feature_norm: FeatureNorm,
    /// Random edges to add, as a fraction of the edges.
    pub noise: f64,
    /// The fraction of nodes hidden from training: chosen at random or, where the dataset has the splits, all but the
    /// training nodes of the first.
    pub unseen: f64,
    /// `random20`, or splits that come with the dataset.
    pub splits: String,
    /// The classifier.
    pub probe: String,
    /// Whether to train on random clusters as well.
    pub random_clusters: bool,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            training: None,
            partitioning: Partitioning::default(),
            feature_norm: FeatureNorm::None,
            noise: 0.0,
            unseen: 0.0,
            splits: "random20".into(),
            probe: "logistic".into(),
            random_clusters: false,
        }
    }
}

/// A setting, its value and its source.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Setting {
    /// The name, as in [`Training`].
    pub name: String,
    /// The value.
    pub value: String,
    /// Where it comes from; none for the default.
    pub source: Option<SettingSource>,
}

/// A published accuracy in percent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Published {
    /// The mean.
    pub mean: f64,
    /// The standard deviation over splits, where it is published.
    pub std: Option<f64>,
}

/// A published cost of training.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PublishedCost {
    /// Peak GPU memory in MB.
    pub megabytes: f64,
    /// Seconds per epoch.
    pub seconds: f64,
}

/// How often each cell is trained and evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Repeats {
    /// Training seeds.
    pub seeds: usize,
    /// Splits per seed.
    pub runs: usize,
    /// The first seed.
    pub seed: u64,
}

impl Repeats {
    /// The seeds, in order.
    pub(crate) fn each(&self) -> impl Iterator<Item = Seed> + use<> {
        let first = self.seed;
        (0..self.seeds as u64).map(move |at| Seed(first.wrapping_add(at)))
    }
}

impl std::fmt::Display for Repeats {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let plural = |count: usize| if count == 1 { "" } else { "s" };
        let Self { seeds, runs, seed } = self;
        write!(f, "{seeds} seed{} from {seed} and {runs} split{}", plural(*seeds), plural(*runs))
    }
}

impl Cell {
    /// A name that is unique within the experiment, such as `cora/grace/structcomp`.
    pub fn name(&self) -> String {
        let parts = [&self.dataset[..], &self.model, self.mode.name(), &self.variation];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/")
    }

    /// The same with the experiment's name before it.
    pub(crate) fn full_name(&self) -> String {
        format!("{}/{}", self.experiment, self.name())
    }

    /// Whether the name, with or without the experiment's, contains the text.
    pub fn matches(&self, text: &str) -> bool {
        self.full_name().contains(&text.to_ascii_lowercase())
    }

    /// The path of its file.
    pub(crate) fn file(&self) -> String {
        let plain =
            |letter: char| if letter.is_ascii_alphanumeric() || ".-".contains(letter) { letter } else { '-' };
        format!("{}/{}.json", self.experiment, self.name().chars().map(plain).collect::<String>())
    }

    /// How to train, for tasks that do.
    pub fn setup(&self) -> Option<&Setup> {
        self.task.setup()
    }

    /// A fingerprint of everything the outcome depends on: the task, the repeats, the data and the version.
    pub(crate) fn key(&self, version: &str, repeats: &Repeats, data: &str) -> Result<String> {
        // Published numbers and the sources of settings change nothing.
        let task = serde_json::to_string(&(&self.task, &self.model, self.mode, repeats))
            .map_err(|error| Error::Input(error.to_string()))?;
        let mut hash = Sha256::new();
        for part in [version, &self.name(), &task, data] {
            hash.update(part.as_bytes());
            hash.update([0]);
        }
        Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
    }
}

impl Task {
    /// How to train, for tasks that do.
    pub(crate) fn setup(&self) -> Option<&Setup> {
        match self {
            Self::Accuracy(setup) | Self::Cost(setup) | Self::LossTrend(setup) | Self::Theory(setup) => {
                Some(setup)
            }
            Self::Star => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::example;

    #[test]
    fn cells_are_found_by_parts_of_their_name() {
        let cell = example();
        assert_eq!(cell.name(), "cora/grace/structcomp/half of it");
        assert_eq!(cell.file(), "noise/cora-grace-structcomp-half-of-it.json");
        for text in ["cora", "GRACE", "cora/grace", "noise/cora", "structcomp"] {
            assert!(cell.matches(text), "{text}");
        }
        assert!(!cell.matches("citeseer") && !cell.matches("grace/cora"));
    }

    #[test]
    fn the_key_depends_on_what_the_outcome_depends_on() {
        let repeats = Repeats { seeds: 3, runs: 50, seed: 0 };
        let key = |cell: &Cell, repeats: &Repeats, data: &str| cell.key("1", repeats, data).unwrap();
        let first = key(&example(), &repeats, "a");
        let paper = Some(Published { mean: 1.0, std: None });
        assert_eq!(first, key(&Cell { paper, ..example() }, &repeats, "a"));
        let noisy = Task::Accuracy(Setup { noise: 0.1, ..Setup::default() });
        assert_ne!(first, key(&Cell { task: noisy, ..example() }, &repeats, "a"));
        assert_ne!(first, key(&example(), &Repeats { seeds: 2, ..repeats }, "a"));
        assert_ne!(first, key(&example(), &repeats, "b"));
        assert_ne!(first, example().key("2", &repeats, "a").unwrap());
    }
}
