//! The rows of an embedding that are most alike: exact search, by blocks.
//!
//! Blocks of queries are multiplied by blocks of rows, and each query keeps the best candidates of each product, so
//! scores of all pairs are never held at once. The candidates are then scored again in double precision, so results
//! depend neither on blocks and threads nor on the processor.

mod best;
mod file;
mod lookup;
mod metric;
mod open;
mod queries;
mod scan;

pub use lookup::find;
pub use metric::Metric;
pub use open::NamedRows;

use crate::matrix::{Right, Sum, View};
use crate::{Budget, Dense, Error, Result};
use best::Best;
use queries::Queries;
use rayon::prelude::*;
use std::ops::Range;

/// A row that is like a query.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Neighbor {
    /// The number of the row.
    pub node: u32,
    /// How alike they are: larger is more alike for every metric.
    pub score: f32,
}

/// Which neighbours a query gets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wanted {
    /// At most so many.
    pub count: usize,
    /// Only those with at least this score.
    pub min_score: Option<f32>,
}

impl Default for Wanted {
    fn default() -> Self {
        Self { count: 10, min_score: None }
    }
}

/// Searches the rows of a matrix.
///
/// ```
/// use structcomp::neighbors::{Metric, NeighborSearch, Wanted};
/// use structcomp::{Budget, Dense};
///
/// let rows = Dense::new(3, 2, vec![1.0, 0.0, 0.0, 1.0, 2.0, 1.0])?;
/// let search = NeighborSearch::new(&rows, Metric::Cosine, Budget::default())?;
/// let found = search.of_nodes(&[0], Wanted { count: 1, ..Wanted::default() })?;
/// assert_eq!(found[0][0].node, 2);
/// # Ok::<(), structcomp::Error>(())
/// ```
pub struct NeighborSearch<'a> {
    rows: &'a Dense,
    metric: Metric,
    /// The length of each row.
    lengths: Vec<f64>,
    budget: Budget,
}

/// Queries of one task: the rows of the left factor.
const QUERIES: usize = 256;
/// Rows that are multiplied at once.
const ROWS: usize = 512;
/// The fewest rows that a task searches. Few queries are spread over several tasks, each with a part of the rows.
const PART: usize = 1 << 14;
/// Tasks that are made if there is enough work.
const TASKS: usize = 64;

impl<'a> NeighborSearch<'a> {
    /// Prepares a search.
    ///
    /// Fails if a row is so long that its square is no number in single precision.
    pub fn new(rows: &'a Dense, metric: Metric, budget: Budget) -> Result<Self> {
        if u32::try_from(rows.rows()).is_err() {
            return Err(Error::Input(format!("{} rows are more than can be searched", rows.rows())));
        }
        Ok(Self { rows, metric, lengths: metric::lengths(rows)?, budget })
    }

    /// The neighbours of some nodes, best first and those with equal scores by number. A node is not its own
    /// neighbour.
    pub fn of_nodes(&self, nodes: &[u32], wanted: Wanted) -> Result<Vec<Vec<Neighbor>>> {
        let count = self.rows.rows();
        if let Some(node) = nodes.iter().find(|&&node| node as usize >= count) {
            return Err(Error::Input(format!("there is no node {node}; there are {count}")));
        }
        self.all_of(Queries::Nodes(nodes, self.rows), wanted)
    }

    /// The rows most like some other rows, best first and those with equal scores by number.
    pub fn of_rows(&self, queries: &Dense, wanted: Wanted) -> Result<Vec<Vec<Neighbor>>> {
        let (given, width) = (queries.cols(), self.rows.cols());
        if given != width {
            return Err(Error::Input(format!("the queries have {given} columns, the rows {width}")));
        }
        metric::lengths(queries)?;
        self.all_of(Queries::Rows(queries.values(), width), wanted)
    }

    /// The neighbours of every node, in blocks of consecutive nodes; `each` gets the first node of a block.
    pub fn of_every_node(
        &self,
        wanted: Wanted,
        mut each: impl FnMut(usize, Vec<Vec<Neighbor>>) -> Result<()>,
    ) -> Result<()> {
        let nodes: Vec<u32> = (0..self.rows.rows() as u32).collect();
        let tasks = self.tasks(wanted)?;
        for (block, nodes) in nodes.chunks(tasks * QUERIES).enumerate() {
            each(block * tasks * QUERIES, self.search(Queries::Nodes(nodes, self.rows), wanted, tasks))?;
        }
        Ok(())
    }

