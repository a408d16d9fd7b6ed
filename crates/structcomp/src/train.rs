//! The training loop: rows in, the parameters of an encoder out.

mod augment;
mod checkpoint;
#[cfg(test)]
mod goldens;
mod stop;

pub use augment::Augment;
pub use stop::Stop;

use crate::hops::Hops;
use crate::model::{Caller, Gram, Objective};
use crate::network::{Layer, Messages, Network};
use crate::optim::Adam;
use crate::{
    Activation, Budget, Compressed, Csr, DropMember, Encoder, EncoderKind, Error, Features, Graph, Model,
    Normalization, Optimizer, OwnObjective, Partition, Propagation, Result, Seed,
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
    /// Which members the second view leaves out in training on clusters.
    pub drop_member: DropMember,
    /// Where the encoder passes messages; by default as the model's authors do, GCN for models of two views
    /// and SGC for the others.
    pub encoder: Option<EncoderKind>,
    /// Hops of SGC (by default 2) or SSGC (16).
    pub hops: Option<usize>,
    /// The share α of a node's own features in SSGC; by default 0.05, or a half where training that stops by
    /// itself finds that clusters share little but noise.
    pub ssgc_alpha: Option<f64>,
    /// What follows each layer but the last.
    pub inner_activation: Activation,
    /// What follows the last layer; by default the model's own.
    pub activation: Option<Activation>,
    /// What the views leave out in training on nodes.
    pub augment: Augment,
    /// When to stop; never later than after all epochs.
    pub stop: Stop,
    /// Whether the finished encoder is shifted and scaled so that rows of the embedding have a mean of zero
    /// and, by root mean square, the length √(mean degree). Classifiers that hold weights small then see
    /// data of a scale that suits them: the noise of a mean over neighbours falls with the root of their number.
    pub standardize: bool,
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
            encoder: None,
            hops: None,
            ssgc_alpha: None,
            inner_activation: Activation::None,
            activation: None,
            augment: Augment::default(),
            stop: Stop::Epochs,
            standardize: false,
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
    /// How far training has got, from 0 on: of models of two views how alike the views of a row are, of the
    /// others which share of the embedding's effective rank has been lost since the first epoch.
    pub settled: f64,
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
    /// What [`Epoch::settled`] was in every epoch.
    pub settled: Vec<f64>,
}

/// What training sees of a graph.
#[derive(Clone, Copy, Debug)]
pub enum Inputs<'a> {
    /// One row a cluster and no messages: StructComp.
    Clusters(&'a Compressed<'a>),
    /// One row a node and messages in every step: what StructComp is compared with. Models of two views
    /// augment both; the others see the graph as it is.
    Nodes(&'a Features),
}

impl<'a> Inputs<'a> {
    /// The features of the rows; an error where they are of another graph.
    fn check(self, graph: &Graph) -> Result<&'a Features> {
        let (features, rows) = match self {
            Self::Clusters(compressed) => (compressed.features(), compressed.partition().nodes()),
            Self::Nodes(features) => (features, features.rows()),
        };
        match graph.nodes() {
            nodes if nodes == rows => Ok(features),
            nodes => {
                Err(Error::Input(format!("there are features for {rows} nodes, but the graph has {nodes}")))
            }
        }
    }
}

impl Training {
    /// Trains for all epochs. `on_epoch` hears of each and ends training by `false`.
    pub fn train(
        &self,
        inputs: Inputs,
        graph: &Graph,
        seed: Seed,
        mut on_epoch: impl FnMut(Epoch) -> bool,
    ) -> Result<Trained> {
        let mut trainer = Trainer::new(self, inputs, graph, seed)?;
        while !trainer.is_done() && on_epoch(trainer.step()?) {}
        trainer.finish()
    }

