//! Structural compression X_c = PᵀX: one row per cluster, the mean of its members' features.

mod coarse;
mod given;

pub use coarse::{CoarseWeights, Coarsening};
pub use given::Given;

use crate::matrix::{Kernel, Unit, zeros};
use crate::{Csr, Dense, Error, Features, Partition, Result, Seed};
use rand::RngExt;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// DropMember: which members of a cluster the second view averages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DropMember {
    /// Half of them, drawn without replacement, as the authors' code does.
    #[default]
    Half,
    /// Each with probability one half, redrawn if none is left, as in the paper.
    Bernoulli,
}

/// A graph's features compressed by a partition: X_c = PᵀX.
///
/// ```
/// use structcomp::{Compressed, Dense, Features, Partition};
///
/// let x = Features::Dense(Dense::new(3, 1, vec![1.0, 3.0, 8.0])?);
/// let partition = Partition::new(vec![0, 0, 1])?;
/// let compressed = Compressed::new(&x, &partition)?;
/// assert_eq!(compressed.features().to_dense().values(), [2.0, 8.0]);
/// # Ok::<(), structcomp::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Compressed<'a> {
    source: &'a Features,
    partition: &'a Partition,
    features: Features,
    /// The number of the first cluster, for the random stream of each.
    first: u32,
    given: Option<&'a Given>,
}

impl DropMember {
    /// κ: the variance of the mean over kept members relative to that of a single member, in a cluster of
    /// `size` members.
    pub fn variance_share(self, size: usize) -> f64 {
        let all = 1.0 / size.max(1) as f64;
        match self {
            Self::Half => 1.0 / (size / 2).max(1) as f64 - all,
            Self::Bernoulli => {
                // E[1/kept | kept ≥ 1], where P(kept) = C(size, kept) / 2^size.
                let mut chance = 0.5f64.powi(size as i32);
                let (mut sum, mut some) = (0.0, 0.0);
                for kept in 1..=size {
                    chance *= (size + 1 - kept) as f64 / kept as f64;
                    sum += chance / kept as f64;
                    some += chance;
                }
                if some > 0.0 { sum / some - all } else { all }
            }
        }
    }
}

impl<'a> Compressed<'a> {
    /// Averages the features of each cluster.
    pub fn new(source: &'a Features, partition: &'a Partition) -> Result<Self> {
        let (rows, nodes) = (source.rows(), partition.nodes());
        if rows != nodes {
            return Err(Error::Input(format!(
                "features have {rows} rows but the partition has {nodes} nodes"
            )));
        }
        let members = |cluster| partition.members(cluster).into();
        let features = means(source, partition.clusters(), mostly_filled(source, partition), members)?;
        Ok(Self { source, partition, features, first: 0, given: None })
    }

    /// The same with other numbers: the clusters are some consecutive ones of a larger graph.
    pub fn numbered_from(self, first: u32) -> Self {
        Self { first, ..self }
    }

    /// X_c, one row per cluster; dense if that takes less memory.
    pub fn features(&self) -> &Features {
        &self.features
    }

    /// The same without the clusters.
    pub(crate) fn into_features(self) -> Features {
        self.features
    }

