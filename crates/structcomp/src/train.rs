//! The training loop: rows in, the parameters of an encoder out.

mod augment;
mod checkpoint;
#[cfg(test)]
mod goldens;
mod rows;
mod stop;

pub use augment::Augment;
pub use stop::Stop;

use crate::hops::Hops;
use crate::model::{Caller, Gram, Objective, Plan, Setting, Step, Views};
use crate::network::{Beside, Layer, Network, Pass, Towers};
use crate::optim::Adam;
use crate::{
    Activation, Budget, Compressed, DropMember, Encoder, EncoderKind, Error, Features, Graph, Initial, Model,
    Optimizer, OwnObjective, Partition, Result, Seed,
};
use rayon::prelude::*;
use rows::Rows;
use serde::{Deserialize, Serialize};

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
    /// Where the encoder passes messages; by default as the model's authors do, SGC for SCE and COLES and GCN
    /// for the others.
    pub encoder: Option<EncoderKind>,
    /// Hops of SGC (by default 2) or SSGC (16).
    pub hops: Option<usize>,
    /// The share α of a node's own features in SSGC; by default 0.05, or a half where training that stops by
    /// itself finds that clusters share little but noise.
    pub ssgc_alpha: Option<f64>,
    /// What follows each layer but the last; by default the model's own.
    pub inner_activation: Option<Activation>,
    /// What follows the last layer; by default the model's own.
    pub activation: Option<Activation>,
    /// Whether batch norm comes before each activation of the encoder; by default where the model's authors
    /// have it.
    pub batch_norm: Option<bool>,
    /// Whether the statistics of batch norm are those of all nodes, measured when training ends, instead of
    /// those remembered from training. By default so after training on clusters, whose rows vary otherwise than
    /// what nodes hear: on Chameleon SP-GCL is worth a third less without.
    pub renormalize: Option<bool>,
    /// How the weights of the encoder start. By default as those of linear layers; as those of graph layers, whose
    /// bias is zero, where a GCN is trained on the whole graph, and for models that tell rows from corrupted ones,
    /// since a bias that outweighs small features hides the difference (on Pubmed it costs them 2 to 5 points).
    pub initial: Option<Initial>,
    /// The share of numbers that training leaves out behind each layer of the encoder.
    pub dropout: f64,
    /// What the views leave out in training on nodes.
    pub augment: Augment,
    /// When to stop; never later than after all epochs.
    pub stop: Stop,
    /// Where given, the encoder is that of the lowest loss, and training stops after so many epochs without a
    /// lower one.
    pub patience: Option<usize>,
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