    /// Refuses settings that cannot be trained with, on rows of `features` numbers.
    fn check(&self, features: usize) -> Result<()> {
        let wrong = |what: &str| Err(Error::Input(what.to_owned()));
        match self {
            _ if features == 0 => wrong("there are no features to train on"),
            _ if self.hidden == 0 => wrong("the hidden width must be at least 1"),
            _ if self.layers == 0 => wrong("an encoder needs at least one layer"),
            _ if !(self.learning_rate > 0.0 && self.learning_rate.is_finite()) => {
                wrong("the learning rate must be above 0")
            }
            _ if !(self.weight_decay >= 0.0 && self.weight_decay.is_finite()) => {
                wrong("the weight decay must be 0 or more")
            }
            _ if !(0.0..=1.0).contains(&self.ssgc_alpha.unwrap_or(0.0)) => {
                wrong("the alpha of SSGC must be from 0 to 1")
            }
            _ if self.kind() == EncoderKind::Gcn && self.hops.is_some() => {
                wrong("a GCN makes one hop a layer; only SGC and SSGC take a number of hops")
            }
            _ if self.hops.is_some_and(|hops| hops > 10_000) => wrong("more than 10000 hops are too many"),
            _ if self.standardize && self.last_activation() != Activation::None => {
                wrong("only an encoder without an activation after its last layer can be standardised")
            }
            _ => self.augment.check(),
        }?;
        let square = (self.hidden as u64).saturating_mul(self.hidden as u64);
        let first = (features as u64).saturating_mul(self.hidden as u64);
        let parameters = square.saturating_mul(self.layers as u64 - 1).saturating_add(first);
        // Initial and present weights, their gradient, and two numbers of Adam's for each.
        Budget::default().check_items("the encoder's weights", parameters, 20)
    }

    /// The encoder's layers, and the projection head's behind them.
    fn network(&self, features: usize) -> Network {
        let hidden = self.hidden;
        let mut layers: Vec<Layer> = (0..self.layers)
            .map(|at| Layer {
                inputs: if at == 0 { features } else { hidden },
                outputs: hidden,
                activation: match at + 1 == self.layers {
                    true => self.last_activation(),
                    false => self.inner_activation,
                },
                hops: self.hops_of(at),
            })
            .collect();
        if let Some(width) = self.model.head(hidden) {
            let head =
                |inputs, outputs, activation| Layer { inputs, outputs, activation, hops: Hops::none() };
            layers.push(head(hidden, width, Activation::Elu));
            layers.push(head(width, hidden, Activation::None));
        }
        Network::new(layers)
    }

    fn last_activation(&self) -> Activation {
        self.activation.unwrap_or(self.model.last_activation())
    }

    /// Where the encoder passes messages.
    fn kind(&self) -> EncoderKind {
        self.encoder.unwrap_or(if self.model.two_views() { EncoderKind::Gcn } else { EncoderKind::Sgc })
    }

    /// How far messages travel in a layer.
    fn hops_of(&self, layer: usize) -> Hops {
        match self.kind() {
            EncoderKind::Gcn => Hops::power(1),
            EncoderKind::Sgc if layer == 0 => Hops::power(self.hops.unwrap_or(2)),
            EncoderKind::Ssgc if layer == 0 => self.ssgc(0.05),
            _ => Hops::none(),
        }
    }

    fn ssgc(&self, alpha: f64) -> Hops {
        Hops::ssgc(self.hops.unwrap_or(16), self.ssgc_alpha.unwrap_or(alpha))
    }
}

