//! Generates the rows of a synthetic graph, in parallel and in order, and a dataset in memory.

use super::{
    FeatureKind, Synthetic,
    attributes::FeatureModel,
    permutation::Permutation,
    stubs::NODE_BYTES,
    wiring::{NeighborLists, Wiring},
};
use crate::graph::Repairs;
use crate::{
    Budget, Csr, Dataset, Dense, Features, Graph, Labels, NodeIds, Result, Seed,
    data::{Source, hex},
};
use rayon::prelude::*;
use sha2::{Digest, Sha256};
use std::ops::Range;

impl Synthetic {
    /// Generates graph, features and labels in memory. The same seed gives the same bytes with any number
    /// of threads.
    pub fn generate(&self, seed: Seed) -> Result<Dataset> {
        self.generate_within(seed, &Budget::default())
    }

    /// Like [`generate`](Self::generate), with a memory limit.
    pub fn generate_within(&self, seed: Seed, budget: &Budget) -> Result<Dataset> {
        let sampler = RowSampler::new(self, seed, budget, self.dataset_bytes())?;
        let graph = self.graph(&sampler)?;
        let features = self.feature_matrix(&sampler)?;
        let labels = self.label_list(&sampler)?;
        let repairs = Repairs { isolated: self.isolated as u64, ..Repairs::default() };
        let source = Source {
            format: "synthetic",
            synthetic: true,
            files: Vec::new(),
            sha256: Some(fingerprint(&graph, &features, &labels)),
            notes: self.notes(seed),
        };
        Ok(Dataset {
            name: self.name.clone(),
            graph,
            features: Some(features),
            labels: Some(labels),
            splits: Vec::new(),
            ids: NodeIds::Implicit,
            repairs,
            source,
        })
    }

    pub(super) fn notes(&self, seed: Seed) -> Vec<String> {
        vec![format!("synthetic graph from a stochastic block model with seed {}", seed.0)]
    }

    fn dataset_bytes(&self) -> u64 {
        let (nodes, edges) = (self.nodes as u64, self.edges as u64);
        let features = match self.features {
            FeatureKind::Gaussian { width } => 4 * width as u64,
            // A column index and a value each, both while they are collected and in the result.
            FeatureKind::Words { per_node, .. } => 16 * (per_node as u64 + 1),
        };
        let graph = nodes.saturating_mul(8).saturating_add(edges.saturating_mul(2 * 4));
        graph.saturating_add(nodes.saturating_mul(features)).saturating_add(nodes.saturating_mul(8))
    }

    fn graph(&self, sampler: &RowSampler) -> Result<Graph> {
        let mut offsets = Vec::with_capacity(self.nodes + 1);
        offsets.push(0);
        let mut targets: Vec<u32> = Vec::with_capacity(self.edges / 50 * 101 + 1000);
        sampler.in_order(
            |range| sampler.wiring.rows(range),
            |rows: NeighborLists| {
                let before = targets.len();
                offsets.extend(rows.ends.iter().map(|&end| (before + end) as u64));
                targets.extend(rows.targets);
                Ok(())
            },
        )?;
        Graph::from_csr(offsets.into(), targets.into(), None)
    }

    fn feature_matrix(&self, sampler: &RowSampler) -> Result<Features> {
        match (&sampler.features, self.features) {
            (FeatureModel::Gaussian(_), FeatureKind::Gaussian { width }) => {
                let mut values = Vec::with_capacity(self.nodes * width);
                sampler.in_order(
                    |range| sampler.vectors(range),
                    |block: Vec<f32>| {
                        values.extend(block);
                        Ok(())
                    },
                )?;
                Ok(Features::Dense(Dense::new(self.nodes, width, values)?))
            }
            _ => {
                let (mut offsets, mut indices) = (vec![0], Vec::new());
                sampler.in_order(
                    |range| sampler.words(range),
                    |rows: NeighborLists| {
                        let before = indices.len();
                        offsets.extend(rows.ends.iter().map(|&end| (before + end) as u64));
                        indices.extend(rows.targets);
                        Ok(())
                    },
                )?;
                let values = vec![1.0; indices.len()];
                Ok(Features::Sparse(Csr::new(self.width(), offsets, indices, values)?))
            }
        }
    }

    fn label_list(&self, sampler: &RowSampler) -> Result<Labels> {
        let mut classes = Vec::with_capacity(self.nodes);
        sampler.in_order(
            |range| sampler.labels(range),
            |block: Vec<i32>| {
                classes.extend(block.into_iter().map(i64::from));
                Ok(())
            },
        )?;
        Labels::from_signed(classes)
    }

    pub(super) fn width(&self) -> usize {
        match self.features {
            FeatureKind::Gaussian { width } => width,
            FeatureKind::Words { vocabulary, .. } => vocabulary,
        }
    }
}

