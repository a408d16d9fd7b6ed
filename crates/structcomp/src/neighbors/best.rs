//! The best candidates for one query.

use std::cmp::Ordering;

/// The largest of many numbers, and which rows have them.
///
/// New candidates are gathered behind those kept, and sorted out whenever there are as many of them.
pub(super) struct Best {
    candidates: Vec<(f32, u32)>,
    kept: usize,
    /// Only larger numbers can be among the best: rows come in order, and of equal numbers the first row is the best.
    threshold: f32,
}

impl Best {
    pub(super) fn new(kept: usize) -> Self {
        Self { candidates: Vec::new(), kept, threshold: f32::NEG_INFINITY }
    }

    /// The memory that this takes at most.
    pub(super) fn bytes(kept: usize) -> usize {
        size_of::<Self>() + 2 * kept.max(1) * size_of::<(f32, u32)>()
    }

    pub(super) fn threshold(&self) -> f32 {
        self.threshold
    }

    /// Takes a number above the threshold.
    pub(super) fn take(&mut self, number: f32, row: u32) {
        self.candidates.push((number, row));
        if self.candidates.len() >= 2 * self.kept.max(1) {
            self.sort_out();
        }
    }

    fn sort_out(&mut self) {
        let Some(last) = self.kept.checked_sub(1) else { return self.candidates.clear() };
        if self.candidates.len() > last {
            let (_, worst, _) = self.candidates.select_nth_unstable_by(last, order);
            self.threshold = worst.0;
            self.candidates.truncate(self.kept);
        }
    }

    /// The rows of the best of all of them, in no order.
    pub(super) fn rows<'a>(all: impl Iterator<Item = &'a Self>, kept: usize) -> impl Iterator<Item = u32> {
        let mut whole = Self::new(kept);
        whole.candidates.extend(all.flat_map(|best| &best.candidates));
        whole.sort_out();
        whole.candidates.into_iter().map(|(_, row)| row)
    }
}

/// Larger numbers first, then smaller rows.
fn order(a: &(f32, u32), b: &(f32, u32)) -> Ordering {
    b.0.total_cmp(&a.0).then(a.1.cmp(&b.1))
}