/// Training under way, epoch by epoch.
///
/// ```
/// use structcomp::{Compressed, Inputs, Partitioning, Seed, Trainer, Training, data};
///
/// let demo = data::Synthetic::named("demo").unwrap().generate(Seed(0))?;
/// let features = demo.features.as_ref().unwrap();
/// let partition = Partitioning { clusters: Some(200), ..Partitioning::default() }.partition(&demo.graph, Seed(0))?;
/// let compressed = Compressed::new(features, &partition)?;
///
/// let training = Training { hidden: 32, ..Training::default() };
/// let mut trainer = Trainer::new(&training, Inputs::Clusters(&compressed), &demo.graph, Seed(0))?;
/// let first = trainer.step()?.loss;
/// let last = (0..20).map(|_| trainer.step().map(|epoch| epoch.loss)).last().unwrap()?;
/// assert!(last < first);
/// let embedding = trainer.finish()?.encoder.embed(&demo.graph, features)?;
/// assert_eq!(embedding.cols(), 32);
/// # Ok::<(), structcomp::Error>(())
/// ```
pub struct Trainer<'a> {
    training: Training,
    seed: Seed,
    graph: &'a Graph,
    /// Of all nodes.
    features: &'a Features,
    rows: Rows<'a>,
    network: Network,
    objective: Box<dyn Objective + 'a>,
    initial: Vec<f32>,
    parameters: Vec<f32>,
    gradient: Vec<f32>,
    /// The loss by a Gram matrix, where that is possible and cheaper.
    gram: Option<Gram>,
    adam: Adam,
    losses: Vec<f64>,
    settled: Vec<f64>,
    /// A few rows, whose effective rank is looked at.
    sample: Option<Features>,
}

/// Where the rows of an epoch come from.
enum Rows<'a> {
    Clusters {
        compressed: &'a Compressed<'a>,
        first: Cow<'a, Features>,
    },
    /// Augmented anew in every epoch.
    Augmented(&'a Features),
    /// As they are. Encoders that pass all messages before their layers see features after all hops.
    Nodes {
        x: Cow<'a, Features>,
        messages: Option<Messages>,
    },
}

impl Rows<'_> {
    /// Those that are the same in every epoch and pass no messages.
    fn still(&self) -> Option<&Features> {
        match self {
            Rows::Clusters { first: x, .. } | Rows::Nodes { x, messages: None } => Some(x),
            Rows::Nodes { .. } | Rows::Augmented(_) => None,
        }
    }
}

/// The rows that an epoch sees, of one view below the other's, and the messages between them.
struct Seen<'v> {
    x: Cow<'v, Features>,
    messages: Option<Cow<'v, Messages>>,
}

impl<'a> Trainer<'a> {
    /// Ready for the first epoch.
    pub fn new(training: &Training, inputs: Inputs<'a>, graph: &'a Graph, seed: Seed) -> Result<Self> {
        inputs.check(graph)?;
        let model = &training.model;
        let objective = match inputs {
            Inputs::Clusters(compressed) => model.objective(compressed.partition(), graph, seed)?,
            // Every node is a cluster of its own: the coarse graph is then the graph.
            Inputs::Nodes(x) => {
                model.objective(&Partition::new((0..x.rows() as u32).collect())?, graph, seed)?
            }
        };
        Self::start(training, inputs, graph, seed, objective)
    }

    /// As [`new`](Self::new), with a loss of the caller's own instead of the model's; [`Model::Own`] is the
    /// model for it.
    pub fn with_objective(
        training: &Training,
        inputs: Inputs<'a>,
        graph: &'a Graph,
        seed: Seed,
        objective: Box<dyn OwnObjective + 'a>,
    ) -> Result<Self> {
        let views = if training.model.two_views() { 2 } else { 1 };
        Self::start(training, inputs, graph, seed, Box::new(Caller { objective, views }))
    }

