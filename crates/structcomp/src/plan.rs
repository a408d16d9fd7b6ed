//! Settings resolved once: what is trained, without any options left.

mod settings;

pub use settings::Training;

use crate::graph::Hops;
use crate::model::Blueprint;
use crate::nn::{Beside, Initial, Layer, Network, Towers};
use crate::sample::{Sampling, Views};
use crate::{Activation, Budget, EncoderKind, Error, Model, Optimizer, Result};

/// What is trained on rows of a given width, and how.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) model: Model,
    pub(crate) hidden: usize,
    /// The layers that embed.
    pub(crate) encoder: Towers,
    /// The layers that are trained: the encoder's, and a projection head's after them.
    pub(crate) network: Towers,
    /// What is done to the encoder's result.
    pub(crate) readout: Hops,
    pub(crate) sampling: Sampling,
    pub(crate) epochs: usize,
    pub(crate) learning_rate: f64,
    pub(crate) weight_decay: f64,
    pub(crate) optimizer: Optimizer,
    pub(crate) patience: Option<usize>,
    /// Whether batch norm gets the statistics of all nodes when training ends.
    pub(crate) renormalize: bool,
}

impl Plan {
    /// Resolves settings for rows of `features` values, on clusters or on the whole graph. Fails for settings that
    /// cannot be trained with.
    pub(crate) fn new(training: &Training, whole_graph: bool, features: usize) -> Result<Self> {
        let training = training.clone();
        training.model.check()?;
        let asked =
            Asked { blueprint: training.model.blueprint(training.hidden), whole_graph, features, training };
        asked.check()?;
        Ok(asked.plan())
    }

    /// Whether the network is a single linear layer.
    pub(crate) fn is_linear(&self) -> bool {
        let single = self.network.single().map(Network::layers);
        single.is_some_and(|layers| layers.len() == 1 && layers[0].is_linear())
    }
}

fn most_hops(network: &Towers) -> usize {
    let layers = network.networks().iter().flat_map(Network::layers);
    layers.map(|layer| layer.hops.most()).max().unwrap_or(0)
}

/// Settings and what the model says, before they are resolved.
struct Asked {
    training: Training,
    blueprint: Blueprint,
    whole_graph: bool,
    features: usize,
}

impl Asked {
    fn plan(self) -> Plan {
        let (encoder, network) = self.networks();
        let kind = self.kind();
        let batch_norm = self.batch_norm();
        let most_hops = most_hops(&network);
        Plan {
            encoder,
            network,
            sampling: Sampling {
                views: self.blueprint.views,
                drop_member: self.training.drop_member,
                augment: self.training.augment,
                first_hops: (kind != EncoderKind::Gcn).then(|| self.hops_of(0)),
                adjacency: self.blueprint.adjacency,
                neighborhood: self.blueprint.neighborhood,
                most_hops,
            },
            readout: self.blueprint.readout,
            renormalize: batch_norm && self.training.renormalize.unwrap_or(!self.whole_graph),
            hidden: self.training.hidden,
            epochs: self.training.epochs,
            learning_rate: self.training.learning_rate,
            weight_decay: self.training.weight_decay,
            optimizer: self.training.optimizer,
            patience: self.training.patience,
            model: self.training.model,
        }
    }

    /// The encoder's layers, and all that is trained.
    fn networks(&self) -> (Towers, Towers) {
        let layers = self.encoder_layers();
        match &self.blueprint.beside {
            Beside::Detached => {
                let networks = layers.into_iter().map(|layer| Network::new(vec![layer])).collect();
                let towers = Towers::new(networks, true);
                (towers.clone(), towers)
            }
            Beside::Second(hops) => {
                let second =
                    layers.iter().map(|layer| Layer { hops: hops.clone(), ..layer.clone() }).collect();
                let towers = Towers::new(vec![Network::new(layers), Network::new(second)], false);
                (towers.clone(), towers)
            }
            Beside::Alone => {
                let encoder = Towers::new(vec![Network::new(layers.clone())], false);
                let mut all = layers;
                if let Some(head) = self.blueprint.head {
                    let (hidden, width) = (self.training.hidden, head.width);
                    let first = Layer::plain(hidden, width, head.activation, Hops::none());
                    all.push(Layer { rectified: head.rectified, ..first });
                    all.push(Layer::plain(width, hidden, Activation::None, Hops::none()));
                }
                (encoder, Towers::new(vec![Network::new(all)], false))
            }
        }
    }

