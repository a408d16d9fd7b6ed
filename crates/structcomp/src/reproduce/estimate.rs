//! How long a cell will take and how much memory: by counting what it multiplies, and by finished cells.

use super::cells::two_views;
use super::cost;
use super::source::Source;
use super::{Cell, Finished, Mode, Repeats, Setup, Task};
use crate::{CcaSsg, EncoderKind, Mlp, Model, Result, Softmax, Training};

/// What a cell needs, by counting.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Need {
    /// Seconds on one core that does nothing else.
    pub(super) core_seconds: f64,
    /// Bytes beyond the data.
    pub(super) bytes: u64,
}

/// Multiplications and additions a second and core, in products of dense matrices and of sparse ones. Like all
/// rates here a rough one, told by cells that two cores with tiles have finished; each machine's own first cells
/// correct them.
const DENSE: f64 = 1.2e11;
const SPARSE: f64 = 2e10;
/// The same of embedding, loading the rows included.
const EMBEDDING: f64 = 7e9;

/// Seconds for each number of the rows, layer by layer, in all passes of an epoch such as activations: of whole graphs,
/// and of clusters, which fit a cache.
const NUMBER: f64 = 24e-9;
const CACHED_NUMBER: f64 = 4.4e-9;
/// Seconds of the optimiser for each weight.
const WEIGHT: f64 = 9e-9;

/// Seconds to load, partition, compress and write, and for what nobody has counted.
const FIXED: f64 = 1.0;

