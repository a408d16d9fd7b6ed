//! The training loop: compressed rows in, the parameters of an encoder out.

use crate::network::{Layer, Network};
use crate::optim::Adam;
use crate::{
    Activation, Compressed, Csr, DropMember, Encoder, Error, Features, Graph, Model, Optimizer, Result, Seed,
};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// How a model is trained.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct Training {
    /// The model.
    pub model: Model,
    /// Numbers a row of the embedding has.
    pub hidden: usize,
    /// Linear layers of the encoder.
    pub layers: usize,
    /// Steps of the optimiser; each sees all clusters.
    pub epochs: usize,
    /// The learning rate.
    pub learning_rate: f64,
    /// The weight decay.
    pub weight_decay: f64,
    /// The optimiser.
    pub optimizer: Optimizer,
    /// Which members the second view leaves out.
    pub drop_member: DropMember,
    /// Hops of the embedding, for encoders that propagate before their layers.
    pub hops: usize,
}

impl Default for Training {
    fn default() -> Self {
        Self {
            model: Model::Sce(crate::Sce::default()),
            hidden: 512,
            layers: 1,
            epochs: 50,
            learning_rate: 1e-3,
            weight_decay: 5e-4,
            optimizer: Optimizer::Adam,
            drop_member: DropMember::Half,
            hops: 2,
        }
    }
}

/// An epoch as it is reported.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Epoch {
    /// Counted from 1.
    pub number: usize,
    /// The loss before its step.
    pub loss: f64,
}

/// What training gives.
#[derive(Clone, Debug)]
pub struct Trained {
    /// The encoder, ready to embed.
    pub encoder: Encoder,
    /// The same encoder with its initial weights: the control.
    pub untrained: Encoder,
    /// The loss of every epoch.
    pub losses: Vec<f64>,
}

impl Training {
    /// Trains on compressed features. `on_epoch` hears of every epoch and ends training by `false`.
    pub fn train(
        &self,
        compressed: &Compressed,
        graph: &Graph,
        seed: Seed,
        mut on_epoch: impl FnMut(Epoch) -> bool,
    ) -> Result<Trained> {
        self.check()?;
        let mut objective = self.model.objective(compressed, graph, seed)?;
        let network = self.network(compressed.features().cols());
        let mut parameters = network.initial(seed);
        let untrained = self.encoder(&network, &parameters);
        let mut adam =
            Adam::new(self.optimizer, self.learning_rate as f32, self.weight_decay as f32, network.len());
        let first = fastest(compressed.features());
        let mut losses = Vec::with_capacity(self.epochs);
        for epoch in 0..self.epochs {
            // x = PᵀX, and for two views x' with members dropped.
            let mut views = vec![Cow::Borrowed(&*first)];
            if self.model.two_views() {
                let second = compressed.drop_member(self.drop_member, seed, epoch)?;
                views.push(Cow::Owned(fastest(&second).into_owned()));
            }
            // z = f(x), and the loss with its gradient in z.
            let traces: Vec<_> = views.iter().map(|view| network.forward(&parameters, view)).collect();
            let outputs: Vec<&[f32]> = traces.iter().map(|trace| trace.output()).collect();
            let loss = objective.loss(&outputs, network.outputs(), epoch)?;
            let mut gradient = vec![0.0; network.len()];
            for ((view, trace), of_output) in views.iter().zip(&traces).zip(loss.gradients) {
                network.backward(&parameters, view, trace, of_output, &mut gradient);
            }
            adam.step(&mut parameters, &gradient);
            if !loss.value.is_finite() || !parameters.iter().all(|parameter| parameter.is_finite()) {
                return Err(Error::Input(format!(
                    "training {} went beyond all numbers in epoch {}; lower the learning rate",
                    self.model.name(),
                    epoch + 1
                )));
            }
            losses.push(loss.value);
            if !on_epoch(Epoch { number: epoch + 1, loss: loss.value }) {
                break;
            }
        }
        Ok(Trained { encoder: self.encoder(&network, &parameters), untrained, losses })
    }

    fn check(&self) -> Result<()> {
        let wrong = |what: &str| Err(Error::Input(what.to_owned()));
        match self {
            _ if self.hidden == 0 => wrong("the hidden width must be at least 1"),
            _ if self.layers == 0 => wrong("an encoder needs at least one layer"),
            _ if !(self.learning_rate > 0.0 && self.learning_rate.is_finite()) => {
                wrong("the learning rate must be above 0")
            }
            _ if !(self.weight_decay >= 0.0 && self.weight_decay.is_finite()) => {
                wrong("the weight decay must be 0 or more")
            }
            _ => Ok(()),
        }
    }

    /// The encoder's layers, and the projection head's behind them.
    fn network(&self, features: usize) -> Network {
        let hidden = self.hidden;
        let mut layers: Vec<Layer> = (0..self.layers)
            .map(|at| Layer {
                inputs: if at == 0 { features } else { hidden },
                outputs: hidden,
                activation: if at + 1 == self.layers {
                    self.model.last_activation()
                } else {
                    Activation::None
                },
            })
            .collect();
        if let Some(width) = self.model.head(hidden) {
            layers.push(Layer { inputs: hidden, outputs: width, activation: Activation::Elu });
            layers.push(Layer { inputs: width, outputs: hidden, activation: Activation::None });
        }
        Network::new(layers)
    }

    fn encoder(&self, network: &Network, parameters: &[f32]) -> Encoder {
        let hops = if self.model.propagates_between_layers() { None } else { Some(self.hops) };
        Encoder::new(network, parameters, self.layers, hops)
    }
}

/// Entries of sparse features from which on a dense product is the faster one, as a share.
const DENSE: f64 = 0.15;

/// Features in the form that the first layer multiplies faster.
fn fastest(x: &Features) -> Cow<'_, Features> {
    match x {
        Features::Sparse(sparse) if share(sparse) > DENSE => Cow::Owned(Features::Dense(x.to_dense())),
        _ => Cow::Borrowed(x),
    }
}

fn share(x: &Csr) -> f64 {
    x.entries() as f64 / (x.rows() * x.cols()).max(1) as f64
}
