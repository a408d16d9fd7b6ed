//! The data of the cells, each read once, and what its features are worth without training.

use super::cells::FLICKR;
use super::{Repeats, Setup};
use crate::data::named::{self, Verified};
use crate::data::{self, FeatureKind, Synthetic};
use crate::{
    Accuracy, Budget, Dataset, Dense, Error, Features, Graph, Labels, NodeIds, Normalization,
    PAPER_TRAIN_PER_CLASS, Probe, Propagation, Repairs, Result, Seed, Split, SplitSet,
};
use rand::seq::SliceRandom;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Datasets by name.
pub(super) struct Sources {
    folder: PathBuf,
    budget: Budget,
    read: Mutex<HashMap<String, Arc<Source>>>,
}

/// A dataset that has features and labels.
pub(super) struct Source {
    pub(super) dataset: Dataset,
    pub(super) sha256: String,
    controls: Mutex<HashMap<String, Arc<Mutex<Option<Controls>>>>>,
}

/// What the features are worth as they are and after two hops.
#[derive(Clone)]
pub(super) struct Controls {
    pub(super) features: Accuracy,
    pub(super) propagated: Accuracy,
}

impl Sources {
    pub(super) fn new(folder: &Path, budget: Budget) -> Self {
        Self { folder: folder.to_owned(), budget, read: Mutex::default() }
    }

    /// The dataset, read unless it was before.
    pub(super) fn get(&self, name: &str) -> Result<Arc<Source>> {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(source) = read.get(name) {
            return Ok(source.clone());
        }
        let source = Arc::new(self.open(name)?);
        read.insert(name.to_owned(), source.clone());
        Ok(source)
    }

    fn open(&self, name: &str) -> Result<Source> {
        let dataset = match name {
            FLICKR => flickr().generate_within(Seed(0), &self.budget)?,
            "star" => star()?,
            _ => {
                self.check(name)?;
                let options = data::Options { budget: self.budget, ..data::Options::default() };
                data::load(name, &self.folder, Seed(0), &options)?
            }
        };
        let sha256 = match name {
            // Their descriptions are all there is to them.
            FLICKR | "star" => name.to_owned(),
            _ => dataset.sha256()?,
        };
        Ok(Source { dataset, sha256, controls: Mutex::default() })
    }
}

impl Sources {
    /// Refuses files that are not what was published: their numbers would not be the paper's.
    fn check(&self, name: &str) -> Result<()> {
        let Some(known) = named::find(name).filter(|known| known.missing(&self.folder).is_empty()) else {
            return Ok(());
        };
        match known.verify(&self.folder, &mut |_| {})?.into_iter().find(Verified::is_fault) {
            None => Ok(()),
            Some(Verified { name: file, state, .. }) => Err(Error::Input(format!(
                "{name} is not as it was published: {file} {state}; 'structcomp datasets verify {name}' tells more"
            ))),
        }
    }
}

/// Flickr's counts; its real features and labels are harder.
fn flickr() -> Synthetic {
    Synthetic {
        name: FLICKR.into(),
        nodes: 89_250,
        edges: 449_878,
        classes: 7,
        features: FeatureKind::Gaussian { width: 500 },
        feature_noise: 0.87,
        overlap: 0.33,
        homophily: 0.32,
        degree_exponent: 2.5,
        max_degree: 5_000,
        community: 100,
        ..Synthetic::default()
    }
}

/// A node joined to 1999 others, all with the same feature.
fn star() -> Result<Dataset> {
    let edges: Vec<(u32, u32)> = (1..2000).map(|leaf| (0, leaf)).collect();
    let source = data::Source { format: "synthetic", synthetic: true, ..data::Source::default() };
    Ok(Dataset {
        name: "star".into(),
        graph: Graph::from_edges(2000, &edges)?,
        features: Some(Features::Dense(Dense::new(2000, 1, vec![1.0; 2000])?)),
        labels: None,
        splits: Vec::new(),
        ids: NodeIds::Implicit,
        repairs: Repairs::default(),
        source,
    })
}

impl Source {
    pub(super) fn features(&self) -> Result<&Features> {
        let none = || Error::Input(format!("{} has no features to train on", self.dataset.name));
        self.dataset.features.as_ref().ok_or_else(none)
    }

    pub(super) fn labels(&self) -> Result<&Labels> {
        let none = || Error::Input(format!("{} has no labels to judge by", self.dataset.name));
        self.dataset.labels.as_ref().ok_or_else(none)
    }

    /// The graph as a cell sees it.
    pub(super) fn graph(&self, setup: &Setup, seed: Seed) -> Result<Graph> {
        let graph = &self.dataset.graph;
        match setup.noise {
            0.0 => Ok(graph.clone()),
            share => graph.with_random_edges((share * graph.edges() as f64) as usize, seed),
        }
    }

