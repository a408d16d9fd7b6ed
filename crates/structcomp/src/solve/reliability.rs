//! How reliable a direction is: how well two random halves of every cluster agree on it.

use crate::{Compressed, Dense, DropMember, Features, Partition, Result, Seed};

/// Products of the means of halves of clusters, summed over clusters and draws.
pub(super) struct Halves {
    size: usize,
    /// Σ (aᵀb + bᵀa)/2 for centred half means a and b.
    between: Vec<f64>,
    /// Σ (aᵀa + bᵀb)/2.
    within: Vec<f64>,
}

impl Halves {
    /// Draws halves of all clusters with two members or more.
    pub(super) fn draw(
        rows: &[f32],
        size: usize,
        partition: &Partition,
        draws: usize,
        seed: Seed,
    ) -> Result<Self> {
        let nodes = rows.len() / size.max(1);
        let x = Features::Dense(Dense::new(nodes, size, rows.to_vec())?);
        let compressed = Compressed::new(&x, partition)?;
        let all = compressed.features().to_dense();
        let mut halves = Self { size, between: vec![0.0; size * size], within: vec![0.0; size * size] };
        for draw in 0..draws {
            let kept = compressed.drop_member(DropMember::Half, seed, draw)?.to_dense();
            let (first, second) = both(&all, &kept, partition);
            halves.add(&first, &second);
        }
        Ok(halves)
    }

    fn add(&mut self, a: &[f32], b: &[f32]) {
        let size = self.size;
        // The covariances of a + b and a - b hold all that is needed.
        let sums: Vec<f32> = a.iter().zip(b).map(|(a, b)| a + b).collect();
        let differences: Vec<f32> = a.iter().zip(b).map(|(a, b)| a - b).collect();
        let ((_, sums), (_, differences)) =
            (super::covariance(&sums, size), super::covariance(&differences, size));
        for at in 0..size * size {
            self.between[at] += (sums[at] - differences[at]) / 4.0;
            self.within[at] += (sums[at] + differences[at]) / 4.0;
        }
    }

    /// 2 Σ ab / Σ (a² + b²), cut to [0, 1], for each column of a square matrix of directions: the share of a cluster
    /// mean that is signal.
    pub(super) fn reliability(&self, directions: &[f64]) -> Vec<f64> {
        let size = self.size;
        let form = |matrix: &[f64]| -> Vec<f64> {
            let product = crate::matrix::multiply(matrix, directions, size);
            let mut sums = vec![0.0; size];
            for (product, direction) in product.chunks_exact(size).zip(directions.chunks_exact(size)) {
                for ((sum, product), direction) in sums.iter_mut().zip(product).zip(direction) {
                    *sum += product * direction;
                }
            }
            sums
        };
        let (between, within) = (form(&self.between), form(&self.within));
        let share = |(between, within): (&f64, &f64)| {
            if *within > 0.0 { (between / within).clamp(0.0, 1.0) } else { 0.0 }
        };
        between.iter().zip(&within).map(share).collect()
    }

    /// The mean reliability of directions, each weighted by its variance.
    pub(super) fn mean_reliability(&self, directions: &[f64], variances: &[f64]) -> f64 {
        let total: f64 = variances.iter().sum();
        let reliable: f64 =
            self.reliability(directions).iter().zip(variances).map(|(share, value)| share * value).sum();
        if total > 0.0 { reliable / total } else { 0.0 }
    }
}

/// The means of the kept half and of the other half, for clusters with two members or more.
fn both(all: &Dense, kept: &Dense, partition: &Partition) -> (Vec<f32>, Vec<f32>) {
    let (mut first, mut second) = (Vec::new(), Vec::new());
    for cluster in 0..partition.clusters() {
        let members = partition.members(cluster as u32).len();
        if members < 2 {
            continue;
        }
        let (many, few) = (members as f32, (members / 2) as f32);
        first.extend_from_slice(kept.row(cluster));
        let rest = all.row(cluster).iter().zip(kept.row(cluster));
        second.extend(rest.map(|(all, kept)| (many * all - few * kept) / (many - few)));
    }
    (first, second)
}
