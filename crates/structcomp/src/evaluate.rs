//! Evaluation of embeddings: node classification, clustering and link prediction.

mod axes;
mod clustering;
mod confusion;
mod controls;
mod diagnostics;
mod links;
mod logistic;
mod paired;
mod probe;
mod regression;
mod rows;
mod verdict;

pub(crate) use axes::Axes;
pub use clustering::{Agreement, Clustering, KMeans};
pub use confusion::Predictions;
pub use controls::{ByControl, CONTROLS, Control, Controls};
pub use diagnostics::{Diagnostics, EdgeLoss, Moments, SpectralLoss};
pub use links::{HeldOut, LinkScore};
pub use paired::Comparison;
pub use probe::{Mlp, Probe, Softmax};
pub use regression::LogisticCv;
pub use verdict::Verdict;

use crate::guard::still_wanted;
use crate::{Error, Features, Labels, Result, Seed, Split, SplitSet};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// The test accuracy of a classifier, in percent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Accuracy {
    /// The mean over the splits.
    pub mean: f64,
    /// The standard deviation over the splits: divided by their number, as in the paper's code.
    pub std: f64,
    /// The number of splits.
    pub runs: usize,
    /// The accuracy of each split, for paired comparisons.
    pub per_split: Vec<f64>,
}

/// The paper's measure: the test accuracy of a logistic regression, trained for each split on its training nodes.
///
/// `c` is the weight of the training nodes against the regularization; 1 in the paper's code. Rows are not scaled,
/// so their scale matters. Nodes without a label are ignored, and a class without training nodes is never
/// predicted. The numbers are the same for any number of threads.
///
/// ```
/// use structcomp::evaluate::classify;
/// use structcomp::{Dense, Features, Labels, Split, SplitSet};
///
/// let x = Features::Dense(Dense::new(5, 1, vec![-2.0, 2.0, -1.0, 1.0, 3.0])?);
/// let labels = Labels::new([0, 1, 0, 1, 0].map(Some))?;
/// let split = Split::new(5, vec![0, 1], vec![], vec![2, 3, 4])?;
/// let accuracy = classify(&x, &labels, &SplitSet::named("mine", vec![split]), 1.0)?;
/// assert_eq!(accuracy.mean, 200.0 / 3.0);
/// # Ok::<(), structcomp::Error>(())
/// ```
pub fn classify(x: &Features, labels: &Labels, splits: &SplitSet, c: f64) -> Result<Accuracy> {
    // Logistic regression does not depend on the seed.
    Probe::Logistic { c }.classify(x, labels, splits, Seed(0))
}

/// The labelled nodes of a split, as `(node, class)`.
struct SplitNodes {
    train: Vec<(u32, u32)>,
    validation: Vec<(u32, u32)>,
    test: Vec<(u32, u32)>,
}

/// What `run` returns for the nodes of each split.
fn over_splits<T: Send>(
    x: &Features,
    labels: &Labels,
    splits: &SplitSet,
    run: impl Fn(SplitNodes) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    if labels.nodes() != x.rows() {
        let (rows, nodes) = (x.rows(), labels.nodes());
        return Err(Error::Input(format!("the embedding has {rows} rows, but {nodes} nodes have labels")));
    }
    if x.cols() == 0 {
        return Err(Error::Input("the embedding has no columns".into()));
    }
    if splits.splits.is_empty() {
        return Err(Error::Input(format!("'{}' has no splits", splits.name)));
    }
    let run = |(number, split): (usize, &Split)| {
        still_wanted()
            .and_then(|()| SplitNodes::of(split, labels))
            .and_then(&run)
            .map_err(|error| Error::Input(format!("split {} of '{}': {error}", number + 1, splits.name)))
    };
    // Collected first, so that the error reported is that of the first split.
    let runs: Vec<Result<T>> = splits.splits.par_iter().enumerate().map(run).collect();
    runs.into_iter().collect()
}

impl Accuracy {
    fn over(per_split: Vec<f64>) -> Self {
        let runs = per_split.len();
        let mean = per_split.iter().sum::<f64>() / runs as f64;
        let variance = per_split.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / runs as f64;
        Self { mean, std: variance.sqrt(), runs, per_split }
    }
}

