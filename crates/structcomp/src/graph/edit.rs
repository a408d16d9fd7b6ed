//! Derived graphs: renumbered, induced by a set of nodes, or with random edges added.

use super::{EdgeList, Graph, build::pack};
use crate::random::Rng;
use crate::{Error, Result, Seed};
use rand::RngExt;
use rayon::prelude::*;
use std::collections::HashSet;

/// Rows and entries per task.
const TASK: usize = 1 << 14;

impl Graph {
    /// The same graph with node `v` renamed to `number[v]`; `number` must be a permutation.
    pub fn renumber(&self, number: &[u32]) -> Result<Self> {
        let nodes = self.nodes();
        let mut old = vec![u32::MAX; nodes];
        for (v, &new) in number.iter().enumerate() {
            match old.get_mut(new as usize) {
                Some(slot) if *slot == u32::MAX => *slot = v as u32,
                _ => {
                    return Err(Error::Input(format!(
                        "the new number {new} is repeated or outside 0..{nodes}"
                    )));
                }
            }
        }
        if number.len() != nodes {
            let given = number.len();
            return Err(Error::Input(format!("{given} new numbers for {nodes} nodes")));
        }
        Ok(self.pick(&old, number))
    }

    /// The subgraph induced by `nodes`, in that order: node `i` of the result is `nodes[i]` here.
    pub fn induced(&self, nodes: &[u32]) -> Result<Self> {
        let mut number = vec![u32::MAX; self.nodes()];
        for (i, &v) in nodes.iter().enumerate() {
            match number.get_mut(v as usize) {
                Some(slot) if *slot == u32::MAX => *slot = i as u32,
                Some(_) => return Err(Error::Input(format!("node {v} is selected twice"))),
                None => return Err(Error::Input(format!("node {v} does not exist"))),
            }
        }
        Ok(self.pick(nodes, &number))
    }

    /// The rows `old`, with targets renamed by `number`; targets with `u32::MAX` are dropped.
    fn pick(&self, old: &[u32], number: &[u32]) -> Self {
        let kept = |&&u: &&u32| number[u as usize] != u32::MAX;
        let mut offsets = vec![0; old.len() + 1];
        offsets[1..].par_iter_mut().zip(old).for_each(|(count, &v)| {
            *count = self.neighbors(v).iter().filter(kept).count() as u64;
        });
        for row in 0..old.len() {
            offsets[row + 1] += offsets[row];
        }
        let entries = offsets[old.len()] as usize;
        let mut targets = vec![0; entries];
        let mut weights = vec![0.0; if self.weights.is_some() { entries } else { 0 }];
        self.fill_picked(old, number, &offsets, &mut targets, &mut weights);
        let weights = self.weights.is_some().then(|| weights.into());
        Self { offsets: offsets.into(), targets: targets.into(), weights }
    }

    /// Fills the rows `old`, splitting the work in halves until it is small.
    fn fill_picked(
        &self,
        old: &[u32],
        number: &[u32],
        offsets: &[u64],
        targets: &mut [u32],
        weights: &mut [f32],
    ) {
        let middle = old.len() / 2;
        if old.len() > 1 && old.len() + targets.len() > TASK {
            let cut = (offsets[middle] - offsets[0]) as usize;
            let (left, right) = targets.split_at_mut(cut);
            let (left_weights, right_weights) = weights.split_at_mut(cut.min(weights.len()));
            rayon::join(
                || self.fill_picked(&old[..middle], number, &offsets[..=middle], left, left_weights),
                || self.fill_picked(&old[middle..], number, &offsets[middle..], right, right_weights),
            );
            return;
        }
        let mut sorted = Vec::new();
        for (i, &v) in old.iter().enumerate() {
            let row = (offsets[i] - offsets[0]) as usize..(offsets[i + 1] - offsets[0]) as usize;
            let weight = |at: usize| self.edge_weights(v).map_or(1.0, |weights| weights[at]);
            let renamed =
                self.neighbors(v).iter().enumerate().map(|(at, &u)| (number[u as usize], weight(at)));
            sorted.extend(renamed.filter(|&(new, _)| new != u32::MAX));
            sorted.sort_unstable_by_key(|&(target, _)| target);
            targets[row.clone()].iter_mut().zip(&sorted).for_each(|(slot, &(target, _))| *slot = target);
            if self.weights.is_some() {
                weights[row].iter_mut().zip(&sorted).for_each(|(slot, &(_, weight))| *slot = weight);
            }
            sorted.clear();
        }
    }

