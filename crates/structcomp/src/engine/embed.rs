//! Who embeds: an encoder, a graph and its features go in, the rows of the embedding come out in order.

use crate::encoder::{Encoder, FittedEncoder};
use crate::plan::Plan;
use crate::{Compute, Dense, Device, Error, Features, Graph, Result, progress};

impl Encoder {
    /// The embedding of every node of a graph, also of one that was not trained on.
    pub fn embed(&self, graph: &Graph, x: &Features) -> Result<Dense> {
        let mut all = Vec::with_capacity(x.rows() * self.outputs());
        self.embed_rows(graph, x, |rows| {
            all.extend_from_slice(rows);
            Ok(())
        })?;
        Dense::new(x.rows(), self.outputs(), all)
    }

    /// The embedding block by block, in order, for one that need not be held at once.
    ///
    /// Besides the graph and the features this holds two blocks of rows if there is one layer with one hop that
    /// makes rows no narrower; otherwise, with one row per node, the input of the last layer or its result before
    /// the last hop, whichever is narrower, and what that is made from.
    pub fn embed_rows(
        &self,
        graph: &Graph,
        x: &Features,
        sink: impl FnMut(&[f32]) -> Result<()>,
    ) -> Result<()> {
        check(self.inputs(), x)?;
        self.run(graph, x, counted(x.rows(), self.outputs(), sink))
    }
}

impl FittedEncoder {
    /// The embedding block by block, in order, for one that need not be held at once.
    pub fn embed_rows(
        &self,
        graph: &Graph,
        x: &Features,
        sink: impl FnMut(&[f32]) -> Result<()>,
    ) -> Result<()> {
        match self {
            Self::Layers(encoder) => encoder.embed_rows(graph, x, sink),
            Self::Filters(filters) => {
                check(self.inputs(), x)?;
                filters.run(graph, x, counted(x.rows(), self.outputs(), sink))
            }
            Self::Zoomed(zoomed) => {
                check(self.inputs(), x)?;
                zoomed.run(graph, x, counted(x.rows(), self.outputs(), sink))
            }
        }
    }
}

/// Where an embedding is made.
pub(crate) enum EmbedsOn {
    Cpu,
    #[cfg(feature = "cuda")]
    Gpu(Box<super::cuda::GraphEngine>),
}

impl EmbedsOn {
    /// What is asked for, or pays.
    #[cfg(feature = "cuda")]
    pub(crate) fn chosen(compute: Compute, encoder: &FittedEncoder, graph: &Graph) -> Result<Self> {
        compute.check()?;
        let why_not = super::cuda::embedding_refusal(encoder);
        match (compute.device, why_not) {
            (Device::Cpu, _) | (Device::Auto, Some(_)) => return Ok(Self::Cpu),
            (Device::Auto, None) if !super::cuda::embedding_pays(encoder, graph) => return Ok(Self::Cpu),
            (Device::Cuda, Some(why)) => return Err(Error::Input(why)),
            (Device::Auto | Device::Cuda, None) => {}
        }
        match (compute.device, super::cuda::GraphEngine::open(graph, compute.precision)) {
            (_, Ok(engine)) => Ok(Self::Gpu(Box::new(engine))),
            (Device::Auto, Err(_)) => Ok(Self::Cpu),
            (_, Err(error)) => Err(error),
        }
    }

    /// There is no GPU in this build.
    #[cfg(not(feature = "cuda"))]
    pub(crate) fn chosen(compute: Compute, _: &FittedEncoder, _: &Graph) -> Result<Self> {
        compute.check()?;
        match compute.device {
            Device::Cuda => Err(super::no_gpu()),
            Device::Auto | Device::Cpu => Ok(Self::Cpu),
        }
    }

    /// The device as reports name it.
    pub(crate) fn device(&self) -> String {
        match self {
            Self::Cpu => crate::device::CPU.to_owned(),
            #[cfg(feature = "cuda")]
            Self::Gpu(engine) => engine.device(),
        }
    }

    /// The embedding block by block, in order.
    pub(crate) fn embed_rows(
        &self,
        encoder: &FittedEncoder,
        graph: &Graph,
        x: &Features,
        sink: impl FnMut(&[f32]) -> Result<()>,
    ) -> Result<()> {
        match (self, encoder) {
            #[cfg(feature = "cuda")]
            (Self::Gpu(engine), FittedEncoder::Layers(layers)) => {
                check(encoder.inputs(), x)?;
                engine.embed(layers, graph, x, counted(x.rows(), encoder.outputs(), sink))
            }
            _ => encoder.embed_rows(graph, x, sink),
        }
    }
}

/// Counts the rows that go to a sink.
fn counted(
    rows: usize,
    width: usize,
    mut sink: impl FnMut(&[f32]) -> Result<()>,
) -> impl FnMut(&[f32]) -> Result<()> {
    progress::steps(rows);
    move |block| {
        progress::steps_done(block.len() / width.max(1));
        sink(block)
    }
}

/// Refuses features that an encoder does not take.
fn check(inputs: usize, x: &Features) -> Result<()> {
    match x.cols() {
        width if width == inputs => Ok(()),
        width => Err(Error::Input(format!(
            "the encoder takes {inputs} features per node, but these nodes have {width}"
        ))),
    }
}

impl Plan {
    /// An encoder as it is after training.
    pub(crate) fn finish(&self, encoder: Encoder, graph: &Graph, x: &Features) -> Result<Encoder> {
        match self.renormalize {
            true => encoder.renormalized(graph, x),
            false => Ok(encoder),
        }
    }
}
