//! How long a cell will take and how much memory it needs: from operation counts, corrected by finished cells.

use crate::model::Facts;
use crate::source::Source;
use crate::{Cell, Finished, Mode, Repeats, Setup, Task, measure};
use structcomp::evaluate::{Mlp, Softmax};
use structcomp::model::CcaSsg;
use structcomp::{EncoderKind, Model, Result, Training};

/// What a cell needs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Need {
    /// Core seconds.
    pub(crate) core_seconds: f64,
    /// Bytes beyond the data.
    pub(crate) bytes: u64,
}

/// Floating point operations per core second in products of dense matrices and of sparse ones. Like all rates here
/// they are rough, taken from runs on two cores with AMX; finished cells correct them on other machines.
const DENSE: f64 = 1.2e11;
const SPARSE: f64 = 2e10;
/// The same for embedding, including loading the rows.
const EMBEDDING: f64 = 7e9;

/// Seconds per value of the rows and layer in all elementwise passes of an epoch: on whole graphs, and on clusters,
/// which fit into a cache.
const VALUE: f64 = 24e-9;
const CACHED_VALUE: f64 = 4.4e-9;
/// Seconds of the optimizer per weight.
const WEIGHT: f64 = 9e-9;

/// Seconds to load, partition, compress and write, and for everything else.
const FIXED: f64 = 1.0;

impl Need {
    pub(crate) fn of(cell: &Cell, source: &Source, repeats: &Repeats) -> Result<Self> {
        let Some(setup) = cell.setup() else { return Ok(Self { core_seconds: 0.1, bytes: 1 << 20 }) };
        let size = Size::of(cell, setup, source)?;
        let training = setup.training.clone().unwrap_or_else(recipe);
        let seeds = repeats.seeds as f64;
        let epoch = size.epoch(&training);
        let epochs = expected_epochs(&training) as f64 * epoch;
        let evaluation = size.embed(&training) + size.evaluate(&training, setup, repeats.runs as f64);
        let seconds = match &cell.task {
            Task::Accuracy(setup) if setup.random_clusters => seeds * (2.0 * epochs + 3.0 * evaluation),
            Task::Accuracy(_) => seeds * (epochs + 2.0 * evaluation),
            Task::Cost(_) => measured(&training, epoch) + 4.0 * size.embed(&training),
            Task::LossTrend(_) => {
                let whole = Size { rows: size.nodes, entries: size.nonzeros, mode: Mode::Full, ..size };
                2.0 * training.epochs as f64 * whole.epoch(&training)
            }
            Task::Theory(_) | Task::Star => epochs + 400.0 * size.entries * training.hidden as f64 / SPARSE,
        };
        Ok(Self { core_seconds: FIXED + seconds, bytes: size.bytes(&training) })
    }
}

/// With patience, training usually stops after some twenty times as many epochs.
fn expected_epochs(training: &Training) -> usize {
    training.patience.map_or(training.epochs, |patience| training.epochs.min(patience.saturating_mul(20)))
}

/// About what solving the recipe costs.
fn recipe() -> Training {
    Training { model: Model::CcaSsg(CcaSsg::default()), hidden: 256, epochs: 5, ..Training::default() }
}

/// Seconds of the processes that measure epochs of this length.
fn measured(training: &Training, epoch: f64) -> f64 {
    let cores = rayon::current_num_threads() as f64;
    let fit = (cores * measure::SECONDS / epoch).max(1.0);
    // The first epoch is not timed.
    let timed = 1.0 + fit.min(measure::timed(training) as f64);
    epoch * (measure::PROCESSES as f64 * timed + measure::MEMORY_EPOCHS as f64)
}

/// What the cost depends on.
#[derive(Clone, Copy)]
struct Size {
    mode: Mode,
    nodes: f64,
    edges: f64,
    nonzeros: f64,
    width: f64,
    classes: f64,
    /// Rows in training, and their nonzero values.
    rows: f64,
    entries: f64,
}

impl Size {
    fn of(cell: &Cell, setup: &Setup, source: &Source) -> Result<Self> {
        let (graph, x) = (&source.dataset.graph, source.features()?);
        let seen = 1.0 - setup.unseen;
        let nodes = graph.nodes() as f64;
        let (nonzeros, width) = (x.nonzeros() as f64, x.cols() as f64);
        let rows = match cell.mode {
            Mode::Structcomp => setup.partitioning.clusters_of(graph.nodes()) as f64,
            _ => seen * nodes,
        };
        let classes = source.dataset.labels.as_ref().map_or(1, |labels| labels.classes()) as f64;
        let entries = (seen * nonzeros).min(rows * width);
        Ok(Self {
            mode: cell.mode,
            nodes,
            edges: graph.edges() as f64,
            nonzeros,
            width,
            classes,
            rows,
            entries,
        })
    }

