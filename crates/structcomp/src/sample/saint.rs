//! GraphSAINT: a batch is sampled nodes with all edges between them, weighted so that on average messages and losses
//! are those of the whole graph.

mod counts;
mod draw;

pub(super) use counts::Counts;
pub use draw::SaintSampler;

use super::induced::Induced;
use super::{Batch, Sampler};
use crate::{Error, Result};
use draw::Draw;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::Xxh3;

/// How GraphSAINT samples a batch.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct Saint {
    /// What is sampled.
    pub sampler: SaintSampler,
    /// How many nodes, edges or walks a batch is sampled by. By default a quarter, a seventh or a tenth of the nodes, and
    /// at most 8,000, 6,000 or 6,000.
    pub budget: Option<usize>,
    /// Steps of a random walk.
    pub walk_length: usize,
    /// Batches of an epoch; by default so many that they have as many nodes as the graph.
    pub batches: Option<usize>,
    /// How often, on average, a node is sampled in advance to find out how likely it and its edges are to be in a batch.
    /// With 0, batches are trained on as if each were a graph by itself.
    pub coverage: usize,
}

impl Default for Saint {
    fn default() -> Self {
        Self { sampler: SaintSampler::Walk, budget: None, walk_length: 2, batches: None, coverage: 50 }
    }
}

impl Saint {
    fn check(&self) -> Result<()> {
        let wrong = |what: &str| Err(Error::Input(what.to_owned()));
        match self {
            Self { budget: Some(0), .. } => wrong("budget must be at least 1"),
            Self { walk_length: 0, .. } => wrong("walk_length must be at least 1"),
            Self { walk_length: 1_001.., .. } => wrong("walk_length must be at most 1000"),
            Self { batches: Some(0), .. } => wrong("batches must be at least 1"),
            Self { coverage: 1_001.., .. } => wrong("coverage must be at most 1000"),
            _ => Ok(()),
        }
    }
}

/// # Reference
/// H. Zeng, H. Zhou, A. Srivastava, R. Kannan, V. Prasanna: GraphSAINT: Graph sampling based inductive learning method.
/// ICLR 2020.
pub(super) struct SaintBatches<'a> {
    induced: Induced<'a>,
    saint: Saint,
    draw: Draw<'a>,
    /// None where batches are taken as they are.
    counts: Option<Counts<'a>>,
    batches: usize,
}

impl<'a> SaintBatches<'a> {
    pub(super) fn new(induced: Induced<'a>, saint: Saint) -> Result<Self> {
        saint.check()?;
        let draw = Draw::new(&saint, induced.graph, induced.seed)?;
        // The weights of single edges are right on average, but their powers are not, and grow beyond all bounds.
        const FEW_HOPS: usize = 4;
        let hops = induced.most_hops();
        if saint.coverage > 0 && hops > FEW_HOPS {
            return Err(Error::Input(format!(
                "GraphSAINT cannot weight edges for more than {FEW_HOPS} hops, and the encoder makes {hops} in a layer; set \
                 coverage to 0, or choose fewer hops"
            )));
        }
        let (counts, size) = match saint.coverage {
            0 => (None, draw.sample(0).len() as f64),
            coverage => {
                let counts = Counts::new(&draw, coverage)?;
                let size = counts.mean_size();
                (Some(counts), size)
            }
        };
        let nodes = induced.graph.nodes() as f64;
        let batches = saint.batches.unwrap_or((nodes / size.max(1.0)).ceil().max(1.0) as usize);
        Ok(Self { induced, saint, draw, counts, batches })
    }
}

impl Sampler for SaintBatches<'_> {
    fn steps(&self) -> usize {
        self.batches
    }

    fn batch(&self, step: usize) -> Result<Batch<'_>> {
        let nodes = self.draw.batch(step);
        let weights =
            self.counts.as_ref().map(|counts| nodes.iter().map(|&node| counts.weight(node)).collect());
        Ok(Batch { weights, ..self.induced.batch(nodes, step, self.counts.as_ref())? })
    }

    fn fingerprint(&self, hash: &mut Xxh3) {
        hash.update(b"graphsaint");
        hash.update(format!("{:?}", self.saint).as_bytes());
        self.induced.fingerprint(hash);
    }
}