    /// The splits that came with the data under the name that a cell asks for.
    fn own_splits(&self, setup: &Setup) -> Option<&SplitSet> {
        self.dataset.splits.iter().find(|set| set.name == setup.splits)
    }

    /// The nodes that training sees, in order; none where it sees all.
    pub(super) fn seen(&self, setup: &Setup, seed: Seed) -> Option<Vec<u32>> {
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

    /// The splits to judge by: with unseen nodes, those alone are tested and the others teach.
    pub(super) fn splits(&self, setup: &Setup, repeats: &Repeats, seed: Seed) -> Result<SplitSet> {
        if let Some(own) = self.own_splits(setup) {
            let mut own = own.clone();
            own.splits.truncate(repeats.runs);
            return Ok(own);
        }
        if setup.splits != "random20" {
            let (name, splits) = (&self.dataset.name, &setup.splits);
            return Err(Error::Input(format!("{name} came without the splits '{splits}'")));
        }
        let labels = self.labels()?;
        let Some(seen) = self.seen(setup, seed) else {
            return Ok(SplitSet::random(labels, PAPER_TRAIN_PER_CLASS, repeats.runs, seed));
        };
        let mut is_seen = vec![false; labels.nodes()];
        seen.iter().for_each(|&node| is_seen[node as usize] = true);
        // Splits of the nodes seen give the nodes to learn from.
        let taught = Labels::new(
            (0u32..).zip(labels.iter()).map(|(node, class)| class.filter(|_| is_seen[node as usize])),
        )?;
        let test: Vec<u32> = (0..labels.nodes() as u32).filter(|&node| !is_seen[node as usize]).collect();
        let mut splits = SplitSet::random(&taught, PAPER_TRAIN_PER_CLASS, repeats.runs, seed);
        splits.name = "unseen".into();
        splits.splits.iter_mut().for_each(|split: &mut Split| split.test.clone_from(&test));
        Ok(splits)
    }

    /// X and Â²X on the splits of a cell, which many cells share.
    pub(super) fn controls(&self, setup: &Setup, repeats: &Repeats, seed: Seed) -> Result<Controls> {
        let Setup { noise, unseen, splits, probe, .. } = setup;
        let name = format!("{noise} {unseen} {splits} {probe} {} {}", repeats.runs, seed.0);
        let place = {
            let mut all = self.controls.lock().unwrap_or_else(PoisonError::into_inner);
            all.entry(name).or_default().clone()
        };
        let mut place = place.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(controls) = &*place {
            return Ok(controls.clone());
        }
        let (x, labels) = (self.features()?, self.labels()?);
        let splits = self.splits(setup, repeats, seed)?;
        let probe = Probe::named(&setup.probe, &self.dataset.name)?;
        let graph = self.graph(setup, seed)?;
        let spread = Propagation::new(&graph, Normalization::Symmetric).power(x, 2)?;
        let controls = Controls {
            features: probe.classify(x, labels, &splits, seed)?,
            propagated: probe.classify(&spread, labels, &splits, seed)?,
        };
        Ok(place.insert(controls).clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn demo() -> Source {
        let dataset = Synthetic { nodes: 400, edges: 900, classes: 3, ..Synthetic::default() };
        let dataset = dataset.generate(Seed(0)).unwrap();
        Source { dataset, sha256: "demo".into(), controls: Mutex::default() }
    }

    #[test]
    fn unseen_nodes_are_tested_and_never_teach() {
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
    fn where_nodes_have_roles_training_sees_those_for_training() {
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
    fn what_is_made_here_can_be_had() {
        let sources = Sources::new(Path::new(""), Budget::default());
        let star = sources.get("star").unwrap();
        assert_eq!((star.dataset.graph.nodes(), star.dataset.graph.degree(0)), (2000, 1999));
        assert!(star.dataset.source.synthetic && star.labels().is_err());
        assert!(flickr().validate().is_ok());
    }

    #[test]
    fn noise_adds_its_share_of_edges() {
        let (source, setup) = (demo(), Setup { noise: 0.1, ..Setup::default() });
        let edges = source.dataset.graph.edges();
        assert_eq!(source.graph(&setup, Seed(0)).unwrap().edges(), edges + edges / 10);
        let unknown = Setup { splits: "authors".into(), ..Setup::default() };
        let error = source.splits(&unknown, &Repeats { seeds: 1, runs: 2, seed: 0 }, Seed(0)).unwrap_err();
        assert!(error.to_string().contains("without the splits 'authors'"), "{error}");
    }
}
