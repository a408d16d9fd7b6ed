//! How a model is trained: the settings, as a user gives them.

use crate::nn::Initial;
use crate::sample::Augment;
use crate::{Activation, DropMember, EncoderKind, Model, Optimizer};
use serde::{Deserialize, Serialize};

/// How a model is trained.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct Training {
    /// The contrastive model.
    pub model: Model,
    /// Embedding dimension.
    pub hidden: usize,
    /// Layers of the encoder.
    pub layers: usize,
    /// Passes over all batches; on clusters and on the whole graph, a batch holds all rows.
    pub epochs: usize,
    /// The optimiser's learning rate.
    pub learning_rate: f64,
    /// The optimiser's weight decay.
    pub weight_decay: f64,
    /// The optimiser.
    pub optimizer: Optimizer,
    /// On clusters: which members the second view leaves out.
    pub drop_member: DropMember,
    /// Where the encoder passes messages. By default as the model's authors have it: SGC for SCE and COLES, GCN for
    /// the others.
    pub encoder: Option<EncoderKind>,
    /// Hops of SGC (default 2) or SSGC (default 16).
    pub hops: Option<usize>,
    /// The share α of a node's own features in SSGC. By default 0.05, or a half if training stops by itself and finds
    /// that clusters share little but noise.
    pub ssgc_alpha: Option<f64>,
    /// The activation after each layer but the last; by default the model's own.
    pub inner_activation: Option<Activation>,
    /// The activation after the last layer; by default the model's own.
    pub activation: Option<Activation>,
    /// Whether batch norm comes before each activation of the encoder; by default as the model's authors have it.
    pub batch_norm: Option<bool>,
    /// Whether batch norm uses the statistics of all nodes, computed when training ends, instead of the running ones.
    /// By default so after training on clusters, whose rows vary less than nodes do: on Chameleon, SP-GCL loses a third
    /// of its accuracy without.
    pub renormalize: Option<bool>,
    /// Initial weights of the encoder. By default as in linear layers. As in graph layers, with zero biases, if a GCN is
    /// trained on the whole graph, and for models that tell rows from corrupted ones: a bias larger than small features
    /// hides the difference, which costs them 2 to 5 points on Pubmed.
    pub initial: Option<Initial>,
    /// Dropout after each layer of the encoder.
    pub dropout: f64,
    /// On the whole graph: what the two views leave out.
    pub augment: Augment,
    /// When to stop, at the latest after all epochs.
    pub stop: Stop,
    /// If given, the encoder of the lowest loss is kept, and training stops after this many epochs without a lower one.
    pub patience: Option<usize>,
    /// Whether the finished encoder is shifted and scaled so that rows of the embedding have mean zero and, by root mean
    /// square, length √(mean degree): regularised classifiers depend on the scale, and the noise of a mean over
    /// neighbours falls with the root of their number.
    pub standardize: bool,
}

impl Default for Training {
    fn default() -> Self {
        Self {
            model: Model::Sce(crate::model::Sce::default()),
            hidden: 512,
            layers: 1,
            epochs: 50,
            learning_rate: 1e-3,
            weight_decay: 5e-4,
            optimizer: Optimizer::Adam,
            drop_member: DropMember::Half,
            encoder: None,
            hops: None,
            ssgc_alpha: None,
            inner_activation: None,
            activation: None,
            batch_norm: None,
            renormalize: None,
            initial: None,
            dropout: 0.0,
            augment: Augment::default(),
            stop: Stop::Epochs,
            patience: None,
            standardize: false,
        }
    }
}

impl Training {
    /// Where the encoder passes messages: as set, or as the model's authors have it.
    pub fn encoder_kind(&self) -> EncoderKind {
        self.encoder.unwrap_or(self.model.blueprint(self.hidden).encoder)
    }

    /// The activation after the last layer: as set, or the model's own.
    pub fn last_activation(&self) -> Activation {
        self.activation.unwrap_or(self.model.blueprint(self.hidden).activation)
    }
}

/// When training stops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stop {
    /// After all epochs.
    #[default]
    Epochs,
    /// When it has settled, by a measure that needs no labels: [`Epoch::settled`](crate::Epoch::settled).
    Auto,
}
