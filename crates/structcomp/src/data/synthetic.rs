//! Synthetic graphs: a degree-corrected stochastic block model with nested blocks, power-law degrees
//! and class-dependent features.
//!
//! Classes contain groups, groups contain communities. Each node has a number of stubs (half edges)
//! that follows a power law. Each stub belongs to one level and is matched with a random stub of the
//! same block at that level. The matching is a computed permutation, so every row of the graph can be
//! written without storing an edge: a graph of billions of edges needs memory only for its nodes.

mod attributes;
mod blocks;
mod generate;
mod permutation;
mod stubs;
#[cfg(test)]
mod tests;
mod wiring;
mod write;

use crate::graph::MAX_NODES;
use crate::{Error, Result};
use serde::{Deserialize, Serialize};

/// Parameters of a synthetic graph; the default is `demo`, about the size of Cora.
///
/// ```
/// use structcomp::{Seed, data::Synthetic};
///
/// let small = Synthetic { nodes: 500, edges: 1500, ..Synthetic::default() };
/// let data = small.generate(Seed(0))?;
/// assert_eq!(data.graph.nodes(), 500);
/// assert!(data.graph.edges().abs_diff(1500) <= 15);
/// # Ok::<(), structcomp::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Synthetic {
    /// Name of the dataset.
    pub name: String,
    /// Number of nodes.
    pub nodes: usize,
    /// Number of undirected edges, met to within 1 % or about three edges.
    pub edges: usize,
    /// Number of classes, which are also the largest blocks.
    pub classes: usize,
    /// Imbalance of the classes: the size of the k-th is proportional to `k^-class_skew`.
    pub class_skew: f64,
    /// The features.
    pub features: FeatureKind,
    /// Share of edges within a class, met to within 0.02.
    pub homophily: f64,
    /// Share of the features, of the words or of the variance, that is independent of the class.
    pub feature_noise: f64,
    /// Share of the rest that depends on the group instead of the class.
    pub group_signal: f64,
    /// Share of communities whose features look like those of another class.
    pub overlap: f64,
    /// Exact number of isolated nodes.
    pub isolated: usize,
    /// Exponent of the power law of degrees, above 2; smaller means a heavier tail.
    pub degree_exponent: f64,
    /// Maximum number of stubs of a node, and so an upper bound of the degrees.
    pub max_degree: usize,
    /// Approximate size of a community.
    pub community: usize,
    /// Share of a node's edges within its class that stay in its community.
    pub community_share: f64,
    /// Share of a node's edges within its class that stay in its group but leave its community.
    pub group_share: f64,
    /// Share of unlabelled nodes.
    pub unlabelled: f64,
}

/// The kind of features of a synthetic graph.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", rename_all_fields = "kebab-case")]
pub enum FeatureKind {
    /// Sparse binary rows: which words of a vocabulary a node has.
    Words {
        /// Size of the vocabulary.
        vocabulary: usize,
        /// Mean number of words per node.
        per_node: f64,
    },
    /// Dense rows: the means of class and group, plus approximately normal noise.
    Gaussian {
        /// Number of features.
        width: usize,
    },
}

impl Default for Synthetic {
    fn default() -> Self {
        Self {
            name: "demo".into(),
            nodes: 2708,
            edges: 5278,
            classes: 7,
            class_skew: 0.75,
            features: FeatureKind::Words { vocabulary: 1433, per_node: 18.0 },
            homophily: 0.81,
            feature_noise: 0.5,
            group_signal: 0.2,
            overlap: 0.22,
            isolated: 0,
            degree_exponent: 2.8,
            max_degree: 170,
            community: 16,
            community_share: 0.5,
            group_share: 0.3,
            unlabelled: 0.0,
        }
    }
}

impl Synthetic {
    /// The names accepted by [`named`](Self::named).
    pub const NAMES: [&str; 4] = ["demo", "synthetic-arxiv", "synthetic-products", "synthetic-papers100m"];