    /// X, the features before compression.
    pub(crate) fn source(&self) -> &'a Features {
        self.source
    }

    /// The clusters.
    pub fn partition(&self) -> &Partition {
        self.partition
    }

    /// The second view of an epoch: means over the members that are kept, at least one per cluster. Each
    /// cluster and epoch has its own random stream.
    pub fn drop_member(&self, how: DropMember, seed: Seed, epoch: usize) -> Result<Features> {
        if let Some(given) = self.given {
            return given.view(epoch).cloned().map(Features::Dense);
        }
        let kept = |cluster| self.kept(how, seed, epoch, cluster).into();
        means(self.source, self.partition.clusters(), self.is_dense(), kept)
    }

    fn is_dense(&self) -> bool {
        matches!(self.features, Features::Dense(_))
    }

    /// Stacks `first`, one row per cluster, on top of the second view of an epoch.
    pub(crate) fn both_views(
        &self,
        first: &Dense,
        how: DropMember,
        seed: Seed,
        epoch: usize,
    ) -> Result<Dense> {
        let (rows, cols) = (first.rows(), first.cols());
        let mut both = Vec::with_capacity(2 * rows * cols);
        both.extend_from_slice(first.values());
        if let Some(given) = self.given {
            both.extend_from_slice(given.view(epoch)?.values());
            return Dense::new(2 * rows, cols, both);
        }
        both.resize(2 * rows * cols, 0.0);
        dense_means(self.source, &mut both[rows * cols..], |cluster| {
            self.kept(how, seed, epoch, cluster).into()
        });
        Dense::new(2 * rows, cols, both)
    }

    /// The members of a cluster that an epoch keeps, sorted so that rounding does not depend on the order
    /// in which they were drawn.
    fn kept(&self, how: DropMember, seed: Seed, epoch: usize, cluster: u32) -> Vec<u32> {
        let mut members = self.partition.members(cluster).to_vec();
        let mut rng = seed.stream_at("drop member", (epoch as u64) << 32 | (self.first + cluster) as u64);
        match how {
            DropMember::Half => {
                let keep = (members.len() / 2).max(1);
                for at in 0..keep {
                    let other = rng.random_range(at..members.len());
                    members.swap(at, other);
                }
                members.truncate(keep);
                members.sort_unstable();
            }
            DropMember::Bernoulli => {
                let all = std::mem::take(&mut members);
                while members.is_empty() {
                    members.extend(all.iter().filter(|_| rng.random::<bool>()));
                }
            }
        }
        members
    }
}

impl Compressed<'_> {
    /// PᵀX with the rows of X permuted: node `v` gets the features of node `source[v]`.
    pub(crate) fn corrupted(&self, source: &[u32]) -> Result<Features> {
        if self.given.is_some() {
            let what = "models that compare rows with corrupted ones need the features of all nodes";
            return Err(Error::Input(what.into()));
        }
        means(self.source, self.partition.clusters(), self.is_dense(), |cluster| {
            let members = self.partition.members(cluster).iter();
            let mut members: Vec<u32> = members.map(|&node| source[node as usize]).collect();
            // As in `kept`.
            members.sort_unstable();
            members.into()
        })
    }
}

/// Clusters per task.
const TASK: usize = 16;

/// Whether more than half of the entries of the mean rows are non-zero, estimated on a sample of clusters:
/// dense rows then take less memory.
fn mostly_filled(x: &Features, partition: &Partition) -> bool {
    const SAMPLE: usize = 64;
    let Features::Sparse(x) = x else { return true };
    let step = partition.clusters().div_ceil(SAMPLE).max(1);
    let (mut rows, mut places) = (SparseMeans::new(x.cols()), 0);
    for cluster in (0..partition.clusters() as u32).step_by(step) {
        rows.push(x, partition.members(cluster));
        places += x.cols();
    }
    2 * rows.indices.len() > places
}

/// The mean row of each group, dense if `dense` or if `x` is.
fn means<'p>(
    x: &Features,
    groups: usize,
    dense: bool,
    members: impl Fn(u32) -> std::borrow::Cow<'p, [u32]> + Sync,
) -> Result<Features> {
    match x {
        Features::Sparse(x) if !dense => {
            let tasks: Vec<usize> = (0..groups).step_by(TASK).collect();
            let rows = |first: &usize| {
                let mut rows = SparseMeans::new(x.cols());
                for group in *first..(*first + TASK).min(groups) {
                    rows.push(x, &members(group as u32));
                }
                (rows.ends, rows.indices, rows.values)
            };
            let blocks: Vec<_> = tasks.par_iter().map(rows).collect();
            let entries = blocks.iter().map(|(_, indices, _)| indices.len()).sum();
            let (mut indices, mut values) = (Vec::with_capacity(entries), Vec::with_capacity(entries));
            let mut offsets = vec![0u64];
            for (ends, more_indices, more_values) in blocks {
                let base = indices.len() as u64;
                offsets.extend(ends.into_iter().map(|end| base + end));
                indices.extend(more_indices);
                values.extend(more_values);
            }
            Csr::new(x.cols(), offsets, indices, values).map(Features::Sparse)
        }
        _ => {
            let mut out = zeros(groups * x.cols());
            dense_means(x, &mut out, members);
            Dense::new(groups, x.cols(), out).map(Features::Dense)
        }
    }
}

