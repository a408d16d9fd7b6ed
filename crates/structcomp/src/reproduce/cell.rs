//! One number to be reproduced: what to train on what, and how to judge it.

use super::{Experiment, Published, PublishedCost};
use crate::data::hex;
use crate::{FeatureNorm, Partitioning, Result, Seed, Training};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// What is trained on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Clusters.
    Structcomp,
    /// The whole graph.
    Full,
}

impl Mode {
    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Self::Structcomp => "structcomp",
            Self::Full => "full",
        }
    }
}

/// A cell of a table or a point of a figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// What it is part of.
    pub experiment: Experiment,
    /// The data.
    pub dataset: String,
    /// The model.
    pub model: String,
    /// What is trained on.
    pub mode: Mode,
    /// What else tells it from others of the experiment, such as a partitioner; may be empty.
    pub variation: String,
    /// What to do.
    pub task: Task,
    /// Which settings are whose.
    pub settings: Vec<Setting>,
    /// The paper's accuracy.
    pub paper: Option<Published>,
    /// The paper's cost.
    pub paper_cost: Option<PublishedCost>,
}

/// What a cell computes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Task {
    /// Trains and judges.
    Accuracy(Setup),
    /// Trains in processes of its own, by the clock.
    Cost(Setup),
    /// Two losses an epoch.
    LossTrend(Setup),
    /// Bounds and the regulariser.
    Theory(Setup),
    /// The graph on which the printed bound fails; it is made here.
    Star,
}

/// How to train and to judge.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Setup {
    /// How to train; where absent, by our recipe.
    pub training: Option<Training>,
    /// The clusters, in training on them.
    pub partitioning: Partitioning,
    /// How features are scaled.
    pub feature_norm: FeatureNorm,
    /// Random edges added, as a share of the edges.
    pub noise: f64,
    /// The share of nodes that training does not see: drawn at random, or where the splits came with the data all but
    /// those that the first of them trains on.
    pub unseen: f64,
    /// `random20`, or splits that came with the data.
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

/// A setting, its value and whose it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Setting {
    /// The name, as in `Training`.
    pub name: String,
    /// The value.
    pub value: String,
    /// `the paper`, `the authors' code`, a repository, or `ours`.
    pub source: String,
}

/// How often each cell is trained and judged.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Repeats {
    /// Training seeds.
    pub seeds: usize,
    /// Splits for each.
    pub runs: usize,
    /// The first seed.
    pub seed: u64,
}

impl Repeats {
    /// The seeds, in order.
    pub(super) fn each(&self) -> impl Iterator<Item = Seed> + use<> {
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
    /// A name within the experiment, such as `cora/grace/structcomp`.
    pub fn name(&self) -> String {
        let parts = [&self.dataset[..], &self.model, self.mode.name(), &self.variation];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/")
    }

    /// Whether the name, or that with the experiment's before it, holds the text.
    pub fn matches(&self, text: &str) -> bool {
        format!("{}/{}", self.experiment.name(), self.name()).contains(&text.to_ascii_lowercase())
    }

    /// The name of its file.
    pub(super) fn file(&self) -> String {
        let plain =
            |letter: char| if letter.is_ascii_alphanumeric() || ".-".contains(letter) { letter } else { '-' };
        format!("{}/{}.json", self.experiment.name(), self.name().chars().map(plain).collect::<String>())
    }

    /// How to train, where it does.
    pub fn setup(&self) -> Option<&Setup> {
        match &self.task {
            Task::Accuracy(setup) | Task::Cost(setup) | Task::LossTrend(setup) | Task::Theory(setup) => {
                Some(setup)
            }
            Task::Star => None,
        }
    }

    /// A fingerprint of all that its outcome depends on: what to do, how often, the data and this version.
    pub(super) fn key(&self, repeats: &Repeats, data: &str) -> Result<String> {
        self.key_of(env!("CARGO_PKG_VERSION"), repeats, data)
    }

    /// The same for another version.
    pub(super) fn key_of(&self, version: &str, repeats: &Repeats, data: &str) -> Result<String> {
        // A number printed in the paper, or whose a setting is, changes nothing.
        let task = serde_json::to_string(&(&self.task, &self.model, self.mode, repeats))
            .map_err(|error| crate::Error::Input(error.to_string()))?;
        let mut hash = Sha256::new();
        for part in [version, &self.name(), &task, data] {
            hash.update(part.as_bytes());
            hash.update([0]);
        }
        Ok(hex(&hash.finalize()))
    }
}

#[cfg(test)]
pub(super) fn example() -> Cell {
    Cell {
        experiment: Experiment::Noise,
        dataset: "cora".into(),
        model: "grace".into(),
        mode: Mode::Structcomp,
        variation: "half of it".into(),
        task: Task::Accuracy(Setup::default()),
        settings: Vec::new(),
        paper: None,
        paper_cost: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn the_key_is_that_of_what_matters() {
        let repeats = Repeats { seeds: 3, runs: 50, seed: 0 };
        let key = |cell: &Cell, repeats: &Repeats, data: &str| cell.key(repeats, data).unwrap();
        let first = key(&example(), &repeats, "a");
        let paper = Some(Published { mean: 1.0, std: None });
        assert_eq!(first, key(&Cell { paper, ..example() }, &repeats, "a"));
        let noisy = Task::Accuracy(Setup { noise: 0.1, ..Setup::default() });
        assert_ne!(first, key(&Cell { task: noisy, ..example() }, &repeats, "a"));
        assert_ne!(first, key(&example(), &Repeats { seeds: 2, ..repeats }, "a"));
        assert_ne!(first, key(&example(), &repeats, "b"));
    }
}
