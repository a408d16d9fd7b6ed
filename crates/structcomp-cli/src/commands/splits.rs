//! The splits that `--splits` names.

use anyhow::{Result, bail};
use std::path::Path;
use structcomp::data::PAPER_TRAIN_PER_CLASS;
use structcomp::{Dataset, Seed, SplitSet};

/// Random splits, splits of the dataset, or those of a file.
pub(super) fn choose(dataset: &Dataset, which: &str, runs: usize, seed: Seed) -> Result<SplitSet> {
    let Some(labels) = &dataset.labels else { bail!("{} has no labels, which splits need", dataset.name) };
    if let Some(set) = dataset.splits.iter().find(|set| set.name == which) {
        return Ok(set.clone());
    }
    if which == "random20" {
        return Ok(SplitSet::random(labels, PAPER_TRAIN_PER_CLASS, runs, seed));
    }
    if !Path::new(which).exists() {
        let known = ["random20"].into_iter().chain(dataset.splits.iter().map(|set| set.name.as_str()));
        let known: Vec<&str> = known.collect();
        bail!("unknown splits '{which}'; use a file of node indices, or one of {}", known.join(", "));
    }
    Ok(SplitSet::from_file(Path::new(which), labels)?)
}
