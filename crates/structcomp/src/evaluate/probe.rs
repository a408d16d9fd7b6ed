//! Which classifier judges an embedding: the paper uses another one for each kind of data.

mod fit;
mod layers;
mod softmax;

use super::logistic::{Classifier, count_right};
use super::{Accuracy, Nodes, over_splits};
use crate::random::mix;
use crate::{Error, Features, Labels, Result, Seed, SplitSet};
use fit::{Fit, Start};
use serde::{Deserialize, Serialize};

/// A classifier that learns from the embeddings of training nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "name")]
pub enum Probe {
    /// Logistic regression with liblinear's objective: the paper's small datasets. `c` weighs the
    /// training nodes against small weights.
    Logistic {
        /// 1 in the paper's code.
        c: f64,
    },
    /// A network of three layers: the paper's large datasets.
    Mlp(Mlp),
    /// Softmax regression: the paper's heterophilous datasets.
    Softmax(Softmax),
}

/// Three linear layers, the first two followed by batch norm, ReLU and dropout, as the reference
/// network of OGB has them. The paper says no more than "three-layer MLP".
///
/// It is trained by Adam on the mean cross entropy. Of all epochs the first that is best on the
/// validation nodes is judged on the test nodes; without validation nodes, the last.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct Mlp {
    /// Numbers that a hidden layer gives.
    pub hidden: usize,
    /// The share of them that is dropped in training.
    pub dropout: f64,
    /// The learning rate.
    pub learning_rate: f64,
    /// How often all training nodes are seen.
    pub epochs: usize,
    /// Training nodes a step; all of them if absent.
    pub batch: Option<usize>,
}

/// One linear layer under the mean cross entropy, trained by Adam.
///
/// Of the epochs looked at, the first that is best on the validation nodes is judged on the test
/// nodes; without validation nodes, the last.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct Softmax {
    /// The learning rate.
    pub learning_rate: f64,
    /// The weight decay, as part of the gradient.
    pub weight_decay: f64,
    /// Steps, each on all training nodes.
    pub epochs: usize,
    /// Every how many epochs the validation nodes are looked at.
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
    /// What [`named`](Self::named) knows.
    pub const NAMES: [&str; 3] = ["logistic", "mlp", "softmax"];

    /// A probe by name, with its settings for a dataset where it has some of its own.
    pub fn named(name: &str, dataset: &str) -> Result<Self> {
        Ok(match (name, dataset) {
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
                return Err(Error::Input(format!("there is no probe '{name}', only {known}")));
            }
        })
    }

    /// Whether the seed matters, so that one split can be judged more than once.
    pub fn draws(&self) -> bool {
        !matches!(self, Self::Logistic { .. })
    }

    /// How often the probe is right on the test nodes of each split.
    ///
    /// Nodes without a label are left out. The same seed gives the same numbers for any number of
    /// threads.
    ///
    /// ```
    /// use structcomp::{Dense, Features, Labels, Probe, Seed, Softmax, Split, SplitSet};
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
        self.check()?;
        let key = seed.key("probe");
        let seed_of = |number: usize| Seed(mix(key ^ mix(number as u64)));
        let hidden: Vec<usize>;
        let fit = match self {
            Self::Logistic { c } => {
                let fit = |_, nodes: Nodes| Ok((Classifier::fit(x, &nodes.train, *c)?, nodes.test));
                let judged = over_splits(x, labels, splits, fit)?;
                let right = count_right(x, &judged).into_iter().zip(&judged);
                let share =
                    |(right, (_, test)): (usize, &(_, Vec<_>))| 100.0 * right as f64 / test.len() as f64;
                return Ok(Accuracy::over(right.map(share).collect()));
            }
            Self::Mlp(mlp) => {
                hidden = vec![mlp.hidden; 2];
                Fit {
                    hidden: &hidden,
                    start: Start::Inputs,
                    dropout: mlp.dropout as f32,
                    learning_rate: mlp.learning_rate as f32,
                    weight_decay: 0.0,
                    epochs: mlp.epochs,
                    interval: 1,
                    batch: mlp.batch.unwrap_or(usize::MAX),
                }
            }
            Self::Softmax(softmax) => {
                let nodes = over_splits(x, labels, splits, |_, nodes| Ok(nodes))?;
                let seeds: Vec<Seed> = (0..nodes.len()).map(seed_of).collect();
                let accuracies = softmax.accuracies(x, labels.classes(), &nodes, &seeds);
                return accuracies
                    .map(Accuracy::over)
                    .map_err(|error| Error::Input(format!("a split of '{}': {error}", splits.name)));
            }
        };
        let judge = |number: usize, nodes: Nodes| fit.accuracy(x, labels.classes(), &nodes, seed_of(number));
        over_splits(x, labels, splits, judge).map(Accuracy::over)
    }

    fn check(&self) -> Result<()> {
        let wrong = |what: String| Err(Error::Input(what));
        let above_zero = |value: f64| value.is_finite() && value > 0.0;
        match self {
            Self::Logistic { c } if !above_zero(*c) => wrong(format!("C is {c}, but must be above 0")),
            Self::Mlp(Mlp { learning_rate: rate, .. })
            | Self::Softmax(Softmax { learning_rate: rate, .. })
                if !above_zero(*rate) =>
            {
                wrong(format!("the probe's learning rate is {rate}, but must be above 0"))
            }
            Self::Mlp(Mlp { epochs: 0, .. }) | Self::Softmax(Softmax { epochs: 0, .. }) => {
                wrong("a probe needs one epoch at least".into())
            }
            Self::Mlp(mlp) if mlp.hidden == 0 || mlp.batch == Some(0) => {
                wrong("a probe's hidden width and batch must be at least 1".into())
            }
            Self::Mlp(mlp) if !(0.0..1.0).contains(&mlp.dropout) => {
                wrong(format!("the probe's dropout is {}, but must be 0 or more and below 1", mlp.dropout))
            }
            Self::Softmax(Softmax { interval: 0, .. }) => {
                wrong("validation nodes must be looked at every epoch or less often".into())
            }
            Self::Softmax(Softmax { weight_decay: decay, .. }) if !(decay.is_finite() && *decay >= 0.0) => {
                wrong(format!("the probe's weight decay is {decay}, but must be 0 or more"))
            }
            _ => Ok(()),
        }
    }
}

/// The probe as reports call it.
impl std::fmt::Display for Probe {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Logistic { c } => write!(f, "logistic regression (liblinear's objective, C = {c})"),
            Self::Mlp(mlp) => write!(f, "three-layer MLP ({} wide, {} epochs)", mlp.hidden, mlp.epochs),
            Self::Softmax(softmax) => write!(f, "softmax regression (Adam, {} epochs)", softmax.epochs),
        }
    }
}

#[cfg(test)]
mod tests;
