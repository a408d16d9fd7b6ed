//! The classifiers that evaluate an embedding. The paper uses a different one for each kind of dataset.

mod cross_entropy;
mod fit;
mod group;

use super::logistic::{Classifier, predictions};
use super::{Accuracy, LogisticCv, Predictions, SplitNodes, over_splits};
use crate::nn::Initial;
use crate::random::mix;
use crate::{Error, Features, Labels, Result, Seed, SplitSet, progress};
use fit::ProbeTraining;
use serde::{Deserialize, Serialize};

/// A classifier that is trained on the embeddings of the training nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "name")]
pub enum Probe {
    /// Logistic regression with liblinear's objective: the paper's small datasets.
    Logistic {
        /// The weight of the training nodes against the regularization; 1 in the paper's code.
        c: f64,
    },
    /// Softmax regression with C chosen by cross-validation: rows of any scale and width are judged fairly.
    LogisticCv(LogisticCv),
    /// A network of three layers: the paper's large datasets.
    Mlp(Mlp),
    /// Softmax regression: the paper's heterophilous datasets.
    Softmax(Softmax),
}

/// Three linear layers, the first two followed by batch norm, ReLU and dropout, like OGB's reference
/// network. The paper only says "three-layer MLP".
///
/// It is trained with Adam on the mean cross entropy. The epoch with the highest validation accuracy is tested, the
/// first of several; without validation nodes, the last epoch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct Mlp {
    /// Width of the hidden layers.
    pub hidden: usize,
    /// Dropout rate of the hidden layers.
    pub dropout: f64,
    /// Adam's learning rate.
    pub learning_rate: f64,
    /// Passes over the training nodes.
    pub epochs: usize,
    /// Training nodes per step; all of them if absent.
    pub batch: Option<usize>,
}

/// One linear layer, trained with Adam on the mean cross entropy.
///
/// Of the epochs validated, the one with the highest validation accuracy is tested, the first of several; without
/// validation nodes, the last epoch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct Softmax {
    /// Adam's learning rate.
    pub learning_rate: f64,
    /// Weight decay, added to the gradient.
    pub weight_decay: f64,
    /// Steps, each on all training nodes.
    pub epochs: usize,
    /// Epochs from one validation to the next.
    pub interval: usize,
}

impl Default for Mlp {
    /// The settings for ogbn-arxiv.
    fn default() -> Self {
        Self { hidden: 256, dropout: 0.5, learning_rate: 0.01, epochs: 500, batch: None }
    }
}

impl Default for Softmax {
    /// The settings of SP-GCL, whose protocol the paper follows.
    fn default() -> Self {
        Self { learning_rate: 5e-4, weight_decay: 1e-5, epochs: 1500, interval: 10 }
    }
}

impl Default for Probe {
    fn default() -> Self {
        Self::Logistic { c: 1.0 }
    }
}

impl Probe {
    /// The names that [`named`](Self::named) accepts.
    pub const NAMES: [&str; 4] = ["logistic-cv", "logistic", "mlp", "softmax"];

    /// A probe by name, with the settings for a dataset where there are some.
    pub fn named(name: &str, dataset: &str) -> Result<Self> {
        Ok(match (name, dataset) {
            ("logistic-cv", _) => Self::LogisticCv(LogisticCv::default()),
            ("logistic", _) => Self::default(),
            ("mlp", "ogbn-products") => Self::Mlp(Mlp { epochs: 300, dropout: 0.0, ..Mlp::default() }),
            ("mlp", "ogbn-papers100M") => {
                Self::Mlp(Mlp { epochs: 30, dropout: 0.0, batch: Some(256), ..Mlp::default() })
            }
            ("mlp", _) => Self::Mlp(Mlp::default()),
            ("softmax", "actor") => Self::Softmax(Softmax { interval: 7, ..Softmax::default() }),
            ("softmax", _) => Self::Softmax(Softmax::default()),
            _ => {
                let known = Self::NAMES.join(", ");
                return Err(Error::Input(format!("unknown probe '{name}'; expected one of {known}")));
            }
        })
    }

    /// Whether the result depends on the seed, so that one split can be evaluated more than once.
    pub fn draws(&self) -> bool {
        matches!(self, Self::Mlp(_) | Self::Softmax(_))
    }

    /// Whether it centres, projects and scales the rows itself.
    pub(super) fn treats_rows(&self) -> bool {
        matches!(self, Self::LogisticCv(_))
    }

    /// The probe's test accuracy on each split.
    ///
    /// Nodes without a label are ignored. The same seed gives the same numbers for any number of threads.
    ///
    /// ```
    /// use structcomp::evaluate::Softmax;
    /// use structcomp::{Dense, Features, Labels, Probe, Seed, Split, SplitSet};
    ///
    /// let x = Features::Dense(Dense::new(5, 1, vec![-2.0, 2.0, -1.0, 1.0, 3.0])?);
    /// let labels = Labels::new([0, 1, 0, 1, 0].map(Some))?;
    /// let split = Split::new(5, vec![0, 1], vec![], vec![2, 3, 4])?;
    /// let probe = Probe::Softmax(Softmax { learning_rate: 0.1, ..Softmax::default() });
    /// let accuracy = probe.classify(&x, &labels, &SplitSet::named("mine", vec![split]), Seed(0))?;
    /// assert_eq!(accuracy.mean, 200.0 / 3.0);
    /// # Ok::<(), structcomp::Error>(())
    /// ```
    pub fn classify(&self, x: &Features, labels: &Labels, splits: &SplitSet, seed: Seed) -> Result<Accuracy> {
        Ok(self.predict(x, labels, splits, seed)?.accuracy())
    }

