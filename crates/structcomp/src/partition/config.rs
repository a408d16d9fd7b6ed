//! The choice of a method and its settings: what the command line, Python and TOML spell.

use super::{LabelPropagation, Multilevel, Partition, Partitioner, Random};
use crate::{Error, Graph, Result, Seed};
use serde::{Deserialize, Serialize};

/// A method by its name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// Our own, the default.
    #[default]
    Multilevel,
    /// A few passes over the graph, for graphs larger than memory.
    LabelPropagation,
    /// Deals nodes out at random, the baseline.
    Random,
}

/// What a refinement tries to improve.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Refine {
    /// The weight of the edges between clusters, to be small.
    #[default]
    Cut,
    /// The distance ‖P'Pᵀ − Â‖ between the graph and its compression, to be small.
    Objective,
}

/// How a graph is to be split into clusters.
///
/// ```
/// use structcomp::{Graph, Partitioning, Seed};
///
/// let graph = Graph::from_edges(6, &[(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)])?;
/// let config = Partitioning { clusters: Some(2), ..Partitioning::default() };
/// let partition = config.partition(&graph, Seed(0))?;
/// assert_eq!(partition.clusters(), 2);
/// # Ok::<(), structcomp::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct Partitioning {
    /// The method.
    pub method: Method,
    /// How many clusters; the paper's rule is a tenth of the nodes.
    pub clusters: Option<usize>,
    /// How much larger than the average a cluster may be, as a share of it; rounded up to whole nodes.
    pub imbalance: f64,
    /// The most nodes in a cluster, instead of `imbalance`.
    pub max_size: Option<usize>,
    /// What the default method refines for.
    pub refine: Refine,
}

impl Default for Partitioning {
    fn default() -> Self {
        Self {
            method: Method::default(),
            clusters: None,
            imbalance: 0.1,
            max_size: None,
            refine: Refine::Cut,
        }
    }
}

impl Partitioning {
    /// The number of clusters asked for: the setting, or a tenth of the nodes.
    pub fn clusters_of(&self, nodes: usize) -> usize {
        self.clusters.unwrap_or(nodes.div_ceil(10))
    }

    /// Splits the graph.
    pub fn partition(&self, graph: &Graph, seed: Seed) -> Result<Partition> {
        self.check()?;
        self.partitioner().partition(graph, self.clusters_of(graph.nodes()), seed)
    }

    /// The configured method.
    pub fn partitioner(&self) -> Box<dyn Partitioner> {
        match self.method {
            Method::Multilevel => Box::new(Multilevel {
                imbalance: self.imbalance,
                max_size: self.max_size,
                refine: self.refine,
                ..Multilevel::default()
            }),
            Method::LabelPropagation => Box::new(LabelPropagation {
                imbalance: self.imbalance,
                max_size: self.max_size,
                ..LabelPropagation::default()
            }),
            Method::Random => Box::new(Random),
        }
    }

    fn check(&self) -> Result<()> {
        if !(self.imbalance.is_finite() && self.imbalance >= 0.0) {
            return Err(Error::Input(format!("the imbalance must be 0 or more, not {}", self.imbalance)));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_a_tenth_of_the_nodes() {
        assert_eq!(Partitioning::default().clusters_of(2708), 271);
        assert_eq!(Partitioning { clusters: Some(300), ..Partitioning::default() }.clusters_of(2708), 300);
    }

    #[test]
    fn bad_settings_are_errors() {
        let graph = Graph::from_edges(3, &[]).unwrap();
        for imbalance in [-0.1, f64::NAN, f64::INFINITY] {
            let config = Partitioning { imbalance, ..Partitioning::default() };
            assert!(config.partition(&graph, Seed(0)).unwrap_err().to_string().contains("imbalance"));
        }
    }
}
