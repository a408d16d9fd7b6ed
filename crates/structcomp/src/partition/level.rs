//! A graph at one level of coarsening: each node represents a group of nodes, and edges are weighted.

use super::connections::Connections;
use crate::{Graph, matrix::prefetch};
use rayon::prelude::*;
use std::borrow::Cow;

/// A weighted graph; the finest level borrows the input graph.
pub(super) struct Level<'a> {
    offsets: Cow<'a, [u64]>,
    targets: Cow<'a, [u32]>,
    /// One weight per entry of `targets`; `None` if all are 1.
    weights: Option<Cow<'a, [f32]>>,
    /// The total weight of the input nodes that each node represents.
    sizes: Cow<'a, [u32]>,
    /// The edge weight inside each node, counting both directions of each edge and self-loops.
    inner: Vec<f32>,
}

/// Coarse rows per task.
const ROWS: usize = 1 << 10;

impl<'a> Level<'a> {
    /// The input graph with its own edge weights.
    pub(super) fn finest(graph: &'a Graph, sizes: Cow<'a, [u32]>) -> Self {
        let weights = graph.weights().map(Cow::Borrowed);
        let inner = vec![0.0; graph.nodes()];
        Self { offsets: graph.offsets().into(), targets: graph.targets().into(), weights, sizes, inner }
    }

    /// One component of the input graph. Its node `i` is input node `nodes[i]`; `place` is the inverse map.
    pub(super) fn component(graph: &'a Graph, nodes: &[u32], place: &[u32]) -> Self {
        let sizes = vec![1; nodes.len()].into();
        if nodes.len() == graph.nodes() {
            return Self::finest(graph, sizes);
        }
        let mut offsets = vec![0; nodes.len() + 1];
        for (row, &node) in nodes.iter().enumerate() {
            offsets[row + 1] = offsets[row] + graph.degree(node) as u64;
        }
        let rows = || nodes.iter().flat_map(|&node| graph.neighbors(node));
        let targets: Vec<u32> = rows().map(|&target| place[target as usize]).collect();
        let weights = graph.weights().is_some().then(|| {
            nodes.iter().flat_map(|&node| graph.edge_weights(node).into_iter().flatten().copied()).collect()
        });
        let inner = vec![0.0; nodes.len()];
        Self { offsets: offsets.into(), targets: targets.into(), weights, sizes, inner }
    }

    /// The input graph with the entries of Â as edge weights.
    pub(super) fn normalized(graph: &'a Graph, sizes: Cow<'a, [u32]>) -> Self {
        let root = |node: u32| {
            let sum = match graph.edge_weights(node) {
                Some(weights) => weights.iter().sum(),
                None => graph.degree(node) as f32,
            };
            1.0 / (1.0 + sum).sqrt()
        };
        let root: Vec<f32> = (0..graph.nodes() as u32).into_par_iter().map(root).collect();
        let mut weights = vec![0f32; graph.targets().len()];
        let mut rest = &mut weights[..];
        for u in 0..graph.nodes() as u32 {
            let (row, others) = std::mem::take(&mut rest).split_at_mut(graph.degree(u));
            for (i, (weight, &v)) in row.iter_mut().zip(graph.neighbors(u)).enumerate() {
                let edge = graph.edge_weights(u).map_or(1.0, |weights| weights[i]);
                *weight = edge * root[u as usize] * root[v as usize];
            }
            rest = others;
        }
        let inner = root.iter().map(|root| root * root).collect();
        let (offsets, targets) = (graph.offsets().into(), graph.targets().into());
        Self { offsets, targets, weights: Some(weights.into()), sizes, inner }
    }

    /// The size of each cluster of `part` and the edge weight inside it, counting both directions.
    pub(super) fn clusters(&self, part: &[u32], count: usize) -> (Vec<u32>, Vec<f64>) {
        let within = |node: u32| {
            let own = part[node as usize];
            let mut sum = self.inner(node);
            self.each_neighbor(node, |v, weight| {
                sum += if part[v as usize] == own { weight as f64 } else { 0.0 };
            });
            sum
        };
        let within: Vec<f64> =
            (0..self.nodes() as u32).into_par_iter().with_min_len(1 << 10).map(within).collect();
        let (mut size, mut inner) = (vec![0; count], vec![0.0; count]);
        for (node, &c) in part.iter().enumerate() {
            size[c as usize] += self.sizes[node];
            inner[c as usize] += within[node];
        }
        (size, inner)
    }

    pub(super) fn nodes(&self) -> usize {
        self.sizes.len()
    }

    pub(super) fn entries(&self) -> usize {
        self.targets.len()
    }

    pub(super) fn degree(&self, node: u32) -> usize {
        self.row(node).len()
    }

    pub(super) fn size(&self, node: u32) -> u32 {
        self.sizes[node as usize]
    }

    pub(super) fn inner(&self, node: u32) -> f64 {
        self.inner[node as usize] as f64
    }

    pub(super) fn neighbors(&self, node: u32) -> &[u32] {
        &self.targets[self.row(node)]
    }

    /// Calls `see` with each neighbour and its edge weight.
    #[inline]
    pub(super) fn each_neighbor(&self, node: u32, mut see: impl FnMut(u32, f32)) {
        let row = self.row(node);
        let targets = &self.targets[row.clone()];
        match &self.weights {
            None => targets.iter().for_each(|&target| see(target, 1.0)),
            Some(weights) => {
                targets.iter().zip(&weights[row]).for_each(|(&target, &weight)| see(target, weight))
            }
        }
    }

    /// Adds the weight of the node's edges to `to`, by cluster of the neighbour.
    #[inline]
    pub(super) fn add_connections(&self, node: u32, cluster: &[u32], to: &mut Connections) {
        let row = self.row(node);
        to.add_all(&self.targets[row.clone()], self.weights.as_ref().map(|weights| &weights[row]), cluster);
    }

