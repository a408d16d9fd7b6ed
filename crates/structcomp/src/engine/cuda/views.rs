//! The rows of a step: X_c, and below it for models of two views the means over the members that DropMember keeps,
//! drawn on the GPU from the same streams as on the CPU.

use super::gpu::Gpu;
use super::operand::{Arg, GpuArray, args};
use crate::{Compressed, DropMember, Features, Result, Seed};

pub(super) struct ClusterViews {
    /// The rows of all views, one view below the other.
    pub(super) x: GpuArray<f32>,
    pub(super) rows: usize,
    pub(super) cols: usize,
    second: Option<SecondView>,
}

struct SecondView {
    source: GpuFeatures,
    how: DropMember,
    /// What the members to keep are drawn by.
    key: u64,
    clusters: usize,
    starts: GpuArray<u32>,
    members: GpuArray<u32>,
    room: GpuArray<u32>,
    kept: GpuArray<u32>,
    counts: GpuArray<u32>,
}

/// The features of all nodes.
enum GpuFeatures {
    Dense(GpuArray<f32>),
    Sparse { offsets: GpuArray<u64>, indices: GpuArray<u32>, values: GpuArray<f32> },
}

impl ClusterViews {
    pub(super) fn new(
        gpu: &Gpu,
        compressed: &Compressed,
        two: Option<DropMember>,
        seed: Seed,
    ) -> Result<Self> {
        let first = compressed.features().to_dense();
        let (clusters, cols) = (first.rows(), first.cols());
        let rows = clusters * if two.is_some() { 2 } else { 1 };
        let mut x = gpu.zeros(rows * cols)?;
        gpu.write(&mut x, first.values())?;
        let second = two.map(|how| SecondView::new(gpu, compressed, how, seed)).transpose()?;
        Ok(Self { x, rows, cols, second })
    }

    /// Draws what the step of the clock sees.
    pub(super) fn draw(&self, gpu: &Gpu, clock: &GpuArray<u64>) -> Result<()> {
        match &self.second {
            None => Ok(()),
            Some(second) => second.draw(gpu, clock, self.cols, self.x.from(self.rows / 2 * self.cols)),
        }
    }
}

impl SecondView {
    fn new(gpu: &Gpu, compressed: &Compressed, how: DropMember, seed: Seed) -> Result<Self> {
        let partition = compressed.partition();
        let mut starts = vec![0u32];
        for size in partition.sizes() {
            starts.push(starts[starts.len() - 1] + size as u32);
        }
        let source = match compressed.source() {
            Features::Dense(x) => GpuFeatures::Dense(gpu.upload(x.values())?),
            Features::Sparse(x) => {
                let (offsets, indices, values) = x.parts();
                GpuFeatures::Sparse {
                    offsets: gpu.upload(offsets)?,
                    indices: gpu.upload(indices)?,
                    values: gpu.upload(values)?,
                }
            }
        };
        let (clusters, nodes) = (partition.clusters(), partition.nodes());
        Ok(Self {
            source,
            how,
            key: seed.key("drop member"),
            clusters,
            starts: gpu.upload(&starts)?,
            members: gpu.upload(partition.by_cluster())?,
            room: gpu.zeros(nodes)?,
            kept: gpu.zeros(nodes)?,
            counts: gpu.zeros(clusters)?,
        })
    }

    fn draw(&self, gpu: &Gpu, clock: &GpuArray<u64>, cols: usize, out: Arg) -> Result<()> {
        let Self { starts, members, room, kept, counts, .. } = self;
        let (clusters, by_coin) = (self.clusters as u32, i32::from(self.how == DropMember::Bernoulli));
        let args = args![clock, self.key, starts, members, clusters, by_coin, room, kept, counts];
        gpu.launch("keep_members", (self.clusters.div_ceil(32), 1), (32, 1), args)?;
        match &self.source {
            GpuFeatures::Dense(x) => {
                let threads = cols.next_multiple_of(32).min(256) as u32;
                let args = args![x, cols as u32, starts, kept, counts, out];
                gpu.launch("cluster_means", (self.clusters, 1), (threads, 1), args)
            }
            GpuFeatures::Sparse { offsets, indices, values } => {
                let args = args![offsets, indices, values, cols as u32, starts, kept, counts, clusters, out];
                gpu.launch("sparse_cluster_means", (self.clusters.div_ceil(4), 1), (128, 1), args)
            }
        }
    }
}
