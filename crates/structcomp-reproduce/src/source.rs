//! The datasets, each read once, and their accuracy without training.

use crate::{Repeats, Setup, experiment};
use rand::seq::SliceRandom;
use std::borrow::Cow;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use structcomp::data::PAPER_TRAIN_PER_CLASS;
use structcomp::data::named::{self, Verified};
use structcomp::evaluate::Accuracy;
use structcomp::{
    Budget, Dataset, Error, Features, Graph, Labels, Normalization, Prepare, Probe, Propagation, Result,
    Seed, Split, SplitSet, StructComp, data,
};

/// A graph and its features.
#[derive(Clone, Copy)]
pub(crate) struct Data<'a> {
    pub(crate) graph: &'a Graph,
    pub(crate) x: &'a Features,
}

/// Datasets by name.
pub(crate) struct Sources {
    folder: PathBuf,
    budget: Budget,
    read: Mutex<HashMap<String, Arc<Source>>>,
}

/// A dataset with its fingerprint and its controls.
pub(crate) struct Source {
    pub(crate) dataset: Dataset,
    pub(crate) sha256: String,
    controls: Mutex<HashMap<String, Arc<Mutex<Option<Controls>>>>>,
}

/// The accuracy of X and of Â²X.
#[derive(Clone)]
pub(crate) struct Controls {
    pub(crate) features: Accuracy,
    pub(crate) propagated: Accuracy,
}

impl Sources {
    pub(crate) fn new(folder: &Path, budget: Budget) -> Self {
        Self { folder: folder.to_owned(), budget, read: Mutex::default() }
    }

    /// The dataset, read on first use.
    pub(crate) fn get(&self, name: &str) -> Result<Arc<Source>> {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(source) = read.get(name) {
            return Ok(source.clone());
        }
        let source = Arc::new(self.open(name)?);
        read.insert(name.to_owned(), source.clone());
        Ok(source)
    }

    fn open(&self, name: &str) -> Result<Source> {
        let (dataset, sha256) = match experiment::generated(name) {
            Some(data) => ((data.generate)(&self.budget)?, name.to_owned()),
            None => {
                self.check(name)?;
                let options = data::Options { budget: self.budget, ..data::Options::default() };
                let dataset = data::load(name, &self.folder, Seed(0), &options)?;
                let sha256 = dataset.sha256()?;
                (dataset, sha256)
            }
        };
        Ok(Source { dataset, sha256, controls: Mutex::default() })
    }

    /// Refuses files that differ from the published ones: the numbers would not be comparable.
    fn check(&self, name: &str) -> Result<()> {
        let Some(known) = named::find(name).filter(|known| known.missing(&self.folder).is_empty()) else {
            return Ok(());
        };
        match known.verify(&self.folder, &mut |_| {})?.into_iter().find(Verified::is_fault) {
            None => Ok(()),
            Some(Verified { name: file, state, .. }) => Err(Error::Input(format!(
                "{name} differs from the published dataset: {file} {state}; download it again"
            ))),
        }
    }
}

impl Source {
    pub(crate) fn features(&self) -> Result<&Features> {
        let none = || Error::Input(format!("{} has no features", self.dataset.name));
        self.dataset.features.as_ref().ok_or_else(none)
    }

    pub(crate) fn labels(&self) -> Result<&Labels> {
        let none = || Error::Input(format!("{} has no labels", self.dataset.name));
        self.dataset.labels.as_ref().ok_or_else(none)
    }

