//! An encoder of coarsened graphs.

use super::{Encoder, EncoderNote};
use crate::safetensors::Tensors;
use crate::zoom::Zoom;
use crate::{Features, Graph, Result, Seed};
use serde::{Deserialize, Serialize};

/// Trained layers that embed a coarsened graph, whose rows are then refined for the nodes of the graph: GraphZoom.
#[derive(Clone, Debug, PartialEq)]
pub struct Zoomed {
    pub(super) encoder: Encoder,
    zoom: Zoom,
    seed: Seed,
}

/// What is written as text.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct ZoomedNote {
    encoder: EncoderNote,
    zoom: Zoom,
    seed: Seed,
}

impl Zoomed {
    pub(crate) fn new(encoder: Encoder, zoom: Zoom, seed: Seed) -> Self {
        Self { encoder, zoom, seed }
    }

    /// Coarsens a graph as in training, embeds the coarse nodes, and hands out the refined rows block by block, in order.
    pub(crate) fn run(
        &self,
        graph: &Graph,
        x: &Features,
        sink: impl FnMut(&[f32]) -> Result<()>,
    ) -> Result<()> {
        let coarse = self.zoom.coarsen(graph, x, self.seed)?;
        let rows = self.encoder.embed(&coarse.graph, &coarse.features)?;
        coarse.refine(rows.values(), rows.cols(), sink)
    }

    pub(super) fn note(&self) -> ZoomedNote {
        ZoomedNote { encoder: self.encoder.note(), zoom: self.zoom, seed: self.seed }
    }

    pub(super) fn read(note: ZoomedNote, from: &Tensors) -> Result<Self> {
        Ok(Self { encoder: Encoder::read(note.encoder, from)?, zoom: note.zoom, seed: note.seed })
    }
}
