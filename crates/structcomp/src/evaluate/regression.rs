//! The fair judge: softmax regression whose C is chosen by cross-validation inside the training nodes of each split.
//!
//! Rows are treated alike, whatever their scale and width, and without labels: centred, projected on their leading
//! principal axes where they are wide, and scaled to a root-mean-square length of one.
//!
//! Time goes into products of the training rows with the weights: for n training nodes of K classes and rows of width
//! d, one gradient takes 4ndK operations, 53 million for 1,020 nodes of 51 classes. No fit takes less than one, so that
//! trying three values of C and a last fit in 50 splits cannot take less than 10 billion.

mod minimize;
mod search;
mod softmax;
mod treatment;

use super::{Predictions, SplitNodes, over_splits};
use crate::guard::still_wanted;
use crate::progress;
use crate::random::mix;
use crate::{Features, Labels, Result, Seed, Split, SplitSet};
use rayon::prelude::*;
use search::Choice;
use serde::{Deserialize, Serialize};
use treatment::Treated;

/// Softmax regression with a penalty on the squared weights, its strength C chosen for each split by stratified
/// cross-validation among the training nodes.
///
/// C is the weight of a training node against the penalty. There are five folds; of more than 1000 / 5 training nodes, as
/// many folds are tried as it takes to hold out 200 nodes. C = 1, 10 and 100 are tried, and 0.1 or 1000 if the first or the
/// last is the best. The best has the most nodes held out that are predicted right, where those that are nearly level count
/// as a half: this is less a matter of chance than counting right and wrong. With several folds, the values halfway (0.3, 3,
/// 30, 300) next to the best are tried too. With one fold, C is where the parabola through the best and its neighbours is
/// highest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct LogisticCv {
    /// Test nodes per split at most, drawn at random where there are more; all of them if absent.
    pub test_nodes: Option<usize>,
    /// The same for training nodes.
    pub train_nodes: Option<usize>,
}

impl Default for LogisticCv {
    fn default() -> Self {
        Self { test_nodes: Some(4000), train_nodes: None }
    }
}

impl LogisticCv {
    pub(super) fn predict(
        &self,
        x: &Features,
        labels: &Labels,
        splits: &SplitSet,
        seed: Seed,
    ) -> Result<Predictions> {
        // Splits are checked before anything is computed.
        let mut nodes = over_splits(x, labels, splits, Ok)?;
        let keys = [seed.key("test nodes"), seed.key("training nodes")];
        nodes.par_iter_mut().enumerate().for_each(|(split, nodes)| {
            let [test, train] = keys.map(|key| mix(key ^ split as u64));
            draw(&mut nodes.test, self.test_nodes, test);
            draw(&mut nodes.train, self.train_nodes, train);
        });
        let treated = Treated::of(x, &nodes);
        progress::steps_of_part(nodes.len());
        let predicted = nodes.par_iter().map(|SplitNodes { train, test, .. }| {
            still_wanted()?;
            let predicted = Choice::of(&treated, train).classifier().predict(&treated, test);
            progress::step();
            Ok(predicted)
        });
        Ok(Predictions { splits: predicted.collect::<Result<_>>()? })
    }

    /// What the limits leave out of these splits, as a sentence; none if nothing.
    pub fn left_out(&self, splits: &SplitSet) -> Option<String> {
        let most =
            |of: fn(&Split) -> &[u32]| splits.splits.iter().map(|split| of(split).len()).max().unwrap_or(0);
        let kinds = [
            ("test", self.test_nodes, most(|split| &split.test)),
            ("training", self.train_nodes, most(|split| &split.train)),
        ];
        let drawn = kinds.into_iter().filter_map(|(kind, limit, most)| {
            let limit = limit.filter(|&limit| limit > 0 && limit < most)?;
            Some(format!("{limit} of up to {most} {kind} nodes"))
        });
        let drawn: Vec<String> = drawn.collect();
        (!drawn.is_empty()).then(|| format!("each split uses {}, drawn at random", drawn.join(" and ")))
    }
}

/// Leaves so many of the nodes. Which ones depends on the split, but not on the rows that are judged.
fn draw(nodes: &mut Vec<(u32, u32)>, most: Option<usize>, key: u64) {
    if let Some(most) = most.filter(|&most| most > 0 && most < nodes.len()) {
        let rank = |&(node, _): &(u32, u32)| (mix(key ^ mix(node as u64)), node);
        nodes.select_nth_unstable_by_key(most - 1, rank);
        nodes.truncate(most);
        nodes.sort_unstable();
    }
}

#[cfg(test)]
mod tests;