    /// Seconds of an epoch.
    fn epoch(&self, training: &Training) -> f64 {
        let (h, layers) = (training.hidden as f64, training.layers as f64);
        let facts = Facts::of(training.model.name());
        let views = facts.batches;
        let hops = match training.encoder {
            Some(EncoderKind::Ssgc) => training.hops.unwrap_or(16) as f64,
            _ => layers,
        };
        let messages = match self.mode {
            Mode::Structcomp => 0.0,
            _ if views > 1.0 => 4.0 * views * hops * (2.0 * self.edges + self.nodes) * h,
            _ => 0.0,
        };
        // Rows of clusters are often stored densely.
        let first =
            (4.0 * views * self.entries * h / SPARSE).min(4.0 * views * self.rows * self.width * h / DENSE);
        let later = 6.0 * (layers - 1.0) * views * self.rows * h * h;
        let loss = self.rows * h * (facts.cost.by_width * h + facts.cost.by_rows * self.rows);
        let value = match self.mode {
            Mode::Structcomp => CACHED_VALUE,
            _ => VALUE,
        };
        let passes = value * views * self.rows * h * (layers + 2.0);
        first + messages / SPARSE + (later + loss) / DENSE + passes + WEIGHT * self.width * h
    }

    /// Seconds of embedding all nodes.
    fn embed(&self, training: &Training) -> f64 {
        let h = training.hidden as f64;
        (2.0 * self.nonzeros * h + 4.0 * (2.0 * self.edges + self.nodes) * h) / EMBEDDING
    }

    /// Seconds of evaluating an embedding.
    fn evaluate(&self, training: &Training, setup: &Setup, runs: f64) -> f64 {
        let h = training.hidden as f64;
        let (train, runs) = match setup.splits.as_str() {
            // Ten splits with half of the nodes for training.
            "geom-gcn" => (0.48 * self.nodes, 10.0),
            "roles" => ((1.0 - setup.unseen) * self.nodes, 1.0),
            _ => (20.0 * self.classes, runs),
        };
        let each = match setup.probe.as_str() {
            // Two hidden layers of 256.
            "mlp" => Mlp::default().epochs as f64 * 6.0 * train * 256.0 * (h + 256.0),
            // Narrow products are half as fast.
            "softmax" => Softmax::default().epochs as f64 * 8.0 * self.nodes * h * self.classes,
            // Four fits, of about ten gradients each.
            "logistic-cv" => 160.0 * self.classes * train * h + 8000.0 * h * self.classes,
            _ => 10.0 * self.classes * train.min(h) * train * h + 2.0 * self.nodes * h * self.classes,
        };
        runs * each / DENSE
    }

    fn bytes(&self, training: &Training) -> u64 {
        let h = training.hidden as f64;
        let facts = Facts::of(training.model.name());
        let weights = 6.0 * self.width * h;
        let rows = facts.batches * self.rows * (h * (3.0 * training.layers as f64 + 3.0) + self.width);
        let pairs = if facts.cost.all_pairs { (4.0 * self.rows * self.rows).min(64e6) } else { 0.0 };
        let embedding = 3.0 * self.nodes * h.max(self.width);
        (4.0 * (weights + rows + pairs + embedding)) as u64
    }
}

/// How much longer than estimated cells take: finished ones of the same model and mode, or else all finished ones.
pub(crate) fn correction(cell: &Cell, finished: &[Finished]) -> f64 {
    let like = |other: &&Finished| (&other.cell.model, other.cell.mode) == (&cell.model, cell.mode);
    let ratio = |some: &mut dyn Iterator<Item = &Finished>| {
        let (took, estimated) = some.fold((0.0, 0.0), |(took, estimated), other| {
            (took + other.core_seconds, estimated + other.estimated_seconds)
        });
        (estimated > 0.0 && took > 0.0).then(|| took / estimated)
    };
    ratio(&mut finished.iter().filter(like)).or_else(|| ratio(&mut finished.iter())).unwrap_or(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::example;
    use crate::{Outcome, Trend, source::Sources};
    use structcomp::Budget;

    #[test]
    fn more_work_takes_longer() {
        let sources = Sources::new(std::path::Path::new(""), Budget::default());
        let demo = sources.get("demo").unwrap();
        let need = |model: &str, mode, seeds| {
            let training = Some(Training { model: Model::named(model).unwrap(), ..Training::default() });
            let task = Task::Accuracy(Setup { training, ..Setup::default() });
            Need::of(&Cell { task, mode, ..example() }, &demo, &Repeats { seeds, runs: 5, seed: 0 }).unwrap()
        };
        let small = need("grace", Mode::Structcomp, 1);
        assert!(need("grace", Mode::Full, 1).core_seconds > 5.0 * small.core_seconds);
        assert!(need("grace", Mode::Full, 1).bytes > small.bytes);
        assert!(need("grace", Mode::Structcomp, 3).core_seconds > 2.0 * small.core_seconds);
        assert!(need("sce", Mode::Structcomp, 1).core_seconds < small.core_seconds);
    }

    #[test]
    fn finished_cells_correct_the_estimate() {
        let finished = |model: &str, core_seconds, estimated_seconds| Finished {
            cell: Cell { model: model.into(), ..example() },
            key: String::new(),
            data_sha256: String::new(),
            repeats: Repeats { seeds: 1, runs: 1, seed: 0 },
            outcome: Outcome::LossTrend(Trend { on_clusters: vec![], on_nodes: vec![] }),
            core_seconds,
            estimated_seconds,
            version: String::new(),
        };
        let (own, other) = (finished("grace", 6.0, 3.0), finished("sce", 1.0, 4.0));
        assert_eq!(correction(&example(), &[own, other.clone()]), 2.0);
        assert_eq!(correction(&example(), &[other]), 0.25);
        assert_eq!(correction(&example(), &[]), 1.0);
    }
}
