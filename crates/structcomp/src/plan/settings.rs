//! How a model is trained: the settings, as a user gives them.

use crate::nn::Initial;
use crate::sample::Augment;
use crate::{Activation, DropMember, EncoderKind, Error, Model, Optimizer, Result};
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
    /// The share α of a node's own features in SSGC; 0.05 by default.
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
    /// If given, the encoder of the lowest loss is kept, and training stops after this many epochs without a lower one.
    pub patience: Option<usize>,
}

impl Default for Training {
    fn default() -> Self {
        Self {
            model: Model::default(),
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
            patience: None,
        }
    }
}

impl Training {
    /// Where the encoder passes messages: as set, or as the model's authors have it.
    pub fn encoder_kind(&self) -> EncoderKind {
        self.encoder.unwrap_or(self.model.blueprint(self.hidden).encoder)
    }

    /// Refuses settings of training for the model that is not trained.
    pub(crate) fn check_solved(&self) -> Result<()> {
        let fields = |training: &Self| serde_json::to_value(training).unwrap_or_default();
        let (given, usual) = (fields(self), fields(&Self::default()));
        let set = |(name, value): (&String, &serde_json::Value)| {
            (name != "model" && usual.get(name) != Some(value)).then(|| name.replace('-', "_"))
        };
        let names: Vec<String> = given.as_object().into_iter().flatten().filter_map(set).collect();
        match names.is_empty() {
            true => Ok(()),
            false => Err(Error::Input(format!(
                "the solved model is not trained, so {} would have no effect; choose another model, or set width, \
                 directions or draws",
                names.join(", ")
            ))),
        }
    }

    /// The activation after the last layer: as set, or the model's own.
    pub fn last_activation(&self) -> Activation {
        self.activation.unwrap_or(self.model.blueprint(self.hidden).activation)
    }
}
