//! Substitute features for graphs without any, computed from the graph alone.

use super::spectral;
use crate::random::normal;
use crate::{Csr, Dense, Error, Features, Graph, Normalization, Propagation, Result, Seed};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// Substitute features for datasets that have none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StandIn {
    /// One-hot encoding of the degree on a logarithmic scale: small degrees have their own column, larger
    /// ones share. Sparse, and the only choice that does not encode a node's position in the graph.
    Degree,
    /// A random Gaussian vector per node, averaged over three hops (Â³R) and scaled to unit length: nodes with
    /// common neighbours get similar vectors.
    #[default]
    RandomProjection,
    /// The leading eigenvectors of Â, largest eigenvalue first, each scaled to mean square 1.
    ///
    /// The eigenvalue 1 has one eigenvector per connected component; these only distinguish components. If
    /// the graph has fewer nodes than `width`, the remaining columns are zero.
    Spectral,
}

impl std::fmt::Display for StandIn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Degree => "node degrees",
            Self::RandomProjection => "spread random vectors",
            Self::Spectral => "eigenvectors",
        })
    }
}

/// Hops of the random projection: enough to reach beyond two-hop neighbours, few enough to keep the nodes of
/// a small graph distinct.
const HOPS: usize = 3;
/// Nodes per random stream.
const BLOCK: usize = 1024;

/// A stand-in with all that its features depend on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct FittedStandIn {
    pub(super) kind: StandIn,
    width: usize,
    seed: u64,
    /// The largest degree of the graph it was fitted on, which sets the scale of degrees.
    largest_degree: usize,
    /// A fingerprint of that graph.
    graph: String,
}

impl FittedStandIn {
    pub(super) fn new(kind: StandIn, width: usize, graph: &Graph, seed: Seed) -> Self {
        let largest = (0..graph.nodes() as u32).into_par_iter().map(|v| graph.degree(v)).max();
        let fingerprint = format!("{:032x}", graph.fingerprint());
        Self { kind, width, seed: seed.0, largest_degree: largest.unwrap_or(0), graph: fingerprint }
    }

    /// Features for each node of `graph`. Only degrees mean the same on every graph: coordinates of one graph
    /// say nothing about the nodes of another.
    pub(super) fn features(&self, graph: &Graph) -> Result<Features> {
        let (width, seed) = (self.width, Seed(self.seed));
        if width == 0 {
            return Err(Error::Input("stand-in features need a width of at least 1".into()));
        }
        if self.kind != StandIn::Degree && self.graph != format!("{:032x}", graph.fingerprint()) {
            return Err(Error::Input(format!(
                "the model was fitted on a graph without features ({} stood in for them), and these mean nothing \
                 on another graph; use the degree stand-in, or give both graphs features",
                self.kind
            )));
        }
        match self.kind {
            StandIn::Degree => degree(graph, width, self.largest_degree),
            StandIn::RandomProjection => {
                let r = random(graph.nodes(), width, width, seed.key("random projection"))?;
                let r = Features::Dense(Dense::new(graph.nodes(), width, r)?);
                let spread = Propagation::new(graph, Normalization::Symmetric).power(&r, HOPS)?;
                Ok(spread.scale_rows(|row| row.iter().map(|&x| (x as f64).powi(2)).sum::<f64>().sqrt()))
            }
            StandIn::Spectral => {
                let vectors = spectral::leading(graph, width, seed)?.vectors;
                Dense::new(graph.nodes(), width, vectors).map(Features::Dense)
            }
        }
    }
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

/// A `rows` × `stride` matrix whose first `width` columns are random and the others zero.
pub(super) fn random(rows: usize, width: usize, stride: usize, key: u64) -> Result<Vec<f32>> {
    let size = rows.checked_mul(stride).filter(|&size| size <= isize::MAX as usize / size_of::<f32>());
    let too_large = || Error::Input(format!("{rows} x {width} features are too many"));
    let mut values = vec![0.0; size.ok_or_else(too_large)?];
    values.par_chunks_mut(BLOCK * stride).enumerate().for_each(|(block, values)| {
        let mut rng = Seed(key).stream_at("block", block as u64);
        for row in values.chunks_exact_mut(stride) {
            row[..width].iter_mut().for_each(|value| *value = normal(&mut rng));
        }
    });
    Ok(values)
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
    fn random_numbers_have_mean_zero_and_variance_one() {
        let values = random(1000, 50, 50, 7).unwrap();
        let mean = values.iter().map(|&x| x as f64).sum::<f64>() / 5e4;
        let variance = values.iter().map(|&x| (x as f64).powi(2)).sum::<f64>() / 5e4;
        let fourth = values.iter().map(|&x| (x as f64).powi(4)).sum::<f64>() / 5e4;
        // Three standard errors of each estimate.
        assert!(mean.abs() < 0.014 && (variance - 1.0).abs() < 0.02 && (fourth - 3.0).abs() < 0.15);
    }

    #[test]
    fn neighbours_have_like_projections_and_strangers_do_not() {
        // Two cliques of twelve.
        let clique = |first: u32| (first..first + 12).flat_map(move |u| (first..u).map(move |v| (u, v)));
        let edges: Vec<(u32, u32)> = clique(0).chain(clique(12)).collect();
        let graph = Graph::from_edges(24, &edges).unwrap();
        let x = StandIn::RandomProjection.features(&graph, 64, Seed(1)).unwrap();
        let dense = x.to_dense();
        let cosine =
            |u: usize, v: usize| dense.row(u).iter().zip(dense.row(v)).map(|(a, b)| a * b).sum::<f32>();
        assert!((cosine(3, 3) - 1.0).abs() < 1e-5);
        assert!(cosine(0, 11) > 0.99 && cosine(0, 12).abs() < 0.5);
        assert_eq!(x, StandIn::RandomProjection.features(&graph, 64, Seed(1)).unwrap());
        assert_ne!(x, StandIn::RandomProjection.features(&graph, 64, Seed(2)).unwrap());
    }

    #[test]
    fn every_kind_fills_any_graph() {
        let empty = Graph::from_edges(0, &[]).unwrap();
        let pair = Graph::from_edges(2, &[(0, 1)]).unwrap();
        for kind in [StandIn::Degree, StandIn::RandomProjection, StandIn::Spectral] {
            for graph in [&empty, &pair] {
                let x = kind.features(graph, 5, Seed(0)).unwrap();
                assert_eq!((x.rows(), x.cols()), (graph.nodes(), 5), "{kind:?}");
            }
        }
        assert_eq!(serde_json::to_string(&StandIn::RandomProjection).unwrap(), "\"random-projection\"");
    }
}
