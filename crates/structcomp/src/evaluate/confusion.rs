//! Which classes are taken for which.

use super::Accuracy;
use std::collections::BTreeMap;

/// What a classifier predicted for the test nodes of each split.
#[derive(Clone, Debug, PartialEq)]
pub struct Predictions {
    /// One list per split, with the class of each test node and the class predicted for it, in no order.
    pub splits: Vec<Vec<(u32, u32)>>,
}

impl Predictions {
    /// The share that is right.
    pub fn accuracy(&self) -> Accuracy {
        let share = |told: &Vec<(u32, u32)>| 100.0 * right(told) as f64 / told.len() as f64;
        Accuracy::over(self.splits.iter().map(share).collect())
    }

    /// How often each of so many classes was taken for each, over all splits: for each class, the classes that were
    /// predicted for it.
    ///
    /// ```
    /// use structcomp::evaluate::Predictions;
    ///
    /// let predictions = Predictions { splits: vec![vec![(0, 0), (0, 1)], vec![(1, 1), (1, 1)]] };
    /// assert_eq!(predictions.accuracy().mean, 75.0);
    /// assert_eq!(predictions.confusion(2), [[(0, 1), (1, 1)].into(), [(1, 2)].into()]);
    /// ```
    pub fn confusion(&self, classes: usize) -> Vec<BTreeMap<u32, u64>> {
        let mut counts = vec![BTreeMap::new(); classes];
        for &(class, predicted) in self.splits.iter().flatten() {
            *counts[class as usize].entry(predicted).or_default() += 1;
        }
        counts
    }
}

/// How many of some test nodes are predicted right.
pub(super) fn right(told: &[(u32, u32)]) -> usize {
    told.iter().filter(|(class, predicted)| class == predicted).count()
}
