//! New graphs from old ones: renumbered, cut out, or with random edges added.

use super::{EdgeList, Graph, build::pack};
use crate::{Error, Result, Seed};
use rand::RngExt;
use rayon::prelude::*;
use std::collections::HashSet;

impl Graph {
    /// The same graph with node `v` called `number[v]`, which must be a permutation.
    pub fn renumber(&self, number: &[u32]) -> Result<Self> {
        let nodes = self.nodes();
        let mut old = vec![u32::MAX; nodes];
        for (v, &new) in number.iter().enumerate() {
            match old.get_mut(new as usize) {
                Some(slot) if *slot == u32::MAX => *slot = v as u32,
                _ => return Err(Error::Input(format!("{new} is repeated or outside 0..{nodes}"))),
            }
        }
        if number.len() != nodes {
            let given = number.len();
            return Err(Error::Input(format!("{given} new numbers were given for {nodes} nodes")));
        }
        Ok(self.pick(&old, number))
    }

    /// The graph on `nodes` alone, in that order: node `i` of the result is `nodes[i]` here.
    pub fn induced(&self, nodes: &[u32]) -> Result<Self> {
        let mut number = vec![u32::MAX; self.nodes()];
        for (i, &v) in nodes.iter().enumerate() {
            match number.get_mut(v as usize) {
                Some(slot) if *slot == u32::MAX => *slot = i as u32,
                Some(_) => return Err(Error::Input(format!("node {v} is chosen twice"))),
                None => return Err(Error::Input(format!("there is no node {v}"))),
            }
        }
        Ok(self.pick(nodes, &number))
    }

    /// Rows `old`, with their targets renamed by `number` (`u32::MAX`: left out).
    fn pick(&self, old: &[u32], number: &[u32]) -> Self {
        let rows: Vec<Vec<(u32, f32)>> = old
            .par_iter()
            .map(|&v| {
                let weights = self.edge_weights(v);
                let renamed = |(i, &u): (usize, &u32)| {
                    let new = number[u as usize];
                    (new != u32::MAX).then(|| (new, weights.map_or(1.0, |weights| weights[i])))
                };
                let mut row: Vec<_> = self.neighbors(v).iter().enumerate().filter_map(renamed).collect();
                row.sort_unstable_by_key(|&(target, _)| target);
                row
            })
            .collect();
        let mut offsets = Vec::with_capacity(rows.len() + 1);
        offsets.push(0);
        offsets.extend(rows.iter().scan(0, |end, row| {
            *end += row.len() as u64;
            Some(*end)
        }));
        let weights: Option<Vec<f32>> =
            self.weights.is_some().then(|| rows.iter().flatten().map(|&(_, weight)| weight).collect());
        let targets: Vec<u32> = rows.into_iter().flatten().map(|(target, _)| target).collect();
        Self { offsets: offsets.into(), targets: targets.into(), weights: weights.map(Into::into) }
    }

    /// The graph with `count` more edges between distinct nodes that were not adjacent, drawn
    /// uniformly: the paper's noise experiment. New edges have weight 1.
    pub fn with_random_edges(&self, count: usize, seed: Seed) -> Result<Self> {
        let nodes = self.nodes() as u64;
        let free = nodes * nodes.saturating_sub(1) / 2 - self.edges() as u64;
        // Drawing pairs until they are new is quick only while most pairs are free.
        if count as u64 > free / 2 {
            return Err(Error::Input(format!(
                "{count} random edges were asked for, but only {free} pairs of nodes are free, and at most half of them can be filled"
            )));
        }
        let mut rng = seed.stream("random edges");
        let mut added = HashSet::with_capacity(count);
        let mut drawn = Vec::with_capacity(count);
        while drawn.len() < count {
            let (u, v) = (rng.random_range(0..nodes) as u32, rng.random_range(0..nodes) as u32);
            let pair = pack(u.min(v), u.max(v));
            if u != v && !self.has_edge(u, v) && added.insert(pair) {
                drawn.push(pair);
            }
        }
        let list = match self.weights() {
            None => EdgeList::from_packed(self.edge_iter().map(|(u, v)| pack(u, v)).chain(drawn).collect()),
            Some(_) => {
                let weighted = (0..nodes as u32).flat_map(|u| {
                    let weights = self.edge_weights(u).unwrap_or_default();
                    self.neighbors(u).iter().zip(weights).map(move |(&v, &w)| (pack(u, v), w))
                });
                EdgeList::from_weighted(weighted.chain(drawn.into_iter().map(|pair| (pair, 1.0))).collect())
            }
        };
        Ok(list.build(self.nodes())?.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // 0 - 1 - 2 - 3, 0 - 3
    fn square() -> Graph {
        Graph::from_edges(4, &[(0, 1), (1, 2), (2, 3), (3, 0)]).unwrap()
    }

    #[test]
    fn renumbering_there_and_back_changes_nothing() {
        let graph = square();
        let turned = graph.renumber(&[2, 0, 3, 1]).unwrap();
        assert_eq!(turned, Graph::from_edges(4, &[(2, 0), (0, 3), (3, 1), (1, 2)]).unwrap());
        assert_eq!(turned.renumber(&[1, 3, 0, 2]).unwrap(), graph);
        assert!(graph.renumber(&[0, 0, 1, 2]).is_err());
        assert!(graph.renumber(&[0, 1, 2]).is_err());
        assert!(graph.renumber(&[0, 1, 2, 4]).is_err());
    }

    #[test]
    fn an_induced_graph_keeps_the_edges_inside_and_the_weights() {
        let part = square().induced(&[3, 0, 1]).unwrap();
        assert_eq!(part, Graph::from_edges(3, &[(0, 1), (1, 2)]).unwrap());
        assert!(square().induced(&[1, 1]).is_err());
        assert!(square().induced(&[9]).is_err());
        let weighted = EdgeList::from_weighted(vec![(pack(0, 1), 2.0), (pack(1, 2), 3.0)]);
        let part = weighted.build(3).unwrap().0.induced(&[2, 1]).unwrap();
        assert_eq!(part.edge_weights(0), Some(&[3.0][..]));
    }

    #[test]
    fn random_edges_are_new_distinct_and_repeatable() {
        let graph = Graph::from_edges(50, &[(0, 1), (2, 3)]).unwrap();
        let noisy = graph.with_random_edges(100, Seed(1)).unwrap();
        assert_eq!(noisy.edges(), 102);
        assert!(noisy.has_edge(0, 1) && noisy.has_edge(2, 3));
        assert_eq!(noisy, graph.with_random_edges(100, Seed(1)).unwrap());
        assert_ne!(noisy, graph.with_random_edges(100, Seed(2)).unwrap());
        assert!(square().with_random_edges(2, Seed(0)).is_err());
        assert_eq!(square().with_random_edges(1, Seed(0)).unwrap().edges(), 5);
    }
}
