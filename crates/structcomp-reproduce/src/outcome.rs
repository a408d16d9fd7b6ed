//! The outcomes of cells.

use crate::Task;
use serde::{Deserialize, Serialize};
use structcomp::Result;
use structcomp::evaluate::{Accuracy, Comparison};

/// The result of a cell's task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Outcome {
    /// Accuracies with and without training.
    Accuracy(Box<Accuracies>),
    /// The time and memory of training.
    Cost(Cost),
    /// Two losses per epoch.
    LossTrend(Trend),
    /// The theorems in numbers.
    Theory(Box<Theory>),
}

impl Outcome {
    /// Whether it is an outcome of this kind of task.
    pub(crate) fn answers(&self, task: &Task) -> bool {
        match task {
            Task::Accuracy(_) => matches!(self, Self::Accuracy(_)),
            Task::Cost(_) => matches!(self, Self::Cost(_)),
            Task::LossTrend(_) => matches!(self, Self::LossTrend(_)),
            Task::Theory(_) | Task::Star => matches!(self, Self::Theory(_)),
        }
    }
}

/// Accuracies in percent on the same splits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Accuracies {
    /// After training.
    pub ours: Spread,
    /// Of the features X.
    pub features: Spread,
    /// Of Â²X, two hops of the features.
    pub propagated: Spread,
    /// Of the same encoder with its initial weights.
    pub untrained: Spread,
    /// After the same training on random clusters, where requested.
    pub random_clusters: Option<Spread>,
    /// Compared with Â²X, per seed: the difference and the p-value of a paired test.
    pub against_propagated: Vec<(f64, f64)>,
    /// The number of clusters, per seed; empty on the whole graph.
    pub clusters: Vec<usize>,
    /// The number of epochs, per seed.
    pub epochs: Vec<usize>,
    /// The first and the last loss, per seed.
    pub losses: Vec<(f64, f64)>,
}

/// An accuracy over seeds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// The mean over all seeds and splits.
    pub mean: f64,
    /// The standard deviation over splits, averaged over the seeds, as in the paper.
    pub std: f64,
    /// The mean of each seed.
    pub seeds: Vec<f64>,
}

impl Spread {
    pub(crate) fn over<'a>(accuracies: impl IntoIterator<Item = &'a Accuracy>) -> Self {
        let accuracies: Vec<&Accuracy> = accuracies.into_iter().collect();
        let count = accuracies.len().max(1) as f64;
        let mean = |of: &dyn Fn(&Accuracy) -> f64| {
            accuracies.iter().map(|accuracy| of(accuracy)).sum::<f64>() / count
        };
        Self {
            mean: mean(&|accuracy| accuracy.mean),
            std: mean(&|accuracy| accuracy.std),
            seeds: accuracies.iter().map(|accuracy| accuracy.mean).collect(),
        }
    }
}

impl std::fmt::Display for Spread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.2} ± {:.2}", self.mean, self.std)
    }
}

/// The difference and its p-value, paired by split; none for a single split.
pub(crate) fn against(a: &Accuracy, b: &Accuracy) -> Result<Option<(f64, f64)>> {
    match a.runs {
        0 | 1 => Ok(None),
        _ => Comparison::paired(&a.per_split, &b.per_split)
            .map(|comparison| Some((comparison.difference, comparison.p_value))),
    }
}

/// The cost of training.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// Seconds per epoch, without the first.
    pub seconds_per_epoch: f64,
    /// Peak memory beyond the loaded data; none where the system does not report it.
    pub bytes: Option<u64>,
    /// The number of epochs that were timed.
    pub epochs: usize,
    /// Seconds to partition the graph; none on the whole graph.
    pub partition_seconds: Option<f64>,
    /// Seconds to embed the whole graph.
    pub embed_seconds: f64,
    /// The number of threads.
    pub threads: usize,
}

/// The loss of the whole graph in each epoch, before its step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trend {
    /// With the parameters U, trained on clusters.
    pub on_clusters: Vec<f64>,
    /// With the parameters W, trained on the whole graph.
    pub on_nodes: Vec<f64>,
}

/// The theorems in numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Theory {
    /// ‖P'Pᵀ − Â‖ and ‖P'Pᵀ − Â²‖.
    pub gaps: Vec<f64>,
    /// The loss over edges, computed from sums over neighbors.
    pub edges_nodes: f64,
    /// The same, computed from sums over clusters.
    pub edges_clusters: f64,
    /// Our bound on their distance.
    pub bound: f64,
    /// The published bound.
    pub printed_bound: f64,
    /// The spectral loss on nodes, on clusters weighted by size, and on clusters with equal weights.
    pub spectral: Option<[f64; 3]>,
    /// Variance and squared bias of DropMember, relative to their expected values.
    pub drop_member: Option<[f64; 2]>,
    /// The regularizer of DropMember.
    pub regularizer: Option<Regularizer>,
}

/// The mean increase of the loss by leaving members out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Regularizer {
    /// By random draws.
    pub drawn: f64,
    /// The standard error of `drawn`.
    pub standard_error: f64,
    /// By the second-order formula.
    pub formula: f64,
    /// By the published formula, which is half of that.
    pub printed: f64,
    /// The number of draws.
    pub draws: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spreads_are_means_over_seeds() {
        let seed = |mean, std| Accuracy { mean, std, runs: 2, per_split: vec![mean - std, mean + std] };
        let spread = Spread::over(&[seed(80.0, 1.0), seed(82.0, 2.0)]);
        assert_eq!(spread, Spread { mean: 81.0, std: 1.5, seeds: vec![80.0, 82.0] });
        assert!(against(&seed(80.0, 1.0), &seed(79.0, 0.5)).unwrap().is_some());
    }
}
