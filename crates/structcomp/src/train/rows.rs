//! Where the rows of an epoch come from, and what it sees of them.

use super::augment::{Augment, all_but, kept_columns};
use super::{Inputs, Trainer, Training};
use crate::model::Views;
use crate::network::Messages;
use crate::{Compressed, Csr, EncoderKind, Features, Graph, Normalization, Propagation, Result, Seed};
use rand::seq::SliceRandom;
use std::borrow::Cow;

/// Where the rows of an epoch come from.
pub(super) enum Rows<'a> {
    Clusters {
        compressed: &'a Compressed<'a>,
        first: Cow<'a, Features>,
    },
    /// Augmented anew in every epoch.
    Augmented(&'a Features),
    /// As they are, and below them those of permuted nodes, with the same messages between both.
    Corrupted {
        x: &'a Features,
        messages: Messages,
    },
    /// As they are. Encoders that pass all messages before their layers see features after all hops.
    Nodes {
        x: Cow<'a, Features>,
        messages: Option<Messages>,
    },
}

/// The rows that an epoch sees, of one view below the other's, and the messages between them.
pub(super) struct Seen<'v> {
    pub(super) x: Cow<'v, Features>,
    pub(super) messages: Option<Cow<'v, Messages>>,
}

impl<'a> Rows<'a> {
    pub(super) fn new(training: &Training, inputs: Inputs<'a>, graph: &Graph, seed: Seed) -> Result<Self> {
        let plain = |x: &Features| Ok(Augment::none().view(x, graph, seed, 0, 0)?.1);
        Ok(match (inputs, training.plan().views) {
            (Inputs::Clusters(compressed), Views::Corrupted { .. }) => {
                Self::Clusters { compressed, first: Cow::Borrowed(compressed.features()) }
            }
            (Inputs::Clusters(compressed), _) => {
                Self::Clusters { compressed, first: fastest(Cow::Borrowed(compressed.features())) }
            }
            (Inputs::Nodes(x), Views::Two) => Self::Augmented(x),
            (Inputs::Nodes(x), Views::Corrupted { .. }) => {
                let messages = plain(x)?;
                Self::Corrupted { x, messages: Messages::new(messages.beside(&messages)) }
            }
            (Inputs::Nodes(x), Views::One) if training.kind() == EncoderKind::Gcn => {
                let messages = Some(Messages::new(plain(x)?));
                Self::Nodes { x: fastest(Cow::Borrowed(x)), messages }
            }
            (Inputs::Nodes(x), Views::One) => {
                let propagation = Propagation::new(graph, Normalization::Symmetric);
                let propagated = training.hops_of(0).of_features(&propagation, x)?;
                Self::Nodes { x: fastest(Cow::Owned(propagated)), messages: None }
            }
        })
    }

    /// Those that are the same in every epoch and pass no messages.
    pub(super) fn still(&self) -> Option<&Features> {
        match self {
            Self::Clusters { first: x, .. } | Self::Nodes { x, messages: None } => Some(x),
            Self::Nodes { .. } | Self::Augmented(_) | Self::Corrupted { .. } => None,
        }
    }
}

impl Trainer<'_> {
    /// The rows of an epoch.
    pub(super) fn rows_of(&self, epoch: usize) -> Result<Seen<'_>> {
        match (&self.rows, self.training.plan().views) {
            (Rows::Nodes { x, messages }, _) => {
                Ok(Seen { x: Cow::Borrowed(&**x), messages: messages.as_ref().map(Cow::Borrowed) })
            }
            (Rows::Clusters { first, .. }, Views::One) => {
                Ok(Seen { x: Cow::Borrowed(&**first), messages: None })
            }
            (Rows::Clusters { compressed, first }, Views::Two) => {
                let how = self.training.drop_member;
                let x = match &**first {
                    Features::Dense(first) => {
                        Features::Dense(compressed.both_views(first, how, self.seed, epoch)?)
                    }
                    first => first.above(&compressed.drop_member(how, self.seed, epoch)?)?,
                };
                Ok(Seen { x: Cow::Owned(x), messages: None })
            }
            (Rows::Clusters { compressed, first }, Views::Corrupted { mask }) => {
                let second = compressed.corrupted(&self.permuted(compressed.partition().nodes(), epoch))?;
                Ok(Seen { x: self.masked(first.above(&second)?, mask, epoch)?, messages: None })
            }
            (Rows::Corrupted { x, messages }, views) => {
                let mask = if let Views::Corrupted { mask } = views { mask } else { 0.0 };
                let second = x.select(&self.permuted(x.rows(), epoch));
                let x = self.masked(x.above(&second)?, mask, epoch)?;
                Ok(Seen { x, messages: Some(Cow::Borrowed(messages)) })
            }
            (Rows::Augmented(x), _) => {
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

    /// Which node's features each node has in the corrupted view of an epoch.
    fn permuted(&self, nodes: usize, epoch: usize) -> Vec<u32> {
        let mut order: Vec<u32> = (0..nodes as u32).collect();
        order.shuffle(&mut self.seed.stream_at("corruption", epoch as u64));
        order
    }

    fn masked(&self, x: Features, mask: f64, epoch: usize) -> Result<Cow<'static, Features>> {
        let x = match mask > 0.0 {
            true => kept_columns(&x, &all_but(mask, x.cols(), self.seed, epoch))?,
            false => x,
        };
        Ok(fastest(Cow::Owned(x)))
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
