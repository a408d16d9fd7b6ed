//! Substitute features for graphs without any, computed from the graph alone.

use super::position::positions;
use crate::matrix::zeros;
use crate::{Csr, Dense, Error, Features, Graph, Result, Seed};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::sync::{Arc, OnceLock};

/// Substitute features for datasets that have none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StandIn {
    /// Where the node is in the graph: nodes with like neighbourhoods, and in the same part of the graph, have like
    /// features. The best choice where one graph is embedded.
    #[default]
    Position,
    /// One-hot encoding of the degree on a logarithmic scale: small degrees have their own column, larger
    /// ones share. Sparse, and the only choice that means the same on every graph.
    Degree,
}

impl std::fmt::Display for StandIn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Position => "positions in the graph",
            Self::Degree => "node degrees",
        })
    }
}

/// A stand-in with all that its features depend on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct FittedStandIn {
    pub(super) kind: StandIn,
    width: usize,
    seed: u64,
    /// The largest degree of the graph it was fitted on, which sets the scale of degrees.
    largest_degree: usize,
    /// The number of nodes and a fingerprint of that graph.
    nodes: usize,
    graph: String,
    #[serde(skip)]
    known: Known,
}

/// Positions that were computed before, as they are needed to fit a model and again to embed.
#[derive(Clone, Debug, Default)]
struct Known(OnceLock<Arc<Vec<f32>>>);

