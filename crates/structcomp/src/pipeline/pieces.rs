//! Fitting and embedding piece by piece, for graphs that are on other machines: what needs all nodes is done there,
//! with the functions here for a part of them at a time.

pub use crate::compress::Given;
pub use crate::encoder::Projection;
pub use crate::solve::{Gathered, Sketch, shares_of, sums_of_halves};

use super::{Fitted, Seconds, StructComp, TrainedOn, run};
use crate::encoder::{FittedEncoder, Signal, neighbors};
use crate::model::Solved;
use crate::pipeline::EpochHook;
use crate::prepare::FittedStandIn;
use crate::sample::Inputs;
use crate::{
    Compressed, Error, Features, Graph, Mode, Model, Normalization, Partition, Propagation, Result, Seed,
    StandIn, Trainer,
};

/// What the caller knows of the graph.
#[derive(Clone, Debug, Default)]
pub struct Elsewhere {
    /// Its number of nodes.
    pub nodes: usize,
    /// What stands for it in the file of the model.
    pub graph: String,
    /// What its ids are.
    pub ids: String,
    /// How many clusters were asked for.
    pub clusters: usize,
}

/// Rows after the hops that a signal makes of them, all columns on their own.
pub fn signal_rows(signal: &str, graph: &Graph, rows: &[f32], width: usize) -> Result<Vec<f32>> {
    let signal: Signal =
        serde_json::from_str(signal).map_err(|error| Error::Input(format!("invalid signal: {error}")))?;
    if graph.nodes().checked_mul(width) != Some(rows.len()) {
        return Err(Error::Input(format!("the rows are not those of {} nodes", graph.nodes())));
    }
    match signal {
        Signal::Neighbors => neighbors(graph, rows, width),
        Signal::Hops(hops) => {
            hops.check()?;
            hops.of_rows(&Propagation::new(graph, Normalization::Symmetric), rows, width)
        }
        Signal::Positions(_) | Signal::Sizes { .. } => {
            Err(Error::Input("positions and sizes are not made of rows".into()))
        }
    }
}

/// Positions in a graph: what makes them as it is in the file of a model, and the rows.
pub fn positions(graph: &Graph, width: usize, seed: Seed) -> Result<(String, Vec<f32>)> {
    let stand_in = FittedStandIn::new(StandIn::Position, width, graph, seed);
    let rows = stand_in.of_known(graph)?.to_vec();
    let note = serde_json::to_string(&stand_in).map_err(|error| Error::Input(error.to_string()))?;
    Ok((note, rows))
}

/// The positions that a model knows of the nodes of a graph.
pub fn known_positions(note: &str, graph: &Graph) -> Result<Vec<f32>> {
    let stand_in: FittedStandIn =
        serde_json::from_str(note).map_err(|error| Error::Input(format!("positions: {error}")))?;
    Ok(stand_in.of_known(graph)?.to_vec())
}

impl StructComp {
    /// The settings of the solved model; an error for a model that is trained, and for settings that do nothing.
    pub fn solved(&self) -> Result<Solved> {
        self.check_mode()?;
        match (&self.training.model, self.mode) {
            (Model::Solved(settings), Mode::Structcomp) => self.training.check_solved().map(|()| *settings),
            _ => Err(Error::Input("the model is not solved on clusters".into())),
        }
    }

    /// Solves the model from a sketch and what is known besides.
    pub fn solve_sketch(
        &self,
        sketch: Sketch,
        gathered: Gathered,
        edges: bool,
        on: &Elsewhere,
    ) -> Result<Fitted> {
        let columns = sketch.projections()[0].arrays()[0].len();
        let (filtered, solution) = sketch.solve(gathered, edges)?;
        let fitted = self.elsewhere(FittedEncoder::Filters(filtered), columns, on)?;
        Ok(Fitted { solution: Some(solution), ..fitted })
    }

