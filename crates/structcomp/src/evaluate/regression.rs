//! The fair judge: softmax regression whose C is chosen by cross-validation inside the training nodes of each split.
//!
//! Rows are treated alike, whatever their scale and width, and without labels: centred, projected on their leading
//! principal axes where they are wide, and scaled to a root-mean-square length of one.
//!
//! Time goes into products of the training rows with the weights: for n training nodes of K classes and rows of width
//! d, one gradient takes 4ndK operations, 53 million for 1,020 nodes of 51 classes. No fit takes less than one, so that
//! trying five values of C and a last fit in 50 splits cannot take less than 16 billion; fits of the search may take
//! up to 13 gradients each.

mod minimize;
mod search;
mod softmax;
mod treatment;

use super::{Accuracy, SplitNodes, over_splits};
use crate::random::mix;
use crate::{Features, Labels, Result, Seed, SplitSet};
use rayon::prelude::*;
use search::Choice;
use serde::{Deserialize, Serialize};
use treatment::Treated;

/// Softmax regression with a penalty on the squared weights, its strength C chosen for each split by stratified
/// cross-validation among the training nodes.
///
/// C is the weight of a training node against the penalty, one of 0.3, 1, 3, …, 1000. There are five folds; of more
/// than 1000 / 5 training nodes, as many folds are tried as it takes to hold out 200 nodes. The C with the highest
/// accuracy on the nodes held out is taken; of several, the one with the lowest loss.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct LogisticCv {
    /// Test nodes per split at most, drawn at random where there are more; all of them if absent.
    pub test_nodes: Option<usize>,
}

impl Default for LogisticCv {
    fn default() -> Self {
        Self { test_nodes: Some(4000) }
    }
}

impl LogisticCv {
    pub(super) fn classify(
        &self,
        x: &Features,
        labels: &Labels,
        splits: &SplitSet,
        seed: Seed,
    ) -> Result<Accuracy> {
        // Splits are checked before anything is computed.
        let nodes = over_splits(x, labels, splits, Ok)?;
        let treated = Treated::of(x);
        let key = seed.key("test nodes");
        let share = (0..nodes.len()).into_par_iter().map(|split| {
            let SplitNodes { train, test, .. } = &nodes[split];
            let test = self.drawn(test, mix(key ^ split as u64));
            let classifier = Choice::of(&treated, train).classifier();
            let right = classifier.right(&treated, &test);
            100.0 * right as f64 / test.len() as f64
        });
        Ok(Accuracy::over(share.collect()))
    }

    /// The test nodes, or some of them: which ones depends on the split, but not on the rows that are judged.
    fn drawn(&self, test: &[(u32, u32)], key: u64) -> Vec<(u32, u32)> {
        let mut test = test.to_vec();
        if let Some(most) = self.test_nodes.filter(|&most| most > 0 && most < test.len()) {
            let rank = |&(node, _): &(u32, u32)| (mix(key ^ mix(node as u64)), node);
            test.select_nth_unstable_by_key(most - 1, rank);
            test.truncate(most);
            test.sort_unstable();
        }
        test
    }
}

#[cfg(test)]
mod tests;
