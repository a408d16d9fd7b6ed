//! A layer: the only description of one, in training, in an encoder, in a file of weights and in a probe.

use super::Activation;
use crate::graph::Hops;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// How the weights of a layer start: uniform within ± a bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Initial {
    /// As in PyTorch's linear layers: weights and biases up to 1/√inputs.
    #[default]
    Linear,
    /// As in the usual graph layers: weights up to √(6/(inputs + outputs)), biases zero.
    Glorot,
}

/// A linear map with a bias, messages, batch norm, an activation and dropout, in this order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct Layer {
    pub(crate) inputs: usize,
    pub(crate) outputs: usize,
    pub(crate) activation: Activation,
    /// How far messages travel after the linear map, where rows pass any.
    pub(crate) hops: Hops,
    /// Whether batch norm comes before the activation.
    pub(crate) norm: bool,
    /// The share of values that dropout leaves out after the activation.
    pub(crate) dropout: f64,
    /// Whether a ReLU comes before the linear map; never in the first layer.
    pub(crate) rectified: bool,
    pub(crate) initial: Initial,
}

impl Layer {
    /// Without batch norm and dropout.
    pub(crate) fn plain(inputs: usize, outputs: usize, activation: Activation, hops: Hops) -> Self {
        let initial = Initial::Linear;
        Self { inputs, outputs, activation, hops, norm: false, dropout: 0.0, rectified: false, initial }
    }

    /// Bounds of its initial weights and of its initial bias.
    pub(super) fn bounds(&self) -> (f32, f32) {
        let (inputs, outputs) = (self.inputs.max(1) as f32, self.outputs as f32);
        match self.initial {
            Initial::Linear => (1.0 / inputs.sqrt(), 1.0 / inputs.sqrt()),
            Initial::Glorot => ((6.0 / (inputs + outputs)).sqrt(), 0.0),
        }
    }

    /// What the linear map sees of the result of the layer before.
    pub(super) fn input<'h>(&self, result: &'h [f32]) -> Cow<'h, [f32]> {
        match self.rectified {
            true => result.par_iter().with_min_len(1 << 12).map(|h| h.max(0.0)).collect::<Vec<_>>().into(),
            false => result.into(),
        }
    }

    /// Whether nothing follows the linear map.
    pub(crate) fn is_linear(&self) -> bool {
        self.activation == Activation::None && self.is_told_by_result()
    }

    /// Whether the derivative of all that follows the linear map can be computed from the layer's result.
    pub(super) fn is_told_by_result(&self) -> bool {
        self.activation.is_told_by_result() && !self.norm && self.dropout == 0.0
    }
}
