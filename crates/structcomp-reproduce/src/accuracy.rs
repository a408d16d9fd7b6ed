//! Cells that train and evaluate.

use crate::fit::fit;
use crate::outcome::{Accuracies, Spread, against};
use crate::run::Halt;
use crate::source::{Data, Source};
use crate::store::Parts;
use crate::{Cell, Mode, Repeats, Setup};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::sync::atomic::AtomicBool;
use structcomp::{
    Accuracy, Encoder, Features, Graph, Partition, Partitioning, Preset, Probe, Result, Seed, SplitSet,
    Training,
};

/// Trains with every seed and evaluates each embedding; seeds that `parts` has are not repeated.
pub(crate) fn accuracies(
    cell: &Cell,
    setup: &Setup,
    source: &Source,
    repeats: &Repeats,
    parts: &Parts,
    stop: &AtomicBool,
) -> Result<Accuracies, Halt> {
    let mut all: Vec<Once> = Vec::new();
    for seed in repeats.each() {
        if let Some(once) = parts.read(seed) {
            all.push(once);
            continue;
        }
        let once = Bench::new(cell.mode, setup, source, repeats, seed)?.run(stop)?;
        parts.write(seed, &once)?;
        all.push(once);
    }
    let spread = |of: &dyn Fn(&Once) -> &Accuracy| Spread::over(all.iter().map(of));
    let random: Option<Vec<&Accuracy>> = all.iter().map(|once| once.random_clusters.as_ref()).collect();
    Ok(Accuracies {
        ours: spread(&|once| &once.ours),
        features: spread(&|once| &once.features),
        propagated: spread(&|once| &once.propagated),
        untrained: spread(&|once| &once.untrained),
        random_clusters: random.map(Spread::over),
        against_propagated: all.iter().filter_map(|once| once.against).collect(),
        clusters: all.iter().filter_map(|once| once.clusters).collect(),
        epochs: all.iter().map(|once| once.epochs).collect(),
        losses: all.iter().map(|once| once.losses).collect(),
    })
}

/// What comes of one seed.
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

/// What one seed needs.
struct Bench<'a> {
    mode: Mode,
    setup: &'a Setup,
    source: &'a Source,
    repeats: &'a Repeats,
    seed: Seed,
    graph: Graph,
    x: Cow<'a, Features>,
    /// What training sees, where that is not everything.
    seen: Option<(Graph, Features)>,
    training: Training,
}

impl<'a> Bench<'a> {
    fn new(
        mode: Mode,
        setup: &'a Setup,
        source: &'a Source,
        repeats: &'a Repeats,
        seed: Seed,
    ) -> Result<Self> {
        let graph = source.graph(setup, seed)?;
        let x = source.scaled_features(setup)?;
        let seen = match source.seen(setup, seed) {
            Some(nodes) => Some((graph.induced(&nodes)?, x.select(&nodes))),
            None => None,
        };
        let training = match &setup.training {
            Some(training) => training.clone(),
            None => Preset::recipe(&graph, &x, seed),
        };
        Ok(Self { mode, setup, source, repeats, seed, graph, x, seen, training })
    }

    fn run(&self, stop: &AtomicBool) -> Result<Once, Halt> {
        let splits = self.source.splits(self.setup, self.repeats, self.seed)?;
        let controls = self.source.controls(self.setup, self.repeats, self.seed)?;
        let seen = match &self.seen {
            Some((graph, x)) => Data { graph, x },
            None => Data { graph: &self.graph, x: &self.x },
        };
        let partition = match self.mode {
            Mode::Structcomp => Some(self.setup.partitioning.partition(seen.graph, self.seed)?),
            Mode::Full => None,
        };
        let trained = fit(&self.training, &seen, partition.as_ref(), self.seed, stop)?;
        let random_clusters = match &partition {
            Some(partition) if self.setup.random_clusters => {
                let (method, clusters) = ("random".into(), Some(partition.clusters()));
                let random = Partitioning { method, clusters, ..Partitioning::default() };
                let random = random.partition(seen.graph, self.seed)?;
                let trained = fit(&self.training, &seen, Some(&random), self.seed, stop)?;
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

    /// Of the embedding of all nodes.
    fn accuracy(&self, encoder: &Encoder, splits: &SplitSet) -> Result<Accuracy> {
        let embedding = Features::Dense(encoder.embed(&self.graph, &self.x)?);
        let probe = Probe::named(&self.setup.probe, &self.source.dataset.name)?;
        probe.classify(&embedding, self.source.labels()?, splits, self.seed)
    }
}
