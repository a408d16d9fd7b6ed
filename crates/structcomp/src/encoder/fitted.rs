//! What a fitted model embeds with: trained layers, also of a coarsened graph, or solved filters.

use super::filtered::{Filtered, FilteredNote};
use super::zoomed::{Zoomed, ZoomedNote};
use super::{Encoder, EncoderNote};
use crate::safetensors::{Tensors, Writer};
use crate::{Dense, Error, Features, Graph, Result};
use serde::{Deserialize, Serialize};

/// What a fitted model embeds with.
#[derive(Clone, Debug, PartialEq)]
pub enum FittedEncoder {
    /// Trained layers.
    Layers(Encoder),
    /// Filters that were solved.
    Filters(Filtered),
    /// Trained layers for a coarsened graph.
    Zoomed(Zoomed),
}

/// What is written as text.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum FittedEncoderNote {
    Layers(EncoderNote),
    Filters(FilteredNote),
    Zoomed(ZoomedNote),
}

impl FittedEncoder {
    /// How many features it takes.
    pub fn inputs(&self) -> usize {
        match self {
            Self::Layers(encoder) => encoder.inputs(),
            Self::Filters(filtered) => filtered.inputs(),
            Self::Zoomed(zoomed) => zoomed.encoder.inputs(),
        }
    }

    /// The dimension of the embedding.
    pub fn outputs(&self) -> usize {
        match self {
            Self::Layers(encoder) => encoder.outputs(),
            Self::Filters(filtered) => filtered.outputs(),
            Self::Zoomed(zoomed) => zoomed.encoder.outputs(),
        }
    }

    /// The trained layers; an error for a model that was solved.
    pub fn layers(&self) -> Result<&Encoder> {
        match self {
            Self::Layers(encoder) | Self::Zoomed(Zoomed { encoder, .. }) => Ok(encoder),
            Self::Filters(_) => {
                Err(Error::Input("the model was solved, not trained; it has no layers of weights".into()))
            }
        }
    }

    /// The embedding of every node of a graph, also of one that was not trained on.
    pub fn embed(&self, graph: &Graph, x: &Features) -> Result<Dense> {
        let mut all = Vec::with_capacity(x.rows() * self.outputs());
        self.embed_rows(graph, x, |rows| {
            all.extend_from_slice(rows);
            Ok(())
        })?;
        Dense::new(x.rows(), self.outputs(), all)
    }

    pub(crate) fn note(&self) -> FittedEncoderNote {
        match self {
            Self::Layers(encoder) => FittedEncoderNote::Layers(encoder.note()),
            Self::Filters(filtered) => FittedEncoderNote::Filters(filtered.note()),
            Self::Zoomed(zoomed) => FittedEncoderNote::Zoomed(zoomed.note()),
        }
    }

    pub(crate) fn write<'a>(&'a self, to: &mut Writer<'a>) {
        match self {
            Self::Layers(encoder) | Self::Zoomed(Zoomed { encoder, .. }) => encoder.write(to),
            Self::Filters(filtered) => filtered.write(to),
        }
    }

    pub(crate) fn read(note: FittedEncoderNote, from: &Tensors) -> Result<Self> {
        match note {
            FittedEncoderNote::Layers(note) => Encoder::read(note, from).map(Self::Layers),
            FittedEncoderNote::Filters(note) => Filtered::read(note, from).map(Self::Filters),
            FittedEncoderNote::Zoomed(note) => Zoomed::read(note, from).map(Self::Zoomed),
        }
    }
}