/// Adds the mean rows to `out`, which must be zero.
fn dense_means<'p>(
    x: &Features,
    out: &mut [f32],
    members: impl Fn(u32) -> std::borrow::Cow<'p, [u32]> + Sync,
) {
    let unit = Unit::widest();
    out.par_chunks_mut(x.cols().max(1)).enumerate().for_each(|(group, out)| {
        unit.run(Mean { x, members: &members(group as u32), out });
    });
}

struct Mean<'a> {
    x: &'a Features,
    members: &'a [u32],
    out: &'a mut [f32],
}

impl Kernel for Mean<'_> {
    #[inline(always)]
    fn run(self) {
        let Self { x, members, out } = self;
        for &node in members {
            match x {
                Features::Dense(x) => {
                    out.iter_mut().zip(x.row(node as usize)).for_each(|(sum, value)| *sum += value);
                }
                Features::Sparse(x) => {
                    let (indices, values) = x.row(node as usize);
                    for (&index, &value) in indices.iter().zip(values) {
                        out[index as usize] += value;
                    }
                }
            }
        }
        let count = members.len() as f32;
        out.iter_mut().for_each(|sum| *sum /= count);
    }
}

/// Accumulates mean rows of a sparse matrix.
struct SparseMeans {
    sum: Vec<f32>,
    ends: Vec<u64>,
    indices: Vec<u32>,
    values: Vec<f32>,
}

impl SparseMeans {
    fn new(cols: usize) -> Self {
        Self { sum: vec![0.0; cols], ends: Vec::new(), indices: Vec::new(), values: Vec::new() }
    }

