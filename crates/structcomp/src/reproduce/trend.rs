//! The loss of the whole graph while training on clusters: L(A, X; U) beside L(A, X; W).

use super::judge::interrupted;
use super::outcome::Trend;
use super::source::Source;
use super::{Repeats, Setup};
use crate::{Compressed, Error, Inputs, Result, Seed, Trainer};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Trains U on clusters and W on the whole graph from the same weights, and puts both into the loss of the
/// whole graph, which draws the same negatives and views for both in an epoch.
pub(super) fn trend(setup: &Setup, source: &Source, repeats: &Repeats, stop: &AtomicBool) -> Result<Trend> {
    let (graph, x, seed) = (&source.dataset.graph, source.features()?, Seed(repeats.seed));
    let Some(training) = &setup.training else {
        return Err(Error::Input("a recipe has no full-graph twin to compare with".into()));
    };
    let partition = setup.partitioning.partition(graph, seed, None)?;
    let compressed = Compressed::new(x, &partition)?;
    let mut small = Trainer::new(training, Inputs::Clusters(&compressed), graph, seed, None)?;
    let mut whole = Trainer::new(training, Inputs::Nodes(x), graph, seed, None)?;
    let mut trend = Trend { on_clusters: Vec::new(), on_nodes: Vec::new() };
    for _ in 0..training.epochs {
        if stop.load(Relaxed) {
            return Err(interrupted());
        }
        trend.on_clusters.push(whole.loss_with(small.parameters())?);
        trend.on_nodes.push(whole.step()?.loss);
        small.step()?;
    }
    Ok(trend)
}
