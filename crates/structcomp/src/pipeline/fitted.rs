//! A fitted model: preparation, encoder, and what is known of how they were made.

use super::{Mode, StructComp};
use crate::data::NodeIds;
use crate::encoder::{Encoder, FittedEncoder};
use crate::engine::EmbedsOn;
use crate::guard::while_unchanged;
use crate::plan::Plan;
use crate::prepare::Prepared;
use crate::solve::Solution;
use crate::{Dataset, Dense, Error, Features, Graph, Partition, Partitioning, Result};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// What [`StructComp::fit`] returns: everything that embedding depends on.
#[derive(Clone, Debug, PartialEq)]
pub struct Fitted {
    /// The settings.
    pub settings: StructComp,
    /// The encoder, which takes prepared features.
    pub encoder: FittedEncoder,
    pub(crate) prepared: Prepared,
    /// What it was trained on.
    pub trained_on: TrainedOn,
    /// How a solved model was solved; not in a file.
    pub solution: Option<Solution>,
    /// Epochs done.
    pub epochs: usize,
    /// The clusters, or the coarse node of every node after GraphZoom; none where there are none, and not in a file.
    pub partition: Option<Partition>,
    /// How many clusters were asked for.
    pub clusters_requested: Option<usize>,
    /// The loss of every epoch; not in a file.
    pub losses: Vec<f64>,
    /// Whether training was ended before it was done.
    pub interrupted: bool,
    /// The device it was trained on; not in a file.
    pub device: Option<String>,
    /// How long each stage took; not in a file.
    pub seconds: Seconds,
}

/// How long each stage took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Seconds {
    /// Preparing the features.
    pub prepare: f64,
    /// Splitting the graph into clusters.
    pub partition: f64,
    /// Averaging the features of each cluster.
    pub compress: f64,
    /// Training.
    pub train: f64,
}

/// What a model was trained on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct TrainedOn {
    /// The name of the dataset.
    pub data: String,
    /// SHA-256 of its files, if it is known.
    pub sha256: Option<String>,
    /// A fingerprint of its graph.
    pub graph: String,
    /// Its number of nodes.
    pub nodes: usize,
    /// What its node ids are: `positions` from 0, `numbers` or `names`.
    pub ids: String,
}

impl TrainedOn {
    pub(super) fn of(data: &Dataset) -> Self {
        let ids = match data.ids {
            NodeIds::Implicit => "positions",
            NodeIds::Numbers(_) => "numbers",
            NodeIds::Names(_) => "names",
        };
        Self {
            data: data.name.clone(),
            sha256: data.source.sha256.clone(),
            graph: format!("{:032x}", data.graph.fingerprint()),
            nodes: data.graph.nodes(),
            ids: ids.into(),
        }
    }
}

impl Fitted {
    /// The embedding of every node of a dataset, also of one that was not trained on.
    pub fn embed(&self, data: &Dataset) -> Result<Dense> {
        let (rows, width) = (data.graph.nodes(), self.outputs());
        let mut all = Vec::with_capacity(rows * width);
        self.embed_rows(data, |block| {
            all.extend_from_slice(block);
            Ok(())
        })?;
        Dense::new(rows, width, all)
    }

    /// The embedding block by block, in order, for one that need not be held at once.
    pub fn embed_rows(&self, data: &Dataset, sink: impl FnMut(&[f32]) -> Result<()>) -> Result<()> {
        while_unchanged(&data.graph, data.features.as_ref(), || {
            let device = EmbedsOn::chosen(self.settings.compute, &self.encoder, &data.graph)?;
            device.embed_rows(&self.encoder, &data.graph, &*self.features(data)?, sink)
        })
    }

    /// The device that [`embed`](Self::embed) uses for a dataset, as reports name it.
    pub fn embeds_on(&self, data: &Dataset) -> Result<String> {
        Ok(EmbedsOn::chosen(self.settings.compute, &self.encoder, &data.graph)?.device())
    }

    /// The features of a dataset as the encoder takes them.
    pub fn features<'x>(&self, data: &'x Dataset) -> Result<Cow<'x, Features>> {
        self.prepared.apply(&data.graph, data.features.as_ref())
    }

    /// How many features a node must have; none if they are made from the graph.
    pub fn takes_features(&self) -> Option<usize> {
        (!self.prepared.has_stand_in()).then(|| self.encoder.inputs())
    }

    /// The dimension of the embedding.
    pub fn outputs(&self) -> usize {
        self.encoder.outputs()
    }

    /// Whether a dataset has the graph that the model was trained on.
    pub fn saw(&self, data: &Dataset) -> bool {
        self.trained_on.graph == format!("{:032x}", data.graph.fingerprint())
    }

    /// Whether all of the embedding means something on this graph. Where a solved model includes positions in its graph,
    /// only the nodes of that graph have any, and new nodes after them; nodes of other graphs have zeros in their place.
    pub fn knows(&self, graph: &Graph) -> bool {
        match &self.encoder {
            FittedEncoder::Filters(filtered) => filtered.knows(graph),
            FittedEncoder::Layers(_) | FittedEncoder::Zoomed(_) => true,
        }
    }

    /// The same encoder with its initial weights, finished on this dataset: a control. A solved model has none.
    pub fn untrained(&self, data: &Dataset) -> Result<Option<FittedEncoder>> {
        if matches!(self.encoder, FittedEncoder::Filters(_)) {
            return Ok(None);
        }
        let x = self.features(data)?;
        let StructComp { training, mode, seed, zoom, .. } = &self.settings;
        let plan = Plan::new(training, *mode != Mode::Structcomp, x.cols())?;
        let network = &plan.network;
        let (parameters, statistics) = (network.initial(*seed), network.initial_statistics());
        let encoder = Encoder::new(plan.encoder.clone(), &parameters, &statistics, plan.readout.clone());
        let finished = match mode {
            Mode::Graphzoom => {
                let coarse = zoom.coarsen(&data.graph, &x, *seed)?;
                plan.finish(encoder, &coarse.graph, &coarse.features)?
            }
            _ => plan.finish(encoder, &data.graph, &x)?,
        };
        Ok(Some(self.settings.embedding_with(finished)))
    }

    /// The same training on as many random clusters: a control.
    pub fn on_random_clusters(&self, data: &Dataset) -> Result<Fitted> {
        let clusters = self.partition.as_ref().map(Partition::clusters);
        if clusters.is_none() || !self.settings.mode.uses_clusters() {
            return Err(Error::Input("the model was not trained on clusters".into()));
        }
        let partitioning = Partitioning { method: "random".into(), clusters, ..Partitioning::default() };
        StructComp { partitioning, ..self.settings.clone() }.fit(data)
    }
}
