//! Strict balancing of clusters regardless of the cut, as METIS 5.1 does for clusters of a few nodes.

use crate::random::mix;
use crate::{Graph, Seed};

/// The maximum number of passes of each phase.
const PASSES: usize = 10;

/// Moves nodes to the smallest neighbouring cluster until every size is within `imbalance` of the
/// average, or for [`PASSES`] passes. Bounds are rounded down to whole nodes, as in METIS 5.1. With about
/// ten nodes per cluster they cannot be met, and nodes keep moving between clusters that differ by one.
/// Then nodes move to reduce the cut, but only within the bounds.
pub(super) fn even_out(graph: &Graph, part: &mut [u32], clusters: usize, imbalance: f64, seed: Seed) {
    let mut balancing = Balancing::new(graph, part, clusters, imbalance);
    let salt = seed.key("even out");
    for pass in 0..PASSES {
        if balancing.is_done() || !balancing.pass(mix(salt ^ pass as u64), Balancing::smallest) {
            break;
        }
    }
    for pass in PASSES..2 * PASSES {
        if !balancing.pass(mix(salt ^ pass as u64), Balancing::best_connected) {
            break;
        }
    }
}

struct Balancing<'a> {
    graph: &'a Graph,
    part: &'a mut [u32],
    size: Vec<usize>,
    least: usize,
    most: usize,
    /// The edge weight between the current node and each cluster.
    joined: Vec<f64>,
}

impl<'a> Balancing<'a> {
    fn new(graph: &'a Graph, part: &'a mut [u32], clusters: usize, imbalance: f64) -> Self {
        let mut size = vec![0usize; clusters];
        part.iter().for_each(|&cluster| size[cluster as usize] += 1);
        let average = part.len() as f64 / clusters as f64;
        let (least, most) = ((average / (1.0 + imbalance)) as usize, (average * (1.0 + imbalance)) as usize);
        Self { graph, part, size, least, most, joined: vec![0.0; clusters] }
    }

    fn is_done(&self) -> bool {
        self.size.iter().all(|size| (self.least..=self.most).contains(size))
    }

    /// Visits all boundary nodes and moves each to the cluster that `choose` returns, given its own
    /// cluster and the neighbouring ones. Returns whether any node moved.
    fn pass(&mut self, salt: u64, choose: impl Fn(&Self, u32, &[u32]) -> Option<u32>) -> bool {
        let mut moved = false;
        for node in order(self.graph, self.part, salt) {
            let own = self.part[node as usize];
            if self.size[own as usize] <= self.least {
                continue;
            }
            let near = self.connect(node);
            if let Some(target) = choose(self, own, &near) {
                self.part[node as usize] = target;
                self.size[own as usize] -= 1;
                self.size[target as usize] += 1;
                moved = true;
            }
            near.iter().for_each(|&cluster| self.joined[cluster as usize] = 0.0);
        }
        moved
    }

    /// The smallest neighbouring cluster, unless the move cuts more edges and balance does not need it.
    fn smallest(&self, own: u32, near: &[u32]) -> Option<u32> {
        let size = |cluster: u32| self.size[cluster as usize];
        let has_room = |cluster: u32| size(cluster) < self.most || size(cluster) < size(own);
        let others = near.iter().copied().filter(|&cluster| cluster != own && has_room(cluster));
        let target = others.min_by_key(|&cluster| (size(cluster), cluster))?;
        let worse = self.joined[target as usize] < self.joined[own as usize];
        let needed = size(own) >= self.most || size(target) <= self.least;
        (needed || !worse).then_some(target)
    }

    /// The cluster with room that the node is connected to most, if more than to its own.
    fn best_connected(&self, own: u32, near: &[u32]) -> Option<u32> {
        let joined = |cluster: u32| self.joined[cluster as usize];
        let has_room = |cluster: u32| self.size[cluster as usize] < self.most;
        near.iter()
            .copied()
            .filter(|&cluster| cluster != own && has_room(cluster) && joined(cluster) > joined(own))
            .max_by(|&a, &b| joined(a).total_cmp(&joined(b)).then(b.cmp(&a)))
    }

    /// The clusters of a node's neighbours; sets `joined` for these.
    fn connect(&mut self, node: u32) -> Vec<u32> {
        let weights = self.graph.edge_weights(node);
        let mut near = Vec::new();
        for (i, &neighbor) in self.graph.neighbors(node).iter().enumerate() {
            let cluster = self.part[neighbor as usize];
            if self.joined[cluster as usize] == 0.0 {
                near.push(cluster);
            }
            self.joined[cluster as usize] += weights.map_or(1.0, |weights| weights[i] as f64);
        }
        near
    }
}

/// Nodes with edges to other clusters, sorted by how much more they are connected to others than to
/// their own cluster.
fn order(graph: &Graph, part: &[u32], salt: u64) -> Vec<u32> {
    let mut wish: Vec<(f64, u64, u32)> = Vec::new();
    for node in 0..part.len() as u32 {
        let mut others: Vec<u32> = graph.neighbors(node).iter().map(|&v| part[v as usize]).collect();
        let inside = others.iter().filter(|&&cluster| cluster == part[node as usize]).count();
        let outside = others.len() - inside;
        if outside == 0 {
            continue;
        }
        others.sort_unstable();
        others.dedup();
        let clusters = others.len() - usize::from(inside > 0);
        wish.push((outside as f64 / (clusters as f64).sqrt() - inside as f64, mix(salt ^ node as u64), node));
    }
    wish.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    wish.into_iter().map(|(_, _, node)| node).collect()
}