/// An epoch as it is reported.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Epoch {
    /// Counted from 1.
    pub number: usize,
    /// The loss before its step.
    pub loss: f64,
    /// How far training has got, from 0 on: of CCA-SSG how alike the views of a row are, of models of one view
    /// which share of the embedding's effective rank has been lost since the first epoch; of others nothing is known.
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
            _ if !(0.0..1.0).contains(&self.dropout) => wrong("the dropout must be from 0 to below 1"),
            _ if self.plan().head.is_some_and(|head| head.width == 0) => {
                wrong("the projection must be at least 1 wide")
            }
            _ if self.patience == Some(0) => wrong("the patience must be at least 1 epoch"),
            _ if self.standardize && self.batch_norm() => {
                wrong("an encoder with batch norm cannot be standardised; its rows are scaled already")
            }
            _ if self.standardize
                && !(self.plan().beside == Beside::Alone && self.plan().readout.is_none()) =>
            {
                wrong("this model's embedding is not that of its last layer alone and cannot be standardised")
            }
            _ if self.renormalize == Some(true) && !self.batch_norm() => {
                wrong("there is no batch norm to renormalize; set batch_norm")
            }
            _ if self.standardize && self.last_activation() != Activation::None => {
                wrong("only an encoder without an activation after its last layer can be standardised")
            }
            _ => self.augment.check(),
        }?;
        let square = (self.hidden as u64).saturating_mul(self.hidden as u64);
        let first = (features as u64).saturating_mul(self.hidden as u64);
        // Models with corrupted rows have a square matrix or two of their own; a head has two layers.
        let plan = self.plan();
        let own = if matches!(plan.views, Views::Corrupted { .. }) { 2 } else { 0 };
        let head = plan
            .head
            .map_or(0, |head| (head.width as u64).saturating_mul(2).saturating_mul(self.hidden as u64));
        let squares = square.saturating_mul(self.layers as u64 - 1 + own);
        let parameters = squares.saturating_add(first).saturating_add(head);
        // Initial and present weights, their gradient, and two numbers of Adam's for each.
        Budget::default().check_items("the encoder's weights", parameters, 20)
    }

    /// What the model asks for.
    fn plan(&self) -> Plan {
        self.model.plan(self.hidden)
    }

    /// The networks that are trained: the encoder's layers, and the head's behind them.
    fn network(&self, features: usize) -> Towers {
        let plan = self.plan();
        let mut layers = self.encoder_layers(features);
        match plan.beside {
            Beside::Detached => {
                Towers::new(layers.into_iter().map(|of| Network::new(vec![of])).collect(), true)
            }
            Beside::Second(hops) => {
                let second = |layer: &Layer| Layer { hops: hops.clone(), ..layer.clone() };
                let second = layers.iter().map(second).collect();
                Towers::new(vec![Network::new(layers), Network::new(second)], false)
            }
            Beside::Alone => {
                if let Some(head) = plan.head {
                    let (hidden, width) = (self.hidden, head.width);
                    let first = Layer::plain(hidden, width, head.activation, Hops::none());
                    layers.push(Layer { rectified: head.rectified, ..first });
                    layers.push(Layer::plain(width, hidden, Activation::None, Hops::none()));
                }
                Towers::new(vec![Network::new(layers)], false)
            }
        }
    }

    fn encoder_layers(&self, features: usize) -> Vec<Layer> {
        let inner = self.inner_activation.unwrap_or(self.plan().inner);
        let layer = |at: usize| Layer {
            inputs: if at == 0 { features } else { self.hidden },
            outputs: self.hidden,
            activation: if at + 1 == self.layers { self.last_activation() } else { inner },
            hops: self.hops_of(at),
            norm: self.batch_norm(),
            dropout: self.dropout,
            rectified: false,
            initial: self.initial.unwrap_or_default(),
        };
        (0..self.layers).map(layer).collect()
    }

    pub(crate) fn last_activation(&self) -> Activation {
        self.activation.unwrap_or(self.plan().activation)
    }

    fn batch_norm(&self) -> bool {
        self.batch_norm.unwrap_or(self.plan().batch_norm)
    }

    /// How the encoder's weights start.
    fn initial_on(&self, whole_graph: bool) -> Initial {
        let corrupted = matches!(self.plan().views, Views::Corrupted { .. });
        let as_graph_layers = corrupted || (whole_graph && self.kind() == EncoderKind::Gcn);
        self.initial.unwrap_or(if as_graph_layers { Initial::Glorot } else { Initial::Linear })
    }

    /// Where the encoder passes messages.
    pub(crate) fn kind(&self) -> EncoderKind {
        self.encoder.unwrap_or(self.plan().encoder)
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
    network: Towers,
    objective: Box<dyn Objective + 'a>,
    /// The networks', then the objective's own.
    parameters: Vec<f32>,
    gradient: Vec<f32>,
    /// Of batch norm.
    statistics: Vec<f32>,
    /// The encoder's parameters as a model remembers them that follows itself; empty for others.
    target: Vec<f32>,
    /// Parameters and statistics of the lowest loss so far, where training has patience.
    lowest: Option<(Vec<f32>, Vec<f32>)>,
    /// The loss by a Gram matrix, where that is possible and cheaper.
    gram: Option<Gram>,
    adam: Adam,
    losses: Vec<f64>,
    settled: Vec<f64>,
    /// A few rows, whose effective rank is looked at.
    sample: Option<Features>,
}

