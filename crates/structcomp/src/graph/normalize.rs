//! The normalised adjacency D^-1/2 A D^-1/2 as a matrix, for training; [`Propagation`](super::Propagation)
//! multiplies by the same matrix without storing it.

use super::Graph;
use crate::Csr;
use rayon::prelude::*;

/// Â of a graph: every node has a self loop, and D holds the weights that a node still hears. `keep` makes, for a
/// node, the choice for each of its neighbours in order; the two directions of an edge are chosen on their own.
pub(crate) fn normalized_adjacency<K: FnMut() -> bool>(graph: &Graph, keep: impl Fn(u32) -> K + Sync) -> Csr {
    let row = |node: u32| {
        let mut keep = keep(node);
        let weights = graph.edge_weights(node);
        let weight = |at: usize| weights.map_or(1.0, |weights| weights[at]);
        let near = graph.neighbors(node).iter().enumerate();
        let mut row: Vec<(u32, f32)> = near.filter(|_| keep()).map(|(at, &v)| (v, weight(at))).collect();
        insert_self_loop(&mut row, node);
        row
    };
    let rows: Vec<Vec<(u32, f32)>> = (0..graph.nodes() as u32).into_par_iter().map(row).collect();
    normalized_rows(graph.nodes(), rows)
}

/// The edges among some nodes, which are in ascending order. `keep` is as above: it is asked for every neighbour of a
/// node in the whole graph, so that an edge is dropped or not whichever nodes are looked at.
pub(crate) struct Among<'a> {
    /// For each of the nodes the others that it hears, by their place among the nodes, and how loudly.
    pub(crate) rows: Vec<Vec<(u32, f32)>>,
    /// What each hears in the whole graph.
    heard: Vec<f64>,
    graph: &'a Graph,
    nodes: &'a [u32],
}

impl<'a> Among<'a> {
    pub(crate) fn new<K: FnMut() -> bool>(
        graph: &'a Graph,
        nodes: &'a [u32],
        keep: impl Fn(u32) -> K + Sync,
    ) -> Self {
        let row = |&node: &u32| {
            let (mut keep, mut heard, mut row) = (keep(node), 0.0, Vec::new());
            let weights = graph.edge_weights(node);
            for (at, v) in graph.neighbors(node).iter().enumerate() {
                if !keep() {
                    continue;
                }
                let weight = weights.map_or(1.0, |weights| weights[at]);
                heard += weight as f64;
                if let Ok(place) = nodes.binary_search(v) {
                    row.push((place as u32, weight));
                }
            }
            (row, heard)
        };
        let (rows, heard) = nodes.par_iter().map(row).unzip();
        Self { rows, heard, graph, nodes }
    }

    /// Â of the graph that these nodes are by themselves.
    pub(crate) fn normalized(mut self) -> Csr {
        self.rows.par_iter_mut().enumerate().for_each(|(at, row)| insert_self_loop(row, at as u32));
        normalized_rows(self.nodes.len(), self.rows)
    }

    /// The entries of the whole graph's Â, times a factor for each edge: of a node, by the place of the other among its
    /// neighbours in the whole graph.
    pub(crate) fn of_whole(mut self, factor: impl Fn(u32, usize) -> f32 + Sync) -> Csr {
        let Self { graph, nodes, .. } = self;
        let root = |heard: &f64| 1.0 / (1.0 + heard).sqrt();
        let roots: Vec<f64> = self.heard.iter().map(root).collect();
        self.rows.par_iter_mut().enumerate().for_each(|(at, row)| {
            let (node, own) = (nodes[at], roots[at]);
            let neighbors = graph.neighbors(node);
            for (other, weight) in row.iter_mut() {
                let place = neighbors.binary_search(&nodes[*other as usize]).unwrap_or_default();
                let scale = own * roots[*other as usize] * factor(node, place) as f64;
                *weight = (scale * *weight as f64) as f32;
            }
            let before = row.partition_point(|entry| entry.0 < at as u32);
            row.insert(before, (at as u32, (own * own) as f32));
        });
        Csr::from_sorted_rows(nodes.len(), &self.rows)
    }
}

/// D^-1/2 M D^-1/2 with the row sums D of a matrix; rows without entries stay empty.
pub(crate) fn normalized(matrix: &Csr) -> Csr {
    normalized_rows(matrix.cols(), (0..matrix.rows()).map(|row| entries(matrix, row)).collect())
}

/// The same of M + I.
pub(crate) fn normalized_with_self_loops(matrix: &Csr) -> Csr {
    let row = |row: usize| {
        let mut entries = entries(matrix, row);
        insert_self_loop(&mut entries, row as u32);
        entries
    };
    normalized_rows(matrix.cols(), (0..matrix.rows()).map(row).collect())
}

fn entries(matrix: &Csr, row: usize) -> Vec<(u32, f32)> {
    let (indices, values) = matrix.row(row);
    indices.iter().copied().zip(values.iter().copied()).collect()
}

fn insert_self_loop(row: &mut Vec<(u32, f32)>, node: u32) {
    match row.binary_search_by_key(&node, |entry| entry.0) {
        Ok(at) => row[at].1 += 1.0,
        Err(at) => row.insert(at, (node, 1.0)),
    }
}

fn normalized_rows(cols: usize, mut rows: Vec<Vec<(u32, f32)>>) -> Csr {
    let root = |row: &Vec<(u32, f32)>| {
        let sum: f64 = row.iter().map(|entry| entry.1 as f64).sum();
        if sum > 0.0 { 1.0 / sum.sqrt() } else { 0.0 }
    };
    let roots: Vec<f64> = rows.par_iter().map(root).collect();
    rows.par_iter_mut().zip(&roots).for_each(|(row, own)| {
        for (v, weight) in row {
            *weight = (own * roots[*v as usize] * *weight as f64) as f32;
        }
    });
    Csr::from_sorted_rows(cols, &rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Dense, Features, Normalization, Propagation};

    fn dense(matrix: Csr) -> Dense {
        Features::Sparse(matrix).to_dense()
    }

    #[test]
    fn the_matrix_is_the_one_that_propagation_multiplies_by() {
        let graph = Graph::from_edges(5, &[(0, 1), (1, 2), (2, 3), (0, 2)]).unwrap();
        let ones: Vec<Vec<(u32, f32)>> = (0..5).map(|v| vec![(v, 1.0)]).collect();
        let identity = Features::Sparse(Csr::from_sorted_rows(5, &ones));
        let twin = Propagation::new(&graph, Normalization::Symmetric).hop(&identity).unwrap().to_dense();
        let matrix = dense(normalized_adjacency(&graph, |_| || true));
        assert!(matrix.values().iter().zip(twin.values()).all(|(a, b)| (a - b).abs() < 1e-6));
        let dropped = dense(normalized_adjacency(&graph, |_| || false));
        assert_eq!(dropped, identity.to_dense(), "only the self loops are left");
    }

    #[test]
    fn rows_without_entries_stay_empty() {
        let matrix = Csr::new(3, vec![0, 2, 3, 3], vec![0, 1, 0], vec![1.0, 3.0, 4.0]).unwrap();
        assert_eq!(dense(normalized(&matrix)).values(), [0.25, 0.75, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
        let looped = dense(normalized_with_self_loops(&matrix));
        let want = [2.0 / 5.0, 3.0 / 5.0, 0.0, 4.0 / 5.0, 1.0 / 5.0, 0.0, 0.0, 0.0, 1.0];
        assert!(looped.values().iter().zip(want).all(|(a, b)| (a - b).abs() < 1e-6), "{looped:?}");
    }
}