    /// Trains on rows that were compressed elsewhere. Also tells whether batch norm still has to get the statistics of
    /// all nodes.
    pub fn train_given(
        &self,
        rows: &Features,
        given: &Given,
        on: &Elsewhere,
        on_epoch: Option<EpochHook<'_>>,
    ) -> Result<(Fitted, bool)> {
        self.check_mode()?;
        if self.mode != Mode::Structcomp {
            return Err(Error::Input(format!("the mode {} needs all nodes", self.mode.name())));
        }
        let partition = Partition::new((0..rows.rows() as u32).collect())?;
        let graph = Graph::from_edges(rows.rows(), &[])?;
        let compressed = Compressed::given(rows, &partition, given)?;
        let inputs = Inputs::Clusters(&compressed);
        let mut trainer = Trainer::new(&self.training, inputs, &graph, self.seed, None)?;
        let interrupted = !run(&mut trainer, on_epoch)?;
        let (encoder, due) = trainer.unfinished()?;
        let (losses, device) = (trainer.losses().to_vec(), Some(trainer.device().to_owned()));
        let fitted = self.elsewhere(FittedEncoder::Layers(encoder), rows.cols(), on)?;
        Ok((Fitted { epochs: losses.len(), losses, interrupted, device, ..fitted }, due))
    }

    fn elsewhere(&self, encoder: FittedEncoder, columns: usize, on: &Elsewhere) -> Result<Fitted> {
        let Elsewhere { nodes, graph, ids, clusters } = on.clone();
        let empty = Features::Dense(crate::Dense::new(0, columns, Vec::new())?);
        let (prepared, _) = self.prepare.fit(&Graph::from_edges(0, &[])?, Some(&empty), self.seed)?;
        Ok(Fitted {
            settings: self.clone(),
            encoder,
            prepared,
            trained_on: TrainedOn { data: "spark".into(), sha256: None, graph, nodes, ids },
            solution: None,
            epochs: 0,
            partition: None,
            clusters_requested: Some(clusters),
            losses: Vec::new(),
            interrupted: false,
            device: None,
            seconds: Seconds::default(),
        })
    }
}

impl Fitted {
    /// The axes of a solved model.
    pub fn projection(&self) -> Result<&Projection> {
        match &self.encoder {
            FittedEncoder::Filters(filtered) => Ok(&filtered.projection),
            _ => Err(Error::Input("the model was trained, so it has no axes".into())),
        }
    }

    /// The parts of a solved model as JSON: for each its signal, and which columns of it.
    pub fn parts(&self) -> Result<String> {
        match &self.encoder {
            FittedEncoder::Filters(filtered) => {
                serde_json::to_string(&filtered.part_notes()).map_err(|error| Error::Input(error.to_string()))
            }
            _ => Err(Error::Input("the model was trained, so it has no parts".into())),
        }
    }

    /// The embedding of some nodes from the rows of each part of a solved model.
    pub fn of_parts(&self, rows: Vec<Vec<f32>>) -> Result<Vec<f32>> {
        match &self.encoder {
            FittedEncoder::Filters(filtered) => filtered.of_parts(rows),
            _ => Err(Error::Input("the model was trained, so it has no parts".into())),
        }
    }

    /// The layers of a trained model as JSON.
    pub fn layers(&self) -> Result<String> {
        Ok(self.encoder.layers()?.layer_notes()?.to_string())
    }

    /// The linear map of a layer of a trained model.
    pub fn linear(&self, layer: usize, x: &Features) -> Result<Vec<f32>> {
        self.encoder.layers()?.linear(layer, x)
    }

    /// What follows the linear map and the hops of a layer.
    pub fn finish_layer(&self, layer: usize, rows: &mut [f32]) -> Result<()> {
        self.encoder.layers()?.finish_layer(layer, rows)
    }

    /// The same model whose batch norm in a layer has the means and variances of all nodes.
    pub fn with_statistics(self, layer: usize, mean: &[f32], variance: &[f32]) -> Result<Self> {
        let encoder = self.encoder.layers()?.clone().with_statistics(layer, mean, variance)?;
        Ok(Self { encoder: FittedEncoder::Layers(encoder), ..self })
    }
}
