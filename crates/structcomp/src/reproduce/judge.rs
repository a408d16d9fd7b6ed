//! Cells that train and judge.

use super::outcome::{Judged, Spread, against};
use super::source::Source;
use super::store::Parts;
use super::{Cell, Mode, Repeats, Setup};
use crate::{
    Accuracy, Compressed, Error, Features, Graph, Inputs, Partition, Partitioning, Preset, Probe, Result,
    Seed, SplitSet, Training,
};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// What a person is told of a cell that Ctrl-C ended.
const INTERRUPTED: &str = "interrupted";

/// Whether a cell ended because it was told to.
pub(super) fn is_interrupted(error: &Error) -> bool {
    matches!(error, Error::Input(what) if what == INTERRUPTED)
}

pub(super) fn interrupted() -> Error {
    Error::Input(INTERRUPTED.into())
}

/// Trains with every seed and judges each embedding; seeds that are in `parts` are not done again.
pub(super) fn judge(
    cell: &Cell,
    setup: &Setup,
    source: &Source,
    repeats: &Repeats,
    parts: &Parts,
    stop: &AtomicBool,
) -> Result<Judged> {
    let mut all: Vec<Once> = Vec::new();
    for seed in repeats.each() {
        if let Some(once) = parts.read(seed) {
            all.push(once);
            continue;
        }
        let once = Bench::new(cell, setup, source, repeats, seed)?.run(stop)?;
        parts.write(seed, &once)?;
        all.push(once);
    }
    let spread = |of: &dyn Fn(&Once) -> Option<&Accuracy>| {
        let accuracies: Vec<Accuracy> = all.iter().filter_map(of).cloned().collect();
        (accuracies.len() == all.len()).then(|| Spread::over(&accuracies))
    };
    let every =
        |of: &dyn Fn(&Once) -> &Accuracy| Spread::over(&all.iter().map(of).cloned().collect::<Vec<_>>());
    Ok(Judged {
        ours: every(&|once| &once.ours),
        features: every(&|once| &once.features),
        propagated: every(&|once| &once.propagated),
        untrained: every(&|once| &once.untrained),
        random_clusters: spread(&|once| once.random_clusters.as_ref()),
        against_propagated: all.iter().filter_map(|once| once.against).collect(),
        clusters: all.iter().filter_map(|once| once.clusters).collect(),
        epochs: all.iter().map(|once| once.epochs).collect(),
        losses: all.iter().map(|once| once.losses).collect(),
    })
}

/// The accuracies of one seed.
#[derive(Serialize, Deserialize)]
struct Once {
    ours: Accuracy,
    features: Accuracy,
    propagated: Accuracy,
    untrained: Accuracy,
    random_clusters: Option<Accuracy>,
    against: Option<(f64, f64)>,
    clusters: Option<usize>,
    epochs: usize,
    losses: (f64, f64),
}

/// All that a seed needs.
struct Bench<'a> {
    cell: &'a Cell,
    setup: &'a Setup,
    source: &'a Source,
    repeats: &'a Repeats,
    seed: Seed,
    graph: Graph,
    x: Cow<'a, Features>,
    /// What training sees, where that is not all.
    seen: Option<(Graph, Features)>,
    training: Training,
}

impl<'a> Bench<'a> {
    fn new(
        cell: &'a Cell,
        setup: &'a Setup,
        source: &'a Source,
        repeats: &'a Repeats,
        seed: Seed,
    ) -> Result<Self> {
        let graph = source.graph(setup, seed)?;
        let x = scaled(source.features()?, setup);
        let seen = match source.seen(setup, seed) {
            Some(nodes) => Some((graph.induced(&nodes)?, x.select(&nodes))),
            None => None,
        };
        let training = match &setup.training {
            Some(training) => training.clone(),
            None => Preset::recipe(&graph, &x, seed),
        };
        Ok(Self { cell, setup, source, repeats, seed, graph, x, seen, training })
    }

    fn run(&self, stop: &AtomicBool) -> Result<Once> {
        let splits = self.source.splits(self.setup, self.repeats, self.seed)?;
        let controls = self.source.controls(self.setup, self.repeats, self.seed)?;
        let (graph, x) = self.seen.as_ref().map_or((&self.graph, &*self.x), |(graph, x)| (graph, x));
        let partition = match self.cell.mode {
            Mode::Structcomp => Some(self.setup.partitioning.partition(graph, self.seed)?),
            Mode::Full => None,
        };
        let trained = self.train(graph, x, partition.as_ref(), stop)?;
        let random_clusters = match &partition {
            Some(partition) if self.setup.random_clusters => {
                let clusters = Some(partition.clusters());
                let random = Partitioning { method: "random".into(), clusters, ..Partitioning::default() };
                let random = random.partition(graph, self.seed)?;
                let trained = self.train(graph, x, Some(&random), stop)?;
                Some(self.accuracy(&trained.encoder, &splits)?)
            }
            _ => None,
        };
        let ours = self.accuracy(&trained.encoder, &splits)?;
        let end = |loss: Option<&f64>| loss.copied().unwrap_or(f64::NAN);
        Ok(Once {
            against: against(&ours, &controls.propagated)?,
            ours,
            features: controls.features,
            propagated: controls.propagated,
            untrained: self.accuracy(&trained.untrained, &splits)?,
            random_clusters,
            clusters: partition.as_ref().map(Partition::clusters),
            epochs: trained.losses.len(),
            losses: (end(trained.losses.first()), end(trained.losses.last())),
        })
    }

    fn train(
        &self,
        graph: &Graph,
        x: &Features,
        partition: Option<&Partition>,
        stop: &AtomicBool,
    ) -> Result<Trained> {
        let compressed = partition.map(|partition| Compressed::new(x, partition)).transpose()?;
        let inputs = compressed.as_ref().map_or(Inputs::Nodes(x), Inputs::Clusters);
        let trained = self.training.train(inputs, graph, self.seed, |_| !stop.load(Relaxed))?;
        if stop.load(Relaxed) { Err(interrupted()) } else { Ok(trained) }
    }

    /// Of an encoder on all nodes.
    fn accuracy(&self, encoder: &crate::Encoder, splits: &SplitSet) -> Result<Accuracy> {
        let embedding = Features::Dense(encoder.embed(&self.graph, &self.x)?);
        let probe = Probe::named(&self.setup.probe, &self.source.dataset.name)?;
        probe.classify(&embedding, self.source.labels()?, splits, self.seed)
    }
}

/// The features as a cell wants them.
pub(super) fn scaled<'a>(x: &'a Features, setup: &Setup) -> Cow<'a, Features> {
    match setup.feature_norm {
        crate::FeatureNorm::None => Cow::Borrowed(x),
        norm => Cow::Owned(x.clone().normalized(norm)),
    }
}