    /// The graph and features as they are.
    pub(crate) fn data(&self) -> Result<Data<'_>> {
        Ok(Data { graph: &self.dataset.graph, x: self.features()? })
    }

    pub(crate) fn scaled_features(&self, setup: &Setup) -> Result<Cow<'_, Features>> {
        let prepare = Prepare { feature_norm: setup.feature_norm, ..Prepare::default() };
        StructComp { prepare, ..StructComp::default() }.prepared_features(&self.dataset)
    }

    /// The graph, with noise where the setup asks for it.
    pub(crate) fn graph(&self, setup: &Setup, seed: Seed) -> Result<Graph> {
        let graph = &self.dataset.graph;
        match setup.noise {
            0.0 => Ok(graph.clone()),
            share => graph.with_random_edges((share * graph.edges() as f64) as usize, seed),
        }
    }

    /// The splits of this name that come with the dataset.
    fn own_splits(&self, setup: &Setup) -> Option<&SplitSet> {
        self.dataset.splits.iter().find(|set| set.name == setup.splits)
    }

    /// The nodes that training sees, sorted; none if it sees all.
    pub(crate) fn seen(&self, setup: &Setup, seed: Seed) -> Option<Vec<u32>> {
        if setup.unseen == 0.0 {
            return None;
        }
        let mut nodes: Vec<u32> = match self.own_splits(setup).and_then(|own| own.splits.first()) {
            Some(split) => split.train.clone(),
            None => {
                let mut nodes: Vec<u32> = (0..self.dataset.graph.nodes() as u32).collect();
                nodes.shuffle(&mut seed.stream("nodes seen"));
                nodes.truncate(((1.0 - setup.unseen) * nodes.len() as f64).round() as usize);
                nodes
            }
        };
        nodes.sort_unstable();
        Some(nodes)
    }

    /// The splits to evaluate on. With unseen nodes, only those are test nodes and only the others are training nodes.
    pub(crate) fn splits(&self, setup: &Setup, repeats: &Repeats, seed: Seed) -> Result<SplitSet> {
        if let Some(own) = self.own_splits(setup) {
            let mut own = own.clone();
            own.splits.truncate(repeats.runs);
            return Ok(own);
        }
        if setup.splits != "random20" {
            let (name, splits) = (&self.dataset.name, &setup.splits);
            return Err(Error::Input(format!("{name} has no splits '{splits}'")));
        }
        let labels = self.labels()?;
        let Some(seen) = self.seen(setup, seed) else {
            return Ok(SplitSet::random(labels, PAPER_TRAIN_PER_CLASS, repeats.runs, seed));
        };
        let mut is_seen = vec![false; labels.nodes()];
        seen.iter().for_each(|&node| is_seen[node as usize] = true);
        let seen_labels = Labels::new(
            (0u32..).zip(labels.iter()).map(|(node, class)| class.filter(|_| is_seen[node as usize])),
        )?;
        let test: Vec<u32> = (0..labels.nodes() as u32).filter(|&node| !is_seen[node as usize]).collect();
        let mut splits = SplitSet::random(&seen_labels, PAPER_TRAIN_PER_CLASS, repeats.runs, seed);
        splits.name = "unseen".into();
        splits.splits.iter_mut().for_each(|split: &mut Split| split.test.clone_from(&test));
        Ok(splits)
    }

    /// The controls on the splits of a cell, which many cells share.
    pub(crate) fn controls(&self, setup: &Setup, repeats: &Repeats, seed: Seed) -> Result<Controls> {
        let Setup { noise, unseen, splits, probe, .. } = setup;
        let key = format!("{noise} {unseen} {splits} {probe} {} {}", repeats.runs, seed.0);
        let place = {
            let mut all = self.controls.lock().unwrap_or_else(PoisonError::into_inner);
            all.entry(key).or_default().clone()
        };
        let mut place = place.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(controls) = &*place {
            return Ok(controls.clone());
        }
        let (x, labels) = (self.features()?, self.labels()?);
        let splits = self.splits(setup, repeats, seed)?;
        let probe = Probe::named(&setup.probe, &self.dataset.name)?;
        let graph = self.graph(setup, seed)?;
        let propagated = Propagation::new(&graph, Normalization::Symmetric).power(x, 2)?;
        let controls = Controls {
            features: probe.classify(x, labels, &splits, seed)?,
            propagated: probe.classify(&propagated, labels, &splits, seed)?,
        };
        Ok(place.insert(controls).clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use structcomp::data::Synthetic;

    fn demo() -> Source {
        let dataset = Synthetic { nodes: 400, edges: 900, classes: 3, ..Synthetic::default() };
        let dataset = dataset.generate(Seed(0)).unwrap();
        Source { dataset, sha256: "demo".into(), controls: Mutex::default() }
    }

    #[test]
    fn unseen_nodes_are_test_nodes_and_never_training_nodes() {
        let (source, setup) = (demo(), Setup { unseen: 0.5, ..Setup::default() });
        let repeats = Repeats { seeds: 1, runs: 4, seed: 3 };
        let seen = source.seen(&setup, Seed(3)).unwrap();
        assert_eq!(seen.len(), 200);
        let splits = source.splits(&setup, &repeats, Seed(3)).unwrap();
        assert_eq!((splits.splits.len(), splits.name.as_str()), (4, "unseen"));
        for split in &splits.splits {
            assert!(split.train.iter().all(|node| seen.binary_search(node).is_ok()));
            assert!(split.test.iter().all(|node| seen.binary_search(node).is_err()));
            assert_eq!((split.train.len(), split.test.len()), (60, 200));
        }
    }

    #[test]
    fn with_splits_of_the_dataset_training_sees_their_training_nodes() {
        let mut source = demo();
        let split = Split::new(400, vec![7, 3, 99], vec![1, 2], vec![0, 4]).unwrap();
        source.dataset.splits.push(SplitSet::named("roles", vec![split.clone()]));
        let setup = Setup { unseen: 0.5, splits: "roles".into(), ..Setup::default() };
        assert_eq!(source.seen(&setup, Seed(1)).unwrap(), [3, 7, 99]);
        let repeats = Repeats { seeds: 1, runs: 4, seed: 3 };
        assert_eq!(source.splits(&setup, &repeats, Seed(3)).unwrap().splits, [split]);
        assert_eq!(source.seen(&Setup { unseen: 0.0, ..setup }, Seed(1)), None);
    }

    #[test]
    fn generated_datasets_can_be_opened() {
        let sources = Sources::new(Path::new(""), Budget::default());
        let star = sources.get("star").unwrap();
        assert_eq!((star.dataset.graph.nodes(), star.dataset.graph.degree(0)), (2000, 1999));
        assert!(star.dataset.source.synthetic && star.labels().is_err());
    }

    #[test]
    fn noise_adds_its_share_of_edges() {
        let (source, setup) = (demo(), Setup { noise: 0.1, ..Setup::default() });
        let edges = source.dataset.graph.edges();
        assert_eq!(source.graph(&setup, Seed(0)).unwrap().edges(), edges + edges / 10);
        let unknown = Setup { splits: "authors".into(), ..Setup::default() };
        let error = source.splits(&unknown, &Repeats { seeds: 1, runs: 2, seed: 0 }, Seed(0)).unwrap_err();
        assert!(error.to_string().contains("has no splits 'authors'"), "{error}");
    }
}