    /// The graph with `count` random new edges, drawn uniformly from the pairs of distinct nodes that are
    /// not adjacent: the paper's noise experiment. New edges have weight 1.
    pub fn with_random_edges(&self, count: usize, seed: Seed) -> Result<Self> {
        let drawn = self.random_non_edges(count, seed.stream("random edges"))?;
        let drawn: Vec<u64> = drawn.into_iter().map(|(u, v)| pack(u, v)).collect();
        let list = match self.weights() {
            None => EdgeList::from_packed(self.edge_iter().map(|(u, v)| pack(u, v)).chain(drawn).collect()),
            Some(_) => {
                let weighted = (0..self.nodes() as u32).flat_map(|u| {
                    let weights = self.edge_weights(u).unwrap_or_default();
                    self.neighbors(u).iter().zip(weights).map(move |(&v, &w)| (pack(u, v), w))
                });
                EdgeList::from_weighted(weighted.chain(drawn.into_iter().map(|pair| (pair, 1.0))).collect())
            }
        };
        Ok(list.build(self.nodes())?.0)
    }

    /// Distinct pairs of non-adjacent nodes, drawn uniformly, the smaller node first.
    pub(crate) fn random_non_edges(&self, count: usize, mut rng: Rng) -> Result<Vec<(u32, u32)>> {
        let nodes = self.nodes() as u64;
        let free = nodes * nodes.saturating_sub(1) / 2 - self.edges() as u64;
        // Rejection sampling is fast only while most pairs are free.
        if count as u64 > free / 2 {
            return Err(Error::Input(format!(
                "{count} non-adjacent pairs are more than half of the {free} there are; request fewer"
            )));
        }
        let mut met = HashSet::with_capacity(count);
        let mut drawn = Vec::with_capacity(count);
        while drawn.len() < count {
            let (u, v) = (rng.random_range(0..nodes) as u32, rng.random_range(0..nodes) as u32);
            let pair = (u.min(v), u.max(v));
            if u != v && !self.has_edge(u, v) && met.insert(pair) {
                drawn.push(pair);
            }
        }
        Ok(drawn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand::seq::SliceRandom;

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

    #[test]
    fn many_tasks_renumber_as_one_does() {
        let edges: Vec<(u32, u32)> = (0..40_000).map(|i| (i % 9_973, (i * 7 + 1) % 10_007)).collect();
        let graph = Graph::from_edges(10_007, &edges).unwrap();
        assert!(graph.targets().len() > 2 * TASK);
        let reversed = graph.renumber(&(0..10_007).rev().collect::<Vec<u32>>()).unwrap();
        let flipped: Vec<(u32, u32)> = edges.iter().map(|&(u, v)| (10_006 - u, 10_006 - v)).collect();
        assert_eq!(reversed, Graph::from_edges(10_007, &flipped).unwrap());
    }

    proptest! {
        #[test]
        fn a_random_renumbering_is_undone_by_its_inverse(
            edges in prop::collection::vec((0u32..25, 0u32..25, 1u8..9), 0..90),
            seed in any::<u64>(),
        ) {
            let entries = edges.iter().map(|&(u, v, w)| (pack(u, v), w as f32)).collect();
            let (graph, _) = EdgeList::from_weighted(entries).build(25).unwrap();
            let mut number: Vec<u32> = (0..25).collect();
            number.shuffle(&mut Seed(seed).stream("renumbering"));
            let mut back = vec![0; 25];
            (0..).zip(&number).for_each(|(v, &new)| back[new as usize] = v);
            let turned = graph.renumber(&number).unwrap();
            for (u, v) in graph.edge_iter() {
                prop_assert!(turned.has_edge(number[u as usize], number[v as usize]));
            }
            // This also checks that the weights are symmetric.
            let arrays = (turned.offsets.clone(), turned.targets.clone(), turned.weights.clone());
            prop_assert!(Graph::from_csr(arrays.0, arrays.1, arrays.2).is_ok());
            prop_assert_eq!(turned.renumber(&back).unwrap(), graph);
        }
    }
}
