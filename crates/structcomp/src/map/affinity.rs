//! How much rows attract each other.

use crate::neighbors::Neighbor;
use rayon::prelude::*;

/// Pairs of rows of which at least one is a neighbour of the other, row by row.
pub(super) struct Affinity {
    starts: Vec<usize>,
    /// The other row, and 2 where both are neighbours of each other, otherwise 1.
    others: Vec<(u32, f32)>,
    /// What these numbers are multiplied by, so that they sum to one.
    share: f32,
}

impl Affinity {
    pub(super) fn of(nearest: &[Vec<Neighbor>]) -> Self {
        let mut pairs: Vec<(u32, u32)> = Vec::new();
        for (row, found) in nearest.iter().enumerate() {
            pairs.extend(found.iter().flat_map(|other| [(row as u32, other.node), (other.node, row as u32)]));
        }
        let share = 1.0 / pairs.len().max(1) as f32;
        pairs.par_sort_unstable();
        let mut others = Vec::with_capacity(pairs.len());
        let mut starts = vec![0; nearest.len() + 1];
        for same in pairs.chunk_by(|a, b| a == b) {
            others.push((same[0].1, same.len() as f32));
            starts[same[0].0 as usize + 1] = others.len();
        }
        // Rows without others, of which there is at most one.
        (1..starts.len()).for_each(|row| starts[row] = starts[row].max(starts[row - 1]));
        Self { starts, others, share }
    }

    /// How strongly a row is drawn to the others: Σ p (y' − y) / (1 + |y' − y|²).
    pub(super) fn pull(&self, row: usize, places: &[[f32; 2]]) -> [f32; 2] {
        let [x, y] = places[row];
        let mut pull = [0f32; 2];
        for &(other, weight) in &self.others[self.starts[row]..self.starts[row + 1]] {
            let (dx, dy) = (places[other as usize][0] - x, places[other as usize][1] - y);
            let force = weight / (1.0 + dx * dx + dy * dy);
            pull[0] += force * dx;
            pull[1] += force * dy;
        }
        pull.map(|pull| pull * self.share)
    }
}