impl Need {
    pub(super) fn of(cell: &Cell, source: &Source, repeats: &Repeats) -> Result<Self> {
        let Some(setup) = cell.setup() else { return Ok(Self { core_seconds: 0.1, bytes: 1 << 20 }) };
        let size = Size::of(cell, setup, source)?;
        let training = setup.training.clone().unwrap_or_else(recipe);
        let seeds = repeats.seeds as f64;
        let epoch = size.epoch(&training);
        let epochs = expected_epochs(&training) as f64 * epoch;
        let judged = size.embed(&training) + size.judge(&training, setup, repeats.runs as f64);
        let seconds = match &cell.task {
            Task::Accuracy(setup) if setup.random_clusters => seeds * (2.0 * epochs + 3.0 * judged),
            Task::Accuracy(_) => seeds * (epochs + 2.0 * judged),
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

/// Epochs until patience ends, where it does before all are done: some twenty times as many as it lasts.
fn expected_epochs(training: &Training) -> usize {
    training.patience.map_or(training.epochs, |patience| training.epochs.min(patience.saturating_mul(20)))
}

/// What the recipe comes to on most data: it stops by itself.
fn recipe() -> Training {
    Training { model: Model::CcaSsg(CcaSsg::default()), hidden: 1024, epochs: 25, ..Training::default() }
}

/// Seconds of the processes that measure epochs of so many.
fn measured(training: &Training, epoch: f64) -> f64 {
    let cores = rayon::current_num_threads() as f64;
    let fit = (cores * cost::CLOCK / epoch).max(1.0);
    // One before that does not count.
    let timed = 1.0 + fit.min(cost::timed(training) as f64);
    epoch * (cost::PROCESSES as f64 * timed + cost::LOOKED_AT as f64)
}

/// What the work depends on.
#[derive(Clone, Copy)]
struct Size {
    mode: Mode,
    nodes: f64,
    edges: f64,
    nonzeros: f64,
    width: f64,
    classes: f64,
    /// Rows that are trained on, and their entries.
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
            Mode::Full => seen * nodes,
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
        let views = views(training);
        let hops = match training.encoder {
            Some(EncoderKind::Ssgc) => training.hops.unwrap_or(16) as f64,
            _ => layers,
        };
        let messages = match self.mode {
            Mode::Full if views > 1.0 => 4.0 * views * hops * (2.0 * self.edges + self.nodes) * h,
            _ => 0.0,
        };
        // Rows of clusters are often dense, and then multiplied as such.
        let first =
            (4.0 * views * self.entries * h / SPARSE).min(4.0 * views * self.rows * self.width * h / DENSE);
        let later = 6.0 * (layers - 1.0) * views * self.rows * h * h;
        // Of GRACE's symmetric similarities half are computed, twice as fast as other products.
        let loss = match training.model.name() {
            "sce" | "coles" => 0.0,
            "grace" => 12.0 * self.rows * h * h + 6.0 * self.rows * self.rows * h,
            "contrast-reg" => 24.0 * self.rows * h * h + 2.0 * self.rows * self.rows * h,
            "cca-ssg" => 8.0 * self.rows * h * h,
            _ => 24.0 * self.rows * h * h,
        };
        let number = match self.mode {
            Mode::Full => NUMBER,
            Mode::Structcomp => CACHED_NUMBER,
        };
        let passes = number * views * self.rows * h * (layers + 2.0);
        first + messages / SPARSE + (later + loss) / DENSE + passes + WEIGHT * self.width * h
    }

    /// Seconds of embedding all nodes.
    fn embed(&self, training: &Training) -> f64 {
        let h = training.hidden as f64;
        (2.0 * self.nonzeros * h + 4.0 * (2.0 * self.edges + self.nodes) * h) / EMBEDDING
    }

    /// Seconds of judging an embedding.
    fn judge(&self, training: &Training, setup: &Setup, runs: f64) -> f64 {
        let h = training.hidden as f64;
        // Splits that come with data are ten, and learn from half of the nodes.
        let (taught, runs) = match setup.splits.as_str() {
            "geom-gcn" => (0.48 * self.nodes, 10.0),
            "roles" => ((1.0 - setup.unseen) * self.nodes, 1.0),
            _ => (20.0 * self.classes, runs),
        };
        let each = match setup.probe.as_str() {
            // Two hidden layers of 256.
            "mlp" => Mlp::default().epochs as f64 * 6.0 * taught * 256.0 * (h + 256.0),
            // Narrow products are half as fast.
            "softmax" => Softmax::default().epochs as f64 * 8.0 * self.nodes * h * self.classes,
            _ => 10.0 * self.classes * taught.min(h) * taught * h + 2.0 * self.nodes * h * self.classes,
        };
        runs * each / DENSE
    }

    fn bytes(&self, training: &Training) -> u64 {
        let h = training.hidden as f64;
        let views = views(training);
        let weights = 6.0 * self.width * h;
        let rows = views * self.rows * (h * (3.0 * training.layers as f64 + 3.0) + self.width);
        let pairs =
            if training.model.name() == "grace" { (4.0 * self.rows * self.rows).min(64e6) } else { 0.0 };
        let embedding = 3.0 * self.nodes * h.max(self.width);
        (4.0 * (weights + rows + pairs + embedding)) as u64
    }
}

/// Sets of rows that pass through the encoder.
fn views(training: &Training) -> f64 {
    let corrupted = ["ggd", "contrast-reg", "dgi", "mvgrl"].contains(&training.model.name());
    if two_views(&training.model) || corrupted { 2.0 } else { 1.0 }
}

/// How much longer than counted a cell takes, told by finished ones: of the same model and mode where there
/// are some, else of all.
pub(super) fn correction(cell: &Cell, finished: &[&Finished]) -> f64 {
    let like = |other: &&&Finished| (&other.cell.model, other.cell.mode) == (&cell.model, cell.mode);
    let ratio = |some: &mut dyn Iterator<Item = &&Finished>| {
        let (took, counted) = some.fold((0.0, 0.0), |(took, counted), other| {
            (took + other.core_seconds, counted + other.counted_seconds)
        });
        (counted > 0.0 && took > 0.0).then(|| took / counted)
    };
    ratio(&mut finished.iter().filter(like)).or_else(|| ratio(&mut finished.iter())).unwrap_or(1.0)
}

#[cfg(test)]
mod tests {
    use super::super::{cell::example, outcome, source};
    use super::*;
    use crate::Budget;

    #[test]
    fn more_work_takes_longer() {
        let sources = source::Sources::new(std::path::Path::new(""), Budget::default());
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
    fn finished_cells_correct_the_count() {
        let finished = |model: &str, core_seconds, counted_seconds| Finished {
            cell: Cell { model: model.into(), ..example() },
            key: String::new(),
            data_sha256: String::new(),
            repeats: Repeats { seeds: 1, runs: 1, seed: 0 },
            outcome: outcome::Outcome::LossTrend(outcome::Trend { on_clusters: vec![], on_nodes: vec![] }),
            core_seconds,
            counted_seconds,
            version: String::new(),
        };
        let (own, other) = (finished("grace", 6.0, 3.0), finished("sce", 1.0, 4.0));
        assert_eq!(correction(&example(), &[&own, &other]), 2.0);
        assert_eq!(correction(&example(), &[&other]), 0.25);
        assert_eq!(correction(&example(), &[]), 1.0);
    }
}
