//! An encoder as arrays in a file.

use super::Encoder;
use crate::graph::Hops;
use crate::nn::{Layer, Network, Towers};
use crate::safetensors::{Tensors, Writer};
use crate::{Budget, Result};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// What an encoder is, besides its numbers.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct EncoderNote {
    /// The layers of each network.
    networks: Vec<Vec<Layer>>,
    /// Whether each network takes the result of the one before; otherwise all take the features, and their
    /// results are added.
    detached: bool,
    readout: Hops,
}

impl Encoder {
    pub(crate) fn note(&self) -> EncoderNote {
        EncoderNote {
            networks: self.towers.networks().iter().map(|network| network.layers().to_vec()).collect(),
            detached: self.towers.is_detached(),
            readout: self.readout.clone(),
        }
    }

    /// Layer `i` of network `n` is `networks.n.i.weight`, with one row per output as in PyTorch's linear layers,
    /// `.bias`, `.slopes` where learnt, and `.norm.scale`, `.norm.shift`, `.norm.mean`, `.norm.variance` with
    /// batch norm.
    pub(crate) fn write<'a>(&'a self, to: &mut Writer<'a>) {
        let (mut parameters, mut statistics) = (&self.parameters[..], &self.statistics[..]);
        for (number, network) in self.towers.networks().iter().enumerate() {
            let (own, more) = parameters.split_at(network.len());
            let (seen, more_statistics) = statistics.split_at(network.initial_statistics().len());
            for at in 0..network.layers().len() {
                let view = network.view(at, own, seen);
                let (inputs, outputs) = (view.layer.inputs, view.layer.outputs);
                let name = |part: &str| format!("networks.{number}.{at}.{part}");
                to.single(name("weight"), &[outputs, inputs], transposed(view.weight, outputs));
                to.single(name("bias"), &[outputs], Cow::Owned(view.bias.to_vec()));
                if !view.slopes.is_empty() {
                    to.single(name("slopes"), &[view.slopes.len()], Cow::Owned(view.slopes.to_vec()));
                }
                if let Some(norm) = view.norm {
                    let parts = [norm.scale, norm.shift, norm.mean, norm.variance];
                    for (part, values) in NORM_PARTS.iter().zip(parts) {
                        to.single(name(part), &[outputs], Cow::Owned(values.to_vec()));
                    }
                }
            }
            (parameters, statistics) = (more, more_statistics);
        }
    }

    pub(crate) fn read(note: EncoderNote, from: &Tensors) -> Result<Self> {
        let EncoderNote { networks, detached, readout } = note;
        if readout.check().is_err() || networks.iter().flatten().any(|layer| layer.hops.check().is_err()) {
            return Err(from.wrong("has invalid hops"));
        }
        if !fit_together(&networks, detached) {
            return Err(from.wrong("has layers whose sizes do not fit together"));
        }
        let numbers =
            networks.iter().flatten().map(|layer| layer.inputs.saturating_mul(layer.outputs) as u64);
        Budget::default().check_items("the weights", numbers.fold(0, u64::saturating_add), 4)?;
        let (mut parameters, mut statistics) = (Vec::new(), Vec::new());
        for (number, layers) in networks.iter().enumerate() {
            for (at, layer) in layers.iter().enumerate() {
                let Layer { inputs, outputs, activation, .. } = *layer;
                let part = |part: &str, shape: &[usize]| {
                    from.single(&format!("networks.{number}.{at}.{part}"), shape)
                };
                // In the order in which a network keeps them.
                parameters.extend_from_slice(&transposed(&part("weight", &[outputs, inputs])?, inputs));
                parameters.extend(part("bias", &[outputs])?);
                if layer.norm {
                    let [scale, shift, mean, variance] = NORM_PARTS.map(|name| part(name, &[outputs]));
                    let (mean, variance) = (mean?, variance?);
                    if variance.iter().any(|&variance| variance < 0.0) {
                        return Err(from.wrong(format!("has a negative variance (layer {at})")));
                    }
                    parameters.extend(scale?);
                    parameters.extend(shift?);
                    statistics.extend(mean.into_iter().chain(variance));
                }
                if activation.slopes(outputs) > 0 {
                    parameters.extend(part("slopes", &[activation.slopes(outputs)])?);
                }
            }
        }
        let towers = Towers::new(networks.into_iter().map(Network::new).collect(), detached);
        Ok(Self { towers, parameters, statistics, readout })
    }
}

const NORM_PARTS: [&str; 4] = ["norm.scale", "norm.shift", "norm.mean", "norm.variance"];

/// Whether each layer takes what the one before gives, and networks side by side are of one size.
fn fit_together(networks: &[Vec<Layer>], detached: bool) -> bool {
    let sizes = |layer: &Layer| layer.inputs > 0 && layer.outputs > 0 && (0.0..1.0).contains(&layer.dropout);
    let chained = |layers: &[&Layer]| layers.windows(2).all(|pair| pair[0].outputs == pair[1].inputs);
    let ends = |layers: &Vec<Layer>| Some((layers.first()?.inputs, layers.last()?.outputs));
    let all: Vec<&Layer> = networks.iter().flatten().collect();
    let plain = networks.iter().all(|layers| {
        !layers.is_empty() && !layers[0].rectified && chained(&layers.iter().collect::<Vec<_>>())
    });
    let together = match detached {
        true => chained(&all),
        false => networks.len() <= 2 && networks.windows(2).all(|pair| ends(&pair[0]) == ends(&pair[1])),
    };
    !networks.is_empty() && plain && together && all.into_iter().all(sizes)
}

/// The transpose of rows of `cols` numbers.
fn transposed(values: &[f32], cols: usize) -> Vec<f32> {
    let rows = values.len().checked_div(cols).unwrap_or(0);
    (0..cols).flat_map(|col| (0..rows).map(move |row| values[row * cols + col])).collect()
}