    fn start(
        training: &Training,
        inputs: Inputs<'a>,
        graph: &'a Graph,
        seed: Seed,
        objective: Box<dyn Objective + 'a>,
    ) -> Result<Self> {
        let features = inputs.check(graph)?;
        training.check(features.cols())?;
        let network = training.network(features.cols());
        let model = &training.model;
        let rows = match inputs {
            Inputs::Clusters(compressed) => {
                Rows::Clusters { compressed, first: fastest(Cow::Borrowed(compressed.features())) }
            }
            Inputs::Nodes(features) if model.two_views() => Rows::Augmented(features),
            Inputs::Nodes(features) if training.kind() == EncoderKind::Gcn => {
                let x = fastest(Cow::Borrowed(features));
                let messages = Augment::none().view(features, graph, seed, 0, 0)?.1;
                Rows::Nodes { x, messages: Some(Messages::new(messages)) }
            }
            Inputs::Nodes(features) => {
                let propagation = Propagation::new(graph, Normalization::Symmetric);
                let propagated = training.hops_of(0).of_features(&propagation, features)?;
                Rows::Nodes { x: fastest(Cow::Owned(propagated)), messages: None }
            }
        };
        let linear = network.layers().len() == 1 && network.layers()[0].activation == Activation::None;
        let gram = rows.still().filter(|_| linear);
        let gram = gram.and_then(|x| Gram::if_cheaper(&*objective, x, training.hidden));
        let sample = rows.still().filter(|_| !model.two_views()).map(|x| x.spread_rows(stop::SAMPLE));
        let agrees = model.two_views() && !matches!(model, Model::Own(_));
        if training.stop == Stop::Auto && !agrees && sample.is_none() {
            return Err(Error::Input(
                "this training has no measure to stop by; give a number of epochs".into(),
            ));
        }
        let initial = network.initial(seed);
        let (rate, decay) = (training.learning_rate as f32, training.weight_decay as f32);
        Ok(Self {
            adam: Adam::new(training.optimizer, rate, decay, network.len()),
            parameters: initial.clone(),
            gradient: vec![0.0; network.len()],
            gram,
            losses: Vec::new(),
            settled: Vec::new(),
            sample,
            training: training.clone(),
            seed,
            graph,
            features: match inputs {
                Inputs::Clusters(compressed) => compressed.source(),
                Inputs::Nodes(features) => features,
            },
            rows,
            network,
            objective,
            initial,
        })
    }

    /// How many epochs are done.
    pub fn epochs(&self) -> usize {
        self.losses.len()
    }

    /// The loss of every epoch so far.
    pub fn losses(&self) -> &[f64] {
        &self.losses
    }

    /// One epoch.
    pub fn step(&mut self) -> Result<Epoch> {
        // From inside the pool, so that no loop of the many below has to wake it up.
        rayon::scope(|_| self.step_inside())
    }

    fn step_inside(&mut self) -> Result<Epoch> {
        let epoch = self.losses.len();
        // Taken out while it is written to, and put back whatever comes of it.
        let mut gradient = std::mem::take(&mut self.gradient);
        let outcome = self.loss(epoch, &mut gradient);
        self.gradient = gradient;
        let (loss, agreement) = outcome?;
        let sound = self.adam.step(&mut self.parameters, &self.gradient);
        if !loss.is_finite() || !sound {
            return Err(Error::Input(format!(
                "training {} went beyond all numbers in epoch {}; lower the learning rate",
                self.training.model.name(),
                epoch + 1
            )));
        }
        let settled = match (agreement, &self.sample) {
            (Some(agreement), _) => agreement,
            (None, Some(sample)) => self.effective_rank(sample),
            (None, None) => 0.0,
        };
        self.losses.push(loss);
        self.settled.push(settled);
        Ok(Epoch { number: epoch + 1, loss, settled: self.settled_at(epoch) })
    }