    /// The same for each test node. [`classify`](Self::classify) is the accuracy of these predictions.
    pub fn predict(
        &self,
        x: &Features,
        labels: &Labels,
        splits: &SplitSet,
        seed: Seed,
    ) -> Result<Predictions> {
        self.check()?;
        let fit = match self {
            Self::Logistic { c } => return logistic(x, labels, splits, *c),
            Self::LogisticCv(regression) => return regression.predict(x, labels, splits, seed),
            Self::Mlp(mlp) => mlp.fit(),
            Self::Softmax(softmax) => softmax.fit(),
        };
        let nodes = over_splits(x, labels, splits, Ok)?;
        let key = seed.key("probe");
        let seeds: Vec<Seed> = (0..nodes.len()).map(|split| Seed(mix(key ^ mix(split as u64)))).collect();
        let predicted = fit.predictions(x, labels.classes(), &nodes, &seeds);
        predicted
            .map(|splits| Predictions { splits })
            .map_err(|error| Error::Input(format!("a split of '{}': {error}", splits.name)))
    }

    fn check(&self) -> Result<()> {
        let invalid = |what: String| Err(Error::Input(what));
        let above_zero = |value: f64| value.is_finite() && value > 0.0;
        match self {
            Self::Logistic { c } if !above_zero(*c) => invalid(format!("C is {c}, but must be above 0")),
            Self::Mlp(Mlp { learning_rate: rate, .. })
            | Self::Softmax(Softmax { learning_rate: rate, .. })
                if !above_zero(*rate) =>
            {
                invalid(format!("the probe's learning rate is {rate}, but must be above 0"))
            }
            Self::Mlp(Mlp { epochs: 0, .. }) | Self::Softmax(Softmax { epochs: 0, .. }) => {
                invalid("a probe needs at least one epoch".into())
            }
            Self::Mlp(mlp) if mlp.hidden == 0 || mlp.batch == Some(0) => {
                invalid("the probe's hidden width and batch size must be at least 1".into())
            }
            Self::Mlp(mlp) if !(0.0..1.0).contains(&mlp.dropout) => {
                invalid(format!("the probe's dropout is {}, but must be at least 0 and below 1", mlp.dropout))
            }
            Self::Softmax(Softmax { interval: 0, .. }) => {
                invalid("the probe's validation interval must be at least one epoch".into())
            }
            Self::Softmax(Softmax { weight_decay: decay, .. }) if !(decay.is_finite() && *decay >= 0.0) => {
                invalid(format!("the probe's weight decay is {decay}, but must be at least 0"))
            }
            _ => Ok(()),
        }
    }
}

fn logistic(x: &Features, labels: &Labels, splits: &SplitSet, c: f64) -> Result<Predictions> {
    progress::steps_of_part(splits.splits.len());
    let fit = |nodes: SplitNodes| {
        let fitted = Classifier::fit(x, &nodes.train, c)?;
        progress::step();
        Ok((fitted, nodes.test))
    };
    let fitted = over_splits(x, labels, splits, fit)?;
    Ok(Predictions { splits: predictions(x, &fitted) })
}

impl Mlp {
    fn fit(&self) -> ProbeTraining {
        ProbeTraining {
            hidden: vec![self.hidden; 2],
            initial: Initial::Linear,
            dropout: self.dropout,
            learning_rate: self.learning_rate,
            weight_decay: 0.0,
            epochs: self.epochs,
            interval: 1,
            batch: self.batch.unwrap_or(usize::MAX),
        }
    }
}

impl Softmax {
    fn fit(&self) -> ProbeTraining {
        ProbeTraining {
            hidden: Vec::new(),
            initial: Initial::Glorot,
            dropout: 0.0,
            learning_rate: self.learning_rate,
            weight_decay: self.weight_decay,
            epochs: self.epochs,
            interval: self.interval,
            batch: usize::MAX,
        }
    }
}

/// The name used in reports.
impl std::fmt::Display for Probe {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Logistic { c } => write!(f, "logistic regression (liblinear's objective, C = {c})"),
            Self::LogisticCv(_) => {
                write!(f, "softmax regression, C by cross-validation among the training nodes")
            }
            Self::Mlp(mlp) => write!(f, "three-layer MLP ({} wide, {} epochs)", mlp.hidden, mlp.epochs),
            Self::Softmax(softmax) => write!(f, "softmax regression (Adam, {} epochs)", softmax.epochs),
        }
    }
}

#[cfg(test)]
mod tests;