    fn push(&mut self, x: &Csr, members: &[u32]) {
        let first = self.indices.len();
        for &node in members {
            let (indices, values) = x.row(node as usize);
            for (&index, &value) in indices.iter().zip(values) {
                if self.sum[index as usize] == 0.0 {
                    self.indices.push(index);
                }
                self.sum[index as usize] += value;
            }
        }
        let row = &mut self.indices[first..];
        row.sort_unstable();
        // A sum may pass through zero, in which case its column was pushed twice.
        let mut kept = first;
        for at in first..self.indices.len() {
            let index = self.indices[at];
            let sum = std::mem::take(&mut self.sum[index as usize]);
            if sum != 0.0 {
                self.indices[kept] = index;
                self.values.push(sum / members.len() as f32);
                kept += 1;
            }
        }
        self.indices.truncate(kept);
        self.ends.push(kept as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sparse() -> Features {
        // 0: (0, 1) 1: (1, 2) 2: nothing 3: (0, -1) (2, 4) 4: (2, 6)
        let csr = Csr::new(3, vec![0, 1, 2, 2, 4, 5], vec![0, 1, 0, 2, 2], vec![1.0, 2.0, -1.0, 4.0, 6.0]);
        Features::Sparse(csr.unwrap())
    }

    #[test]
    fn sparse_and_dense_features_have_the_same_means() {
        let partition = Partition::new(vec![0, 0, 1, 0, 1]).unwrap();
        let expected = [0.0, 2.0 / 3.0, 4.0 / 3.0, 0.0, 0.0, 3.0];
        let dense = Features::Dense(sparse().to_dense());
        for x in [sparse(), dense] {
            let compressed = Compressed::new(&x, &partition).unwrap();
            assert_eq!(compressed.features().to_dense().values(), expected);
        }
        // 1 and -1 cancel out and leave no entry.
        let x = sparse();
        assert_eq!(Compressed::new(&x, &partition).unwrap().features().nonzeros(), 3);
    }

    #[test]
    fn mostly_non_zero_rows_become_dense_with_the_same_values() {
        // Each of 60 nodes has every third column; three nodes in a row have all of them.
        let (nodes, cols) = (60u32, 9u32);
        let indices: Vec<u32> =
            (0..nodes).flat_map(|node| (0..cols).filter(move |c| c % 3 == node % 3)).collect();
        let values: Vec<f32> = (1..=indices.len()).map(|at| (at % 7) as f32 - 3.5).collect();
        let offsets: Vec<u64> = (0..=nodes as u64).map(|node| 3 * node).collect();
        let x = Features::Sparse(Csr::new(cols as usize, offsets, indices, values).unwrap());
        let of_size = |size: u32| Partition::new((0..nodes).map(|node| node / size).collect()).unwrap();
        for (size, dense) in [(1, false), (2, true), (3, true)] {
            let partition = of_size(size);
            let compressed = Compressed::new(&x, &partition).unwrap();
            assert_eq!(compressed.is_dense(), dense);
            let order: Vec<u32> = (0..nodes).rev().collect();
            let groups = partition.clusters();
            let sparse = means(&x, groups, false, |cluster| partition.members(cluster).into()).unwrap();
            assert_eq!(compressed.features().to_dense(), sparse.to_dense());
            for view in [
                compressed.drop_member(DropMember::Half, Seed(1), 2).unwrap(),
                compressed.corrupted(&order).unwrap(),
            ] {
                assert_eq!(matches!(view, Features::Dense(_)), dense);
            }
        }
    }

    #[test]
    fn half_of_each_cluster_is_kept_and_at_least_one_node() {
        // One feature per node shows which members were averaged.
        let nodes = 40;
        let x = Features::Sparse(
            Csr::new(
                nodes,
                (0..=nodes as u64).collect::<Vec<_>>(),
                (0..nodes as u32).collect::<Vec<_>>(),
                vec![1.0; nodes],
            )
            .unwrap(),
        );
        let cluster: Vec<u32> = (0..nodes as u32).map(|node| (node + 1).ilog2().min(4)).collect();
        let partition = Partition::renumbered(cluster);
        let compressed = Compressed::new(&x, &partition).unwrap();
        let kept = |view: &Features, cluster: usize| {
            let dense = view.to_dense();
            dense.row(cluster).iter().filter(|&&value| value > 0.0).count()
        };
        let view = compressed.drop_member(DropMember::Half, Seed(0), 0).unwrap();
        for (cluster, size) in partition.sizes().enumerate() {
            assert_eq!(kept(&view, cluster), (size / 2).max(1));
            let members = partition.members(cluster as u32);
            let dense = view.to_dense();
            assert!(
                (0..nodes).all(|node| dense.row(cluster)[node] == 0.0 || members.contains(&(node as u32)))
            );
        }
        assert_ne!(view.to_dense(), compressed.drop_member(DropMember::Half, Seed(0), 1).unwrap().to_dense());
        assert_ne!(view.to_dense(), compressed.drop_member(DropMember::Half, Seed(1), 0).unwrap().to_dense());
        for epoch in 0..20 {
            let view = compressed.drop_member(DropMember::Bernoulli, Seed(0), epoch).unwrap();
            assert!((0..partition.clusters()).all(|cluster| kept(&view, cluster) >= 1));
        }
    }

    #[test]
    fn variance_shares_match_the_closed_form() {
        assert!((DropMember::Bernoulli.variance_share(9) - 0.14736).abs() < 1e-5);
        assert!((DropMember::Half.variance_share(9) - (0.25 - 1.0 / 9.0)).abs() < 1e-12);
        assert_eq!([DropMember::Half, DropMember::Bernoulli].map(|how| how.variance_share(1)), [0.0; 2]);
    }

    #[test]
    fn features_of_another_graph_are_rejected() {
        let x = sparse();
        let partition = Partition::new(vec![0, 1]).unwrap();
        assert!(
            Compressed::new(&x, &partition)
                .unwrap_err()
                .to_string()
                .contains("5 rows but the partition has 2 nodes")
        );
    }

    #[test]
    fn threads_change_nothing() {
        let nodes = 3000usize;
        let indices: Vec<u32> = (0..nodes as u32).flat_map(|node| [node % 7, 7 + node % 11]).collect();
        let offsets: Vec<u64> = (0..=nodes as u64).map(|row| 2 * row).collect();
        let values: Vec<f32> = (0..2 * nodes).map(|i| 0.1 + (i % 13) as f32).collect();
        let x = Features::Sparse(Csr::new(20, offsets, indices, values).unwrap());
        let partition = Partition::renumbered((0..nodes as u32).map(|node| node * 7919 % 311).collect());
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let compressed = Compressed::new(&x, &partition).unwrap();
                compressed.drop_member(DropMember::Half, Seed(2), 3).unwrap().to_dense()
            })
        };
        let one = run(1);
        assert!([2, 3, 8].into_iter().all(|threads| run(threads) == one));
    }
}
