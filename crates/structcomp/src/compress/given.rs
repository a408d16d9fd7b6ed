//! What was compressed elsewhere, by machines that have the nodes.

use super::{CoarseWeights, Coarsening, Compressed};
use crate::{Csr, Dense, Error, Features, Partition, Result};

/// The second view of every epoch, and the edges between clusters.
#[derive(Clone, Debug)]
pub struct Given {
    views: Vec<Dense>,
    /// The total weight of the edges between clusters; inside a cluster, twice.
    counts: Csr,
    sizes: Vec<u32>,
}

impl Given {
    /// Checks that all is of as many clusters as there are sizes.
    pub fn new(views: Vec<Dense>, counts: Csr, sizes: Vec<u32>) -> Result<Self> {
        let clusters = sizes.len();
        let fits = counts.rows() == clusters && counts.cols() == clusters;
        if !fits || views.iter().any(|view| view.rows() != clusters) || sizes.contains(&0) {
            return Err(Error::Input(format!(
                "the views, edges and sizes are not all of {clusters} clusters"
            )));
        }
        Ok(Self { views, counts, sizes })
    }

    pub(super) fn view(&self, epoch: usize) -> Result<&Dense> {
        let most = self.views.len();
        self.views.get(epoch).ok_or_else(|| {
            Error::Input(format!("there are views of {most} epochs only, but epoch {epoch} needs one"))
        })
    }

    /// A_c, as [`Coarsening::adjacency`] makes it.
    fn adjacency(&self, how: &Coarsening) -> Csr {
        let (offsets, columns, sums) = self.counts.parts();
        let row = |cluster: usize| {
            let entries = offsets[cluster] as usize..offsets[cluster + 1] as usize;
            let kept = entries.filter(|&at| how.self_loops || columns[at] as usize != cluster);
            let value = |at: usize| match how.weights {
                CoarseWeights::Binary => 1.0,
                CoarseWeights::Count => sums[at],
                CoarseWeights::Mean => {
                    let pairs = f64::from(self.sizes[cluster]) * f64::from(self.sizes[columns[at] as usize]);
                    (f64::from(sums[at]) / pairs) as f32
                }
            };
            kept.map(|at| (columns[at], value(at))).collect::<Vec<_>>()
        };
        let rows: Vec<Vec<(u32, f32)>> = (0..self.sizes.len()).map(row).collect();
        Csr::from_sorted_rows(self.sizes.len(), &rows)
    }
}

impl<'a> Compressed<'a> {
    /// Rows that were compressed elsewhere, each a cluster of its own in `partition`.
    pub fn given(rows: &'a Features, partition: &'a Partition, given: &'a Given) -> Result<Self> {
        if rows.rows() != given.sizes.len() {
            let (have, want) = (rows.rows(), given.sizes.len());
            return Err(Error::Input(format!("there are {have} rows, but {want} clusters")));
        }
        let own = Self::new(rows, partition)?;
        Ok(Self { features: rows.clone(), given: Some(given), ..own })
    }

    /// A_c of a graph, or of the clusters that are given.
    pub(crate) fn adjacency(&self, how: &Coarsening, graph: &crate::Graph) -> Result<Csr> {
        match self.given {
            Some(given) => Ok(given.adjacency(how)),
            None => how.adjacency(graph, self.partition),
        }
    }
}
