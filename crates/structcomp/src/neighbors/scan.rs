//! A block of products, looked through for candidates.

use super::best::Best;
use crate::matrix::{Kernel, Unit};

/// Numbers that are compared at once.
const GROUP: usize = 64;

/// Shifts the products of some queries with consecutive rows, and offers the large ones to the queries. The first row
/// has the number `first`.
pub(super) fn offer(products: &[f32], shift: &[f32], first: u32, best: &mut [Best]) {
    Unit::widest().run(Scan { products, shift, first, best });
}

struct Scan<'a> {
    products: &'a [f32],
    shift: &'a [f32],
    first: u32,
    best: &'a mut [Best],
}

impl Kernel for Scan<'_> {
    #[inline(always)]
    fn run(self) {
        let Self { products, shift, first, best } = self;
        for (products, best) in products.chunks_exact(shift.len()).zip(best) {
            let groups = products.chunks(GROUP).zip(shift.chunks(GROUP));
            for (first, (products, shift)) in (first..).step_by(GROUP).zip(groups) {
                let mut threshold = best.threshold();
                let scores = products.iter().zip(shift).map(|(product, shift)| product + shift);
                if !scores.clone().fold(false, |any, score| any | (score > threshold)) {
                    continue;
                }
                for (row, score) in (first..).zip(scores) {
                    if score > threshold {
                        best.take(score, row);
                        threshold = best.threshold();
                    }
                }
            }
        }
    }
}