    fn all_of(&self, queries: Queries, wanted: Wanted) -> Result<Vec<Vec<Neighbor>>> {
        let each = size_of::<Vec<Neighbor>>() + size_of::<Neighbor>() * wanted.count.min(self.rows.rows());
        self.budget.check_items("the neighbours", queries.len() as u64, each as u64)?;
        let tasks = self.tasks(wanted)?;
        let blocks = (0..queries.len()).step_by(tasks * QUERIES);
        let search = |start| self.search(queries.part(start, tasks * QUERIES), wanted, tasks);
        Ok(blocks.flat_map(search).collect())
    }

    /// How many tasks there may be at once, so that their candidates take at most an eighth of the limit.
    fn tasks(&self, wanted: Wanted) -> Result<usize> {
        let each = (QUERIES * Best::bytes(self.kept(wanted))) as u64;
        self.budget.check("a block of neighbours", each)?;
        Ok((self.budget.bytes / 8 / each.max(1)).clamp(1, TASKS as u64) as usize)
    }

    /// How many candidates are scored again. The node itself may be among them, and products in single precision
    /// put some in the wrong order.
    fn kept(&self, wanted: Wanted) -> usize {
        let more = wanted.count.saturating_add(wanted.count / 4).saturating_add(9);
        more.min(self.rows.rows())
    }

    /// Searches by at most `tasks` tasks, for a block of queries each.
    fn search(&self, queries: Queries, wanted: Wanted, tasks: usize) -> Vec<Vec<Neighbor>> {
        let (rows, kept) = (self.rows.rows(), self.kept(wanted));
        let blocks = queries.len().div_ceil(QUERIES).max(1);
        let parts = (tasks / blocks).min(rows / PART).max(1);
        let height = rows.div_ceil(parts).next_multiple_of(ROWS);
        let task = |task: usize| {
            let (block, part) = (task / parts, task % parts);
            let range = (part * height).min(rows)..((part + 1) * height).min(rows);
            self.candidates(queries.part(block * QUERIES, QUERIES), range, kept)
        };
        let found: Vec<Vec<Best>> = (0..blocks * parts).into_par_iter().map(task).collect();
        let query = |at: usize| {
            let parts = found[at / QUERIES * parts..][..parts].iter().map(|part| &part[at % QUERIES]);
            self.scored(queries, at, Best::rows(parts, kept), wanted)
        };
        (0..queries.len()).into_par_iter().map(query).collect()
    }

    /// The candidates for some queries among a range of rows.
    fn candidates(&self, queries: Queries, range: Range<usize>, kept: usize) -> Vec<Best> {
        let (count, width) = (queries.len(), self.rows.cols());
        let left = self.metric.left((0..count).map(|at| queries.row(at)));
        let mut best: Vec<Best> = (0..count).map(|_| Best::new(kept)).collect();
        let mut products = vec![0f32; count * ROWS];
        for start in range.clone().step_by(ROWS) {
            let tile = start..(start + ROWS).min(range.end);
            let products = &mut products[..count * tile.len()];
            let rows = &self.rows.values()[tile.start * width..tile.end * width];
            let lengths = &self.lengths[tile];
            let right = self.metric.right(rows, lengths);
            Right::here(View::new(&right, width).t(), count).multiply(
                View::new(&left, width),
                products,
                Sum::Set,
            );
            scan::offer(products, &self.metric.shift(lengths), start as u32, &mut best);
        }
        best
    }

    /// The best of some candidates for a query, scored in double precision.
    fn scored(
        &self,
        queries: Queries,
        at: usize,
        candidates: impl Iterator<Item = u32>,
        wanted: Wanted,
    ) -> Vec<Neighbor> {
        let (query, own) = (queries.row(at), queries.node(at));
        let length = metric::length(query);
        let neighbor = |node: u32| {
            let row = (self.rows.row(node as usize), self.lengths[node as usize]);
            Neighbor { node, score: self.metric.score((query, length), row) }
        };
        let mut found: Vec<Neighbor> = candidates.filter(|&node| Some(node) != own).map(neighbor).collect();
        found.sort_unstable_by(|a, b| b.score.total_cmp(&a.score).then(a.node.cmp(&b.node)));
        found.truncate(wanted.count);
        found.retain(|neighbor| wanted.min_score.is_none_or(|least| neighbor.score >= least));
        found
    }
}

#[cfg(test)]
mod tests;
