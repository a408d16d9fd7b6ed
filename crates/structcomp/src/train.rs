//! The training loop: rows in, the parameters of an encoder out.

mod augment;
mod checkpoint;
#[cfg(test)]
mod goldens;

pub use augment::Augment;

use crate::model::Objective;
use crate::network::{Layer, Messages, Network};
use crate::optim::Adam;
use crate::{
    Activation, Budget, Compressed, Csr, DropMember, Encoder, Error, Features, Graph, Model, Normalization,
    Optimizer, Partition, Propagation, Result, Seed,
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
    /// Hops of the embedding, for encoders that propagate before their layers.
    pub hops: usize,
    /// What follows each layer but the last.
    pub inner_activation: Activation,
    /// What follows the last layer; by default the model's own.
    pub activation: Option<Activation>,
    /// What the views leave out in training on nodes.
    pub augment: Augment,
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
            inner_activation: Activation::None,
            activation: None,
            augment: Augment::default(),
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

/// What training sees of a graph.
#[derive(Clone, Copy, Debug)]
pub enum Inputs<'a> {
    /// One row a cluster and no messages: StructComp.
    Clusters(&'a Compressed<'a>),
    /// One row a node and messages in every step: what StructComp is compared with. Models of two views
    /// augment both; the others see the features after the hops.
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
        while trainer.epochs() < self.epochs && on_epoch(trainer.step()?) {}
        Ok(trainer.finish())
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
                    true => self.activation.unwrap_or(self.model.last_activation()),
                    false => self.inner_activation,
                },
                passes: self.model.propagates_between_layers(),
            })
            .collect();
        if let Some(width) = self.model.head(hidden) {
            let head = |inputs, outputs, activation| Layer { inputs, outputs, activation, passes: false };
            layers.push(head(hidden, width, Activation::Elu));
            layers.push(head(width, hidden, Activation::None));
        }
        Network::new(layers)
    }

    fn encoder(&self, network: &Network, parameters: &[f32]) -> Encoder {
        let hops = if self.model.propagates_between_layers() { None } else { Some(self.hops) };
        Encoder::new(network, parameters, self.layers, hops)
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
/// let embedding = trainer.finish().encoder.embed(&demo.graph, features)?;
/// assert_eq!(embedding.cols(), 32);
/// # Ok::<(), structcomp::Error>(())
/// ```
pub struct Trainer<'a> {
    training: Training,
    seed: Seed,
    graph: &'a Graph,
    rows: Rows<'a>,
    network: Network,
    objective: Box<dyn Objective + 'a>,
    initial: Vec<f32>,
    parameters: Vec<f32>,
    adam: Adam,
    losses: Vec<f64>,
}

/// Where the rows of an epoch come from.
enum Rows<'a> {
    Clusters {
        compressed: &'a Compressed<'a>,
        first: Cow<'a, Features>,
    },
    /// Augmented anew in every epoch.
    Nodes(&'a Features),
    /// Features after all hops, for encoders that are linear behind them.
    Propagated(Features),
}

/// The rows of one view, and the messages between them.
struct View<'v> {
    x: Cow<'v, Features>,
    messages: Option<Messages>,
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
        Self::with_objective(training, inputs, graph, seed, objective)
    }

    /// As [`new`](Self::new), with a loss of the caller's own instead of the model's; [`Model::Own`] is the
    /// model for it.
    pub fn with_objective(
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
            Inputs::Nodes(features) if model.two_views() => Rows::Nodes(features),
            Inputs::Nodes(features) => {
                let propagation = Propagation::new(graph, Normalization::Symmetric);
                let propagated = propagation.power(features, training.hops)?;
                Rows::Propagated(fastest(Cow::Owned(propagated)).into_owned())
            }
        };
        let initial = network.initial(seed);
        let (rate, decay) = (training.learning_rate as f32, training.weight_decay as f32);
        Ok(Self {
            adam: Adam::new(training.optimizer, rate, decay, network.len()),
            parameters: initial.clone(),
            losses: Vec::with_capacity(training.epochs),
            training: training.clone(),
            seed,
            graph,
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
        let epoch = self.losses.len();
        // x = PᵀX, and for two views x' with members dropped.
        let views = self.views(epoch)?;
        // z = f(x), and the loss with its gradient in z.
        let forward = |view: &View| self.network.forward(&self.parameters, &view.x, view.messages.as_ref());
        let traces: Vec<_> = views.iter().map(forward).collect();
        let outputs: Vec<&[f32]> = traces.iter().map(|trace| trace.output()).collect();
        let loss = self.objective.loss(&outputs, self.network.outputs(), epoch)?;
        if !loss.gradients.iter().map(Vec::len).eq(outputs.iter().map(|view| view.len())) {
            return Err(Error::Input("the objective must give one gradient a view, of its size".into()));
        }
        let mut gradient = vec![0.0; self.network.len()];
        for ((view, trace), of_output) in views.iter().zip(&traces).zip(loss.gradients) {
            let messages = view.messages.as_ref();
            self.network.backward(&self.parameters, &view.x, messages, trace, of_output, &mut gradient);
        }
        self.adam.step(&mut self.parameters, &gradient);
        if !loss.value.is_finite() || !self.parameters.iter().all(|parameter| parameter.is_finite()) {
            return Err(Error::Input(format!(
                "training {} went beyond all numbers in epoch {}; lower the learning rate",
                self.training.model.name(),
                epoch + 1
            )));
        }
        self.losses.push(loss.value);
        Ok(Epoch { number: epoch + 1, loss: loss.value })
    }

    fn views(&self, epoch: usize) -> Result<Vec<View<'_>>> {
        let still = |x| View { x, messages: None };
        match &self.rows {
            Rows::Propagated(x) => Ok(vec![still(Cow::Borrowed(x))]),
            Rows::Clusters { compressed, first } => {
                let mut views = vec![still(Cow::Borrowed(&**first))];
                if self.training.model.two_views() {
                    let second = compressed.drop_member(self.training.drop_member, self.seed, epoch)?;
                    views.push(still(fastest(Cow::Owned(second))));
                }
                Ok(views)
            }
            Rows::Nodes(x) => {
                let view = |number| {
                    let (x, messages) =
                        self.training.augment.view(x, self.graph, self.seed, epoch, number)?;
                    Ok(View { x: fastest(Cow::Owned(x)), messages: Some(messages) })
                };
                [0, 1].into_iter().map(view).collect()
            }
        }
    }

    /// What training gave.
    pub fn finish(self) -> Trained {
        let encoder = |parameters: &[f32]| self.training.encoder(&self.network, parameters);
        Trained {
            encoder: encoder(&self.parameters),
            untrained: encoder(&self.initial),
            losses: self.losses.clone(),
        }
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