/// A fitted model that can compute any of its rows.
pub(super) struct RowSampler<'a> {
    model: &'a Synthetic,
    pub(super) wiring: Wiring,
    pub(super) features: FeatureModel,
    withheld: Permutation,
}

/// Rows per task, and per block of tasks.
const TASK: u64 = 1 << 9;
const BLOCK: u64 = 1 << 16;

impl<'a> RowSampler<'a> {
    /// Validates the model and checks the memory limit, with `beside` bytes for other data.
    pub(super) fn new(model: &'a Synthetic, seed: Seed, budget: &Budget, beside: u64) -> Result<Self> {
        model.validate()?;
        // One index entry of four bytes per sixteen stubs, some of which are lost as duplicates.
        let stubs = (model.nodes as u64).saturating_mul(NODE_BYTES).saturating_add(model.edges as u64);
        budget.check(&format!("the synthetic graph {}", model.name), stubs.saturating_add(beside))?;
        let wiring = Wiring::new(model, seed)?;
        let features = FeatureModel::new(model, wiring.blocks.groups(), seed);
        let withheld = Permutation::new(model.nodes as u64, seed.key("withheld labels"));
        Ok(Self { model, wiring, features, withheld })
    }

    /// Computes all rows in blocks and passes them to `consume` in order. The next block is computed while
    /// one is consumed.
    pub(super) fn in_order<T: Send>(
        &self,
        compute: impl Fn(Range<u64>) -> T + Sync,
        mut consume: impl FnMut(T) -> Result<()> + Send,
    ) -> Result<()> {
        let nodes = self.model.nodes as u64;
        let block = |start: u64| -> Vec<T> {
            let end = nodes.min(start + BLOCK);
            let tasks = (0..(end - start).div_ceil(TASK)).into_par_iter();
            tasks.map(|task| start + task * TASK).map(|at| compute(at..end.min(at + TASK))).collect()
        };
        let mut ready = block(0);
        let mut start = BLOCK;
        loop {
            let done = std::mem::take(&mut ready);
            let hand_on = || done.into_iter().try_for_each(&mut consume);
            if start >= nodes {
                return hand_on();
            }
            let (handed_on, next) = rayon::join(hand_on, || block(start));
            handed_on?;
            ready = next;
            start += BLOCK;
        }
    }

    /// The features of consecutive nodes, row by row.
    pub(super) fn vectors(&self, range: Range<u64>) -> Vec<f32> {
        let mut values = Vec::new();
        if let FeatureModel::Gaussian(gaussian) = &self.features {
            values.reserve((range.end - range.start) as usize * gaussian.width);
            for node in range {
                let place = self.wiring.blocks.place(self.wiring.numbers.backward(node));
                gaussian.push_row(node, &place, &mut values);
            }
        }
        values
    }

    pub(super) fn words(&self, range: Range<u64>) -> NeighborLists {
        let mut rows = NeighborLists::default();
        if let FeatureModel::Words(words) = &self.features {
            for node in range {
                let place = self.wiring.blocks.place(self.wiring.numbers.backward(node));
                rows.targets.extend(words.row(node, &place));
                rows.ends.push(rows.targets.len());
            }
        }
        rows
    }

    /// The classes of consecutive nodes, -1 for unlabelled ones.
    pub(super) fn labels(&self, range: Range<u64>) -> Vec<i32> {
        let hidden = (self.model.unlabelled * self.model.nodes as f64).round() as u64;
        let label = |node: u64| match self.withheld.forward(node) < hidden {
            true => -1,
            false => self.wiring.blocks.label(self.wiring.numbers.backward(node)) as i32,
        };
        range.map(label).collect()
    }
}

/// SHA-256 over the bytes of the arrays: row starts, neighbours, features, labels.
fn fingerprint(graph: &Graph, features: &Features, labels: &Labels) -> String {
    let mut hash = Sha256::new();
    hash.update(bytemuck::cast_slice::<u64, u8>(graph.offsets()));
    hash.update(bytemuck::cast_slice::<u32, u8>(graph.targets()));
    match features {
        Features::Dense(x) => hash.update(bytemuck::cast_slice::<f32, u8>(x.values())),
        Features::Sparse(x) => {
            let (offsets, indices, values) = x.parts();
            hash.update(bytemuck::cast_slice::<u64, u8>(offsets));
            hash.update(bytemuck::cast_slice::<u32, u8>(indices));
            hash.update(bytemuck::cast_slice::<f32, u8>(values));
        }
    }
    let classes: Vec<u32> = labels.iter().map(|class| class.unwrap_or(u32::MAX)).collect();
    hash.update(bytemuck::cast_slice::<u32, u8>(&classes));
    hex(&hash.finalize())
}
