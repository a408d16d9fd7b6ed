//! What came of a cell.

use super::Task;
use crate::{Accuracy, Comparison};
use serde::{Deserialize, Serialize};

/// The result of a cell's task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Outcome {
    /// How well classes can be told.
    Accuracy(Box<Judged>),
    /// What training costs.
    Cost(Cost),
    /// Two losses an epoch.
    LossTrend(Trend),
    /// Bounds and the regulariser.
    Theory(Box<Theory>),
}

impl Outcome {
    /// Whether it is what the task asks for.
    pub(super) fn answers(&self, task: &Task) -> bool {
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
pub struct Judged {
    /// After training.
    pub ours: Spread,
    /// Of the features alone.
    pub features: Spread,
    /// Of two hops of the features.
    pub propagated: Spread,
    /// Of the same encoder with its initial weights.
    pub untrained: Spread,
    /// After the same training on random clusters, where that was asked for.
    pub random_clusters: Option<Spread>,
    /// Against two hops of the features, for each seed: the difference and its chance by a paired test.
    pub against_propagated: Vec<(f64, f64)>,
    /// How many clusters there were, for each seed; none on the whole graph.
    pub clusters: Vec<usize>,
    /// How many epochs, for each seed.
    pub epochs: Vec<usize>,
    /// The first and the last loss, for each seed.
    pub losses: Vec<(f64, f64)>,
}

/// An accuracy over seeds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// The mean over all seeds and splits.
    pub mean: f64,
    /// The deviation over splits, averaged over the seeds: what the paper's ± is.
    pub std: f64,
    /// The mean of each seed.
    pub seeds: Vec<f64>,
}

impl Spread {
    pub(super) fn over(accuracies: &[Accuracy]) -> Self {
        let count = accuracies.len().max(1) as f64;
        let mean = |of: &dyn Fn(&Accuracy) -> f64| accuracies.iter().map(of).sum::<f64>() / count;
        Self {
            mean: mean(&|accuracy| accuracy.mean),
            std: mean(&|accuracy| accuracy.std),
            seeds: accuracies.iter().map(|accuracy| accuracy.mean).collect(),
        }
    }
}

/// The difference and its chance, split by split; none for a single split.
pub(super) fn against(a: &Accuracy, b: &Accuracy) -> crate::Result<Option<(f64, f64)>> {
    match a.runs {
        0 | 1 => Ok(None),
        _ => Comparison::paired(&a.per_split, &b.per_split)
            .map(|comparison| Some((comparison.difference, comparison.p_value))),
    }
}

/// What training costs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// Seconds an epoch, the first left out.
    pub seconds_per_epoch: f64,
    /// The most memory above that of the loaded data; none where the system does not tell.
    pub bytes: Option<u64>,
    /// Epochs that were timed.
    pub epochs: usize,
    /// Seconds to partition the graph; none on the whole graph.
    pub partition_seconds: Option<f64>,
    /// Seconds to embed the whole graph.
    pub embed_seconds: f64,
    /// Threads in use.
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
    /// The loss over edges by sums over neighbours.
    pub edges_nodes: f64,
    /// The same by sums over clusters.
    pub edges_clusters: f64,
    /// What they may be apart.
    pub bound: f64,
    /// What the paper prints for that.
    pub printed_bound: f64,
    /// The spectral loss on nodes, on clusters weighted by size, and on clusters weighted alike.
    pub spectral: Option<[f64; 3]>,
    /// Variance and squared bias of DropMember over what they should be.
    pub drop_member: Option<[f64; 2]>,
    /// The regulariser.
    pub regulariser: Option<Regulariser>,
}

/// The mean gain of leaving members out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Regulariser {
    /// By draws.
    pub drawn: f64,
    /// The standard error of that.
    pub standard_error: f64,
    /// By the second-order formula.
    pub formula: f64,
    /// As the paper prints it: half of that.
    pub printed: f64,
    /// How many draws.
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
