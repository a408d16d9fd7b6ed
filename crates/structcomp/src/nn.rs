//! Neural networks: layers, batch norm, dropout, activations, initial weights and Adam.
//!
//! The same network is the encoder in training, the encoder that embeds a graph, and the probes that judge an
//! embedding.

mod activation;
mod adam;
mod dropout;
pub(crate) mod first_layer;
mod inference;
mod layer;
mod messages;
mod network;
mod norm;
mod towers;

pub use activation::Activation;
pub(crate) use adam::Adam;
pub use adam::Optimizer;
pub(crate) use inference::{LayerView, NormView};
pub use layer::Initial;
pub(crate) use layer::Layer;
pub(crate) use messages::{Messages, passed};
#[cfg(test)]
pub(crate) use network::tests::naive;
pub(crate) use network::{Network, Pass, Trace};
pub(crate) use towers::{Beside, Towers};
