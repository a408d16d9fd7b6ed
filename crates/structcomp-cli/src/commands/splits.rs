//! The splits that `--splits` names.

use anyhow::{Result, bail};
use std::path::Path;
use structcomp::data::PAPER_TRAIN_PER_CLASS;
use structcomp::{Budget, Dataset, Seed, SplitSet};

/// Random splits, splits of the dataset, or those of a file.
pub(super) fn choose(dataset: &Dataset, which: &str, runs: usize, seed: Seed) -> Result<SplitSet> {
    let Some(labels) = &dataset.labels else { bail!("{} has no labels, which splits need", dataset.name) };
    if let Some(set) = dataset.splits.iter().find(|set| set.name == which) {
        return Ok(set.clone());
    }
    if which == "random20" {
        let (nodes, splits) = (dataset.graph.nodes() as u64, runs as u64);
        Budget::default().check_items(&format!("{runs} splits of {nodes} nodes"), splits * nodes, 4)?;
        return Ok(SplitSet::random(labels, PAPER_TRAIN_PER_CLASS, runs, seed));
    }
    if !Path::new(which).exists() {
        let known = ["random20"].into_iter().chain(dataset.splits.iter().map(|set| set.name.as_str()));
        let known: Vec<&str> = known.collect();
        bail!("unknown splits '{which}'; use a file of node indices, or one of {}", known.join(", "));
    }
    Ok(SplitSet::from_file(Path::new(which), labels)?)
}
