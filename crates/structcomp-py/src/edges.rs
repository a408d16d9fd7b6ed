//! Lists of edges, before they become a graph.

use crate::arrays::Reals;
use rayon::prelude::*;
use structcomp::graph::{MAX_NODES, Repairs};
use structcomp::{Budget, EdgeList, Error, Graph, Result};

/// The two ends of each edge, in any order and direction.
pub(crate) struct Listed {
    /// `source << 32 | target`.
    pairs: Vec<u64>,
    weights: Option<Vec<f32>>,
    least: i64,
    most: i64,
}

impl Listed {
    /// An empty list.
    pub(crate) fn new(weighted: bool) -> Self {
        Self { pairs: Vec::new(), weights: weighted.then(Vec::new), least: 0, most: -1 }
    }

    /// Adds edges.
    pub(crate) fn add<S, T>(&mut self, sources: &[S], targets: &[T], weights: Option<Reals<'_>>) -> Result<()>
    where
        S: Copy + Into<i64> + Sync,
        T: Copy + Into<i64> + Sync,
    {
        if sources.len() != targets.len() {
            let (a, b) = (sources.len(), targets.len());
            return Err(Error::Input(format!("edges have {a} sources but {b} targets")));
        }
        check_weights(weights, sources.len())?;
        let ends = || {
            let ends = sources.par_iter().zip(targets);
            ends.map(|(&source, &target)| -> (i64, i64) { (source.into(), target.into()) })
        };
        let (least, most) = ends()
            .map(|(u, v)| (u.min(v), u.max(v)))
            .reduce(|| (self.least, self.most), |a, b| (a.0.min(b.0), a.1.max(b.1)));
        (self.least, self.most) = (least, most);
        self.pairs.par_extend(ends().map(|(u, v)| (u as u64) << 32 | v as u32 as u64));
        match (&mut self.weights, weights) {
            (Some(all), Some(Reals::Single(more))) => all.extend_from_slice(more),
            (Some(all), Some(Reals::Double(more))) => all.par_extend(more.par_iter().map(|&w| w as f32)),
            _ => {}
        }
        Ok(())
    }

    /// The graph, and what was repaired. Edges may be `added` as the entries of a matrix.
    pub(crate) fn build(self, nodes: Option<usize>, added: bool) -> Result<(Graph, Repairs)> {
        let Self { pairs, weights, least, most } = self;
        let nodes = nodes.unwrap_or(usize::try_from(most.saturating_add(1)).unwrap_or(0));
        if least < 0 {
            return Err(Error::Input(format!("invalid node {least} in an edge; nodes are numbered from 0")));
        }
        if most >= nodes as i64 {
            return Err(Error::Input(format!("invalid node {most} in an edge: there are {nodes} nodes")));
        }
        if nodes > MAX_NODES {
            return Err(Error::Input(format!("{nodes} nodes are more than the supported 2^31")));
        }
        Budget::default().check_nodes(nodes)?;
        let list = match weights {
            None => EdgeList::from_packed(pairs),
            Some(weights) => EdgeList::from_weighted(pairs.into_par_iter().zip(weights).collect()),
        };
        let list = if added { list.added() } else { list };
        list.build(nodes)
    }
}

/// An error unless there is one weight per edge.
pub(crate) fn check_weights(weights: Option<Reals<'_>>, edges: usize) -> Result<()> {
    match weights.map(|weights| weights.len()).filter(|&count| count != edges) {
        Some(count) => Err(Error::Input(format!("there are {count} weights for {edges} edges"))),
        None => Ok(()),
    }
}
