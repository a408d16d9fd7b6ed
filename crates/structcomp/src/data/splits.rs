//! Splits of the nodes into training, validation and test nodes.

use super::bytes::read_text;
use crate::{Budget, Error, Labels, Result, Seed};
use rand::seq::SliceRandom;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// One split. The parts do not overlap; validation may be empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Split {
    /// Training nodes.
    pub train: Vec<u32>,
    /// Validation nodes.
    pub validation: Vec<u32>,
    /// Test nodes.
    pub test: Vec<u32>,
}

/// Splits that belong together, such as the ten of geom-gcn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SplitSet {
    /// `random20`, `public`, `geom-gcn`, `ogb`, `roles`, `authors` or the name of a file.
    pub name: String,
    /// The splits, in file order.
    pub splits: Vec<Split>,
    /// Classes with too few nodes for the requested training set, as `(class, nodes)`; half of such a
    /// class is used for training.
    pub small_classes: Vec<(u32, usize)>,
}

/// Training nodes per class in the paper's protocol.
pub const PAPER_TRAIN_PER_CLASS: usize = 20;

impl Split {
    /// A split of a graph with `nodes` nodes; fails if the parts overlap.
    pub fn new(nodes: usize, train: Vec<u32>, validation: Vec<u32>, test: Vec<u32>) -> Result<Self> {
        let mut seen = vec![false; nodes];
        for &node in train.iter().chain(&validation).chain(&test) {
            match seen.get_mut(node as usize) {
                Some(seen) if !*seen => *seen = true,
                Some(_) => return Err(Error::Input(format!("node {node} appears twice in a split"))),
                None => {
                    return Err(Error::Input(format!(
                        "a split contains node {node}, but there are only {nodes} nodes"
                    )));
                }
            }
        }
        Ok(Self { train, validation, test })
    }

    /// A split from three masks of equal length.
    pub fn from_masks(train: &[bool], validation: &[bool], test: &[bool]) -> Result<Self> {
        if train.len() != validation.len() || train.len() != test.len() {
            return Err(Error::Input("the masks of a split have different lengths".into()));
        }
        let chosen = |mask: &[bool]| (0..).zip(mask).filter(|(_, m)| **m).map(|(v, _)| v).collect();
        Self::new(train.len(), chosen(train), chosen(validation), chosen(test))
    }
}

impl SplitSet {
    /// Splits read from a dataset's files.
    pub fn named(name: impl Into<String>, splits: Vec<Split>) -> Self {
        Self { name: name.into(), splits, small_classes: Vec::new() }
    }

    /// The paper's protocol: each of the `runs` splits trains on `per_class` random nodes of every
    /// class and tests on all other labelled nodes.
    ///
    /// A class with at most `per_class` nodes contributes half of them and is listed in
    /// [`small_classes`](Self::small_classes).
    pub fn random(labels: &Labels, per_class: usize, runs: usize, seed: Seed) -> Self {
        let mut members = vec![Vec::new(); labels.classes()];
        for (node, class) in (0u32..).zip(labels.iter()) {
            if let Some(class) = class {
                members[class as usize].push(node);
            }
        }
        let quota = |size: usize| if size > per_class { per_class } else { size / 2 };
        let small = (0u32..).zip(&members).filter(|(_, nodes)| nodes.len() <= per_class);
        let small_classes = small.map(|(class, nodes)| (class, nodes.len())).collect();
        let labelled: Vec<bool> = labels.iter().map(|class| class.is_some()).collect();
        let split = |run: usize| {
            let mut rng = seed.stream_at("random splits", run as u64);
            let mut split = Split::default();
            let mut tested = labelled.clone();
            for nodes in &members {
                let mut shuffled = nodes.clone();
                shuffled.shuffle(&mut rng);
                split.train.extend(&shuffled[..quota(nodes.len())]);
            }
            split.train.sort_unstable();
            split.train.iter().for_each(|&node| tested[node as usize] = false);
            split.test = (0u32..).zip(tested).filter(|(_, tested)| *tested).map(|(node, _)| node).collect();
            split
        };
        Self {
            name: format!("random{per_class}"),
            splits: (0..runs).into_par_iter().map(split).collect(),
            small_classes,
        }
    }

    /// Splits from a text file with one split per line: the training nodes, separated by commas.
    ///
    /// If the file name contains `train` and the same name with `test` exists, that file lists the
    /// test nodes; otherwise all other labelled nodes are test nodes.
    pub fn from_file(path: &Path, labels: &Labels) -> Result<Self> {
        Self::from_file_within(path, labels, &Budget::default())
    }

