//! Cells that train and evaluate.

use crate::fit::fit;
use crate::outcome::{Accuracies, Spread, against};
use crate::run::Halt;
use crate::source::Source;
use crate::store::SeedFiles;
use crate::{Cell, Mode, Repeats, Setup};
use serde::{Deserialize, Serialize};
use std::sync::atomic::AtomicBool;
use structcomp::evaluate::Accuracy;
use structcomp::{
    Dataset, Dense, Features, Partition, Prepare, Preset, Probe, Result, Seed, SplitSet, StructComp,
};

/// Trains with every seed and evaluates each embedding; seeds that `parts` has are not repeated.
pub(crate) fn accuracies(
    cell: &Cell,
    setup: &Setup,
    source: &Source,
    repeats: &Repeats,
    parts: &SeedFiles,
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
    setup: &'a Setup,
    source: &'a Source,
    repeats: &'a Repeats,
    settings: StructComp,
    all: Dataset,
    /// What training sees, where that is not everything.
    seen: Option<Dataset>,
}

impl<'a> Bench<'a> {
    fn new(
        mode: Mode,
        setup: &'a Setup,
        source: &'a Source,
        repeats: &'a Repeats,
        seed: Seed,
    ) -> Result<Self> {
        let name = &source.dataset.name;
        let x = source.features()?.clone();
        let all = Dataset::in_memory(name, source.graph(setup, seed)?, Some(x));
        let seen = match source.seen(setup, seed) {
            Some(nodes) => Some(all.induced(&nodes)?),
            None => None,
        };
        let prepare = Prepare { feature_norm: setup.feature_norm, ..Prepare::default() };
        let mut settings = StructComp {
            mode,
            prepare,
            partitioning: setup.partitioning.clone(),
            seed,
            ..StructComp::default()
        };
        settings.training = match &setup.training {
            Some(training) => training.clone(),
            None => Preset::recipe(&all.graph, &*settings.prepared_features(&all)?, seed),
        };
        Ok(Self { setup, source, repeats, settings, all, seen })
    }

    fn run(&self, stop: &AtomicBool) -> Result<Once, Halt> {
        let seed = self.settings.seed;
        let splits = self.source.splits(self.setup, self.repeats, seed)?;
        let controls = self.source.controls(self.setup, self.repeats, seed)?;
        let seen = self.seen.as_ref().unwrap_or(&self.all);
        let fitted = fit(&self.settings, seen, stop)?;
        let random_clusters = match self.setup.random_clusters && fitted.partition.is_some() {
            true => {
                let random = fitted.on_random_clusters(seen)?;
                Some(self.accuracy(random.embed(&self.all)?, &splits)?)
            }
            false => None,
        };
        let ours = self.accuracy(fitted.embed(&self.all)?, &splits)?;
        let untrained = fitted.untrained(seen)?.embed(&self.all.graph, &*fitted.features(&self.all)?)?;
        let end = |loss: Option<&f64>| loss.copied().unwrap_or(f64::NAN);
        Ok(Once {
            against: against(&ours, &controls.propagated)?,
            ours,
            features: controls.features,
            propagated: controls.propagated,
            untrained: self.accuracy(untrained, &splits)?,
            random_clusters,
            clusters: fitted.partition.as_ref().map(Partition::clusters),
            epochs: fitted.losses.len(),
            losses: (end(fitted.losses.first()), end(fitted.losses.last())),
        })
    }

    /// Of an embedding of all nodes.
    fn accuracy(&self, embedding: Dense, splits: &SplitSet) -> Result<Accuracy> {
        let probe = Probe::named(&self.setup.probe, &self.source.dataset.name)?;
        let embedding = Features::Dense(embedding);
        probe.classify(&embedding, self.source.labels()?, splits, self.settings.seed)
    }
}