/// What is known after the loss of an epoch.
struct Outcome {
    loss: f64,
    agreement: Option<f64>,
    /// Of batch norm, as they are to be.
    statistics: Vec<f32>,
}

impl<'a> Trainer<'a> {
    /// Ready for the first epoch.
    pub fn new(training: &Training, inputs: Inputs<'a>, graph: &'a Graph, seed: Seed) -> Result<Self> {
        inputs.check(graph)?;
        let each;
        let partition = match inputs {
            Inputs::Clusters(compressed) => compressed.partition(),
            // Every node is a cluster of its own: the coarse graph is then the graph.
            Inputs::Nodes(x) => {
                each = Partition::new((0..x.rows() as u32).collect())?;
                &each
            }
        };
        let objective = training.model.objective(&Setting { graph, partition, seed })?;
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
        let views = training.plan().views.count();
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
        let on_graph = matches!(inputs, Inputs::Nodes(_));
        let training = &Training { initial: Some(training.initial_on(on_graph)), ..training.clone() };
        let network = training.network(features.cols());
        let plan = training.plan();
        let rows = Rows::new(training, inputs, graph, seed)?;
        let linear = network
            .single()
            .is_some_and(|network| network.layers().len() == 1 && network.layers()[0].is_linear());
        let gram = rows.still().filter(|_| linear);
        let gram = gram.and_then(|x| Gram::if_cheaper(&*objective, x, training.hidden));
        let measured = plan.views == Views::One && !training.batch_norm();
        let sample = rows.still().filter(|_| measured).map(|x| x.spread_rows(stop::SAMPLE));
        if training.stop == Stop::Auto && !plan.agrees && sample.is_none() {
            return Err(Error::Input(
                "this training has no measure to stop by; give a number of epochs".into(),
            ));
        }
        let mut parameters = network.initial(seed);
        let target = objective.momentum(0, training.epochs).map(|_| parameters.clone()).unwrap_or_default();
        parameters.extend(objective.own(network.outputs()));
        let (rate, decay) = (training.learning_rate as f32, training.weight_decay as f32);
        Ok(Self {
            adam: Adam::new(training.optimizer, rate, decay, parameters.len()),
            gradient: vec![0.0; parameters.len()],
            parameters,
            statistics: network.initial_statistics(),
            target,
            lowest: None,
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
        let Outcome { loss, agreement, statistics } = outcome?;
        let before = self.is_lowest(loss).then(|| self.parameters.clone());
        let sound = self.adam.step(&mut self.parameters, &self.gradient);
        if !loss.is_finite() || !sound {
            return Err(Error::Input(format!(
                "training {} went beyond all numbers in epoch {}; lower the learning rate",
                self.training.model.name(),
                epoch + 1
            )));
        }
        self.statistics = statistics;
        if let Some(parameters) = before {
            self.lowest = Some((parameters, self.statistics.clone()));
        }
        self.follow(epoch);
        let settled = match (agreement, &self.sample) {
            (Some(agreement), _) => agreement,
            (None, Some(sample)) => self.effective_rank(sample),
            (None, None) => 0.0,
        };
        self.losses.push(loss);
        self.settled.push(settled);
        Ok(Epoch { number: epoch + 1, loss, settled: self.settled_at(epoch) })
    }

    /// The current parameters.
    pub fn parameters(&self) -> &[f32] {
        &self.parameters
    }

    /// The loss of the next epoch for other parameters of the same network.
    pub fn loss_with(&mut self, parameters: &[f32]) -> Result<f64> {
        let own = std::mem::replace(&mut self.parameters, parameters.to_vec());
        let outcome = self.loss(self.losses.len(), &mut vec![0.0; parameters.len()]);
        self.parameters = own;
        Ok(outcome?.loss)
    }

    /// The loss of an epoch, and what else is known after it; the gradient is written.
    fn loss(&self, epoch: usize, gradient: &mut [f32]) -> Result<Outcome> {
        let (parameters, own) = self.parameters.split_at(self.network.len());
        let outputs = self.network.outputs();
        if let (Some(gram), Some(quadratic), Some(Features::Dense(x))) =
            (&self.gram, self.objective.quadratic(), self.rows.still())
        {
            let parameters = parameters.split_at(parameters.len() - outputs);
            let gradient = gradient.split_at_mut(parameters.0.len());
            let loss = gram.loss(quadratic, x, parameters, epoch, gradient)?;
            return Ok(Outcome { loss, agreement: None, statistics: self.statistics.clone() });
        }
        // x = PᵀX, and below it for two views x' with members dropped or of permuted nodes.
        let rows = self.rows_of(epoch)?;
        let views = self.training.plan().views.count();
        let noise = Seed(self.seed.key("noise")).key(&epoch.to_string());
        let pass = Pass { messages: rows.messages.as_deref(), views, noise: Some(Seed(noise)) };
        // z = f(x), the loss with its gradient in z, and that in the parameters of f.
        let (z, trace) = self.network.forward(parameters, &rows.x, pass);
        let target = self.seen_by_target(&rows.x, pass);
        let step = Step { epoch, rows: rows.x.rows() / views, own, target: &target };
        let loss = self.objective.loss(z, outputs, &step)?;
        let statistics = self.network.remembered(&trace, &self.statistics);
        let (of_network, of_own) = gradient.split_at_mut(parameters.len());
        of_own.copy_from_slice(&loss.of_own);
        self.network.backward(parameters, &rows.x, pass, trace, loss.gradient, of_network);
        Ok(Outcome { loss: loss.value, agreement: loss.agreement, statistics })
    }

    /// What the target weights make of the rows, without a head; nothing where there are none.
    fn seen_by_target(&self, x: &Features, pass: Pass) -> Vec<f32> {
        if self.target.is_empty() {
            return Vec::new();
        }
        Network::new(self.training.encoder_layers(x.cols())).forward(&self.target, x, pass).0
    }

    /// Moves the target weights towards the present ones.
    fn follow(&mut self, epoch: usize) {
        let Some(kept) = self.objective.momentum(epoch, self.training.epochs) else { return };
        let kept = kept as f32;
        self.target.par_iter_mut().with_min_len(1 << 12).zip(&self.parameters).for_each(|(target, own)| {
            *target = kept * *target + (1.0 - kept) * own;
        });
    }

    /// The encoder as it is now, before it is standardised.
    pub fn encoder(&self) -> Encoder {
        self.encoder_of(&self.parameters, &self.statistics)
    }

    fn encoder_of(&self, parameters: &[f32], statistics: &[f32]) -> Encoder {
        let (layers, readout) = (self.training.layers, self.training.plan().readout);
        let mut encoder = Encoder::new(&self.network, parameters, statistics, layers, readout);
        if self.training.kind() == EncoderKind::Ssgc && self.training.stop == Stop::Auto && self.is_noise() {
            encoder.layers[0].hops = self.training.ssgc(0.5);
        }
        encoder
    }

    /// What training gave.
    pub fn finish(self) -> Result<Trained> {
        let on_clusters = matches!(self.rows, Rows::Clusters { .. });
        let finished = |parameters: &[f32], statistics: &[f32]| {
            let encoder = self.encoder_of(parameters, statistics);
            match &self.training {
                Training { standardize: true, .. } => {
                    encoder.standardized(self.graph, self.features, self.length())
                }
                training if training.batch_norm() && training.renormalize.unwrap_or(on_clusters) => {
                    encoder.renormalized(self.graph, self.features)
                }
                _ => Ok(encoder),
            }
        };
        let settled = (0..self.epochs()).map(|epoch| self.settled_at(epoch)).collect();
        let encoder = match &self.lowest {
            Some((parameters, statistics)) => finished(parameters, statistics)?,
            None => finished(&self.parameters, &self.statistics)?,
        };
        Ok(Trained {
            encoder,
            // Drawn anew, so that training need not hold them.
            untrained: finished(&self.network.initial(self.seed), &self.network.initial_statistics())?,
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