    pub(crate) fn from_file_within(path: &Path, labels: &Labels, budget: &Budget) -> Result<Self> {
        let train = read_lines(path, labels.nodes())?;
        let twin = path
            .file_name()
            .and_then(|name| name.to_str())
            .filter(|name| name.contains("train"))
            .map(|name| path.with_file_name(name.replace("train", "test")))
            .filter(|twin| twin.exists());
        let test = twin.as_deref().map(|twin| read_lines(twin, labels.nodes())).transpose()?;
        if let Some(test) = &test
            && test.len() != train.len()
        {
            let what = format!("has {} splits, but its test file has {}", train.len(), test.len());
            return Err(Error::format(path, what));
        }
        if test.is_none() {
            // A line of two bytes implies a test set of nearly all nodes.
            let what = format!("the {} splits of {}", train.len(), path.display());
            budget.check_items(&what, train.len() as u64, 4 * labels.nodes() as u64)?;
        }
        let splits: Result<Vec<Split>> = (0..train.len())
            .map(|run| {
                let test = match &test {
                    Some(test) => test[run].clone(),
                    None => others(&train[run], labels),
                };
                Split::new(labels.nodes(), train[run].clone(), Vec::new(), test)
                    .map_err(|error| Error::at_line(path, run as u64 + 1, error.to_string()))
            })
            .collect();
        let name = path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
        Ok(Self::named(name, splits?))
    }
}

fn others(train: &[u32], labels: &Labels) -> Vec<u32> {
    let train: std::collections::HashSet<u32> = train.iter().copied().collect();
    let labelled = (0u32..).zip(labels.iter()).filter(|(_, class)| class.is_some());
    labelled.map(|(node, _)| node).filter(|node| !train.contains(node)).collect()
}

fn read_lines(path: &Path, nodes: usize) -> Result<Vec<Vec<u32>>> {
    let text = read_text(path, &Budget::default())?;
    let mut splits = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        if line.trim().is_empty() {
            continue;
        }
        let ids = line.split([',', ' ', '\t']).map(str::trim).filter(|id| !id.is_empty());
        let ids: Result<Vec<u32>> = ids
            .map(|id| match id.parse::<u32>() {
                Ok(node) if (node as usize) < nodes => Ok(node),
                Ok(node) => Err(Error::at_line(
                    path,
                    number,
                    format!("node {node} is out of range, there are only {nodes} nodes"),
                )),
                Err(_) => Err(Error::at_line(path, number, format!("'{id}' is not a node number"))),
            })
            .collect();
        splits.push(ids?);
    }
    if splits.is_empty() {
        return Err(Error::format(path, "contains no split"));
    }
    Ok(splits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_splits_take_the_quota_and_leave_out_the_unlabelled() {
        let class = (0..100).map(|v| if v == 7 { None } else { Some((v % 3 == 0) as u32) });
        let labels = Labels::new(class).unwrap();
        let set = SplitSet::random(&labels, 20, 5, Seed(0));
        assert_eq!((set.splits.len(), set.name.as_str()), (5, "random20"));
        for split in &set.splits {
            assert_eq!((split.train.len(), split.test.len()), (40, 59));
            let of_class = |c| split.train.iter().filter(|&&v| labels.of(v) == Some(c)).count();
            assert_eq!((of_class(0), of_class(1)), (20, 20));
            Split::new(100, split.train.clone(), vec![], split.test.clone()).unwrap();
            assert!(!split.train.contains(&7) && !split.test.contains(&7));
        }
        assert_ne!(set.splits[0], set.splits[1]);
        assert_eq!(set, SplitSet::random(&labels, 20, 5, Seed(0)));
        assert_ne!(set, SplitSet::random(&labels, 20, 5, Seed(1)));
    }

    #[test]
    fn a_small_class_gives_half_and_is_named() {
        let labels = Labels::new((0..60).map(|v| Some((v < 11) as u32))).unwrap();
        let set = SplitSet::random(&labels, 20, 1, Seed(0));
        assert_eq!(set.small_classes, [(1, 11)]);
        assert_eq!(set.splits[0].train.len(), 20 + 5);
    }

    #[test]
    fn files_of_indices_are_read_and_checked() {
        let folder = tempfile::tempdir().unwrap();
        let labels = Labels::new((0..6).map(|v| (v != 5).then_some(0))).unwrap();
        let path = folder.path().join("my_train_2.txt");
        std::fs::write(&path, "0,1\n2, 3\n").unwrap();
        let set = SplitSet::from_file(&path, &labels).unwrap();
        assert_eq!(set.splits[0], Split { train: vec![0, 1], validation: vec![], test: vec![2, 3, 4] });
        std::fs::write(folder.path().join("my_test_2.txt"), "4\n5\n").unwrap();
        let set = SplitSet::from_file(&path, &labels).unwrap();
        assert_eq!(set.splits[1].test, [5]);
        std::fs::remove_file(folder.path().join("my_test_2.txt")).unwrap();
        std::fs::write(&path, "0\n".repeat(1000)).unwrap();
        let refused = SplitSet::from_file_within(&path, &labels, &Budget { bytes: 10_000 });
        assert!(matches!(refused, Err(Error::Memory { need: 24_000, .. })), "1000 splits of 6 nodes");
        std::fs::write(folder.path().join("my_test_2.txt"), "4\n5\n").unwrap();
        for bad in ["", "0,9\n1", "0,x\n1", "0,0\n1", "0\n"] {
            std::fs::write(&path, bad).unwrap();
            assert!(SplitSet::from_file(&path, &labels).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn masks_must_agree() {
        let split = Split::from_masks(&[true, false], &[false, false], &[false, true]).unwrap();
        assert_eq!(split, Split { train: vec![0], validation: vec![], test: vec![1] });
        assert!(Split::from_masks(&[true], &[true], &[false]).is_err());
        assert!(Split::from_masks(&[true], &[], &[false]).is_err());
    }
}