impl SplitNodes {
    fn of(split: &Split, labels: &Labels) -> Result<Self> {
        let [train, validation, test] =
            [&split.train, &split.validation, &split.test].map(|nodes| labelled(labels, nodes));
        let nodes = Self { train: train?, validation: validation?, test: test? };
        let invalid = |what: &str| Err(Error::Input(what.into()));
        match nodes.train.first() {
            None => invalid("no training node has a label"),
            Some(&(_, first)) if nodes.train.iter().all(|&(_, class)| class == first) => {
                invalid("all training nodes are of the same class")
            }
            Some(_) if nodes.test.is_empty() => invalid("no test node has a label"),
            Some(_) => Ok(nodes),
        }
    }
}

/// Those of `nodes` that have a label, with it.
fn labelled(labels: &Labels, nodes: &[u32]) -> Result<Vec<(u32, u32)>> {
    if let Some(node) = nodes.iter().find(|&&node| node as usize >= labels.nodes()) {
        return Err(Error::Input(format!("node {node} is out of range for {} nodes", labels.nodes())));
    }
    Ok(nodes.iter().filter_map(|&node| labels.of(node).map(|class| (node, class))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Dense, Seed, random::normal};

    fn line(values: &[f32]) -> Features {
        Features::Dense(Dense::new(values.len(), 1, values.to_vec()).unwrap())
    }

    fn one(train: &[u32], test: &[u32]) -> SplitSet {
        SplitSet::named("mine", vec![Split { train: train.into(), validation: vec![], test: test.into() }])
    }

    #[test]
    fn unlabelled_nodes_are_ignored() {
        let x = line(&[-2.0, 2.0, 1.0, -1.0, 2.5, -9.0]);
        let labels = Labels::from_signed([0, 1, 1, 1, -1, -1]).unwrap();
        let all = classify(&x, &labels, &one(&[0, 1, 5], &[2, 3, 4]), 1.0).unwrap();
        assert_eq!(all.per_split, [50.0]);
        assert_eq!(all, classify(&x, &labels, &one(&[0, 1], &[2, 3]), 1.0).unwrap());
    }

    #[test]
    fn the_deviation_is_over_the_splits() {
        let accuracy = Accuracy::over(vec![70.0, 80.0, 90.0, 80.0]);
        assert_eq!((accuracy.mean, accuracy.std, accuracy.runs), (80.0, 50f64.sqrt(), 4));
    }

    #[test]
    fn invalid_splits_are_errors() {
        let x = line(&[-2.0, 2.0, 1.0, 0.0]);
        let labels = Labels::from_signed([0, 1, 1, -1]).unwrap();
        let error = |splits: &SplitSet, c: f64| classify(&x, &labels, splits, c).unwrap_err().to_string();
        assert_eq!(error(&one(&[3], &[0]), 1.0), "split 1 of 'mine': no training node has a label");
        assert_eq!(error(&one(&[0, 1], &[3]), 1.0), "split 1 of 'mine': no test node has a label");
        let same = "all training nodes are of the same class";
        assert_eq!(error(&one(&[1, 2], &[0]), 1.0), format!("split 1 of 'mine': {same}"));
        assert_eq!(error(&one(&[0, 4], &[1]), 1.0), "split 1 of 'mine': node 4 is out of range for 4 nodes");
        assert_eq!(error(&one(&[0, 1], &[2]), 0.0), "C is 0, but must be above 0");
        assert_eq!(error(&SplitSet::named("none", vec![]), 1.0), "'none' has no splits");
        let error = classify(&line(&[1.0]), &labels, &one(&[0, 1], &[2]), 1.0).unwrap_err();
        assert_eq!(error.to_string(), "the embedding has 1 rows, but 4 nodes have labels");
    }

    #[test]
    fn threads_change_nothing() {
        let mut rng = Seed(4).stream("embedding");
        let values: Vec<f32> = (0..900 * 24).map(|_| normal(&mut rng)).collect();
        let x = Features::Dense(Dense::new(900, 24, values).unwrap());
        // With random features every bit of a decision value counts.
        let labels = Labels::new((0..900).map(|node| Some(node % 3))).unwrap();
        let small = SplitSet::random(&labels, 6, 5, Seed(1));
        let large = SplitSet::random(&labels, 200, 2, Seed(1));
        for splits in [small, large] {
            let run = |threads| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                pool.install(|| classify(&x, &labels, &splits, 1.0).unwrap())
            };
            let alone = run(1);
            assert!([2, 3, 8].into_iter().all(|threads| run(threads) == alone));
        }
    }
}
