//! What must hold for all inputs, property by property.
//!
//! Names start with the property's number, so that `cargo test p0` and `cargo test p1` run them all. Those
//! about the gap (p08) are beside it in `partition/quality.rs`, those about logistic regression (p12) in
//! `evaluate/logistic/tests.rs`, since they look inside.

mod compression;
mod corruption;
mod losses;
mod models;
mod pipeline;
mod theory;

use crate::model::{Compared, Objective, Step};
use crate::{Csr, Dense, Features, Graph, Model, Partition, Seed};
use rand::RngExt;

/// Numbers from -1 to 1.
fn numbers(count: usize, seed: u64) -> Vec<f32> {
    let mut rng = Seed(seed).stream("numbers");
    (0..count).map(|_| 2.0 * rng.random::<f32>() - 1.0).collect()
}

fn dense(rows: usize, values: Vec<f32>) -> Features {
    Features::Dense(Dense::new(rows, values.len() / rows, values).unwrap())
}

fn exact(values: &[f32]) -> Vec<f64> {
    values.iter().map(|&value| value as f64).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The numbers from 0, shuffled.
fn shuffled(count: usize, seed: u64) -> Vec<usize> {
    let mut rng = Seed(seed).stream("shuffled");
    let mut order: Vec<usize> = (0..count).collect();
    (1..count).for_each(|at| order.swap(at, rng.random_range(0..=at)));
    order
}

/// Rows of `width` numbers in another order.
fn reordered<T: Copy>(values: &[T], width: usize, order: &[usize]) -> Vec<T> {
    order.iter().flat_map(|&row| values[row * width..][..width].iter().copied()).collect()
}

/// One feature a node.
fn identity(nodes: usize) -> Csr {
    let rows: Vec<Vec<(u32, f32)>> = (0..nodes as u32).map(|node| vec![(node, 1.0)]).collect();
    Csr::from_sorted_rows(nodes, &rows)
}

/// Every node joined with all others of its cluster: the graph whose Â is P'Pᵀ.
fn cliques(partition: &Partition) -> Graph {
    let pairs = |cluster: u32| {
        let members = partition.members(cluster);
        let after = move |(at, &u): (usize, &u32)| members[at + 1..].iter().map(move |&v| (u, v));
        members.iter().enumerate().flat_map(after).collect::<Vec<_>>()
    };
    let edges: Vec<(u32, u32)> = (0..partition.clusters() as u32).flat_map(pairs).collect();
    Graph::from_edges(partition.nodes(), &edges).unwrap()
}

/// A model that needs no graph, on so many rows.
fn objective(model: Model, rows: usize) -> Box<dyn Objective + Send> {
    model.objective(&Compared { rows, adjacency: None, weights: None, seed: Seed(0) }).unwrap()
}

/// A loss with the gradient in each view.
struct Evaluated {
    value: f64,
    gradients: Vec<Vec<f32>>,
}

fn loss(objective: &dyn Objective, views: &[&[f32]], width: usize) -> Evaluated {
    let loss = objective.loss(views.concat(), width, &Step::default()).unwrap();
    let gradients = loss.gradient.chunks(views[0].len()).map(<[f32]>::to_vec).collect();
    Evaluated { value: loss.value, gradients }
}

fn largest(values: &[f32]) -> f64 {
    values.iter().fold(0.0, |most: f64, &value| most.max((value as f64).abs()))
}