    fn encoder_layers(&self) -> Vec<Layer> {
        let Training { layers, hidden, dropout, inner_activation, .. } = self.training;
        let inner = inner_activation.unwrap_or(self.blueprint.inner);
        let layer = |at: usize| Layer {
            inputs: if at == 0 { self.features } else { hidden },
            outputs: hidden,
            activation: if at + 1 == layers { self.last_activation() } else { inner },
            hops: self.hops_of(at),
            norm: self.batch_norm(),
            dropout,
            rectified: false,
            initial: self.initial(),
        };
        (0..layers).map(layer).collect()
    }

    fn last_activation(&self) -> Activation {
        self.training.last_activation()
    }

    fn batch_norm(&self) -> bool {
        self.training.batch_norm.unwrap_or(self.blueprint.batch_norm)
    }

    fn is_corrupted(&self) -> bool {
        matches!(self.blueprint.views, Views::Corrupted { .. })
    }

    fn initial(&self) -> Initial {
        let graph_layers = self.is_corrupted() || (self.whole_graph && self.kind() == EncoderKind::Gcn);
        self.training.initial.unwrap_or(if graph_layers { Initial::Glorot } else { Initial::Linear })
    }

    fn kind(&self) -> EncoderKind {
        self.training.encoder_kind()
    }

    /// How far messages travel in a layer.
    fn hops_of(&self, layer: usize) -> Hops {
        let Training { hops, ssgc_alpha, .. } = self.training;
        match self.kind() {
            EncoderKind::Gcn => Hops::power(1),
            EncoderKind::Sgc if layer == 0 => Hops::power(hops.unwrap_or(2)),
            EncoderKind::Ssgc if layer == 0 => Hops::ssgc(hops.unwrap_or(16), ssgc_alpha.unwrap_or(0.05)),
            _ => Hops::none(),
        }
    }

    fn check(&self) -> Result<()> {
        self.check_numbers()?;
        self.check_combinations()?;
        self.training.augment.check()?;
        self.check_memory()
    }

    fn check_numbers(&self) -> Result<()> {
        let training = &self.training;
        let wrong = |what: &str| Err(Error::Input(what.to_owned()));
        match training {
            _ if self.features == 0 => wrong("there are no features to train on"),
            _ if training.hidden == 0 => wrong("hidden must be at least 1"),
            _ if training.layers == 0 => wrong("layers must be at least 1"),
            _ if !(training.learning_rate > 0.0 && training.learning_rate.is_finite()) => {
                wrong("learning_rate must be above 0")
            }
            _ if !(training.weight_decay >= 0.0 && training.weight_decay.is_finite()) => {
                wrong("weight_decay must be 0 or more")
            }
            _ if !(0.0..=1.0).contains(&training.ssgc_alpha.unwrap_or(0.0)) => {
                wrong("ssgc_alpha must be from 0 to 1")
            }
            _ if training.hops.is_some_and(|hops| hops > 10_000) => wrong("hops must be at most 10000"),
            _ if !(0.0..1.0).contains(&training.dropout) => wrong("dropout must be from 0 to below 1"),
            _ if self.blueprint.head.is_some_and(|head| head.width == 0) => {
                wrong("projection must be at least 1")
            }
            _ if training.patience == Some(0) => wrong("patience must be at least 1"),
            _ => Ok(()),
        }
    }

    fn check_combinations(&self) -> Result<()> {
        let Training { hops, renormalize, .. } = self.training;
        let wrong = |what: &str| Err(Error::Input(what.to_owned()));
        match () {
            () if self.kind() == EncoderKind::Gcn && hops.is_some() => {
                wrong("a GCN makes one hop per layer; only SGC and SSGC take a number of hops")
            }
            () if renormalize == Some(true) && !self.batch_norm() => {
                wrong("renormalize needs batch norm; set batch_norm")
            }
            () => Ok(()),
        }
    }

    fn check_memory(&self) -> Result<()> {
        let (hidden, layers) = (self.training.hidden as u64, self.training.layers as u64);
        // Models with corrupted rows have a square matrix or two of their own; a head has two layers.
        let own = if self.is_corrupted() { 2 } else { 0 };
        let squares = hidden.saturating_mul(hidden).saturating_mul(layers - 1 + own);
        let first = hidden.saturating_mul(self.features as u64);
        let head = self.blueprint.head.map_or(0, |head| hidden.saturating_mul(2 * head.width as u64));
        let parameters = squares.saturating_add(first).saturating_add(head);
        // Initial and present weights, their gradient, and two numbers of Adam's for each.
        Budget::default().check_items("the encoder's weights", parameters, 20)
    }
}