    /// Prefetches the clusters of `next`'s neighbours and the adjacency list of `then`. For hubs only
    /// the beginning: hardware prefetching covers the rest.
    #[inline]
    pub(super) fn fetch(&self, next: u32, then: u32, cluster: &[u32]) {
        const LINE: usize = 16;
        self.neighbors(then).iter().step_by(LINE).take(8).for_each(prefetch);
        self.neighbors(next).iter().take(8 * LINE).for_each(|&v| prefetch(&cluster[v as usize]));
    }

    fn row(&self, node: u32) -> std::ops::Range<usize> {
        self.offsets[node as usize] as usize..self.offsets[node as usize + 1] as usize
    }

    /// Contracts the groups given by `label`, whose values are below `count`.
    pub(super) fn contract(&self, label: &[u32], count: usize) -> Level<'static> {
        let (starts, members) = group(label, count);
        let groups: Vec<usize> = (0..count).step_by(ROWS).collect();
        let rows: Vec<CoarseRows> = groups
            .into_par_iter()
            .map(|first| {
                let mut rows = CoarseRows::default();
                for c in first..(first + ROWS).min(count) {
                    let members = &members[starts[c] as usize..starts[c + 1] as usize];
                    rows.add(self, label, c as u32, members);
                }
                rows
            })
            .collect();
        let entries = rows.iter().map(|rows| rows.targets.len()).sum();
        // Page faults on fresh memory cost more than the writes, so each array gets its own thread.
        let (mut targets, mut weights) = rayon::join(|| vec![0; entries], || vec![0.0; entries]);
        let (mut offsets, mut sizes) = (Vec::with_capacity(count + 1), Vec::with_capacity(count));
        let mut inner = Vec::with_capacity(count);
        offsets.push(0);
        let (mut targets_left, mut weights_left) = (&mut targets[..], &mut weights[..]);
        let mut base = 0;
        let mut blocks = Vec::with_capacity(rows.len());
        for rows in rows {
            let len = rows.targets.len();
            offsets.extend(rows.ends.iter().map(|&end| base + end));
            base += len as u64;
            sizes.extend_from_slice(&rows.sizes);
            inner.extend_from_slice(&rows.inner);
            let (targets, rest) = std::mem::take(&mut targets_left).split_at_mut(len);
            targets_left = rest;
            let (weights, rest) = std::mem::take(&mut weights_left).split_at_mut(len);
            weights_left = rest;
            blocks.push((rows, targets, weights));
        }
        // Each block is freed once it is copied, which keeps peak memory close to the size of the result.
        blocks.into_par_iter().for_each(|(rows, targets, weights)| {
            targets.copy_from_slice(&rows.targets);
            weights.copy_from_slice(&rows.weights);
        });
        Level {
            offsets: offsets.into(),
            targets: targets.into(),
            weights: Some(weights.into()),
            sizes: sizes.into(),
            inner,
        }
    }
}

/// Consecutive rows of a coarse graph.
#[derive(Default)]
struct CoarseRows {
    ends: Vec<u64>,
    targets: Vec<u32>,
    weights: Vec<f32>,
    sizes: Vec<u32>,
    inner: Vec<f32>,
    found: Connections,
}

impl CoarseRows {
    fn add(&mut self, level: &Level, label: &[u32], own: u32, members: &[u32]) {
        let degree = members.iter().map(|&u| level.degree(u)).sum();
        self.found.clear(degree);
        let (mut size, mut inner) = (0, 0.0);
        for &u in members {
            size += level.size(u);
            inner += level.inner[u as usize];
            level.add_connections(u, label, &mut self.found);
        }
        for (c, weight) in self.found.iter() {
            if c == own {
                inner += weight;
            } else {
                self.targets.push(c);
                self.weights.push(weight);
            }
        }
        self.ends.push(self.targets.len() as u64);
        self.sizes.push(size);
        self.inner.push(inner);
    }
}

/// Where each group starts, and the nodes sorted by group.
pub(super) fn group(label: &[u32], count: usize) -> (Vec<u32>, Vec<u32>) {
    let mut starts = vec![0u32; count + 1];
    label.iter().for_each(|&c| starts[c as usize + 1] += 1);
    for c in 0..count {
        starts[c + 1] += starts[c];
    }
    let mut next = starts.clone();
    let mut members = vec![0; label.len()];
    for (node, &c) in (0..).zip(label) {
        members[next[c as usize] as usize] = node;
        next[c as usize] += 1;
    }
    (starts, members)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::EdgeList;

    #[test]
    fn a_component_is_the_graph_on_its_nodes() {
        // 0 - 2 - 4 - 0   1 - 3 - 5
        let edges = [(0, 2, 1.5), (2, 4, 2.5), (0, 4, 3.5), (1, 3, 4.5), (3, 5, 5.5)];
        let list = edges.iter().map(|&(u, v, weight): &(u64, u64, f32)| (u << 32 | v, weight)).collect();
        let (graph, _) = EdgeList::from_weighted(list).build(6).unwrap();
        for nodes in [[0, 2, 4], [1, 3, 5]] {
            let level = Level::component(&graph, &nodes, &[0, 0, 1, 1, 2, 2]);
            let alone = graph.induced(&nodes).unwrap();
            for node in 0..3 {
                let mut row = Vec::new();
                level.each_neighbor(node, |to, weight| row.push((to, weight)));
                let weights = alone.edge_weights(node).unwrap().iter().copied();
                assert_eq!(row, alone.neighbors(node).iter().copied().zip(weights).collect::<Vec<_>>());
            }
            assert_eq!((level.nodes(), level.size(1), level.inner(1)), (3, 1, 0.0));
        }
    }
}