    /// The loss of an epoch, and how alike the views are; the gradient is written.
    fn loss(&self, epoch: usize, gradient: &mut [f32]) -> Result<(f64, Option<f64>)> {
        let (parameters, outputs) = (&self.parameters[..], self.network.outputs());
        if let (Some(gram), Some(quadratic), Some(Features::Dense(x))) =
            (&self.gram, self.objective.quadratic(), self.rows.still())
        {
            let parameters = parameters.split_at(parameters.len() - outputs);
            let gradient = gradient.split_at_mut(parameters.0.len());
            return Ok((gram.loss(quadratic, x, parameters, epoch, gradient)?, None));
        }
        // x = PᵀX, and below it for two views x' with members dropped.
        let rows = self.rows_of(epoch)?;
        let messages = rows.messages.as_deref();
        // z = f(x), the loss with its gradient in z, and that in the parameters of f.
        let (z, trace) = self.network.forward(parameters, &rows.x, messages);
        let loss = self.objective.loss(z, outputs, epoch)?;
        self.network.backward(parameters, &rows.x, messages, trace, loss.gradient, gradient);
        Ok((loss.value, loss.agreement))
    }

    fn rows_of(&self, epoch: usize) -> Result<Seen<'_>> {
        match &self.rows {
            Rows::Nodes { x, messages } => {
                Ok(Seen { x: Cow::Borrowed(&**x), messages: messages.as_ref().map(Cow::Borrowed) })
            }
            Rows::Clusters { first, .. } if !self.training.model.two_views() => {
                Ok(Seen { x: Cow::Borrowed(&**first), messages: None })
            }
            Rows::Clusters { compressed, first } => {
                let how = self.training.drop_member;
                let x = match &**first {
                    Features::Dense(first) => {
                        Features::Dense(compressed.both_views(first, how, self.seed, epoch)?)
                    }
                    first => first.above(&compressed.drop_member(how, self.seed, epoch)?)?,
                };
                Ok(Seen { x: Cow::Owned(x), messages: None })
            }
            Rows::Augmented(x) => {
                let view = |number| self.training.augment.view(x, self.graph, self.seed, epoch, number);
                let ((first, one), (second, other)) = (view(0)?, view(1)?);
                let messages = Messages::new(one.beside(&other));
                Ok(Seen {
                    x: fastest(Cow::Owned(first.above(&second)?)),
                    messages: Some(Cow::Owned(messages)),
                })
            }
        }
    }

    /// The encoder as it is now, before it is standardised.
    pub fn encoder(&self) -> Encoder {
        self.encoder_of(&self.parameters)
    }

    fn encoder_of(&self, parameters: &[f32]) -> Encoder {
        let mut encoder = Encoder::new(&self.network, parameters, self.training.layers);
        if self.training.kind() == EncoderKind::Ssgc && self.training.stop == Stop::Auto && self.is_noise() {
            encoder.layers[0].hops = self.training.ssgc(0.5);
        }
        encoder
    }

    /// What training gave.
    pub fn finish(self) -> Result<Trained> {
        let encoder = |parameters: &[f32]| {
            let encoder = self.encoder_of(parameters);
            match self.training.standardize {
                true => encoder.standardized(self.graph, self.features, self.length()),
                false => Ok(encoder),
            }
        };
        let settled = (0..self.epochs()).map(|epoch| self.settled_at(epoch)).collect();
        Ok(Trained {
            encoder: encoder(&self.parameters)?,
            untrained: encoder(&self.initial)?,
            losses: self.losses.clone(),
            settled,
        })
    }

    /// √(mean degree); 1 for a graph without edges.
    fn length(&self) -> f64 {
        let (nodes, entries) = (self.graph.nodes().max(1) as f64, self.graph.targets().len() as f64);
        if entries > 0.0 { (entries / nodes).sqrt() } else { 1.0 }
    }
}

/// Entries of sparse features from which on a dense product is the faster one, as a share.
const DENSE: f64 = 0.15;

/// Features in the form that the first layer multiplies faster.
fn fastest(x: Cow<'_, Features>) -> Cow<'_, Features> {
    match &*x {
        Features::Sparse(sparse) if share(sparse) > DENSE => Cow::Owned(Features::Dense(x.to_dense())),
        _ => x,
    }
}

fn share(x: &Csr) -> f64 {
    x.entries() as f64 / (x.rows() * x.cols()).max(1) as f64
}