    /// A model by name: `demo`, or one of the size of an Open Graph Benchmark dataset:
    /// `synthetic-arxiv`, `synthetic-products`, `synthetic-papers100m`.
    pub fn named(name: &str) -> Option<Self> {
        let demo = Self::default();
        let sized = |nodes, edges, classes, width| Self {
            name: name.to_owned(),
            nodes,
            edges,
            classes,
            features: FeatureKind::Gaussian { width },
            feature_noise: 0.87,
            overlap: 0.33,
            degree_exponent: 2.5,
            community: 100,
            ..demo.clone()
        };
        match name {
            "demo" => Some(demo),
            "synthetic-arxiv" => {
                let arxiv = sized(169_343, 1_157_799, 40, 128);
                Some(Self { homophily: 0.655, max_degree: 13_000, ..arxiv })
            }
            "synthetic-products" => {
                let products = sized(2_449_029, 61_859_140, 47, 100);
                Some(Self { max_degree: 17_000, community: 200, ..products })
            }
            "synthetic-papers100m" => {
                let papers = sized(111_059_956, 1_615_685_872, 172, 128);
                // 1,546,782 papers have a label.
                let unlabelled = 1.0 - 1_546_782.0 / 111_059_956.0;
                Some(Self { homophily: 0.57, max_degree: 30_000, community: 200, unlabelled, ..papers })
            }
            _ => None,
        }
    }

    /// Fails with the name of the first invalid field.
    pub fn validate(&self) -> Result<()> {
        let (nodes, edges, isolated) = (self.nodes, self.edges, self.isolated);
        if !(2..=MAX_NODES).contains(&nodes) {
            return wrong(format!("nodes is {nodes}, expected 2 to 2^31"));
        }
        if isolated > nodes - 2 {
            return wrong(format!(
                "isolated is {isolated}, but at least two of the {nodes} nodes must have edges"
            ));
        }
        let joined = (nodes - isolated) as u128;
        if (edges as u128 * 2) < joined || edges as u128 > joined * (joined - 1) / 2 {
            return wrong(format!(
                "edges is {edges}, but {joined} nodes that are not isolated have {} to {} edges",
                joined.div_ceil(2),
                joined * (joined - 1) / 2
            ));
        }
        if self.classes == 0 || self.classes > nodes / 2 {
            return wrong(format!("classes is {}, expected 1 to half the number of nodes", self.classes));
        }
        self.validate_shares().and_then(|()| self.validate_features())
    }

    fn validate_shares(&self) -> Result<()> {
        let shares = [
            ("homophily", self.homophily),
            ("feature_noise", self.feature_noise),
            ("group_signal", self.group_signal),
            ("overlap", self.overlap),
            ("community_share", self.community_share),
            ("group_share", self.group_share),
            ("community_share + group_share", self.community_share + self.group_share),
            ("unlabelled", self.unlabelled),
        ];
        if let Some((name, value)) = shares.iter().find(|(_, value)| !(0.0..=1.0).contains(value)) {
            return wrong(format!("{name} is {value}, expected 0 to 1"));
        }
        if !(0.0..=4.0).contains(&self.class_skew) {
            return wrong(format!("class_skew is {}, expected 0 to 4", self.class_skew));
        }
        if !(self.degree_exponent > 2.0 && self.degree_exponent <= 100.0) {
            return wrong(format!(
                "degree_exponent is {}, expected more than 2 and at most 100",
                self.degree_exponent
            ));
        }
        if self.community < 2 || self.max_degree == 0 {
            return wrong("community must be at least 2 and max_degree at least 1".into());
        }
        Ok(())
    }

    fn validate_features(&self) -> Result<()> {
        match self.features {
            FeatureKind::Gaussian { width } if !(1..=MOST_FEATURES).contains(&width) => {
                wrong(format!("the width of the features is {width}, expected 1 to 2^24"))
            }
            FeatureKind::Words { vocabulary, .. } if !(1..=MOST_FEATURES).contains(&vocabulary) => {
                wrong(format!("vocabulary is {vocabulary}, expected 1 to 2^24"))
            }
            FeatureKind::Words { vocabulary, per_node }
                if !(per_node > 0.0 && per_node <= (vocabulary as f64 / 2.0).max(1.0)) =>
            {
                wrong(format!(
                    "per_node is {per_node}, expected more than 0 and at most half of {vocabulary} words"
                ))
            }
            _ => Ok(()),
        }
    }
}

fn wrong(what: String) -> Result<()> {
    Err(Error::Input(format!("synthetic graph: {what}")))
}

const MOST_FEATURES: usize = 1 << 24;