impl PartialEq for Known {
    /// They follow from all else.
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl FittedStandIn {
    pub(crate) fn new(kind: StandIn, width: usize, graph: &Graph, seed: Seed) -> Self {
        let largest = (0..graph.nodes() as u32).into_par_iter().map(|v| graph.degree(v)).max();
        let (largest_degree, nodes) = (largest.unwrap_or(0), graph.nodes());
        let (graph, known) = (fingerprint(graph), Known::default());
        Self { kind, width, seed: seed.0, largest_degree, nodes, graph, known }
    }

    pub(crate) fn width(&self) -> usize {
        self.width
    }

    fn is_of(&self, graph: &Graph) -> bool {
        self.graph == fingerprint(graph)
    }

    /// The graph it was fitted on, if `graph` is that one with further nodes after its own.
    fn before_growth(&self, graph: &Graph) -> Result<Option<Graph>> {
        if graph.nodes() <= self.nodes {
            return Ok(None);
        }
        let first: Vec<u32> = (0..self.nodes as u32).collect();
        Ok(Some(graph.induced(&first)?).filter(|first| self.is_of(first)))
    }

    /// Whether it says anything about the nodes of this graph.
    pub(crate) fn knows(&self, graph: &Graph) -> bool {
        self.is_of(graph) || matches!(self.before_growth(graph), Ok(Some(_)))
    }

    /// Positions in the graph that it was fitted on. A new node of that graph is where its neighbours are on average;
    /// nodes of other graphs are nowhere, and have zeros.
    pub(crate) fn of_known(&self, graph: &Graph) -> Result<Arc<Vec<f32>>> {
        let (width, seed) = (self.width, Seed(self.seed));
        if self.is_of(graph) {
            let found = match self.known.0.get() {
                Some(known) => known.clone(),
                None => Arc::new(positions(graph, width, seed)?),
            };
            return Ok(self.known.0.get_or_init(|| found).clone());
        }
        let Some(before) = self.before_growth(graph)? else {
            return Ok(Arc::new(zeros(graph.nodes() * width)));
        };
        let mut all = Vec::clone(&*self.of_known(&before)?);
        let known = |&&node: &&u32| (node as usize) < self.nodes;
        for node in self.nodes..graph.nodes() {
            let mut row = vec![0.0; width];
            let near: Vec<u32> = graph.neighbors(node as u32).iter().filter(known).copied().collect();
            for &other in &near {
                let other = &all[other as usize * width..][..width];
                row.iter_mut().zip(other).for_each(|(sum, value)| *sum += value / near.len() as f32);
            }
            all.extend(row);
        }
        Ok(Arc::new(all))
    }

    /// Features for each node of `graph`. Only degrees mean the same on every graph: coordinates of one graph
    /// say nothing about the nodes of another.
    pub(super) fn features(&self, graph: &Graph) -> Result<Features> {
        let (width, seed) = (self.width, Seed(self.seed));
        if width == 0 {
            return Err(Error::Input("stand-in features need a width of at least 1".into()));
        }
        if self.kind != StandIn::Degree && !self.is_of(graph) {
            return Err(Error::Input(format!(
                "the model was fitted on a graph without features ({} stood in for them), and these mean nothing \
                 on another graph; use the degree stand-in, or give both graphs features",
                self.kind
            )));
        }
        match self.kind {
            StandIn::Degree => degree(graph, width, self.largest_degree),
            StandIn::Position => {
                Dense::new(graph.nodes(), width, positions(graph, width, seed)?).map(Features::Dense)
            }
        }
    }
}

fn fingerprint(graph: &Graph) -> String {
    format!("{:032x}", graph.fingerprint())
}

impl StandIn {
    /// `width` features for each node of `graph`.
    pub fn features(&self, graph: &Graph, width: usize, seed: Seed) -> Result<Features> {
        FittedStandIn::new(*self, width, graph, seed).features(graph)
    }
}

/// One-hot columns: as many equal steps in every doubling of `degree + 1` as `width` allows.
fn degree(graph: &Graph, width: usize, largest: usize) -> Result<Features> {
    let nodes = graph.nodes();
    let doublings = (largest + 1).ilog2() as usize + 1;
    let steps = (width / doublings).max(1) as u128;
    let column = |v: u32| {
        let place = graph.degree(v) as u128 + 1;
        let doubling = place.ilog2();
        // Integer arithmetic, since logarithms are rounded differently on different machines.
        let column = u128::from(doubling) * steps + (((place - (1 << doubling)) * steps) >> doubling);
        column.min(width as u128 - 1) as u32
    };
    let columns: Vec<u32> = (0..nodes as u32).into_par_iter().map(column).collect();
    Csr::new(width, (0..=nodes as u64).collect::<Vec<_>>(), columns, vec![1.0; nodes]).map(Features::Sparse)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn degrees_get_columns_on_a_logarithmic_scale() {
        // A star with eight leaves and an isolated node: degrees 8, 1 and 0.
        let edges: Vec<(u32, u32)> = (1..9).map(|leaf| (0, leaf)).collect();
        let graph = Graph::from_edges(10, &edges).unwrap();
        let columns = |width: usize| match StandIn::Degree.features(&graph, width, Seed(0)).unwrap() {
            Features::Sparse(x) => [0, 1, 9].map(|row| x.row(row).0[0]),
            Features::Dense(_) => panic!("degrees are sparse"),
        };
        // 9 = 2^3 + 1, 2 = 2^1, 1 = 2^0.
        assert_eq!(columns(4), [3, 1, 0]);
        assert_eq!(columns(2), [1, 1, 0]);
        // Eight steps per doubling: 9 is one of eight steps past 8.
        assert_eq!(columns(32), [25, 8, 0]);
        assert!(StandIn::Degree.features(&graph, 0, Seed(0)).is_err());
    }

    #[test]
    fn every_kind_fills_any_graph() {
        let graph = |nodes, edges: &[(u32, u32)]| Graph::from_edges(nodes, edges).unwrap();
        let graphs = [graph(0, &[]), graph(1, &[]), graph(2, &[(0, 1)]), graph(7, &[(0, 1), (1, 2), (4, 5)])];
        for kind in [StandIn::Position, StandIn::Degree] {
            for graph in &graphs {
                for width in [1, 2, 5, 128] {
                    let x = kind.features(graph, width, Seed(0)).unwrap();
                    assert_eq!((x.rows(), x.cols()), (graph.nodes(), width), "{kind:?}");
                    assert!(x.to_dense().values().iter().all(|value| value.is_finite()));
                }
            }
        }
        assert_eq!(serde_json::to_string(&StandIn::Position).unwrap(), "\"position\"");
    }
}
